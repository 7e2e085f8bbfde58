"""Which rank failed first: each row has the observed pods and the root cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.gangs import build_job, build_pods, deleting, failed, succeeded, with_pod
from paddock.jobs.model import Rank, Status
from paddock.jobs.policies.restart import Losses, plan_restart
from paddock.jobs.policies.root_cause import Kind, find_root_cause, read_deaths
from paddock.jobs.policies.success import early_servers

JOB = build_job(ps=1, workers=3)

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'

WAITED = "Socket Timeout: timed out waiting for the peers"
KEY = f"{TRACEBACK}KeyError: 1"


def _torchrun(name: str) -> str:
    """The end of a log of torchrun, as the kubelet reports it."""
    return (Path(__file__).parents[2] / "logs" / f"torchrun_{name}.log").read_text(encoding="utf-8")[-2048:]


ROWS = [
    ("nobody", {}, []),
    ("the only one", {"worker-1": failed(1)}, ["worker-1"]),
    ("the earliest", {"worker-0": failed(1, ago=5), "worker-2": failed(1, ago=9)}, ["worker-2"]),
    ("both on a tie", {"worker-2": failed(1), "worker-0": failed(3)}, ["worker-0", "worker-2"]),
    (
        "a tie is within one second",
        {"worker-2": failed(1, ago=5.0), "worker-0": failed(3, ago=4.4)},
        ["worker-0", "worker-2"],
    ),
    (
        "memory before an earlier error",
        {"worker-0": failed(1, 9), "worker-1": failed(137, 5, "OOMKilled")},
        ["worker-1"],
    ),
    ("a kill before an earlier error", {"worker-0": failed(1, 9), "worker-1": failed(137, 5)}, ["worker-1"]),
    ("an error before a later crash", {"worker-0": failed(139, 5), "worker-1": failed(3, 9)}, ["worker-1"]),
    ("a crash before a later error", {"worker-0": failed(1, 5), "worker-1": failed(139, 9)}, ["worker-1"]),
    ("a crash in the same second as an error", {"worker-0": failed(1), "worker-1": failed(134)}, ["worker-1"]),
    (
        "an own exit code before a crash in the same second",
        {"worker-0": failed(139), "worker-1": failed(3)},
        ["worker-1"],
    ),
    ("the first of two crashes", {"worker-0": failed(139, 5), "worker-1": failed(139, 9)}, ["worker-1"]),
    ("a crash before its peers' abort", {"worker-0": failed(250, 9), "worker-1": failed(139, 5)}, ["worker-1"]),
    ("an error before an earlier echo", {"worker-0": failed(250, 9), "worker-1": failed(3, 5)}, ["worker-1"]),
    (
        "a killed trainer before its peers' abort",
        {"worker-0": failed(250, 9), "worker-1": failed(247, 5)},
        ["worker-1"],
    ),
    ("unless it was killed after an error", {"worker-0": failed(3, 9), "worker-1": failed(247, 5)}, ["worker-0"]),
    ("a sent SIGTERM is an echo", {"worker-0": failed(143, 9), "worker-1": failed(1, 5)}, ["worker-1"]),
    ("so is Paddle's 15", {"worker-0": failed(15, 9), "worker-1": failed(1, 5)}, ["worker-1"]),
    (
        "and torch's lost peer",
        {"worker-0": failed(1, 9, "", "Connection closed by peer"), "worker-1": failed(1)},
        ["worker-1"],
    ),
    (
        "the log of a lost peer",
        {
            "worker-0": failed(1, 9, "Error", f"{TRACEBACK}RuntimeError: Connection closed by peer"),
            "worker-1": failed(1),
        },
        ["worker-1"],
    ),
    (
        "a log with an error of its own is no echo of what it caught before",
        {
            "worker-0": failed(1, 9, "Error", f"lost: Connection closed by peer\n{TRACEBACK}KeyError: 1"),
            "worker-1": failed(1),
        },
        ["worker-0"],
    ),
    *(
        (
            f"{error} is the program's own, before a peer that waited for it",
            {
                "worker-0": failed(1, 9, "Error", f"{TRACEBACK}{error}"),
                "worker-1": failed(1, 5, "Error", f"{TRACEBACK}RuntimeError: {WAITED}"),
            },
            ["worker-0"],
        )
        for error in ("EOFError: Ran out of input", "BrokenPipeError: [Errno 32] Broken pipe")
    ),
    *(
        (
            f"{error} follows from a peer",
            {"worker-0": failed(1, 9, "Error", f"{TRACEBACK}{error}"), "worker-1": failed(1, 5, "Error", KEY)},
            ["worker-1"],
        )
        for error in (
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "RuntimeError: Connection closed by peer [10.0.0.1]:4",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
            "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
            "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address",
            "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.",
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has",
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 2502 got signal: 15",
            "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
        )
    ),
    (
        "a port that is taken is an error of its own",
        {
            "worker-0": failed(1, 9, "Error", f"{TRACEBACK}torch.distributed.DistNetworkError: The server socket has"),
            "worker-1": failed(1, 5, "Error", f"{TRACEBACK}RuntimeError: Connection closed by peer [10.0.0.1]:4"),
        },
        ["worker-0"],
    ),
    *(
        (
            f"under torchrun the rank that ended by itself is the cause: {how}",
            {"worker-0": failed(1, 5, "Error", _torchrun("two_raise_0")), "worker-1": failed(1, 9, "Error", said)},
            ["worker-1"],
        )
        for how, said in ((name, _torchrun(name)) for name in ("two_raise_1", "two_exit_1", "single_kill"))
    ),
    ("an echo alone is the cause", {"worker-0": failed(250)}, ["worker-0"]),
    (
        "lost before all",
        {"worker-0": failed(137, 9, "OOMKilled"), "worker-1": failed(137, 5, "Preempting")},
        ["worker-1"],
    ),
    (
        "memory before an eviction",
        {"worker-0": failed(137, 5, "OOMKilled"), "worker-1": failed(137, 9, "Evicted")},
        ["worker-0"],
    ),
    (
        "an eviction before an earlier signal",
        {"worker-0": failed(139, 9), "worker-1": failed(-1, 5, "Evicted")},
        ["worker-1"],
    ),
    (
        "an eviction that is cleared away, before a signal",
        {"worker-0": failed(139, 9), "worker-1": lambda pod: deleting(failed(-1, 5, "Evicted")(pod))},
        ["worker-1"],
    ),
    ("deleted before all", {"worker-0": failed(250, 9), "worker-1": deleting}, ["worker-1"]),
    ("a server that ended with 0", {"ps-0": succeeded(9), "worker-0": failed(1, 5)}, ["ps-0"]),
]


@pytest.mark.parametrize(("changes", "named"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_root_cause_is(changes: dict, named: list[str]) -> None:
    pods = build_pods(JOB)
    for rank, change in changes.items():
        pods = with_pod(pods, rank, change)
    deaths = read_deaths(JOB, pods, early_servers(JOB, pods), (), whole=True)
    assert [str(death.rank) for death in find_root_cause(deaths)] == named


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        ("StartError", 'exec: "trian":\n not found', 'exec: "trian": not found'),
        ("ContainerCannotRun", "x" * 400, "x" * 300 + "…"),
        ("StartError", "", None),
        ("Error", "the last line of its log", None),
    ],
)
def test_a_program_that_was_not_started_has_no_log_so_its_message_is_kept(reason: str, message: str, told: str) -> None:
    pods = with_pod(build_pods(JOB), "worker-1", failed(127, 5, reason, message))
    (death,) = find_root_cause(read_deaths(JOB, pods, (), (), whole=True))
    assert death.message == told
    verdict = plan_restart(JOB, Status(), [death], Losses(0, 100))
    assert verdict is not None and verdict.cause.args().get("message") == told


LOG = f"epoch 1\n{TRACEBACK}ValueError: shapes do not match\nsecond line\n"


@pytest.mark.parametrize(
    ("end", "error", "last"),
    [
        (failed(1, 5, "Error", LOG), "ValueError: shapes do not match", None),
        (failed(1, 5, "Error", "epoch 1\ncannot read data.csv\n"), None, "cannot read data.csv"),
        (failed(250, 5, "Error", f"{TRACEBACK}RuntimeError: Connection closed by peer"),
         "RuntimeError: Connection closed by peer", None),
        (failed(137, 5, "OOMKilled", LOG), None, None),
        (failed(137, 5, "Error", LOG), None, None),
        (failed(139, 5, "Error", LOG), None, None),
        (failed(127, 5, "StartError", "exec: not found"), None, None),
        (failed(1, 5, "Evicted", "The node was low on resource: memory."), None, None),
        (failed(1, 5), None, None),
    ],
)  # fmt: skip
def test_the_error_in_the_log_of_a_failed_rank_stands_in_the_cause(
    end: dict[str, Any], error: str | None, last: str | None
) -> None:
    deaths = read_deaths(JOB, with_pod(build_pods(JOB), "worker-1", end), (), (), whole=True)
    verdict = plan_restart(JOB, Status(), deaths, Losses(0, 100))
    assert verdict is not None
    args = verdict.cause.args()
    assert (args.get("error"), args.get("last")) == (error, last)


def test_the_error_is_that_of_the_first_named_rank_and_not_long() -> None:
    ends = {
        "worker-0": failed(1, 5, "Error", LOG.replace("shapes", "x" * 5_000)),
        "worker-1": failed(1, 5, "Error", LOG),
    }
    pods = build_pods(JOB)
    for rank, end in ends.items():
        pods = with_pod(pods, rank, end)
    verdict = plan_restart(JOB, Status(), read_deaths(JOB, pods, (), (), whole=True), Losses(0, 100))
    assert verdict is not None and verdict.cause.args()["ranks"] == ["worker-0", "worker-1"]
    assert len(verdict.cause.args()["error"]) <= 300 and "xxx" in verdict.cause.args()["error"]


def test_a_missing_rank_is_a_deleted_one() -> None:
    (death,) = find_root_cause(read_deaths(JOB, (), (), (Rank("worker", 0),), whole=True))
    assert death.why == "Deleted"


def test_an_evicted_rank_that_somebody_clears_away_was_evicted_all_the_same() -> None:
    """Its eviction counts as a restart. Whoever deletes the pod before the verdict makes it no loss, which is free."""
    cleared = with_pod(build_pods(JOB), "worker-1", lambda pod: deleting(failed(137, 0, "Evicted")(pod)))
    (death,) = find_root_cause(read_deaths(JOB, cleared, (), (), whole=True))
    assert (str(death.rank), death.kind) == ("worker-1", Kind.EVICTED)


def test_a_pod_that_goes_before_the_gang_was_whole_is_not_missed() -> None:
    pods = with_pod(build_pods(JOB), "worker-1", deleting)
    assert read_deaths(JOB, pods, (), (), whole=False) == ()
