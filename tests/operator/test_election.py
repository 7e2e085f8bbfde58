"""Leader election: the table of decisions, and that two never lead at once, in any order of steps, clocks and cuts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Get, Replace, T
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import Key, Manifest, annotations_of, version_of
from paddock.operator.election import (
    LEASE_DURATION,
    RENEW_DEADLINE,
    RETRY_PERIOD,
    Election,
    Observation,
    Record,
    Wait,
    build_lease,
    plan_election,
    read_record,
)

THEIRS = Record("them", 15.0, "acquired", "renewed", 3)
OURS = Record("us", LEASE_DURATION, "acquired", "renewed", 3)
TAKEN = Record("us", LEASE_DURATION, "now", "now", 4)


@pytest.mark.parametrize(
    ("record", "age", "wanted"),
    [
        (None, 0.0, Record("us", LEASE_DURATION, "now", "now", 0)),
        (THEIRS, 0.0, Wait("them", 15.0)),
        (THEIRS, 14.5, Wait("them", 0.5)),
        (THEIRS, 15.0, TAKEN),
        (replace(THEIRS, duration=4.0), 4.5, TAKEN),
        (replace(THEIRS, holder=""), 0.0, TAKEN),
        (OURS, 0.0, replace(OURS, renewed="now")),
        (OURS, 100.0, replace(OURS, renewed="now")),
    ],
    ids=[
        "without a lease one is made",
        "a holder just seen is left its whole time",
        "the time is counted from when the record was first seen",
        "an expired holder is followed",
        "its own duration counts",
        "a released lease is taken at once",
        "ours is renewed and its times kept",
        "ours that nobody took is renewed, not taken again",
    ],
)
def test_the_decision_about_a_lease(record: Record | None, age: float, wanted: Wait | Record) -> None:
    assert plan_election(Observation(record, 1000.0), "us", 1000.0 + age, "now") == wanted


def test_a_term_lasts_until_another_may_have_led() -> None:
    """A leader that lost its connection and finds its own record again stays in its term."""
    now, server = [0.0], Server()
    first, second = (Elector(name, server, lambda: now[0], 0.0, [1.7e9]) for name in "ab")
    assert first.election.term is None, "it has not led yet"
    until_written(first, server)
    first.go_on()
    term = first.election.term
    first.cut()
    now[0] += LEASE_DURATION
    assert not first.election.leads
    until_written(first, server)
    first.go_on()
    assert first.election.leads
    assert first.election.term == term
    for elector in (second, first):  # each follows the other, who is silent
        for _ in range(12):
            elector.go_on()
        now[0] += LEASE_DURATION
        until_written(elector, server)
        elector.go_on()
        assert elector.election.leads
    assert first.election.term != term
    for each in (first, second):
        each.work.close()


def test_only_a_change_of_the_record_counts_as_a_renewal() -> None:
    observation = Observation(THEIRS, 10.0)
    assert observation.update(replace(THEIRS), 20.0).since == 10.0, "the same again"
    assert observation.update(replace(THEIRS, renewed="later"), 20.0).since == 20.0
    assert observation.update(replace(THEIRS, renewed="1970-01-01T00:00:00Z"), 20.0).since == 20.0, (
        "whatever its clock says"
    )
    assert observation.update(None, 20.0).since == 20.0


def test_a_lease_keeps_fields_of_other_writers() -> None:
    before: Manifest = {
        "metadata": {"name": "x", "resourceVersion": "7", "annotations": {"theirs": "1"}},
        "spec": {"holderIdentity": "them", "strategy": "OldestEmulationVersion"},
    }
    lease = build_lease(Key("ns", "x"), before, TAKEN, {"paddock.dev/version": "1"})
    assert annotations_of(lease) == {"theirs": "1", "paddock.dev/version": "1"}
    assert (version_of(lease), lease["spec"]["strategy"]) == ("7", "OldestEmulationVersion")
    assert read_record(lease) == TAKEN


def test_a_released_lease_has_no_holder_rather_than_an_empty_one() -> None:
    """Newer API servers refuse an empty holderIdentity."""
    lease = build_lease(
        Key("ns", "x"), {"metadata": {}, "spec": {"holderIdentity": "us"}}, replace(OURS, holder=""), {}
    )
    assert "holderIdentity" not in lease["spec"]
    assert read_record(lease).holder == ""


def test_a_lease_of_a_go_operator_is_read() -> None:
    spec = {
        "holderIdentity": "host_1", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:10.000000Z", "leaseTransitions": 2,
    }  # fmt: skip
    assert read_record({"spec": spec}) == Record("host_1", 15.0, spec["acquireTime"], spec["renewTime"], 2)
    assert read_record({}) == Record()


class _Step:
    """Suspends an elector until the test continues it."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Server(Api):
    """One Lease. A request takes two steps: execution, then the answer."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self.version = 0

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Get):
            return await self._read(call.name)
        assert isinstance(call, Create | Replace)
        return await self._write(call.manifest, AlreadyExists if isinstance(call, Create) else Conflict)

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise AssertionError("an election follows nothing")

    async def _read(self, name: str) -> Manifest:
        await _Step()
        found = self.lease
        await _Step()
        if found is None:
            raise NotFound(name)
        return found

    async def _write(self, manifest: Manifest, refusal: type[ApiError]) -> Manifest:
        await _Step()
        given = version_of(manifest)
        if (given != str(self.version)) if given else (self.lease is not None):
            await _Step()
            raise refusal("somebody was faster")
        self.version += 1
        self.lease = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self.version)}}
        written = self.lease
        await _Step()
        return written


class Elector:
    """One process: its clocks, its election, and its pending request."""

    def __init__(self, name: str, server: Server, clock: Callable[[], float], offset: float, wall: list[float]) -> None:
        def wall_clock() -> float:
            wall[0] += 0.001  # no two readings alike
            return wall[0]

        self.election = Election(server, "ns", name, clock=lambda: clock() + offset, wall_clock=wall_clock)
        self.work: Coroutine[Any, Any, None] = self._take_part()

    async def _take_part(self) -> None:
        observed = False
        while True:
            try:
                if not observed:
                    await self.election.read_lease()
                _, observed = await self.election.acquire_or_renew()
                await _Step()
            except (AlreadyExists, Conflict):
                observed = False
            if not observed:
                await _Step()

    def go_on(self) -> None:
        self.work.send(None)

    def cut(self) -> None:
        """No answer in time: the request may be executed or not."""
        self.work.close()
        self.work = self._take_part()


GO = st.tuples(st.just("go"), st.integers(0, 1), st.integers(1, 10))
TICK = st.tuples(st.just("tick"), st.just(0), st.sampled_from([0.3, 1.0, 2.9, 3.5, 4.1]))
ACTS = st.one_of(
    GO,
    TICK,
    GO,
    TICK,
    st.tuples(st.just("cut"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("wall"), st.just(0), st.sampled_from([-1e9, -3.0, 5.0, 1e9])),
)


@given(st.lists(ACTS, min_size=10, max_size=100), st.floats(-1e6, 1e6))
def test_two_never_lead_at_once(steps: list[tuple[str, int, float]], offset: float) -> None:
    now, wall, server = [0.0], [1.7e9], Server()
    both = [Elector(name, server, lambda: now[0], shift, wall) for name, shift in (("a", 0.0), ("b", offset))]
    leaders = set()
    for act, which, amount in steps:
        match act:
            case "go":
                for _ in range(int(amount)):
                    both[which].go_on()
            case "cut":
                both[which].cut()
            case "tick":
                now[0] += amount
            case "wall":
                wall[0] += amount if wall[0] + amount > 1e6 else 0.0  # a floor would make two readings alike
        leading = [each.election.identity for each in both if each.election.leads]
        assert len(leading) < 2, f"{leading} lead at once"
        leaders.update(leading)
    event(f"{len(leaders)} of two led")
    for each in both:
        each.work.close()


def test_both_lead_one_after_the_other_five_seconds_later_at_most() -> None:
    """So the property above is not vacuous. The second had seen the last renewal of the first."""
    now, server = [0.0], Server()
    first, second = (Elector(name, server, lambda: now[0], 0.0, [1.7e9]) for name in "ab")
    for _ in range(6):
        first.go_on()
    assert first.election.leads
    until_seen(second)
    while not second.election.leads and now[0] <= 5:
        now[0] += 0.25
        for _ in range(3):
            second.go_on()
        assert not (first.election.leads and second.election.leads)
    assert second.election.leads
    for each in (first, second):
        each.work.close()


def test_a_leader_stops_before_another_may_lead() -> None:
    assert RENEW_DEADLINE + RETRY_PERIOD < LEASE_DURATION


def test_a_late_answer_shortens_the_leadership() -> None:
    """The others count from the write, whose time the writer does not know: it counts from its request."""
    now, server = [0.0], Server()
    first, second = (Elector(name, server, lambda: now[0], 0.0, [1.7e9]) for name in "ab")
    until_written(first, server)
    until_seen(second)
    now[0] += 3.9
    first.go_on()  # here its answer is
    assert not first.election.leads
    now[0] += 0.2
    until_written(second, server)
    second.go_on()
    assert second.election.leads
    assert not first.election.leads
    for each in (first, second):
        each.work.close()


def test_an_answer_from_before_an_own_write_is_not_believed() -> None:
    """It was under way meanwhile, and tells of the holder of then. The next write would meet a 409."""
    now, server = [0.0], Server()
    elector = Elector("a", server, lambda: now[0], 0.0, [1.7e9])
    until_written(elector, server)
    elector.go_on()
    asked, own = now[0] - 0.5, elector.election.observation.record
    assert own is not None and own.holder == "a"
    before = build_lease(Key("ns", "x"), None, THEIRS, {})
    elector.election.observe(before, asked)
    assert elector.election.observation.record == own
    elector.election.observe(before, now[0])
    assert elector.election.observation.record == THEIRS, "an answer from after it is"
    elector.work.close()


def until_written(elector: Elector, server: Server) -> None:
    """Until its write is executed, before the answer."""
    before = server.version
    while server.version == before:
        elector.go_on()


def until_seen(elector: Elector) -> None:
    """Until it has observed the Lease and waits."""
    for _ in range(4):
        elector.go_on()
