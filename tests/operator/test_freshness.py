"""How well a job must be known for a plan, and when the watch is known to have told everything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.jobs.actions import Action, Built, Create, Delete, Patch, Plan
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Phase, Status
from paddock.kube.meta import AUTOSCALERS, CONFIG_MAPS, POD_GROUPS, PODS, SERVICES, Key
from paddock.kube.times import format_time
from paddock.operator.freshness import PROVEN_SECONDS, Freshness, Known, find_need

JOBS = PADDLEPADDLE.resource
KEY = Key("team", "demo")
NEW, RUNNING = Status(), Status(phase=Phase.RUNNING)
AGAIN = Status(phase=Phase.RESTARTING, attempt=1)


@pytest.mark.parametrize(
    ("recorded", "actions", "need"),
    [
        (NEW, (), Known.CACHED),
        (NEW, (Create(PODS, Built({})), Create(SERVICES, Built({}))), Known.PROVEN),
        (NEW, (Create(POD_GROUPS, Built({})),), Known.PROVEN),
        (AGAIN, (Create(PODS, Built({})),), Known.LIVE),
        (RUNNING, (Create(PODS, Built({})),), Known.LIVE),
        (RUNNING, (Create(CONFIG_MAPS, Built({})), Create(SERVICES, Built({}))), Known.CACHED),
        (RUNNING, (Create(AUTOSCALERS, Built({})),), Known.LIVE),
        (NEW, (Delete(PODS, KEY, "u"),), Known.LIVE),
        (RUNNING, (Patch(PODS, KEY, "u", {}, optional=True),), Known.CACHED),
        (RUNNING, (Patch(POD_GROUPS, KEY, "u", {}),), Known.LIVE),
    ],
)
def test_what_starts_or_ends_something_needs_a_job_that_is_known_well(
    recorded: Status, actions: tuple[Action, ...], need: Known
) -> None:
    assert find_need(recorded, recorded, Plan(recorded, actions)) is need


@pytest.mark.parametrize(
    "after",
    [
        replace(RUNNING, attempt=1),
        replace(RUNNING, phase=Phase.FAILED),
        replace(RUNNING, phase=Phase.SUSPENDED),
        replace(RUNNING, renewals={"worker-0": 1}),
        replace(RUNNING, gang_size=2),
    ],
)
def test_a_verdict_is_recorded_first_and_the_server_refuses_the_record_of_a_job_that_has_changed(after: Status) -> None:
    assert find_need(RUNNING, RUNNING, Plan(after, (Delete(PODS, KEY, "u"),))) is Known.CACHED
    assert find_need(after, after, Plan(after, (Delete(PODS, KEY, "u"),))) is Known.LIVE, "what follows is acted on"


def test_pods_of_which_only_this_process_knows_are_no_first_pods_of_a_later_attempt() -> None:
    assert find_need(NEW, replace(NEW, phase=Phase.PENDING), Plan(NEW, (Create(PODS, Built({})),))) is Known.PROVEN


class Watch:
    """A watch whose server's clock the test moves."""

    def __init__(self) -> None:
        self.now, self.off = 1000.0, 0.0
        self.freshness = Freshness(lambda: self.now, lambda: self.off)

    def tell(self, created: float) -> None:
        self.freshness.hear(JOBS, "", {"metadata": {"creationTimestamp": format_time(created)}})

    @property
    def is_proven(self) -> bool:
        return self.freshness.is_proven(JOBS, "")


def test_a_job_that_was_made_a_moment_ago_proves_its_watch_for_some_seconds() -> None:
    watch = Watch()
    assert not watch.is_proven, "nothing was told yet"
    watch.now = 1010.5
    watch.tell(1010)
    assert watch.is_proven
    watch.now = 1010 + PROVEN_SECONDS + 0.1
    assert not watch.is_proven


def test_an_old_job_proves_nothing() -> None:
    watch = Watch()
    watch.now = 1100.0
    watch.tell(1010)
    assert not watch.is_proven


@pytest.mark.parametrize("created", [999, 1000])
def test_what_is_from_before_the_term_proves_nothing(created: float) -> None:
    """Times are whole seconds: what was made in the second in which it began may be from before."""
    watch = Watch()
    watch.now = 1000.0
    watch.freshness.begin_term()
    watch.now = 1001.0
    watch.tell(created)
    assert not watch.is_proven
    watch.tell(1001)
    assert watch.is_proven


def test_a_time_that_lies_ahead_proves_the_present_at_most() -> None:
    watch = Watch()
    watch.now = 1010.0
    watch.tell(1070)
    assert watch.is_proven
    watch.now = 1010 + PROVEN_SECONDS + 0.1
    assert not watch.is_proven


def test_a_clock_that_was_set_proves_nothing() -> None:
    watch = Watch()
    watch.now = 1010.0
    watch.tell(1010)
    watch.off = 7200.0
    assert not watch.is_proven


def test_a_watch_proves_its_own_namespace_alone() -> None:
    watch = Watch()
    watch.now = 1010.0
    watch.tell(1010)
    assert not watch.freshness.is_proven(JOBS, "other")


def test_one_write_a_second_is_asked_for_while_nothing_else_proves_the_watch() -> None:
    watch = Watch()
    watch.now = 1010.0
    watch.tell(1010)
    asked = []
    for tenth in range(40):
        watch.now = 1010.0 + tenth / 10
        if watch.freshness.wants_proof(JOBS, ""):
            asked.append(tenth)
            watch.freshness.prove(JOBS, "", watch.now)  # its event comes at once
    assert asked == [10, 20, 30]
    watch.now = 1020.0
    assert [watch.freshness.wants_proof(JOBS, "") for _ in range(3)] == [True, False, False], "one is under way"
