"""The status of a PodGroup, in both APIs."""

from __future__ import annotations

import pytest

from node.cluster_objects import group, pod
from paddock.node.scheduler.pod_groups import build_status, find_group, read_group
from paddock.node.scheduler.pod_request import read_request

BOUND = {"node": "laptop"}
RUNNING = {"node": "laptop", "phase": "Running"}
DONE = {"node": "laptop", "phase": "Succeeded"}
DEAD = {"node": "laptop", "phase": "Failed"}

ROWS = [
    ("no pods yet", [], "Pending", "Inqueue", (0, 0, 0, 0)),
    ("too few pods", [{}], "Pending", "Inqueue", (0, 0, 0, 0)),
    ("all pods there", [{}, {}], "Scheduling", "Inqueue", (0, 0, 0, 0)),
    ("bound, starting", [BOUND, BOUND], "Scheduling", "Running", (2, 0, 0, 0)),
    ("running", [RUNNING, RUNNING], "Running", "Running", (2, 2, 0, 0)),
    ("one done", [RUNNING, DONE], "Running", "Running", (1, 1, 1, 0)),
    ("all done", [DONE, DONE], "Finished", "Running", (0, 0, 2, 0)),
    ("one failed", [RUNNING, DEAD], "Failed", "Inqueue", (1, 1, 0, 1)),
    ("a pod on its way out does not count", [RUNNING, {**RUNNING, "deleting": True}], "Pending", "Inqueue",
     (1, 1, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "phase", "volcano_phase", "counts"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_status(pods: list[dict], phase: str, volcano_phase: str, counts: tuple[int, ...]) -> None:
    members = [read_request(pod(f"w{index}", **state)) for index, state in enumerate(pods)]
    scheduled, running, succeeded, failed = counts
    numbers = {"running": running, "succeeded": succeeded, "failed": failed}
    assert build_status(read_group(group()), members) == {"phase": phase, "scheduled": scheduled, **numbers}
    assert build_status(read_group(group(volcano=True)), members) == {"phase": volcano_phase, **numbers}


def test_a_finished_group_stays_finished_when_its_pods_are_cleaned_up() -> None:
    end = {"phase": "Finished", "succeeded": 2}
    assert build_status(read_group({**group(), "status": end}), []) == end


def test_fields_of_others_stay() -> None:
    taken = {**group(), "status": {"occupiedBy": "default/x"}}
    assert build_status(read_group(taken), [])["occupiedBy"] == "default/x"


@pytest.mark.parametrize(("spec", "minimum"), [({"minMember": 4}, 4), ({"minMember": 0}, 1), ({}, 1)])
def test_a_group_asks_for_one_pod_at_least(spec: dict, minimum: int) -> None:
    assert read_group({"metadata": {"name": "g"}, "spec": spec}).minimum == minimum


@pytest.mark.parametrize(
    ("ours", "volcano", "minimum", "api"),
    [
        (4, None, 4, "scheduling.x-k8s.io"),
        (None, 4, 4, "scheduling.volcano.sh"),
        (4, 4, 4, "scheduling.x-k8s.io"),
        (4, 6, 6, "scheduling.volcano.sh"),
        (4, 2, 4, "scheduling.x-k8s.io"),
    ],
)
def test_of_two_groups_of_one_name_the_stricter_holds(
    ours: int | None, volcano: int | None, minimum: int, api: str
) -> None:
    made = [group("job", ours)] if ours else []
    made += [group("job", volcano, volcano=True)] if volcano else []
    found = find_group(read_request(pod(gang="job")), {it.key: it for it in map(read_group, made)})
    assert found is not None
    assert (found.minimum, found.key[0]) == (minimum, api)
