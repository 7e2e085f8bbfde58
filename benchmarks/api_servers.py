"""The embedded API beside a real kube-apiserver and its etcd, in turns on the same cores, with the same bytes.

Creates: ConfigMaps of 300 bytes, and pods as a job's worker is one, at 1, 16 and 64 in flight; of pods also beside a
scheduler: the laptop's, which is in the server's process, and kube-scheduler, which is a process of its own. A node has
room for all of them, and nothing runs them. CPU is that of all processes until they are quiet. Lists: of 2,000 pods.
Watchers: of ConfigMaps, which are written 16 at a time. Start: with certificates and no objects; restart: by SIGTERM,
with 10,000 ConfigMaps. Kills: while 16 clients write; then every write that was acknowledged is looked for, and one
that is missing is an error that ends the benchmark.

The load is a process of its own (`benchmarks.api_load`), whose CPU is told: near a whole core, it would be what is
measured. $PADDOCK_BENCH_SMALL=1 measures a fiftieth, to see that all of it works.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from benchmarks.api_sides import (
    Ready,
    Side,
    Sides,
    kill,
    launch_and_wait,
    open_load,
    open_sides,
    read_cpu_of,
    read_memory_of,
    read_output,
    run_load,
)
from benchmarks.control_planes import wait_until_quiet
from benchmarks.figures import Figure, seconds

_WRITERS = 16
_KILLED_AFTER = (0.05, 0.5)
"""Seconds that a server has been written to when it is killed: drawn anew each time, from a fixed seed."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured. `creates`: objects, by how many requests are in flight; `real_kills`: fewer, as each is
    followed by a start that takes seconds."""

    times: int = 5
    creates: tuple[tuple[int, int], ...] = ((1, 400), (16, 2_000), (64, 4_000))
    pods: int = 2_000
    lists: int = 10
    watchers: int = 200
    writes: int = 500
    restarted: int = 10_000
    remembered: int = 60_000
    kills: int = 200
    real_kills: int = 5


SMALL = Amounts(2, ((1, 10), (16, 40), (64, 80)), 40, 2, 4, 10, 200, 1_200, 4, 1)


class OpenSides(Protocol):
    def __call__(self, *, scheduler: bool = False) -> AbstractContextManager[Sides]: ...


class Both(NamedTuple):
    """What was seen of each, as many times."""

    ours: list[Any]
    plain: list[Any]


def measure() -> Sequence[Figure]:
    return measure_sides(open_sides, SMALL if os.environ.get("PADDOCK_BENCH_SMALL") else Amounts())


def measure_sides(open_sides: OpenSides, amounts: Amounts) -> Sequence[Figure]:
    """`open_sides`: as that of `api_sides`."""
    figures: list[Figure] = []
    with open_sides() as sides:
        figures += _measure_lists(sides, amounts)
        figures += _measure_creates(sides, amounts, "ConfigMap", "ConfigMaps")
        figures += _measure_creates(sides, amounts, "Pod", "pods, no scheduler beside")
        figures += _measure_watchers(sides, amounts)
    with open_sides(scheduler=True) as sides:
        figures += _measure_creates(sides, amounts, "Pod", "pods, a scheduler beside")
    with open_sides() as sides:
        figures += _measure_starts(sides, amounts)
        figures += _measure_memory(sides, amounts)
    with open_sides() as sides:
        figures += _measure_kills(sides, amounts)
    return figures


def in_turns(sides: Sides, work: Callable[[Side, int], Any], times: int, *, warm_up: int = 1) -> Both:
    """What `work` returns for each side and round, after `warm_up` rounds that do not count."""
    rounds = [tuple(work(side, number) for side in sides) for number in range(warm_up + times)][warm_up:]
    return Both([ours for ours, _ in rounds], [plain for _, plain in rounds])


def _measure_creates(sides: Sides, amounts: Amounts, kind: str, what: str) -> Sequence[Figure]:
    return [_measure_rate(sides, amounts.times, kind, what, *each) for each in amounts.creates]


def _measure_rate(sides: Sides, times: int, kind: str, what: str, at_once: int, number: int) -> Figure:
    def create(side: Side, turn: int) -> Any:
        cpu = read_cpu_of(side)
        seen = run_load(side, "create", kind, f"{kind.lower()}-{at_once}-{turn}", number, at_once)
        wait_until_quiet(*side.pids)
        return seen | {"server": read_cpu_of(side) - cpu}

    return build_rate_figure(f"creates of {what}, {at_once} in flight", number, in_turns(sides, create, times))


def build_rate_figure(what: str, number: int, seen: Both) -> Figure:
    """`seen`: of rounds that created `number` objects each."""
    rates = [[number / each["seconds"] for each in side] for side in seen]
    ratio = statistics.median(rates[0]) / statistics.median(rates[1])
    loads = [statistics.median(each["cpu"] / each["seconds"] for each in side) for side in seen]
    servers = [statistics.median(each["server"] / number * 1e6 for each in side) for side in seen]
    waits = [statistics.median(each["p99"] * 1e3 for each in side) for side in seen]
    return Figure(
        what,
        _describe_rates(rates[0]),
        f"real {_describe_rates(rates[1])}",
        f"{ratio:.2f} of its rate; p99 {waits[0]:.1f} / {waits[1]:.1f} ms; CPU of the server each "
        f"{servers[0]:.0f} / {servers[1]:.0f} us; of the load {loads[0]:.0%} / {loads[1]:.0%} of a core",
        "told",
    )


def _describe_rates(rates: Sequence[float]) -> str:
    return f"{statistics.median(rates):,.0f}/s ({min(rates):,.0f} to {max(rates):,.0f})"


def _measure_lists(sides: Sides, amounts: Amounts) -> Sequence[Figure]:
    for side in sides:
        run_load(side, "create", "Pod", "listed", amounts.pods, _WRITERS)
    return [_measure_list(sides, amounts, wanted) for wanted in ("json", "table")]


def _measure_list(sides: Sides, amounts: Amounts, wanted: str) -> Figure:
    seen = in_turns(sides, lambda side, _: run_load(side, "list", wanted, amounts.lists), amounts.times)
    each = [[second for one in side for second in one["seconds"]] for side in seen]
    cpu = [statistics.median(one["cpu"] * 1e3 for one in side) for side in seen]
    sizes = " / ".join(f"{side[0]['bytes'] / 1e6:.1f}" for side in seen)
    return Figure(
        f"list of {amounts.pods:,} pods, {'as JSON' if wanted == 'json' else 'as the table of kubectl'}",
        milliseconds(each[0]),
        f"real {milliseconds(each[1])}",
        f"{_ratio(*each)} times; {sizes} MB; CPU of the load each {cpu[0]:.0f} / {cpu[1]:.0f} ms",
        "told",
    )


def _measure_watchers(sides: Sides, amounts: Amounts) -> Sequence[Figure]:
    def watch(side: Side, turn: int) -> Any:
        cpu = read_cpu_of(side)
        seen = run_load(side, "watch", f"seen-{turn}", amounts.watchers, amounts.writes)
        return seen | {"server": read_cpu_of(side) - cpu}

    seen = in_turns(sides, watch, amounts.times)
    took = [[each["seconds"] for each in side] for side in seen]
    cpu = [statistics.median(each["server"] for each in side) for side in seen]
    # Linux counts CPU by 10 ms: few writes may take none.
    times = f"{cpu[0] / cpu[1]:.2f} times" if cpu[1] else ""
    loads = [statistics.median(each["cpu"] / each["seconds"] for each in side) for side in seen]
    what = f"{amounts.writes} writes to {amounts.watchers} watchers"
    return [
        Figure(
            f"{what}: until all have all",
            seconds(took[0]),
            f"real {seconds(took[1])}",
            f"{_ratio(*took)} times; CPU of the load {loads[0]:.0%} / {loads[1]:.0%} of a core",
            "told",
        ),
        Figure("… CPU of the server", f"{cpu[0]:.2f} s", f"real {cpu[1]:.2f} s", times, "told"),
    ]


def _measure_starts(sides: Sides, amounts: Amounts) -> Sequence[Figure]:
    """From here on they have 10,000 ConfigMaps."""

    def start(side: Side, _: int) -> Ready:
        side.stop()
        side.forget()
        return launch_and_wait(side)

    def restart(side: Side, _: int) -> Ready:
        side.stop()
        return launch_and_wait(side)

    started = in_turns(sides, start, amounts.times)
    for side in sides:
        run_load(side, "create", "ConfigMap", "restarted", amounts.restarted, _WRITERS)
    restarted = in_turns(sides, restart, amounts.times)
    objects = f"restart with {amounts.restarted:,} objects"
    return [
        _tell("start with no objects, until it is ready", started, 0),
        _tell(f"{objects}, until it is ready", restarted, 0),
        _tell(f"{objects}, until a list of 500 has been answered", restarted, 1),
    ]


def _tell(what: str, seen: Both, place: int) -> Figure:
    ours, plain = ([each[place] for each in side] for side in seen)
    return Figure(what, seconds(ours), f"real {seconds(plain)}", f"{_ratio(ours, plain)} times", "told")


def _measure_memory(sides: Sides, amounts: Amounts) -> Sequence[Figure]:
    """Of servers that have 10,000 ConfigMaps."""
    more = amounts.remembered - amounts.restarted
    for side in sides:
        run_load(side, "create", "ConfigMap", "remembered", more, _WRITERS)
        wait_until_quiet(*side.pids)
    ours, plain = (read_memory_of(side) for side in sides)
    return [
        Figure(
            f"resident at rest, {amounts.remembered:,} ConfigMaps",
            f"{sum(ours.values()):.0f} MB",
            "real " + " + ".join(f"{name} {amount:.0f} MB" for name, amount in plain.items()),
            f"{sum(ours.values()) / sum(plain.values()):.2f} times",
            "told",
        )
    ]


def _measure_kills(sides: Sides, amounts: Amounts) -> Sequence[Figure]:
    kills = amounts.kills, amounts.real_kills
    written = [kill_again_and_again(side, times) for side, times in zip(sides, kills, strict=True)]
    return [
        Figure(
            f"kills (-9) while {_WRITERS} clients write: acknowledged writes that are lost, {amounts.kills} kills",
            f"0 of {written[0]:,}",
            f"real, {amounts.real_kills} kills: 0 of {written[1]:,}",
            "",
            "0",
            True,
        )
    ]


def kill_again_and_again(side: Side, times: int) -> int:
    """How many writes it has acknowledged in all. Ends the benchmark when one of them is lost, at once or later."""
    chance, acknowledged = random.Random(42), set[str]()
    for number in range(times):
        acknowledged |= set(write_until_killed(side, f"kill-{number}", chance.uniform(*_KILLED_AFTER)))
        launch_and_wait(side)
        kept = set(run_load(side, "names")["names"])
        if lost := sorted(acknowledged - kept):
            raise SystemExit(f"{len(lost)} acknowledged writes are lost after kill {number}: {', '.join(lost[:5])}")
    return len(acknowledged)


def write_until_killed(side: Side, prefix: str, after: float) -> list[str]:
    """The names that it had acknowledged. `after`: seconds of writing."""
    load = open_load(side, "write", prefix, _WRITERS)
    assert load.stdout is not None
    load.stdout.readline()
    time.sleep(after)
    kill(side)
    return list(read_output(load)["acknowledged"])


def milliseconds(durations: Sequence[float]) -> str:
    found = [each * 1e3 for each in durations]
    return f"{statistics.median(found):.0f} ms ({min(found):.0f} to {max(found):.0f})"


def _ratio(ours: Sequence[float], plain: Sequence[float]) -> str:
    return f"{statistics.median(ours) / statistics.median(plain):.2f}"
