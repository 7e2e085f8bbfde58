"""The plan of one pod, as tables: no processes, no clock, no API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster import pod, shell
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time
from paddock.node.kubelet.pod_plan import PodPlan, Start, plan_backoff, plan_pod
from paddock.node.kubelet.pod_status import build_status_patch
from paddock.node.runtime.pod_state import LOST, Ending, Obstacle, PodState, Run

NOW = 1_800_000_000.0
STATE = PodState("u", "default", "p", "127.64.0.1", NOW - 10)


def running(name: str = "main", number: int = 0) -> Run:
    return Run(name, number, NOW - 5, pid=1)


def ended(code: int = 0, name: str = "main", number: int = 0, ago: float = 1, reason: str = "") -> Run:
    return Run(name, number, NOW - 5, pid=1, finished=NOW - ago, exit_code=code, reason=reason)


def state(*runs: Run, **changes: Any) -> PodState:
    return replace(STATE, runs={run.container: run for run in runs}, **changes)


def deleted(manifest: Manifest, grace: int = 30) -> Manifest:
    meta = {"deletionTimestamp": format_time(NOW + grace), "deletionGracePeriodSeconds": grace}
    return {**manifest, "metadata": {**manifest["metadata"], **meta}}


def digest(plan: PodPlan) -> tuple[Any, ...]:
    return plan.status.get("phase"), plan.start, plan.term, plan.kill, plan.remove


ONE = pod(shell("true"))
TWO = pod(shell("true", name="a"), shell("true", name="b"))
INIT = pod(shell("true"), initContainers=[shell("true", name="i"), shell("true", name="j")])
ALWAYS = pod(shell("true"), policy="Always")
ON_FAILURE = pod(shell("true"), policy="OnFailure")
SAID_RUNNING = {
    **ONE,
    "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]},
}
STOPPING = Ending(LOST, "stopped", NOW - 3, grace=5)


@pytest.mark.parametrize(
    ("manifest", "known", "expected"),
    [
        pytest.param(ONE, state(), ("Pending", (Start("main", 0),), (), (), False), id="a new pod starts"),
        pytest.param(TWO, state(), ("Pending", (Start("a", 0), Start("b", 0)), (), (), False), id="all together"),
        pytest.param(ONE, state(running()), ("Running", (), (), (), False), id="a running pod is left alone"),
        pytest.param(ONE, state(ended()), ("Succeeded", (), (), (), False), id="exit 0 is success"),
        pytest.param(ONE, state(ended(3)), ("Failed", (), (), (), False), id="anything else is not"),
        pytest.param(
            TWO, state(ended(1, "a"), running("b")), ("Running", (), (), (), False), id="while another runs, it runs"
        ),
        pytest.param(INIT, state(), ("Pending", (Start("i", 0),), (), (), False), id="the first init container"),
        pytest.param(INIT, state(running("i")), ("Pending", (), (), (), False), id="one at a time"),
        pytest.param(INIT, state(ended(0, "i")), ("Pending", (Start("j", 0),), (), (), False), id="then the second"),
        pytest.param(
            INIT,
            state(ended(0, "i"), ended(0, "j")),
            ("Pending", (Start("main", 0),), (), (), False),
            id="then the containers",
        ),
        pytest.param(INIT, state(ended(1, "i")), ("Failed", (), (), (), False), id="a failed one fails the pod"),
        pytest.param(ALWAYS, state(ended()), ("Running", (Start("main", 1),), (), (), False), id="Always restarts"),
        pytest.param(ON_FAILURE, state(ended(1)), ("Running", (Start("main", 1),), (), (), False), id="OnFailure too"),
        pytest.param(ON_FAILURE, state(ended()), ("Succeeded", (), (), (), False), id="OnFailure ends with success"),
        pytest.param(ALWAYS, state(ended(1, number=1)), ("Running", (), (), (), False), id="the second time it waits"),
        pytest.param(
            ALWAYS,
            state(ended(1, number=1, ago=10)),
            ("Running", (Start("main", 2),), (), (), False),
            id="for ten seconds",
        ),
        pytest.param(deleted(ONE), state(), (None, (), (), (), True), id="deleted before it started"),
        pytest.param(deleted(ONE), state(running()), ("Running", (), ("main",), (), False), id="deleted: SIGTERM"),
        pytest.param(deleted(ONE, 0), state(running()), ("Running", (), (), ("main",), False), id="without grace"),
        pytest.param(deleted(ONE), state(ended(143)), ("Failed", (), (), (), True), id="and goes when all has ended"),
        pytest.param(deleted(ALWAYS), state(ended()), ("Succeeded", (), (), (), True), id="nothing restarts then"),
        pytest.param(ONE, state(ended(137, reason=LOST)), ("Failed", (), (), (), False), id="lost"),
        pytest.param(ALWAYS, state(ended(137, reason=LOST)), ("Failed", (), (), (), False), id="lost under Always"),
        pytest.param(SAID_RUNNING, state(), ("Failed", (), (), (), False), id="lost with its record"),
        pytest.param(
            ONE, state(running(), ending=STOPPING), ("Running", (), ("main",), (), False), id="the cluster stops"
        ),
        pytest.param(
            ONE,
            state(running(), ending=replace(STOPPING, since=NOW - 5)),
            ("Running", (), (), ("main",), False),
            id="and has no more patience",
        ),
        pytest.param(ONE, state(ended(0), ending=STOPPING), ("Failed", (), (), (), False), id="that is no success"),
    ],
)
def test_the_plan_of_a_pod(manifest: Manifest, known: PodState, expected: tuple[Any, ...]) -> None:
    assert digest(plan_pod(manifest, known, {}, NOW)) == expected


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_never_touched_again(phase: str) -> None:
    status = {"phase": phase, "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 5}}}]}
    plan = plan_pod({**ALWAYS, "status": status}, state(), {}, NOW)
    assert (plan.status, plan.start, plan.remove) == (status, (), False)


def test_an_obstacle_is_shown_and_delays_no_other_container() -> None:
    plan = plan_pod(TWO, state(), {"a": Obstacle("CreateContainerConfigError", 'configmap "x" not found')}, NOW)
    shown = plan.status["containerStatuses"][0]["state"]["waiting"]
    assert shown == {"reason": "CreateContainerConfigError", "message": 'configmap "x" not found'}
    assert plan.start == (Start("b", 0),)


def test_a_pod_wakes_at_its_deadline_and_ends() -> None:
    manifest = {**ONE, "spec": {**ONE["spec"], "activeDeadlineSeconds": 20, "terminationGracePeriodSeconds": 2}}
    plan = plan_pod(manifest, state(running()), {}, NOW)
    assert (plan.wake, plan.term) == (NOW + 10, ())
    plan = plan_pod(manifest, state(running()), {}, NOW + 10)
    assert (plan.wake, plan.term) == (NOW + 12, ("main",))
    assert plan.ending is not None
    plan = plan_pod(manifest, state(ended(143), ending=plan.ending), {}, NOW + 11)
    assert (plan.status["phase"], plan.status["reason"]) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(
    ("number", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (60, 300)]
)
def test_back_off_doubles_to_five_minutes(number: int, seconds: float) -> None:
    assert plan_backoff(ended(1, number=number)) == seconds


def test_a_container_that_ran_for_long_starts_over_at_once() -> None:
    assert plan_backoff(Run("main", 7, NOW - 601, finished=NOW, exit_code=1)) == 0


def test_a_clock_that_is_set_back_gives_no_container_an_hour_more() -> None:
    ending = Ending(LOST, "stopped", NOW + 3_600)
    begun = plan_pod(ONE, state(running(), ending=ending), {}, NOW)
    assert begun.ending == replace(ending, since=NOW)
    assert begun.term == ("main",) and begun.wake == NOW + 30
    assert plan_pod(ONE, state(running(), ending=begun.ending), {}, NOW + 30).kill == ("main",)


@pytest.mark.parametrize(
    ("ahead", "starts"), [(-1, False), (60, False), (3_600, True)], ids=["before", "a minute", "an hour"]
)
def test_a_clock_that_is_set_back_delays_no_restart_for_an_hour(ahead: float, starts: bool) -> None:
    run = Run("main", 2, NOW + ahead - 1, pid=1, finished=NOW + ahead, exit_code=1)
    assert bool(plan_pod(ALWAYS, state(run), {}, NOW).start) is starts


@pytest.mark.parametrize(
    ("code", "reason", "shown", "signal"),
    [(0, "", "Completed", None), (1, "", "Error", None), (137, "", "Error", 9), (143, "", "Error", 15),
     (255, "", "Error", None), (137, "OOMKilled", "OOMKilled", 9), (127, "StartError", "StartError", None)],
)  # fmt: skip
def test_how_an_end_is_reported(code: int, reason: str, shown: str, signal: int | None) -> None:
    plan = plan_pod(ONE, state(ended(code, reason=reason)), {}, NOW)
    found = plan.status["containerStatuses"][0]["state"]["terminated"]
    assert (found["exitCode"], found["reason"], found.get("signal")) == (code, shown, signal)


def test_conditions_move_with_the_containers_and_foreign_ones_stay() -> None:
    foreign = {"type": "example.com/Warm", "status": "True"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    manifest = {**ONE, "status": {"conditions": [foreign, scheduled]}}
    found = plan_pod(manifest, state(running()), {}, NOW).status["conditions"]
    assert found[:2] == [foreign, scheduled]
    assert {item["type"]: item["status"] for item in found[1:]} == dict.fromkeys(
        ("PodScheduled", "Initialized", "ContainersReady", "Ready"), "True"
    )
    done = plan_pod(ONE, state(ended()), {}, NOW).status["conditions"]
    assert [item for item in done if item["type"] == "Ready"] == [
        {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": format_time(NOW)}
    ]


runs = st.builds(
    Run,
    st.sampled_from(["i", "j", "main"]),
    st.integers(0, 3),
    st.just(NOW - 5),
    pid=st.just(1),
    finished=st.sampled_from([None, NOW - 60, NOW - 1]),
    exit_code=st.sampled_from([0, 1, 137]),
    reason=st.sampled_from(["", "", "", LOST]),
)


@given(
    st.sampled_from(["Never", "OnFailure", "Always"]),
    st.lists(runs, max_size=3),
    st.booleans(),
    st.floats(0, 1000),
)
def test_a_plan_repeats_itself(policy: str, known: list[Run], deleting: bool, later: float) -> None:
    """A second plan writes no status and starts no container: an idle pod costs nothing."""
    manifest = {**INIT, "spec": {**INIT["spec"], "restartPolicy": policy}}
    manifest = deleted(manifest) if deleting else manifest
    before = state(*known)
    plan = plan_pod(manifest, before, {}, NOW)
    assert not {start.container for start in plan.start} & {run.container for run in before.running}
    assert not (plan.start and (plan.term or plan.kill or plan.remove))
    assert not (plan.remove and before.running)
    after = replace(before, ending=plan.ending) if plan.ending else before
    again = plan_pod({**manifest, "status": plan.status}, after, {}, NOW)
    assert build_status_patch(plan.status, again.status) == {}
    if plan.status.get("phase") in ("Succeeded", "Failed"):
        final = plan_pod({**manifest, "status": plan.status}, after, {}, NOW + later)
        assert final.status == plan.status
        assert not final.start
