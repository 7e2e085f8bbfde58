"""The flags of `paddock operator`: paddle-operator's, in Go's syntax, and errors for wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paddock.app.health import Address
from paddock.cli.main import run
from paddock.cli.verbs.operator import IGNORED, SCHEDULERS, choose_gangs, command
from paddock.jobs.apis.registry import KUBEFLOW_PADDLE, PADDLEPADDLE
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Resource

BATCH, KUBEFLOW = PADDLEPADDLE.resource, KUBEFLOW_PADDLE.resource


def parse(*words: str) -> dict[str, Any]:
    return command.make_context("operator", list(words)).params


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ([], "namespaces", ()),
        ([], "leader_elect", False),
        ([], "kinds", (BATCH,)),
        ([], "pod_groups", None),
        ([], "metrics", Address("127.0.0.1", 8080)),
        ([], "probes", Address("127.0.0.1", 8081)),
        (["--namespace=paddle-system"], "namespaces", ("paddle-system",)),
        (["-namespace", "paddle-system"], "namespaces", ("paddle-system",)),
        (["--namespace", "a,b", "--namespace=c", "--namespace=a"], "namespaces", ("a", "b", "c")),
        (["--namespace="], "namespaces", ()),
        (["--namespace", ""], "namespaces", ()),
        (["--leader-elect"], "leader_elect", True),
        (["-leader-elect"], "leader_elect", True),
        (["--leader-elect=true"], "leader_elect", True),
        (["--leader-elect=T"], "leader_elect", True),
        (["--leader-elect=false"], "leader_elect", False),
        (["--leader-elect", "--leader-elect=0"], "leader_elect", False),
        ([], "shards", 1),
        (["--leader-elect", "--shards=6"], "shards", 6),
        (["-leader-elect", "-shards", "64"], "shards", 64),
        (["--scheduling=volcano"], "pod_groups", VOLCANO_POD_GROUPS),
        (["--scheduling", "scheduler-plugins"], "pod_groups", POD_GROUPS),
        (["--scheduling=coscheduling"], "pod_groups", POD_GROUPS),
        (["--scheduling="], "pod_groups", None),
        ([], "substitutes", False),
        (["--substitute"], "substitutes", True),
        (["--substitute=true"], "substitutes", True),
        (["--substitute=false"], "substitutes", False),
        ([], "gang_scheduler", ""),
        (["--gang-scheduler-name=gangs"], "gang_scheduler", "gangs"),
        (["--metrics-bind-address=:8080"], "metrics", Address(None, 8080)),
        (["--metrics-bind-address", "0"], "metrics", None),
        (["--metrics-bind-address=[::1]:1"], "metrics", Address("::1", 1)),
        (["--health-probe-bind-address=0.0.0.0:9"], "probes", Address("0.0.0.0", 9)),
        (["--kinds=paddlejobs.kubeflow.org"], "kinds", (KUBEFLOW,)),
        (["--kinds", "paddlejobs.kubeflow.org,paddlejobs.batch.paddlepaddle.org"], "kinds", (KUBEFLOW, BATCH)),
        ([], "datasets", False),
        (["--datasets=true"], "datasets", True),
        (["-datasets=false"], "datasets", False),
        (["--datasets-image=mine:1"], "datasets_image", "mine:1"),
        (["--lease-namespace", "ops"], "lease_namespace", "ops"),
        (["--log-format=json"], "log_format", "json"),
        (["--initImage="], "ignored_initimage", ""),
        (["-port-range", "35000,65000"], "ignored_port_range", "35000,65000"),
        (["--zap-devel=false"], "ignored_zap_devel", False),
        (["--zap-log-level", "debug"], "ignored_zap_log_level", "debug"),
    ],
)
def test_a_flag_means_what_it_meant(
    words: list[str], name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert parse(*words)[name] == value


@pytest.mark.parametrize(
    ("scheduling", "name", "groups", "scheduler"),
    [
        ("", "", None, ""),
        ("volcano", "", VOLCANO_POD_GROUPS, "volcano"),
        ("scheduler-plugins", "", POD_GROUPS, "scheduler-plugins-scheduler"),
        ("coscheduling", "", POD_GROUPS, "scheduler-plugins-scheduler"),
        ("volcano", "volcano-2", VOLCANO_POD_GROUPS, "volcano-2"),
        ("coscheduling", "volcano", POD_GROUPS, "volcano"),
        # training-operator has this flag alone
        ("", "volcano", VOLCANO_POD_GROUPS, "volcano"),
        ("", "Volcano", VOLCANO_POD_GROUPS, "volcano"),
        ("", "scheduler-plugins-scheduler", POD_GROUPS, "scheduler-plugins-scheduler"),
        ("", "gangs", POD_GROUPS, "gangs"),
        ("", "default-scheduler", POD_GROUPS, "default-scheduler"),
        ("", "kube-scheduler", KUBERNETES_POD_GROUPS, "default-scheduler"),
        ("", "Kube-Scheduler", KUBERNETES_POD_GROUPS, "default-scheduler"),
        ("kubernetes", "", KUBERNETES_POD_GROUPS, "default-scheduler"),
        ("kube-scheduler", "", KUBERNETES_POD_GROUPS, "default-scheduler"),
        ("kubernetes", "kube-scheduler", KUBERNETES_POD_GROUPS, "default-scheduler"),
        ("kubernetes", "second", KUBERNETES_POD_GROUPS, "second"),
    ],
)
def test_the_scheduler_of_gangs_has_its_usual_name_or_the_one_that_is_given(
    scheduling: str, name: str, groups: Resource | None, scheduler: str
) -> None:
    assert choose_gangs(SCHEDULERS[scheduling], name) == (groups, scheduler)


def test_in_a_pod_it_listens_where_the_kubelet_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform's own Deployment gives `--leader-elect` and probes, as paddle-operator listens at every address."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    flags = parse("--leader-elect")
    assert (flags["metrics"], flags["probes"]) == (Address(None, 8080), Address(None, 8081))
    assert parse("--metrics-bind-address=127.0.0.1:1")["metrics"] == Address("127.0.0.1", 1)
    assert parse()["leader_elect"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--namespace=Team_A"],
            "'Team_A' is not a valid name for a namespace: small letters, digits and '-', at most 63",
        ),
        (
            ["--scheduling=kueue"],
            "'kueue' is no gang scheduler that Paddock knows; there are volcano, scheduler-plugins",
        ),
        (["--gang-scheduler-name=kube-batch"], "kube-batch is not developed any more (its repository is archived)"),
        (["--gang-scheduler-name", "Kube-Batch"], "install Volcano, which came of it, and give --scheduling=volcano"),
        (["--leader-elect=maybe"], "--leader-elect=maybe: true or false is allowed"),
        (["--shards=6"], "--shards needs --leader-elect: which operator has which part is decided by Leases"),
        (["--leader-elect", "--shards=65"], "65 is not in the range 1<=x<=64"),
        (["--leader-elect", "--shards=0"], "0 is not in the range 1<=x<=64"),
        (["--metrics-bind-address=8080"], "'8080' is no address: HOST:PORT, or :PORT for all of this machine's"),
        (["--metrics-bind-address=:http"], "':http' is no address"),
        (["--metrics-bind-address=:99999"], "':99999' is no address"),
        (["--health-probe-bind-address=::1:80"], "an IPv6 address stands in brackets, such as [::1]:8080"),
        (["--kinds=paddlejobs"], "'paddlejobs' is no kind of job"),
        (["--log-format=xml"], "'xml' is not one of 'json', 'text'"),
        (
            ["--datasets"],
            "name yours by --datasets-image IMAGE or by the variable PADDOCK_IMAGE, which `paddock manifests",
        ),
        (["--leader-elected"], "No such option '--leader-elected'"),
        (["--kubeconfig=/nowhere/config"], "there is no kubeconfig /nowhere/config"),
        (["extra"], "Got unexpected extra argument (extra)"),
    ],
)
def test_a_wrong_flag_is_a_sentence_and_exit_code_2(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PADDOCK_IMAGE", raising=False)
    assert run(["operator", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "image"), [(["--datasets-image=mine:1"], ""), ([], "mine:1"), (["--datasets=false"], "")]
)
def test_datasets_are_fetched_in_an_image_that_somebody_names(
    words: list[str], image: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then the next thing that is missing is told."""
    monkeypatch.setenv("PADDOCK_IMAGE", image)
    assert run(["operator", "--datasets", *words, "--kubeconfig=/nowhere/config"]) == 2
    assert "there is no kubeconfig /nowhere/config" in capsys.readouterr().err


def test_without_a_cluster_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert run(["operator"]) == 2
    assert f"no cluster is configured: there is no kubeconfig at {tmp_path}/.kube/config" in capsys.readouterr().err


def test_every_flag_of_paddle_operator_is_known() -> None:
    known = {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
    theirs = (
        "namespace", "leader-elect", "scheduling", "initImage", "metrics-bind-address", "health-probe-bind-address",
        "etcd-server", "port-range", "kubeconfig", "zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level",
        "zap-time-encoding",
    )  # fmt: skip
    assert {f"--{name}" for name in theirs} <= known
    assert all(reason for reason in IGNORED.values())
