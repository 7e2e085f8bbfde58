"""Name resolution between pods."""

from __future__ import annotations

from typing import Any

import pytest

from node.cluster import pod, shell
from paddock.kube.downward import Expanded, expand_marked
from paddock.kube.host_words import find_in_command, find_names, find_sure_hosts, replace_in_command, replace_names
from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hosts import (
    build_addresses,
    build_hosts,
    build_pod_line,
    build_service_lines,
)
from paddock.node.runtime.unreplaced import explain_unreplaced

ADDRESSES = {"j-ps-0": "127.64.0.1", "j-ps-1": "127.64.0.2", "j-ps-10": "127.64.0.3", "j-ps-0.j": "127.64.0.1"}


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("j-ps-0:2379,j-ps-1:2379", "127.64.0.1:2379,127.64.0.2:2379"),
        ("j-ps-10", "127.64.0.3"),
        ("http://j-ps-1/x", "http://127.64.0.2/x"),
        ("j-ps-0.j:80", "127.64.0.1:80"),
        ("my-j-ps-0", "my-j-ps-0"),
        ("j-ps-0-log", "j-ps-0-log"),
        ("/nas/j-ps-0/log", "/nas/j-ps-0/log"),
        ("j-ps-0.other.com", "j-ps-0.other.com"),
        ("lost j-ps-0.", "lost 127.64.0.1."),
    ],
)
def test_names_are_replaced_as_whole_words(text: str, replaced: str) -> None:
    assert replace_names(text, ADDRESSES) == replaced
    assert bool(find_names(text, ADDRESSES)) == (text != replaced)


FULL = {"j-ps-0": "127.64.0.1", "j-ps-0.default.svc.cluster.local": "127.64.0.1", "j-ps-1": "127.64.0.2"}


def test_a_long_option_before_a_name_is_read_once() -> None:
    """Else its reading would take twice as long with each part."""
    given = [Expanded("--" + "ab_" * 60), Expanded("j-ps-0")]
    assert find_in_command([Expanded("python"), *given], FULL) == {"j-ps-0"}


@pytest.mark.parametrize(
    ("words", "replaced"),
    [
        # A host.
        (["torchrun", "--rdzv_endpoint=j-ps-0:29400"], ["torchrun", "--rdzv_endpoint=127.64.0.1:29400"]),
        (
            ["torchrun", "--rdzv_endpoint=j-ps-0.default.svc.cluster.local:1"],
            ["torchrun", "--rdzv_endpoint=127.64.0.1:1"],
        ),
        (["torchrun", "--master_addr", "j-ps-0"], ["torchrun", "--master_addr", "127.64.0.1"]),
        (
            ["a", "--hostname=j-ps-0", "--node_name", "j-ps-1"],
            ["a", "--hostname=127.64.0.1", "--node_name", "127.64.0.2"],
        ),
        (
            ["sh", "-c", "until nc -z j-ps-0 80; do sleep 1; done"],
            ["sh", "-c", "until nc -z 127.64.0.1 80; do sleep 1; done"],
        ),
        (["sh", "-c", "A=$(getent hosts j-ps-0)"], ["sh", "-c", "A=$(getent hosts 127.64.0.1)"]),
        (["sh", "-c", "MASTER_ADDR=j-ps-0 python t.py"], ["sh", "-c", "MASTER_ADDR=127.64.0.1 python t.py"]),
        (["python", "-c", 'host = "j-ps-0"'], ["python", "-c", 'host = "127.64.0.1"']),
        (["a", "tcp://j-ps-0/x", "j-ps-0,j-ps-1"], ["a", "tcp://127.64.0.1/x", "127.64.0.1,127.64.0.2"]),
        (
            ["sh", "-c", "for h in j-ps-0 j-ps-1; do ping $h; done"],
            ["sh", "-c", "for h in 127.64.0.1 127.64.0.2; do ping $h; done"],
        ),
        # No host.
        (["j-ps-0", "x"], None),
        (["a", "--log_dir=/nas/j-ps-0/log", "my-j-ps-0", "j-ps-0.other.com", "/j-ps-0"], None),
        (["a", "--run-name=j-ps-0", "--run_name", "j-ps-0", "--rdzv_id=j-ps-0", "--output-dir", "j-ps-0"], None),
        (["sh", "-c", "python t.py --run-name j-ps-0"], None),
        (["sh", "-c", '[ "$HOSTNAME" = "j-ps-0" ] && echo first'], None),
        (["sh", "-c", "if test $HOSTNAME = j-ps-0; then echo first; fi"], None),
        (["bash", "-c", "[[ $HOSTNAME == j-ps-0 || $HOSTNAME != 'j-ps-1' ]]"], None),
        (["sh", "-c", "[ j-ps-0 = $HOSTNAME ]"], None),
        (["sh", "-c", "case $HOSTNAME in j-ps-0) a;; j-ps-1|j-ps-2) b;; esac"], None),
        (["python", "-c", "if os.environ['HOSTNAME'] == 'j-ps-0': serve()"], None),
        # Both, in one script.
        (
            ["sh", "-c", "[ $HOSTNAME = j-ps-0 ] || ping j-ps-0"],
            ["sh", "-c", "[ $HOSTNAME = j-ps-0 ] || ping 127.64.0.1"],
        ),
    ],
)
def test_of_a_command_the_hosts_are_replaced(words: list[str], replaced: list[str] | None) -> None:
    given = [Expanded(word) for word in words]
    assert replace_in_command(given, FULL) == tuple(replaced or words)
    assert bool(find_in_command(given, FULL)) == (replaced is not None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("master=j-ps-0:80\n", {"j-ps-0"}),
        ("ping j-ps-0.default.svc.cluster.local", {"j-ps-0.default.svc.cluster.local"}),
        ("first: j-ps-0\n", set()),
        ("/nas/j-ps-0:80", set()),
        ("j-ps-0: first", set()),
        ("", set()),
    ],
)
def test_what_is_surely_a_host(text: str, names: set[str]) -> None:
    assert find_sure_hosts(text, FULL) == names
    assert find_sure_hosts(text, {}) == set()


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ({"configMap": {"name": "cm"}}, "file run.sh of ConfigMap cm names j-ps-0, and without bubblewrap"),
        ({"projected": {"sources": [{"configMap": {"name": "cm"}}]}}, "file run.sh of ConfigMap cm names j-ps-0, and"),
        ({"configMap": {"name": "cm", "items": [{"key": "other", "path": "run.sh"}]}}, ""),
        ({"configMap": {"name": "none"}}, ""),
        ({"emptyDir": {}}, ""),
    ],
)
def test_a_file_that_names_a_host_of_the_group_is_told(volume: Manifest, said: str) -> None:
    configs = Configs("default", {"cm": {"data": {"run.sh": "nc j-ps-0:80", "other": "j-ps-0"}}})
    main = shell("true", volumeMounts=[{"name": "v", "mountPath": "/x"}])
    made = pod(main, volumes=[{"name": "v", **volume}])
    assert explain_unreplaced(made, main, configs, FULL).startswith(said)
    assert bool(explain_unreplaced(made, main, configs, FULL)) == bool(said)
    assert not explain_unreplaced(made, shell("true"), configs, FULL)


@pytest.mark.parametrize(
    ("word", "replaced"),
    [
        ("$(POD_NAME)", "j-ps-0"),
        ("me=$(POD_NAME) first=j-ps-0", "me=j-ps-0 first=127.64.0.1"),
        ("$(POD_NAME):80", "127.64.0.1:80"),
        ("$(JOB)-ps-0", "127.64.0.1"),
        ("$$(POD_NAME) $(NO) j-ps-1", "$(POD_NAME) $(NO) 127.64.0.2"),
        ("$(PEERS)", "127.64.0.1:1,127.64.0.2:1"),
    ],
)
def test_what_a_variable_tells_stays_but_not_what_is_made_of_it(word: str, replaced: str) -> None:
    known = {"POD_NAME": "j-ps-0", "JOB": "j", "PEERS": "127.64.0.1:1,127.64.0.2:1"}
    assert replace_in_command([Expanded("a"), expand_marked(word, known)], FULL)[1] == replaced


def member(name: str, address: str, owner: str = "o", **spec: Any) -> Manifest:
    found = pod(shell("true"), name=name, **spec)
    found["metadata"] |= {"labels": {"pod": name}, "ownerReferences": [{"uid": owner, "controller": True}]}
    found["status"] = {"podIP": address}
    return found


def service(name: str, owner: str = "o", **selector: str) -> Manifest:
    owners = [{"uid": owner, "controller": True}]
    meta = {"name": name, "namespace": "default", "ownerReferences": owners}
    return {"metadata": meta, "spec": {"clusterIP": "None", "selector": selector}}


def test_a_hosts_file_has_the_pod_first_then_its_namespace() -> None:
    one, two = member("a-0", "127.64.0.1", hostname="a-0", subdomain="a"), member("a-1", "127.64.0.2")
    lines = [build_pod_line(one), build_pod_line(two), *build_service_lines([service("svc", pod="a-1")], [one, two])]
    text = build_hosts(two, lines)
    assert text.splitlines()[1:] == [
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost",
        "127.64.0.2\ta-1",
        "127.64.0.1\ta-0 a-0.a a-0.a.default a-0.a.default.svc a-0.a.default.svc.cluster.local",
        "127.64.0.2\tsvc svc.default svc.default.svc svc.default.svc.cluster.local",
    ]


def test_a_pod_that_has_ended_has_no_line() -> None:
    done = member("a-0", "127.64.0.1")
    done["status"]["phase"] = "Succeeded"
    assert build_pod_line(done) == ""
    assert build_service_lines([service("svc", pod="a-0")], [done]) == []


def test_only_the_pods_own_group_is_replaced() -> None:
    me, sibling, stranger = member("a-0", "127.64.0.1"), member("a-1", ""), member("b-0", "127.64.0.3", owner="other")
    services = [service("a-svc", pod="a-0"), service("b-svc", owner="other", pod="b-0")]
    found = build_addresses(me, [me, sibling, stranger], services)
    assert {name: found[name] for name in ("a-0", "a-1", "a-svc")} == {
        "a-0": "127.64.0.1",
        "a-1": "",
        "a-svc": "127.64.0.1",
    }
    assert not {name for name in found if name.startswith("b-")}


@pytest.mark.parametrize(
    ("phase", "known"), [(None, {"a-9": ""}), ("Running", {"a-9": "127.64.0.9"}), ("Succeeded", {})]
)
def test_a_service_whose_pod_is_still_to_come_has_no_address_yet(phase: str | None, known: dict[str, str]) -> None:
    me, late = member("a-0", "127.64.0.1"), member("a-9", "127.64.0.9")
    late["status"]["phase"] = phase
    group = [me] if phase is None else [me, late]
    found = build_addresses(me, group, [service("a-9", pod="a-9")])
    assert {name: address for name, address in found.items() if name == "a-9"} == known


def test_a_pod_without_a_controller_has_no_group() -> None:
    assert build_addresses(pod(shell("true")), [pod(shell("true"))], []) == {}
