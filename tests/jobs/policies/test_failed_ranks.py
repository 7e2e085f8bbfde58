"""Ranks that failed although the Master's success completes the job: who, how and when -> exit code and sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    deleting,
    failed,
    gone,
    succeeded,
    with_pod,
    workers_succeeded,
)
from paddock.jobs.causes import CAUSES
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import CauseRecord, CleanPods, Exit, Job, Observed, Phase, Pod, PodPhase, Status
from paddock.jobs.plan import plan
from paddock.jobs.policies.success import plan_success
from paddock.jobs.sentences.explain import explain
from paddock.kube.container_ends import ENDED

End = Callable[[Pod], Pod | None]
JOB = build_torch_job(workers=3)
SHARD = "ValueError: rank 1 could not write its shard"
RAISED = f'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    save()\n{SHARD}\n'
LOST_PEER = "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId: Connection closed by peer"
PEER = f'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    step()\n{LOST_PEER}\n'
BUT = f"completed, but worker-0 failed: {SHARD} (exit code 1)"
WELL = "completed: 3 ranks succeeded"
SILENT = "completed, but worker-0 ended with exit code 1; its log has the reason"


def ended(end: End, **changes: Any) -> End:
    def change(pod: Pod) -> Pod | None:
        found = end(pod)
        return replace(found, **changes) if found is not None else None

    return change


def build_ends(job: Job = JOB, **ends: End) -> tuple[Pod, ...]:
    """The Master has ended well 3 s ago and the workers, but for those in `ends`, 5 s ago."""
    pods = with_pod(workers_succeeded(build_pods(job), ago=5), "master-0", succeeded(3))
    for rank, end in ends.items():
        pods = with_pod(pods, rank.replace("_", "-"), end)
    return pods


def judge(pods: tuple[Pod, ...], job: Job = JOB) -> CauseRecord:
    """The recorded cause of the completion, as it is read from the API."""
    verdict = plan_success(job, pods, ())
    assert verdict is not None
    assert verdict.phase is Phase.COMPLETED
    record = verdict.cause.record(NOW)
    return replace(record, args=json.loads(json.dumps(record.args)))


def pending(*waiting: str) -> End:
    """`waiting`: reason and message of scheduler or kubelet, as far as there are any."""
    why = (waiting[0], "".join(waiting[1:])) if waiting else None
    return lambda pod: replace(pod, phase=PodPhase.PENDING, exit=None, started=None, waiting=why)


ROWS: list[tuple[str, End, int, str]] = [
    ("raised before the success", failed(1, 6, message=RAISED), 1, BUT),
    ("raised in the same second", failed(1, 3, message=RAISED), 1, BUT),
    ("raised after it", failed(1, 1, message=RAISED), 1, BUT),
    ("raised, nobody knows when", ended(failed(1, message=RAISED), exit=Exit(1, "", RAISED)), 1, BUT),
    ("ended without a traceback", failed(3, 4, message="no room for the shard\n"), 1,
     "completed, but worker-0 ended with exit code 3, its last line: no room for the shard"),
    ("ended without a word", failed(1, 4), 1, SILENT),
    ("ran out of memory", failed(137, 4, "OOMKilled"), 1,
     "completed, but worker-0 ran out of memory and was killed (exit code 137); raise its memory limit or lower the "
     "batch size"),
    ("reached its limit", failed(137, 4, "OOMKilled", "used 2.0 GiB of its limit of 2.0 GiB"), 1,
     "completed, but worker-0 ran out of memory and was killed (exit code 137): it used 2.0 GiB of its limit of 2.0 "
     "GiB; raise its memory limit or lower the batch size"),
    ("ended for a process that was killed", failed(1, 4, "OOMKilled", "what a program has told of itself"), 1,
     "completed, but worker-0 ran out of memory, a process of it was killed, and it ended with exit code 1; raise its "
     "memory limit or lower the batch size"),
    ("had too many processes",
     failed(137, 4, "TooManyProcesses", "had 5000 processes, and a container may have 4096"), 1,
     "completed, but worker-0 had 5000 processes, more than the 4096 that a container may have here, and was ended "
     "(exit code 137); let the program start fewer, as by fewer workers of a DataLoader"),
    ("killed by the machine", failed(137, 4), 1,
     "completed, but worker-0 was killed by signal 9 (exit code 137); signal 9 is often the machine's memory"),
    ("evicted", failed(137, 4, "Evicted", "The node was low on resource: ephemeral-storage."), 1,
     "completed, but worker-0 was evicted by its node: The node was low on resource: ephemeral-storage; use less of "
     "it, or request as much as is used"),
    ("preempted", failed(137, 4, "Preempting"), 1,
     "completed, but worker-0 was preempted by another pod (Preempting)"),
    ("went with its node", failed(-1, 4, "NodeLost"), 1, "completed, but worker-0 went with the node (NodeLost)"),
    ("without an exit code", ended(lambda pod: pod, phase=PodPhase.FAILED, exit=None), 1,
     "completed, but worker-0 failed without an exit code; its log has the reason"),
    ("aborted before any peer had ended", failed(134, 6), 1,
     "completed, but worker-0 was killed by signal 6 (exit code 134)"),
    ("crashed in its own code", failed(139, 4), 1, "completed, but worker-0 was killed by signal 11 (exit code 139)"),
    ("aborted by an error of its own", failed(134, 3, message=RAISED), 1,
     "completed, but worker-0 was killed by signal 6 (exit code 134)"),
    # Echoes of another's end.
    ("lost its peer", failed(1, 4, message=PEER), 0, f"{WELL}; worker-0 failed as others had ended"),
    ("aborted as a peer had ended", failed(134, 4), 0, f"{WELL}; worker-0 failed as others had ended"),
    ("aborted in the second of a peer's end", failed(134, 5), 0, f"{WELL}; worker-0 failed as others had ended"),
    ("was ended because of a probe", failed(143, 4, message=f"{ENDED}livenessProbe failed 3 times in a row: EOF"), 1,
     "completed, but worker-0 was ended, as its livenessProbe failed 3 times in a row: EOF (exit code 143)"),
    ("got SIGTERM", failed(143, 2), 0, f"{WELL}; worker-0 failed as others had ended"),
    # Paddock, or somebody else, ended it.
    ("raised, and is being deleted", ended(failed(1, 4, message=RAISED), deleting=True), 0, WELL),
    ("got SIGTERM, and is being deleted", ended(failed(143, 2), deleting=True), 0, WELL),
    ("is gone", gone, 0, WELL),
    ("ended well", succeeded(6), 0, "completed: 4 ranks succeeded"),
    # It never began.
    ("waits for its kubelet", pending("CreateContainerError", "mountPath /x: taken"), 1,
     "completed, but worker-0 never started: mountPath /x: taken"),
    ("waits, and nobody says for what", pending("ContainerCreating"), 1,
     "completed, but worker-0 never started: ContainerCreating"),
    ("waits, and nothing is known", pending(), 1, "completed, but worker-0 never started"),
    ("never began, and is being deleted", ended(pending(), deleting=True), 0, WELL),
]  # fmt: skip


@pytest.mark.parametrize(("end", "code", "sentence"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_rank_that_failed_counts_for_the_exit_code_unless_it_only_followed(
    end: End, code: int, sentence: str
) -> None:
    cause = judge(build_ends(worker_0=end))
    assert (read_exit_code("Completed", cause), explain(cause)) == (code, sentence)


def test_a_failure_clearly_before_the_success_fails_the_job_as_ever() -> None:
    assert plan_success(JOB, build_ends(worker_0=failed(1, 13, message=RAISED)), ()) is None


def test_the_likeliest_root_cause_is_told_and_the_others_are_named() -> None:
    cause = judge(build_ends(worker_0=failed(134, 4), worker_1=failed(1, 6, message=RAISED), worker_2=failed(3, 4)))
    # The abort follows from the exception before it.
    assert cause.args["failed"] == ["worker-1", "worker-2"]
    assert explain(cause) == (
        f"completed, but worker-1 failed: {SHARD} (exit code 1); worker-2 failed too; "
        "worker-0 failed as others had ended"
    )


def test_many_that_failed_are_counted_and_five_are_named() -> None:
    job = build_torch_job(workers=200)
    pods = with_pod(tuple(map(failed(1, 5), build_pods(job))), "master-0", succeeded(3))
    cause = judge(pods, job)
    assert cause.args["failed"] == ["worker-0", "worker-1", "worker-2", "worker-3", "worker-4"]
    said = "completed, but worker-0 ended with exit code 1; its log has the reason; 199 other ranks failed too"
    assert explain(cause) == said


def test_ranks_that_never_began_are_told_beside_one_that_failed() -> None:
    job = build_torch_job(workers=9)
    pods = with_pod(tuple(map(pending("Unschedulable", "no room"), build_pods(job))), "master-0", succeeded(3))
    cause = judge(with_pod(pods, "worker-8", failed(3, 4)), job)
    assert explain(cause) == (
        "completed, but worker-8 ended with exit code 3; its log has the reason; worker-0, worker-1, worker-2 and "
        "5 other ranks never started: no room"
    )


def test_a_server_beside_the_workers_counts() -> None:
    job = build_job(ps=2, clean_pods=CleanPods.NEVER)
    cause = judge(with_pod(workers_succeeded(build_pods(job), ago=5), "ps-1", failed(1, ago=5)), job)
    assert read_exit_code("Completed", cause) == 1
    assert explain(cause) == (
        "completed, but ps-1 ended with exit code 1; its log has the reason; cleanPodPolicy Never keeps ps-0, which "
        "still runs; delete the job to end it"
    )


ENDING = build_torch_job(clean_pods=CleanPods.RUNNING)


def look(status: Status, pods: tuple[Pod, ...], later: float) -> Status:
    return plan(ENDING, status, Observed(pods=pods, services=build_services(ENDING)), NOW + later).status


@pytest.mark.parametrize("master", [lambda pod: pod, gone], ids=["there", "gone"])
@pytest.mark.parametrize(
    ("last", "still"),
    [(succeeded(-4), ""), (lambda pod: pod, "; worker-1 still ran 30 s later, and was ended")],
    ids=["in time", "too late"],
)
def test_a_worker_that_fails_while_others_have_time_to_end_counts(master: End, last: End, still: str) -> None:
    done = with_pod(build_pods(ENDING), "master-0", succeeded(0))
    waiting = look(build_status(ENDING), done, 0)
    assert waiting.phase is Phase.RUNNING
    pods = with_pod(with_pod(done, "worker-0", failed(1, -3, message=RAISED)), "worker-1", last)
    found = look(waiting, with_pod(pods, "master-0", master), 31)
    assert found.phase is Phase.COMPLETED
    assert found.cause is not None
    assert read_exit_code(found.phase, found.cause) == 1
    assert explain(found.cause) == f"{BUT}{still}"


ELASTIC = build_torch_job(masters=0, workers=3, one_decides=True)


def test_a_rank_that_came_after_the_group_had_ended_does_not_count() -> None:
    pods = with_pod(with_pod(build_pods(ELASTIC), "worker-0", succeeded(6)), "worker-1", succeeded(5))
    late = with_pod(pods, "worker-2", ended(failed(1, 1, message=RAISED), started=NOW - 4))
    assert read_exit_code("Completed", judge(late, ELASTIC)) == 0
    assert explain(judge(with_pod(pods, "worker-2", pending()), ELASTIC)) == "completed: 2 ranks succeeded"
    beside = with_pod(pods, "worker-2", failed(1, 1, message=RAISED))
    assert read_exit_code("Completed", judge(beside, ELASTIC)) == 1


OLDER = [
    ({"succeeded": 2}, 0, "completed: 2 ranks succeeded"),
    ({"succeeded": 2, "failed": ["worker-1"], "code": 3}, 1,
     "completed, but worker-1 ended with exit code 3; its log has the reason"),
    ({"succeeded": 2, "failed": ["worker-1", "worker-2"]}, 1,
     "completed, but worker-1 and worker-2 failed; their logs have the reason"),
    ({"succeeded": 2, "failed": ["ps-1"], "code": 1, "server_failed": True}, 1,
     "completed, but ps-1 ended with exit code 1; its log has the reason"),
    ({"failed": "worker-1", "more": "x", "echoes": 3}, 1, "completed: ? ranks succeeded"),  # nobody's
]  # fmt: skip


@pytest.mark.parametrize(("args", "code", "sentence"), OLDER)
def test_a_cause_that_an_older_operator_recorded_is_read(args: dict[str, object], code: int, sentence: str) -> None:
    cause = CauseRecord("Completed", args, NOW)
    assert (read_exit_code("Completed", cause), explain(cause)) == (code, sentence)


def test_a_recorded_end_names_ranks_under_no_other_reason() -> None:
    """`failed` is read without the reason: what waits for the end asks only whether a rank failed."""
    having = {name for name, cause in CAUSES.items() if "failed" in cause.__dataclass_fields__}
    assert having == {name for name in CAUSES if name.startswith("Completed")}


def test_a_pod_that_is_being_deleted_after_it_ended_well_is_no_failure() -> None:
    assert read_exit_code("Completed", judge(build_ends(worker_0=lambda pod: deleting(succeeded(4)(pod))))) == 0
