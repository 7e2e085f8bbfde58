"""What `paddock stacks` prints of real stacks, and what its document has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddock.cli.output.stacks import build_document, build_lines, show_frame
from paddock.cli.verbs.stacks import explain_cluster, tell_absent
from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks
from paddock.logs.stack_dumps import read_py_spy
from paddock.logs.stacks import Folded, fold

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


def test_on_a_kubernetes_the_reason_and_another_command_are_told() -> None:
    said = str(explain_cluster("demo", " -n team --context prod"))
    assert said.endswith("`paddock doctor demo -n team --context prod` says what the logs tell")
    assert str(tell_absent(None)) == "it has no pod"
