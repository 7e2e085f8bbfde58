"""What `paddock stacks` prints of real stacks, and what its document has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.output.stacks import build_document, print_stacks
from paddock.cli.verbs.stacks import is_running, tell_absent, tell_beside
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.jobs.model import PodPhase
from paddock.jobs.objects.observed import read_pod
from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks, count_beside, only_of
from paddock.logs.stack_dumps import read_py_spy
from paddock.logs.stack_lines import build_lines, show_frame
from paddock.logs.stacks import Folded, fold
from paddock.words.phrases import phrase, render

DUMPS = Path(__file__).parents[1] / "logs" / "stacks"
SITE = "/home/me/.cache/paddock/environments/d41f/lib/python3.11/site-packages/torch"


def process(name: str, pid: int, rank: str = "") -> ProcessStacks:
    threads = read_py_spy((DUMPS / f"{name}.json").read_text())
    return ProcessStacks(pid, "master", "python train.py", rank, threads, "py-spy")


@pytest.fixture
def folded() -> Folded:
    processes = (
        process("torchrun", 10, "0"), process("torch_waits", 11, "0"), process("torch_loading", 12, "1"),
        process("torch_loader", 13, "1"),
    )  # fmt: skip
    return fold({"master-0": PodStacks("pod", processes, others=("sh",))})


def test_the_text(folded: Folded) -> None:
    lines = list(build_lines(folded, "en", whole=False))
    assert lines[:8] == [
        "master-0 rank 0 in all_reduce, train.py:7; master-0 rank 1 in DataLoader, train.py:12",
        "the collective of master-0 rank 0 lacks master-0 rank 1",
        "data loaders: master-0 rank 1 in __getitem__, train.py:6",
        "",
        "master-0 rank 0",
        '  File "/home/me/work/train.py", line 13, in <module>',
        '  File "/home/me/work/train.py", line 7, in step',
        f'  File "{SITE}/distributed/c10d_logger.py", line 83, in wrapper',
    ]
    assert [line for line in lines if line.startswith("master-0") and " in " not in line] == [
        "master-0 rank 0", "master-0 rank 1", "master-0 rank 1 (reads data)",
    ]  # fmt: skip
    assert not [line for line in lines if "thread" in line and "File" not in line]


def test_all_has_launchers_and_threads(folded: Folded) -> None:
    lines = list(build_lines(folded, "en", whole=True))
    assert "master-0 (launcher)" in lines
    assert "  thread QueueFeederThread of master-0 rank 1" in lines


def test_a_launcher_is_shown_where_nothing_else_has_a_stack() -> None:
    only = fold({"master-0": PodStacks("pod", (process("torchrun", 10, "0"),))})
    assert list(build_lines(only, "en", whole=False))[:3] == [
        "master-0 in main, torchrun:12",
        "",
        "master-0 (launcher)",
    ]


def test_processes_of_side_cars_are_left_out_and_counted() -> None:
    """The annotation names the container that trains, else it is the first."""
    beside = replace(process("torch_waits", 20), container="metrics")
    pods = {
        "master-0": PodStacks("pod", (beside, process("torch_waits", 11))),
        "worker-0": PodStacks("pod", (process("torch_waits", 12), beside, replace(beside, container="watch"))),
    }
    assert [render(each) for each in tell_beside(count_beside(pods, dict.fromkeys(pods, "master")))] == [
        "left out: 2 processes of container metrics, which does not train",
        "left out: 1 process of container watch, which does not train",
    ]
    folded = fold({rank: only_of(each, "master") for rank, each in pods.items()})
    assert [each.labels for each in folded.groups] == [("master-0", "worker-0")]


def test_the_document(folded: Folded) -> None:
    document = json.loads(json.dumps(build_document("team", "demo", folded, whole=False)))
    assert (document["namespace"], document["job"], document["without"]) == ("team", "demo", [])
    assert [(each["function"], each["collective"], each["ranks"]) for each in document["places"]] == [
        ("all_reduce", True, ["master-0 rank 0"]), ("DataLoader", False, ["master-0 rank 1"]),
    ]  # fmt: skip
    assert [each["work"] for each in document["stacks"]] == ["trains", "trains", "loads"]
    first = document["stacks"][0]
    assert first["frames"][0] == {"file": "/home/me/work/train.py", "line": 13, "function": "<module>"}
    assert first["processes"] == [{"rank": "master-0 rank 0", "pid": 11, "command": "python train.py", "by": "py-spy"}]
    whole = build_document("team", "demo", folded, whole=True)
    assert "launches" in [each["work"] for each in whole["stacks"]]
    assert all(each["threads"] for group in whole["stacks"] for each in group["processes"])


def test_a_frame_is_written_as_in_a_traceback() -> None:
    assert show_frame(Frame("step", "a.py", 7)) == '  File "a.py", line 7, in step'
    assert show_frame(Frame("step", "a.py", 0)) == '  File "a.py", line ?, in step'


def test_a_rank_without_a_pod_says_so() -> None:
    assert str(tell_absent(None)) == "it has no pod"


def test_ranks_without_a_stack_for_one_reason_share_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    gone, waits = phrase("it has no pod"), phrase("it does not run yet")
    print_stacks(Folded((), (), (("worker-0", gone), ("worker-1", waits), ("worker-2", gone))), "en", whole=False)
    assert capsys.readouterr().err == (
        "no stack of worker-0 and worker-2, of each because: it has no pod\nno stack of worker-1: it does not run yet\n"
    )


@pytest.mark.parametrize(
    ("state", "runs"),
    [({"running": {}}, True), ({"waiting": {"reason": "ContainerCreating"}}, False)],
)
def test_a_pod_that_is_not_ready_is_looked_into_once_its_container_runs(state: dict[str, Any], runs: bool) -> None:
    pod = {
        "metadata": {
            "name": "demo-worker-0", "namespace": "default", "uid": "u",
            "labels": {JOB_LABEL: "demo", ROLE_LABEL: "worker", INDEX_LABEL: "0", ATTEMPT_LABEL: "0"},
        },
        "spec": {"nodeName": "laptop", "containers": [{"name": "main"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "ready": False, "state": state}]},
    }  # fmt: skip
    read = read_pod(pod)
    assert read is not None and read.phase is PodPhase.STARTING
    assert is_running(read, pod) is runs
