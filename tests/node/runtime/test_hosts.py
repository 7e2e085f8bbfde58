"""Name resolution between pods."""

from __future__ import annotations

from typing import Any

import pytest

from node.cluster import pod, shell
from paddock.kube.host_words import find_names, replace_names
from paddock.kube.meta import Manifest
from paddock.node.runtime.hosts import (
    build_addresses,
    build_hosts,
    build_pod_line,
    build_service_lines,
)

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


def test_a_pod_without_a_controller_has_no_group() -> None:
    assert build_addresses(pod(shell("true")), [pod(shell("true"))], []) == {}
