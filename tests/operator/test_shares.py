"""How operators share the namespaces out: the table of decisions, and a world of processes that start, are killed, stop
for a while, and whose requests are slow or fail, on clocks that differ."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobs.simulated.loop import VirtualLoop
from paddock.jobs.labels import SHARDS_LABEL
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Delete, Get, List, Listing, Replace, T
from paddock.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from paddock.kube.meta import Key, Manifest, labels_of, uid_of, version_of
from paddock.operator.election import LEASE_DURATION, Observation, Record, Term, build_lease
from paddock.operator.shares import FORGET_SECONDS, PATIENCE, Shares, View, divide, plan_shares, shard_of
from paddock.operator.sharing import Sharing, name_member, name_shard
from support.tiers import keep_light

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "operator.md"
NOW = 1000.0
NEW, OLD = NOW - 1.0, NOW - LEASE_DURATION - 0.5
LONG = NOW - LEASE_DURATION - PATIENCE


def seen(holder: str, since: float = NEW) -> Observation:
    return Observation(Record(holder) if holder != "-" else None, since)


def view(held: str, others: str, **since: float) -> View:
    """`held`: who holds each shard by one letter, `-` where there is no Lease, `.` where it is released. `since`: when
    a member's records were last seen to change."""
    shards = (seen(each.strip("."), since.get(each, since.get("free", NEW) if each in "-." else NEW)) for each in held)
    return View(tuple(shards), {each: seen(each, since.get(each, NEW)) for each in others})


def ran_out(held: str, shard: int, others: str) -> View:
    """One of the Leases has not been renewed."""
    found = view(held, others)
    return replace(
        found, shards=tuple(seen(held[each], OLD) if each == shard else one for each, one in enumerate(found.shards))
    )


@pytest.mark.parametrize(
    ("view", "wanted"),
    [
        (view("------", ""), Shares(take=(0, 1, 2, 3, 4, 5))),
        (view("------", "bc"), Shares(take=(0, 1))),
        (view("------", "AB"), Shares(take=(4, 5))),
        (view("aabbcc", "bc"), Shares((0, 1))),
        (view("aabbb..", "bc"), Shares((0, 1))),
        (view("aabbcc", "bc", c=OLD), Shares((0, 1), take=(4,))),
        (view("bbaacc", "bc", b=OLD), Shares((2, 3), take=(0,))),
        (view("aabb..", "bc"), Shares((0, 1))),
        (view("aabb..", "bc", free=NOW - PATIENCE), Shares((0, 1), take=(4,))),
        (view("aabbcc", "bc", c=LONG), Shares((0, 1), take=(4,))),
        (ran_out("aabbcc", 4, "bc"), Shares((0, 1), take=(4,))),
        (ran_out("aaabcc", 4, "bc"), Shares((0, 1, 2))),
        (view("aaaaaa", "b"), Shares((0, 1, 2, 3, 4, 5), give=5)),
        (view("aaabbb", "bc"), Shares((0, 1, 2), give=2)),
        (view("aaabb.", "bc"), Shares((0, 1, 2), give=2)),
        (view("aaa..", "b"), Shares((0, 1, 2))),
        (view("aab", "b"), Shares((0, 1))),
        (view("abb", "b"), Shares((0,))),
        (view("aaabbc", "bc"), Shares((0, 1, 2), give=2)),
        (view("bbbaac", "bc"), Shares((3, 4))),
        (view("x-----", ""), Shares(foreign="x")),
        (view("x--x--", "b"), Shares(take=(1, 2, 4))),
        (view("xaaaaa", "b"), Shares((1, 2, 3, 4, 5), foreign="x")),
        (replace(view("bb-c", "c"), leaving=frozenset("b")), Shares(take=(2,))),
        (view("x-----", "", x=OLD), Shares(take=(0, 1, 2, 3, 4, 5))),
        (view("a", "b"), Shares((0,))),
        (view("b", "b"), Shares()),
        (view("aa", "b", b=NOW - FORGET_SECONDS - 1), Shares((0, 1), forget=("b",))),
    ],
    ids=[
        "one alone takes all",
        "the first of three takes the first two",
        "the last of three takes the last two",
        "each has its share: nothing moves",
        "what another lacks is left to it",
        "what a dead one held is divided: the first gets the first of it",
        "and so with the shard of the leader without shards",
        "a free shard is of who has less",
        "one that was free for a while is taken by anybody",
        "of what a dead one has left for long each takes its share all the same",
        "who lets one run out has no share any more",
        "and what it had is left to who has least",
        "who has all gives one away",
        "who has more than its share gives one to a new member",
        "a free shard is given to a new member first, and one that it lacks beside it",
        "nothing is given where something is free",
        "what does not come out even stays where it is",
        "with whoever has it",
        "one of two who have enough gives to who has one less",
        "an even number moves nothing",
        "nobody else begins while an operator without shards leads",
        "who holds another shard too and is no member is ending, also for one that never saw it as a member",
        "and nobody gives then; what is held is kept",
        "who ends is no operator without shards",
        "until that is dead",
        "one shard of two operators is kept",
        "and not taken from who has it",
        "a member that has been silent for long is forgotten",
    ],
)
def test_the_shares_of_a_view(view: View, wanted: Shares) -> None:
    assert plan_shares(view, "a", NOW) == wanted


def test_shares_differ_by_one_at_most_and_are_all() -> None:
    for shards in range(1, 65):
        for members in range(1, 9):
            shares = divide(shards, {str(each): each % 3 for each in range(members)}).values()
            assert sum(shares) == shards
            assert max(shares) - min(shares) <= 1


def test_the_shard_of_a_namespace_is_the_same_for_ever() -> None:
    """Operators of two versions share: these numbers never change."""
    assert [shard_of(name, 6) for name in ("default", "team-a", "team-b", "team-c")] == [1, 0, 2, 5]
    many = Counter(shard_of(f"team-{number}", 6) for number in range(6000))
    assert min(many.values()) > 800


class Server:
    """The Leases of one namespace."""

    def __init__(self) -> None:
        self.leases: dict[str, Manifest] = {}
        self._serial = count(1)

    def answer(self, call: Call[Any]) -> Any:
        match call:
            case List(labels=labels):
                name, _, value = labels.partition("=")
                return Listing([each for each in self.leases.values() if labels_of(each).get(name) == value], "1")
            case Get(name=name):
                return self._find(name)
            case Delete(name=name, uid=uid):
                if uid and uid_of(self._find(name)) != uid:
                    raise Conflict("another of this name")
                del self.leases[self._find(name)["metadata"]["name"]]
                return None
            case Create(name=name, manifest=manifest) if name in self.leases:
                raise AlreadyExists("somebody was faster")
            case Create(name=name, manifest=manifest):
                return self._write(name, manifest, f"u{next(self._serial)}")
            case Replace(name=name, manifest=manifest):
                there = self._find(name)
                if version_of(manifest) != version_of(there):
                    raise Conflict("somebody was faster")
                return self._write(name, manifest, uid_of(there))
        raise AssertionError(call)

    def _find(self, name: str) -> Manifest:
        if name not in self.leases:
            raise NotFound(name)
        return self.leases[name]

    def _write(self, name: str, manifest: Any, uid: str) -> Manifest:
        meta = {**manifest["metadata"], "resourceVersion": str(next(self._serial)), "uid": uid}
        self.leases[name] = {**manifest, "metadata": meta}
        return self.leases[name]


class Line(Api):
    """The way of one process to the server, which goes on while the process is stopped."""

    def __init__(self, world: World, loop: VirtualLoop) -> None:
        self.cut = False
        self.heal()
        self.asked: Counter[str] = Counter()
        self._world, self._loop = world, loop

    def heal(self) -> None:
        self.latency, self.failing = (0.002, 0.03), 0.0
        self.stopped = self.after_write = (
            0.0  # until when its process is stopped; for how long after it has renewed a shard
        )

    async def send(self, call: Call[T]) -> T:
        self.asked[call.verb] += 1
        answer: asyncio.Future[Any] = self._loop.create_future()
        random, there, back = self._world.random, *(self._world.random.uniform(*self.latency) for _ in range(2))
        lost = random.random() < self.failing

        def perform() -> None:
            result: Any = Unavailable("lost")
            if not lost or random.random() < 0.5:
                try:
                    result = self._world.server.answer(call)
                    if self.after_write and isinstance(call, Create | Replace) and "member" not in call.name:
                        self.stopped, self.after_write = self._world.loop.now + self.after_write, 0.0
                except (AlreadyExists, Conflict, NotFound) as error:
                    result = error
            self._world.loop.call_later(back, deliver, Unavailable("lost") if lost else result)

        def deliver(result: Any) -> None:
            if answer.done():
                return
            if isinstance(result, Exception):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        if not self.cut:
            self._world.loop.call_later(there, perform)
        return await answer  # type: ignore[no-any-return]

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")


class Process:
    """An operator with a loop of its own: while it is stopped, its timers run out and nothing else happens."""

    def __init__(self, world: World, name: str, shards: int) -> None:
        rate, offset = world.random.uniform(0.97, 1.03), world.random.uniform(-1e6, 1e6)
        self.name, self.loop = name, VirtualLoop()
        self.loop.now = world.loop.now
        self.line = Line(world, self.loop)
        self.sharing = Sharing(
            self.line, "ns", name, shards, clock=lambda: world.loop.now * rate + offset,
            wall_clock=lambda: 1.7e9 + world.loop.now + offset,
        )  # fmt: skip
        self._task = self.loop.create_task(self.sharing.run())

    def advance(self, now: float) -> None:
        if now >= self.line.stopped:
            self.loop.now = max(self.loop.now, now)
            self.loop.advance(0.0)
            if self._task.done() and not self._task.cancelled():
                self._task.result()

    def clear(self) -> None:
        """Nothing that it asks for now is heard."""
        self.line.cut = True
        self.loop.close()

    def end(self, drain: float) -> None:
        """As SIGTERM, after which what it has begun takes this long to end."""

        async def end() -> None:
            await self.sharing.leave()
            await asyncio.sleep(drain)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self.sharing.release()

        self.loop.create_task(end())


class World:
    STEP = 0.02

    def __init__(self, seed: int, shards: int) -> None:
        self.random, self.shards = Random(seed), shards
        self.loop, self.server = VirtualLoop(), Server()
        self.processes: dict[str, Process] = {}
        self.ended: list[Process] = []
        self.killed: list[Process] = []
        self.terms: dict[int, tuple[str, Term | None]] = {}
        self.moves = 0
        self._names = count()

    def start(self) -> Process:
        name = f"{self.random.randrange(10)}-{next(self._names)}"
        self.processes[name] = process = Process(self, name, self.shards)
        return process

    def kill(self, name: str) -> None:
        """As SIGKILL: what it has sent may still be heard, and nothing else goes on."""
        self.killed.append(self.processes.pop(name))

    def end(self, name: str, drain: float = 0.0) -> None:
        process = self.processes.pop(name)
        process.end(drain)
        self.ended.append(process)

    def clear(self) -> None:
        for process in (*self.processes.values(), *self.ended, *self.killed):
            process.clear()

    def advance(self, seconds: float) -> None:
        end = self.loop.now + seconds
        while self.loop.now < end:
            self.loop.advance(self.STEP)
            for process in (*self.processes.values(), *self.ended):
                process.advance(self.loop.now)
            self._check()

    def _check(self) -> None:
        """Two never lead one shard."""
        found = [(process, process.sharing.terms) for process in (*self.processes.values(), *self.ended)]
        led = Counter(shard for _, terms in found for shard in terms)
        assert max(led.values(), default=1) == 1, f"two lead a shard of {led}: {self.shares()}"
        for process, terms in found:
            for shard, term in terms.items():
                if self.terms.get(shard) != (process.name, term):
                    self.terms[shard] = (process.name, term)
                    self.moves += 1

    def led(self) -> list[int]:
        return [shard for process in (*self.processes.values(), *self.ended) for shard in process.sharing.terms]

    def shares(self) -> Mapping[str, int]:
        return {name: len(process.sharing.terms) for name, process in self.processes.items()}

    def is_fair(self) -> bool:
        shares = self.shares().values()
        return sum(shares) == self.shards and max(shares) - min(shares) <= 1

    def seconds_until_all_led(self, most: float) -> float:
        start = self.loop.now
        while len(self.led()) < self.shards:
            self.advance(self.STEP)
            assert self.loop.now - start < most, f"not all are led: {self.shares()}"
        return self.loop.now - start

    def settle(self, most: float = 40.0) -> None:
        """Within this time all are led and fairly shared, and nothing moves for ten seconds."""
        start = since = self.loop.now
        moves = self.moves
        while self.loop.now - since < 10.0:
            self.advance(0.1)
            if self.moves != moves or not self.is_fair():
                moves, since = self.moves, self.loop.now
            assert since - start < most, f"not shared fairly: {self.shares()}"


@contextmanager
def opened(seed: int, operators: int, shards: int = 6) -> Iterator[World]:
    """Operators that have shared out."""
    world = World(seed, shards)
    try:
        for _ in range(operators):
            world.start()
        world.settle()
        yield world
    finally:
        world.clear()


@pytest.mark.parametrize("seed", keep_light(range(12), range(4)))
def test_two_never_lead_one_shard_and_in_quiet_all_are_shared_fairly(seed: int) -> None:
    with opened(seed, 3) as world:
        for _ in range(12):
            _disturb(world)
            world.advance(world.random.uniform(0.1, 6.0))
        for process in world.processes.values():
            process.line.heal()
        world.settle(60.0)


def _disturb(world: World) -> None:
    random, names = world.random, list(world.processes)
    process = world.processes[random.choice(names)]
    match random.choice(["start", "kill", "end", "stop", "stop after a write", "slow", "slow", "fail", "heal"]):
        case "start" if len(names) < 5:
            world.start()
        case "kill" if len(names) > 1:
            world.kill(process.name)
        case "end" if len(names) > 1:
            world.end(process.name, random.choice([0.0, 3.0, 9.0]))
        case "stop":
            process.line.stopped = world.loop.now + random.uniform(0.5, 8.0)
        case "stop after a write":
            process.line.after_write = random.uniform(3.0, 8.0)
        case "slow":
            process.line.latency = (0.0, random.choice([0.4, 1.0, 3.0, 6.0]))
        case "fail":
            process.line.failing = random.choice([0.1, 0.5, 1.0])
        case "heal":
            process.line.heal()


@pytest.mark.parametrize("seed", range(5))
def test_one_that_stops_before_it_hears_the_answer_does_not_lead_when_it_goes_on(seed: int) -> None:
    """It counts from its request. Of what it had asked for before it stopped, something may be done."""
    with opened(seed, 3) as world:
        line = next(iter(world.processes.values())).line
        line.after_write = 7.0
        while not line.stopped:
            world.advance(world.STEP)
        world.advance(6.8)
        assert len(world.led()) == 6, "the others have it all"
        world.settle()


@pytest.mark.parametrize("seed", keep_light(range(10), range(3)))
def test_what_a_killed_one_led_is_led_again_in_six_seconds_and_nothing_else_moves(seed: int) -> None:
    with opened(seed, 3) as world:
        world.advance(world.random.uniform(0.0, 3.0))
        moves = world.moves
        world.kill(world.random.choice(list(world.processes)))
        assert len(world.led()) == 4
        assert world.seconds_until_all_led(10.0) <= LEASE_DURATION + 2.0
        world.settle()
        assert world.moves - moves == 2


@pytest.mark.parametrize("seed", range(5))
def test_what_one_led_that_ended_in_order_is_led_again_in_two_seconds(seed: int) -> None:
    with opened(seed, 3) as world:
        moves = world.moves
        world.end(world.random.choice(list(world.processes)))
        world.advance(0.1)
        assert world.seconds_until_all_led(10.0) <= 2.0
        world.settle()
        assert world.moves - moves == 2
        members = [name for name in world.server.leases if "member" in name]
        assert len(members) == 2, "it has taken its own away"


def test_who_ends_keeps_its_shards_and_takes_none_until_what_it_has_begun_has_ended() -> None:
    """It would do nothing in what it took. The others take what is free meanwhile, also if it holds the first shard."""
    with opened(1, 3) as world:
        first = world.server.leases[name_shard(0, 6)]["spec"]["holderIdentity"]
        ending = world.processes[first]
        killed = next(name for name in world.processes if name != first)
        kept = set(ending.sharing.terms)
        world.end(first, drain=9.0)
        world.kill(killed)
        for _ in range(8):
            world.advance(1.0)
            assert set(ending.sharing.terms) == kept
        assert name_member(first) not in world.server.leases
        (left,) = world.processes.values()
        assert set(left.sharing.terms) == set(range(6)) - kept
        world.advance(1.0)
        assert world.seconds_until_all_led(10.0) <= 2.0


def test_one_that_starts_while_another_ends_takes_what_is_free(caplog: pytest.LogCaptureFixture) -> None:
    """It has never seen the one that ends as a member, which holds the first shard until its work has ended."""
    with caplog.at_level(logging.INFO), opened(1, 3) as world:
        first = world.server.leases[name_shard(0, 6)]["spec"]["holderIdentity"]
        killed = next(name for name in world.processes if name != first)
        world.end(first, drain=9.0)
        world.advance(1.5)
        late = world.start()
        world.kill(killed)
        begun = world.loop.now
        while not late.sharing.terms:
            world.advance(World.STEP)
            assert world.loop.now - begun < LEASE_DURATION + 2.0
    assert not [record for record in caplog.records if "without shards" in record.message]


@pytest.mark.parametrize(("before", "moved"), [(1, 3), (2, 2), (3, 1), (6, 0)])
def test_a_new_one_gets_its_share_and_no_shard_moves_besides(before: int, moved: int) -> None:
    with opened(7, before) as world:
        moves = world.moves
        world.start()
        world.advance(1.0)
        world.settle()
        assert world.moves - moves == moved


def test_the_lease_of_a_killed_member_is_removed() -> None:
    with opened(1, 3) as world:
        name = next(iter(world.processes))
        world.kill(name)
        assert name_member(name) in world.server.leases
        world.advance(FORGET_SECONDS + 4.0)
        assert name_member(name) not in world.server.leases


def test_the_first_lease_is_that_of_an_operator_without_shards() -> None:
    """So `paddock status` finds a leader, and a Go operator does not begin to lead."""
    with opened(1, 2) as world:
        holder = world.server.leases[name_shard(0, 6)]["spec"]["holderIdentity"]
        assert 0 in world.processes[holder].sharing.terms


def lead_without_shards(world: World, seconds: int) -> None:
    """An operator without shards holds the first Lease, and renews it every second."""
    name = name_shard(0, world.shards)
    manifest = {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"holderIdentity": "alone", "leaseDurationSeconds": 4, "renewTime": "0"},
    }
    if name not in world.server.leases:
        world.server.answer(Create(None, "ns", name, manifest=manifest))  # type: ignore[arg-type]
    for _ in range(seconds):
        world.server.leases[name]["spec"]["renewTime"] = f"{world.loop.now}"
        world.advance(1.0)
        assert world.led() == []


def test_nobody_takes_a_shard_while_an_operator_without_shards_leads() -> None:
    world = World(1, 6)
    lead_without_shards(world, 1)
    for _ in range(3):
        world.start()
    lead_without_shards(world, 10)
    world.settle()
    world.clear()


def test_who_stands_by_for_an_operator_without_shards_reads_one_lease_a_second_beside_the_list() -> None:
    world = World(1, 64)
    for _ in range(3):
        world.start()
    lead_without_shards(world, 10)
    for process in world.processes.values():
        assert process.line.asked["get"] <= 12
    world.clear()


def test_the_log_names_who_leads_without_shards_once_and_says_nothing_of_leading_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    world = World(1, 6)
    lead_without_shards(world, 1)
    process = world.start()
    lead_without_shards(world, 10)
    member = f"ns/{name_member(process.name)}"
    assert [each.getMessage() for each in caplog.records] == [
        f"sharing as {process.name}, lease {member}",
        "standing by: alone leads without shards, or with another number of them",
    ]
    caplog.clear()
    world.settle()
    assert sorted(each.getMessage() for each in caplog.records) == sorted(
        f"leading as {process.name}, lease ns/{name_shard(shard, 6)}" for shard in range(6)
    )
    caplog.clear()
    world.end(process.name)
    world.advance(2.0)
    assert {each.getMessage() for each in caplog.records} == {
        f"leadership is given back, lease ns/{name_shard(shard, 6)}" for shard in range(6)
    }
    world.clear()


def test_a_leader_without_shards_takes_the_label_of_those_that_shared_off_the_first_lease() -> None:
    """Else what removes the Leases of the old number by their label would remove the Lease of the leader."""
    key, others = Key("ns", name_shard(0, 6)), {"team": "infra"}
    shared = build_lease(key, None, Record("a"), {}, {SHARDS_LABEL: "6", **others})
    assert labels_of(shared) == {SHARDS_LABEL: "6", **others}
    alone = build_lease(key, shared, Record("b"), {"note": "yes"})
    assert labels_of(alone) == others
    assert (
        "labels"
        not in build_lease(key, build_lease(key, None, Record("a"), {}, {SHARDS_LABEL: "6"}), Record("b"), {})[
            "metadata"
        ]
    )


def test_a_lease_that_has_lost_its_label_is_read_and_gets_it_again() -> None:
    world = World(1, 6)
    name = name_shard(3, 6)
    manifest = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"holderIdentity": "gone"}}
    world.server.answer(Create(None, "ns", name, manifest=manifest))  # type: ignore[arg-type]
    world.start()
    world.settle()
    assert labels_of(world.server.leases[name])
    world.clear()


class Scripted(Api):
    """Answers one Lease as late as the next number of seconds says, and all else at once."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self.late: list[float] = []
        self._loop, self._name, self._server = loop, name, Server()

    async def send(self, call: Call[T]) -> T:
        answer: asyncio.Future[None] = self._loop.create_future()
        is_late = self.late and isinstance(call, Create | Get | Replace) and call.name == self._name
        self._loop.call_later(self.late.pop(0) if is_late else 0.01, _set, answer)
        await answer
        return self._server.answer(call)  # type: ignore[no-any-return]

    def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")


def _set(answer: asyncio.Future[None]) -> None:
    if not answer.done():
        answer.set_result(None)


def test_who_waits_hears_of_a_shard_that_was_not_led_for_a_moment_within_one_renewal() -> None:
    """The renewal begins while the shard is led, and succeeds after that has ended, in the same term."""
    loop = VirtualLoop()
    api = Scripted(loop, name_shard(1, 2))
    sharing = Sharing(api, "ns", "a", 2, clock=lambda: loop.now, wall_clock=lambda: 1.7e9 + loop.now)
    loop.create_task(sharing.run())
    loop.advance(5.0)
    known = dict(sharing.terms)
    assert set(known) == {0, 1}
    told = loop.create_task(sharing.wait(known))
    api.late = [9.0, 0.2, 0.9]  # a renewal without an answer, then the Lease is read, and renewed late
    while 1 in sharing.terms:
        loop.advance(0.01)
    term = known.pop(1)  # as the operator, when it drops a key of the shard
    while 1 not in sharing.terms:
        loop.advance(0.01)
    loop.advance(0.1)
    assert sharing.terms[1] == term
    assert told.done()
    loop.close()


def test_an_idle_operator_asks_for_what_the_manual_says() -> None:
    with opened(1, 3) as world:
        before = {name: Counter(process.line.asked) for name, process in world.processes.items()}
        world.advance(60.0)
        for name, process in world.processes.items():
            asked = process.line.asked - before[name]
            assert set(asked) == {"list", "update"}
            assert 50 <= asked["list"] <= 62
            assert 85 <= asked["update"] <= 92, "two shards and the sign that it is there"
    assert "list of the Leases a second for each operator, and 30 writes a minute for each shard" in MANUAL.read_text()
