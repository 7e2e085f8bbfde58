"""What a decision costs is bounded, whatever a manifest says: no step is a product of two of its numbers.

Two sizes are compared, in steps (`support.steps`) or, where most of the work is done in C, in CPU seconds of this
thread: a square is far beyond the bound, on a slow machine too. Seconds are in docs/benchmarks.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, deleting, failed, observe, succeeded
from paddock.jobs.apis import MOST_PODS
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Job, Observed, Phase, Pod, PodPhase, Rank, RestartScope, Settings, Status
from paddock.jobs.objects.pods import build_pod
from paddock.jobs.plan import plan
from paddock.kube.meta import PODS
from support.steps import count_steps
from support.tiers import keep_light

FEW, MANY = 200, 800
LINEAR = 4.4
"""Times as many steps as for a fourth of the ranks. What is done once makes it less than four, a square sixteen."""


def cpu(call: Callable[[], Any]) -> float:
    """The least of three: the garbage collector may have run in one."""
    spent = []
    for _ in range(3):
        begun = time.thread_time()
        call()
        spent.append(time.thread_time() - begun)
    return min(spent)


def waiting(pod: Pod) -> Pod:
    said = ("Unschedulable", "0/3 nodes are available")
    return replace(pod, phase=PodPhase.PENDING, node="", address="", waiting=said)


JOBS: dict[str, Callable[[int], Job]] = {
    "PaddleJob": lambda ranks: build_job(ps=0, workers=ranks),
    "PS": lambda ranks: build_job(ps=ranks // 2, workers=ranks // 2),
    "PyTorchJob": lambda ranks: build_torch_job(masters=0, workers=ranks),
    "Master": lambda ranks: build_torch_job(masters=1, workers=ranks - 1),
}

STATES: dict[str, tuple[Phase, Callable[[Pod], Pod] | None]] = {
    "first pods": (Phase.NONE, None),
    "all run": (Phase.RUNNING, lambda pod: pod),
    "none placed": (Phase.PENDING, waiting),
    "half placed": (Phase.PENDING, lambda pod: pod if pod.rank.index % 2 else waiting(pod)),
    "all succeeded": (Phase.RUNNING, succeeded()),
    "all aborted": (Phase.RUNNING, failed(134)),
    "all were deleted": (Phase.RUNNING, deleting),
    "completed, cleaning up": (Phase.COMPLETED, lambda pod: replace(failed(143)(pod), deleting=True)),
}


@pytest.mark.parametrize("state", keep_light(STATES, ["first pods", "none placed", "all succeeded"]))
@pytest.mark.parametrize("kind", keep_light(JOBS, ["PaddleJob", "Master"]))
def test_a_plan_is_linear_in_the_ranks(kind: str, state: str) -> None:
    few, many = (count_steps(_planned(JOBS[kind](ranks), state)) for ranks in (FEW, MANY))
    assert many < LINEAR * few


def test_ranks_that_start_again_alone_are_no_square() -> None:
    """Each of them with a delay of its own."""
    few, many = (count_steps(_renewing(ranks)) for ranks in (FEW, MANY))
    assert many < LINEAR * few


def _renewing(ranks: int) -> Callable[[], object]:
    job = replace(build_torch_job(masters=0, workers=ranks), scope=RestartScope.POD)
    alone = [str(rank) for rank in job.ranks()]
    status = build_status(
        job, Phase.RESTARTING, renewals=dict.fromkeys(alone, 1), delays=dict.fromkeys(alone, NOW + 10), renewed=NOW
    )
    return lambda: plan(job, status, Observed(), NOW)


def _planned(job: Job, state: str) -> Callable[[], object]:
    phase, change = STATES[state]
    status = Status() if phase is Phase.NONE else build_status(job, phase)
    seen = Observed() if change is None else observe(job, map(change, build_pods(job)))
    return lambda: plan(job, status, seen, NOW)


def with_variables(count: int) -> list[dict[str, str]]:
    return [{"name": f"E{number}", "value": "v" * 40} for number in range(count)]


def build_manifest(kind: str, ranks: int, variables: int) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "x", "command": ["python", "a.py"], "env": with_variables(variables)}
    template = {"spec": {"containers": [container]}}
    paddle = {"worker": {"replicas": ranks, "template": template}}
    torch = {"pytorchReplicaSpecs": {"Worker": {"replicas": ranks, "template": template}}}
    resource = PADDLEPADDLE.resource if kind == "PaddleJob" else KUBEFLOW_PYTORCH.resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "demo", "namespace": "team", "uid": "u", "generation": 1},
        "spec": paddle if kind == "PaddleJob" else torch,
    }


@pytest.mark.parametrize("kind", [pytest.param("PaddleJob", marks=pytest.mark.slow), "PyTorchJob"])
def test_variables_cost_nothing_until_a_pod_is_sent(kind: str) -> None:
    """A PaddleJob of 6.6 KB, with 10,000 pods and 200 variables, held the loop for two minutes."""
    api = PADDLEPADDLE if kind == "PaddleJob" else KUBEFLOW_PYTORCH
    ranks = MOST_PODS // 10
    none, many = (api.read_job(build_manifest(kind, ranks, variables)) for variables in (0, 2_000))
    seconds = [cpu(lambda job=job: plan(job, Status(), Observed(), NOW)) for job in (none, many)]  # type: ignore[misc]
    assert seconds[1] < 3 * seconds[0], "the plan does not look at them"
    pods = [each for each in plan(many, Status(), Observed(), NOW).actions if each.resource == PODS]
    assert len(pods) == ranks
    few = [each for each in plan(replaced(many, 4), Status(), Observed(), NOW).actions if each.resource == PODS]
    built = [cpu(lambda made=made: made[0].manifest) for made in (few, pods)]  # type: ignore[misc,attr-defined]
    assert built[1] < 4 * built[0], "a pod costs its own variables, however many pods there are"


def replaced(job: Job, ranks: int) -> Job:
    return replace(job, roles=tuple(replace(role, replicas=ranks) for role in job.roles))


def test_the_number_of_a_rank_is_no_scan_of_all_ranks() -> None:
    job = build_torch_job(masters=1, workers=5)
    assert [job.number_of(rank) for rank in job.ranks()] == list(range(6))
    ranks = [entry["value"] for rank in job.ranks() for entry in _read_env(job, rank) if entry["name"] == "RANK"]
    assert ranks == list(map(str, range(6)))


def _read_env(job: Job, rank: Rank) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = build_pod(job, rank, 0, None, Settings())["spec"]["containers"][0]["env"]
    return found


@pytest.mark.parametrize("kind", ["PaddleJob", "PyTorchJob"])
def test_a_pass_reads_the_command_of_the_container_that_trains_once(kind: str) -> None:
    """An operator reads the manifest at each pass: 20 containers of 16 KiB held the loop for four seconds."""
    api = PADDLEPADDLE if kind == "PaddleJob" else KUBEFLOW_PYTORCH
    manifest = build_manifest(kind, 2, 0)
    spec = manifest["spec"]["worker" if kind == "PaddleJob" else "pytorchReplicaSpecs"]
    pod = spec["template" if kind == "PaddleJob" else "Worker"]
    pod = pod["spec"] if kind == "PaddleJob" else pod["template"]["spec"]
    text = f"# etcd elastic max-restarts {kind}\n" + "x a b c d\n" * 1_600
    pod["containers"] = [
        {"name": f"c{each}", "image": "x", "command": ["bash", "-c", text[: 8_000 + each * 400]]} for each in range(20)
    ]
    plain = count_steps(lambda: api.read_job(build_manifest(kind, 2, 0)))
    first, second = (count_steps(lambda: api.read_job(manifest)) for _ in range(2))
    assert first < plain + 1_000_000
    assert second < plain + 30_000
