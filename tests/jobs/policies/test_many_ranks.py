"""The end of a job of four times the ranks costs four times as much, however they ended.

Counted in steps, so the bound is narrow. 10,000 ranks take 0.3 to 0.7 s of CPU time; before, each rank was looked for
among all others, and 10,000 that aborted took minutes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, failed, observe, succeeded, with_pod
from paddock.jobs.model import Job, Pod, RestartScope
from paddock.jobs.plan import plan
from support.steps import count_steps
from support.tiers import keep_light

FEW, MANY = 250, 1_000
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


@pytest.mark.parametrize("end", keep_light(ENDS, ["aborted"]))
@pytest.mark.parametrize("build", JOBS.values(), ids=JOBS)
def test_four_times_the_ranks_cost_four_times_as_much(build: Callable[[int], Job], end: str) -> None:
    of_few, of_many = (_count(build(ranks), ENDS[end]) for ranks in (FEW, MANY))
    assert of_many < 4.4 * of_few, "sixteen times as much is what it costs where each looks at all others"


def _count(job: Job, end: Callable[[Pod], Pod]) -> int:
    status, seen = build_status(job), observe(job, map(end, build_pods(job)))
    return count_steps(lambda: plan(job, status, seen, NOW))


@pytest.mark.slow
def test_ten_thousand_that_failed_beside_a_master_are_told() -> None:
    job = JOBS["torch"](10_000)
    pods = with_pod(map(failed(1, message=LOG), build_pods(job)), "master-0", succeeded())
    cause = plan(job, build_status(job), observe(job, pods), NOW).status.cause
    assert cause is not None and cause.args["more"] == 10_000 - 1 - 5
