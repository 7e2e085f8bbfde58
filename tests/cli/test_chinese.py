"""What the tool says has no English word in Chinese but names, commands, fields and states: one table of each surface,
made by the code that writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from environments import test_failures as outputs
from jobs.test_causes import SENTENCES
from paddock.cli.main import run
from paddock.environments.distributions import read_distribution
from paddock.environments.failures import (
    Failure,
    explain_check,
    explain_check_timeout,
    explain_os_error,
    read_failure,
)
from paddock.environments.images import explain_no_environment, explain_no_name
from paddock.environments.libraries import explain_missing
from paddock.environments.progress import Progress
from paddock.environments.pythons import Python, explain_unsuitable
from paddock.environments.states import Building, Failed, Unbuilt, Usable, build_status
from paddock.environments.uv import Machine as BuildMachine
from paddock.environments.uv import explain_no_network
from paddock.jobs.sentences.explain import explain
from paddock.node.kubelet.pod_events import read_notes
from paddock.node.kubelet.pod_plan import DEADLINE_MESSAGE, LOST_MESSAGE
from paddock.node.runtime.gpus import Gpu
from paddock.node.runtime.machine import Machine, describe
from paddock.node.scheduler.placement import Bind, Wait
from paddock.node.scheduler.scheduler import build_decision_event
from paddock.words.messages import translate_message

PYTHON = Python(Path("/usr/bin/python3.14"), (3, 14, 0))
FAILURES = {
    name: value for name, value in vars(outputs).items() if name.isupper() and name[0] != "_" and isinstance(value, str)
}

_OWN = (
    "paddock paddlepaddle Python Kubernetes kubectl Debian GNU Linux NVIDIA H GPU Pod PodGroup ConfigMap configmap "
    "Environment Pending Unknown API server batch size gang pod riscv aarch arm macOS"
)
_IN_SAMPLES = "demo train x settings"
ALLOWED = frozenset(f"{_OWN} {_IN_SAMPLES}".split())
"""Programs, formats, parts and states of a cluster, machines; names in the samples."""
OF_OTHERS = frozenset(
    {
        "Because there is no version of", "and you require", "we can conclude that your requirements are unsatisfiable",
        "Because the current Python version", "does not satisfy", "depends on", "we can conclude that",
        "cannot be used", "no such comparison operator", "must be one of", "failed to create directory",
        "Permission denied", "os error", "The thing broke at", "Connection refused", "exceeded quota",
        "failed calling webhook", "connection refused", "resource in cluster is overused", "no queue", "no such file",
        "no room", "failed quota", "must specify", "memory for",
        "executable file not found in", "no field", "is forbidden", "shapes do not match", "cannot read",
    }
)  # fmt: skip
"""What uv, an API server or another scheduler said."""
_NAMES = re.compile(
    r"(?:kubectl|paddock) [a-z-][^（）()：；]*|`[^`]*`|“[^”]*”|\"[^\"]*\"|'[^']*'|https?://\S+|-{1,2}[a-z][\w-]*"
    r"|[\w.-]*[/_.=<>~!*@][\w/.,=<>~!*@:-]*|[\w]+-[\w-]+|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}[A-Z_]*\b|\$\w+"
)
"""Commands and quoted texts, options, paths, versions, fields, names with a dash, variables."""


def find_english(text: str) -> list[str]:
    """The words of English sentences: two or more of them in a row, as one may be a name."""
    words = re.findall(r"[A-Za-z]+(?: [A-Za-z]+)+", _NAMES.sub("·", text))
    return [each for each in words if each not in OF_OTHERS and not ALLOWED.issuperset(each.split())]


def write_environments() -> Iterator[str]:
    """What environments write into their status, and into the pods that wait for them."""
    paddle = outputs.PADDLE
    for output in FAILURES.values():
        yield f"environment paddle: {read_failure(Failure(output, paddle, PYTHON, '/cache')).message}"
    yield str(explain_os_error(OSError(28, "No space left on device"), "/cache"))
    yield str(explain_os_error(PermissionError(13, "Permission denied", "/x"), "/cache"))
    yield explain_check("", paddle)
    yield str(explain_check_timeout(paddle, 60))
    yield str(explain_no_environment("busybox", [paddle]))
    yield str(explain_no_environment("registry.example/paddle:3", []))
    yield str(explain_no_name("padle", [paddle]))
    yield str(explain_no_name("other", [paddle]))
    yield str(explain_no_network("paddlepaddle 3.0.0"))
    for found in ([], [PYTHON], [PYTHON, Python(Path("/p"), (3, 7, 1))]):
        yield str(explain_unsuitable("paddlepaddle 3.0.0", ">=3.8,<3.14", found))
    debian = BuildMachine(read_distribution('ID=debian\nNAME="Debian GNU/Linux"'), root=True)
    yield str(explain_missing("libgomp.so.1", "paddlepaddle 3.0.0", "Connection refused (os error 111)", debian))
    for phase in ("downloading", "installing", "verifying"):
        for speed in (0.0, 2e6):
            progress = Progress(phase, 61, "paddlepaddle 3.0.0", 193_000_000, speed=speed, left=9.0)
            yield str(build_status(paddle, Building(progress))["message"])
            yield f"environment paddle: {progress.explain()}"
    yield Progress("waiting", 0, "paddlepaddle 3.0.0").explain()
    yield Progress("fetching", 5, "Python 3.12", 2**20).explain()
    yield Progress("retrying", 3, "building (paddlepaddle 3.0.0)", tries=(1, 3)).explain()
    for state in (Unbuilt(), Usable(), Failed("the disk is full: free some space where /x is, or set XDG_CACHE_HOME "
                                              "to a directory with more", outputs.Fault.MACHINE)):  # fmt: skip
        yield str(build_status(paddle, state)["message"])


def write_nodes() -> Iterator[str]:
    """What the kubelet and the scheduler write."""
    yield DEADLINE_MESSAGE
    yield LOST_MESSAGE
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    loop = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}
    lacks = {"waiting": {"reason": "CreateContainerConfigError", "message": 'configmap "settings" not found'}}
    for state, last, more in (({"running": {}}, ended, {"deletionTimestamp": "t"}), (loop, ended, {}), (lacks, {}, {})):
        status = {"containerStatuses": [{"name": "main", "state": state, "lastState": last}]}
        pod = {"metadata": {"name": "p", "namespace": "default", "uid": "u", **more}, "status": status}
        yield from (note.message for note in read_notes(pod))
    yield str(build_decision_event(Bind("default", "p", "u", "node-1"), 0.0)["message"])
    for said in SCHEDULED:
        yield str(build_decision_event(Wait("default", "p", "u", "Unschedulable", said), 0.0)["message"])
    for cpus, gpus in ((1, 0), (2, 0), (16, 1)):
        yield describe(Machine("n", Fraction(cpus), 2**33, gpus=tuple(Gpu(str(i), "NVIDIA H200") for i in range(gpus))))


SCHEDULED = (
    "no nodes available to schedule pods",
    "0/1 nodes are available: 1 Insufficient cpu (on node-1: needs 4, 500m of 2 free), 1 Too many pods.",
    "0/2 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4, 0 of 0 free), 1 node(s) were unschedulable "
    "(kubectl uncordon node-1).",
    "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector (on a: gpu=a100; node has none).",
    "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: team}. preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling.",
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports (port 80 is held by pod x).",
    'waiting for the gang "train": 4 pods are needed at once, 2 fit: 0/1 nodes are available: 1 Insufficient cpu.',
    'waiting for the gang "train": 4 pods are needed at once, 2 exist',
    'waiting for the PodGroup "train", which does not exist yet',
    'held back for the gang "train", which has waited longer and lacks cpu',
)


def write_causes() -> Iterator[str]:
    """The operator's events are the sentences of causes."""
    yield from (explain(kind.record(1000.0)) for kind, _ in SENTENCES)
    how = ("is gone", "is lost: nothing is heard of it")
    yield from (f"deleting pod train-worker-0 by force: its grace is over, and its node n1 {each}" for each in how)


@pytest.mark.parametrize("write", [write_environments, write_nodes, write_causes], ids=lambda write: write.__name__)
def test_messages(write: Callable[[], Iterator[str]]) -> None:
    english = {message: translate_message(message, "zh") for message in write()}
    assert {message: said for message, said in english.items() if find_english(said)} == {}


@pytest.mark.parametrize(
    "words",
    [
        (), ("run",), ("run", "a", "b"), ("run", "--timout", "3", "x"), ("run", "--timeout", "3x", "x"),
        ("run", "--rank", "x", "f"), ("run", "-n"), ("run", "--workdir", "/nonexistent", "f"), ("get", "-o", "yamll"),
        ("outputs", "t", "--run", "0"), ("outputs", "nothing"), ("logs",), ("logs", "t", "--tail", "x"),
        ("frobnicate",), ("up", "--port", "99999999"), ("run", "--sandbox", "nope", "f"), ("env", "frob"),
        ("env", "create"), ("run", "nofile.yaml"), ("status", "-o", "x"), ("-x",), ("--context",), ("down", "now"),
        ("completion", "fish2"), ("--context", "x", "up"), ("validate", "/"), ("get", "nothings", "x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_usage_errors(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run(list(words))
    said: Any = capsys.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if not line.startswith(("用法：", "  "))]
    assert lines and [found for line in lines for found in find_english(line)] == []
