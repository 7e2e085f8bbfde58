"""The end of a job of 10,000 ranks costs about ten times what that of 1,000 costs, however they ended.

Measured: 0.3 to 0.7 s of CPU time. Before, each rank was looked for among all others, and 10,000 that aborted took
minutes. A ratio is the same on a busy machine, where each second of CPU time does less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, failed, observe, succeeded, with_pod
from paddock.jobs.model import CauseRecord, Job, Pod, RestartScope
from paddock.jobs.plan import plan

MANY = 10_000
LOG = (
    "Traceback (most recent call last):\n" + '  File "train.py", line 3, in <module>\n' * 30 + "ValueError: bad shard\n"
)
JOBS: dict[str, Callable[[int], Job]] = {
    "paddle": lambda many: build_job(workers=many),
    "torch": lambda many: build_torch_job(workers=many - 1),
    "alone": lambda many: build_torch_job(masters=0, workers=many, scope=RestartScope.POD),
    "servers": lambda many: build_job(ps=many // 2, workers=many // 2),
}
ENDS: dict[str, Callable[[Pod], Pod]] = {
    "succeeded": succeeded(),
    "aborted": failed(134, message=LOG),
    "at other times": lambda pod: failed(137, ago=pod.rank.index % 9)(pod),
}


def judge(job: Job, pods: Iterable[Pod]) -> tuple[float, CauseRecord]:
    """The CPU seconds of the plan, and its cause."""
    observed, status = observe(job, pods), build_status(job)
    begun = time.thread_time()
    found = plan(job, status, observed, NOW)
    spent = time.thread_time() - begun
    assert found.status.cause is not None
    return spent, found.status.cause


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("build", JOBS.values(), ids=JOBS)
def test_ten_times_the_ranks_cost_about_ten_times_as_much(
    build: Callable[[int], Job], end: Callable[[Pod], Pod]
) -> None:
    few, many = build(MANY // 10), build(MANY)
    of_few = min(judge(few, map(end, build_pods(few)))[0] for _ in range(3))
    of_many = min(judge(many, map(end, build_pods(many)))[0] for _ in range(2))
    assert of_many < 40 * of_few, "a hundred times as much is what it costs where each looks at all others"


def test_ten_thousand_that_failed_beside_a_master_are_told() -> None:
    job = JOBS["torch"](MANY)
    _, cause = judge(job, with_pod(map(failed(1, message=LOG), build_pods(job)), "master-0", succeeded()))
    assert cause.args["more"] == MANY - 1 - 5
