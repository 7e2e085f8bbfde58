"""The whole product of situation, age and state, checked against rules that a row could break."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status
from paddock.jobs.model import Phase, PodPhase, Status
from paddock.jobs.policies.fates import (
    FATES,
    Age,
    Fate,
    Situation,
    State,
    plan_fate,
    read_age,
    read_situation,
    read_state,
)

PRODUCT = list(product(Situation, Age, State))
ENDED = (State.ENDED, State.HELD)
KEEPING = (Situation.COMPLETED_KEPT, Situation.COMPLETED_STOPPED, Situation.FAILED_KEPT)


@pytest.mark.parametrize(("situation", "age", "state"), PRODUCT)
def test_every_pod_has_one_fate_and_it_is_a_sound_one(situation: Situation, age: Age, state: State) -> None:
    fate = FATES[situation, age, state]
    active = situation is Situation.ACTIVE
    if state is State.ABSENT:
        assert (fate is Fate.CREATE) == (active and age is Age.CURRENT), "only an active job's own attempt is made"
        assert fate in (Fate.CREATE, Fate.KEEP)
        return
    assert fate is not Fate.CREATE, "what is there is not made"
    if state is State.DELETING or situation is Situation.TERMINATING:
        assert fate is Fate.WAIT, "what goes already is not deleted again"
    elif active:
        assert fate is {Age.OLDER: Fate.DELETE, Age.CURRENT: Fate.KEEP, Age.NEWER: Fate.WAIT}[age]
    elif age is Age.NEWER and state in ENDED and situation in KEEPING:
        assert fate is Fate.KEEP, "its attempt was dropped from the record"
    elif age is not Age.CURRENT:
        assert fate is Fate.DELETE, "a finished or suspended job keeps no pod of another attempt"
    elif situation in (Situation.FAILED_KEPT, Situation.COMPLETED_STOPPED):
        assert fate is (Fate.KEEP if state in ENDED else Fate.DELETE), "no survivor runs on"
    elif situation is Situation.COMPLETED_KEPT:
        assert fate is (Fate.DELETE if state is State.PENDING else Fate.KEEP), "servers do, but none starts now"
    elif situation is Situation.FAILED_CLEAN:
        assert fate is (Fate.KEEP if state is State.HELD else Fate.DELETE), "clean-up waits for whoever looks into it"
    else:
        assert fate is Fate.DELETE


def test_the_table_is_the_whole_product() -> None:
    assert set(FATES) == set(PRODUCT)


def test_every_pod_finds_its_row() -> None:
    pod = build_pods(build_job())[0]
    recorded = Status(attempt=1, renewals={str(pod.rank): 1})
    order = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    for phase, deleting, (attempt, renewal) in product(PodPhase, (True, False), order):
        each = replace(pod, phase=phase, deleting=deleting, attempt=attempt, renewal=renewal)
        assert (read_state(each, NOW) is State.DELETING) == deleting
        assert deleting or (read_state(each, NOW) is State.ENDED) == each.ended
        assert read_state(replace(each, lingering=("proxy",) if each.ended else ()), NOW) is not State.ENDED, (
            "its side-cars run"
        )
        held = replace(each, held=NOW + 1)
        assert read_state(held, NOW) is (State.HELD if each.ended and not deleting else read_state(each, NOW))
        assert read_state(held, NOW + 1) is read_state(each, NOW + 1)
        older, newer = (attempt, renewal) < (1, 1), (attempt, renewal) > (1, 1)
        assert read_age(each, recorded) is (Age.OLDER if older else Age.NEWER if newer else Age.CURRENT)
        assert plan_fate(Situation.ACTIVE, recorded, each, NOW) in Fate


def test_an_unfinished_job_is_active_unless_it_is_suspended_or_deleted() -> None:
    job = build_job()
    for phase in (Phase.NONE, Phase.PENDING, Phase.STARTING, Phase.RUNNING, Phase.RESTARTING):
        assert read_situation(job, build_status(job, phase)) is Situation.ACTIVE
    assert read_situation(job, build_status(job, Phase.SUSPENDED)) is Situation.SUSPENDED
    assert read_situation(build_job(deleting=True), build_status(job)) is Situation.TERMINATING


def test_a_pod_that_was_replaced_alone_is_older_and_its_replacement_current() -> None:
    first, peer = build_pods(build_job())
    recorded = Status(renewals={str(first.rank): 1})
    assert plan_fate(Situation.ACTIVE, recorded, first, NOW) is Fate.DELETE
    assert plan_fate(Situation.ACTIVE, recorded, replace(first, renewal=1), NOW) is Fate.KEEP
    assert plan_fate(Situation.ACTIVE, recorded, peer, NOW) is Fate.KEEP, "the others stay"
