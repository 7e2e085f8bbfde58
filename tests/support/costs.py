"""The dearest files of a run, in CPU seconds, and how much dearer each is than it was at the last commit.

Seconds of the CPU, of the tests' process and of the children that it has waited for, say more than seconds of the wall,
which pass while tests wait. What a run without a change since the last commit has seen is kept as the figures of that
commit (`.pytest_cache/v/paddock/costs`); a file that has grown by a second and a half of what it was is told.

The end of `make test` also tells which room, a folder of tests, takes more than its number in `house.toml`, in both
calls of pytest together (`tools/light_tests.py`). It fails nothing, as seconds depend on the machine too.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path, PurePath
from typing import Any

import pytest

_KEY = "paddock/costs"
_MOST = 10
_LEAST_SECONDS = 60.0
"""Of a run that is worth a summary."""
_GROWN_SECONDS, _GROWN = 1.0, 1.5

_OVER_SECONDS, _OVER = 2.0, 1.25
"""How much more than its number a room takes before it is told."""
_CALLS = ("pure", "waiting")
"""Values of `--rooms` in the two calls of `make test`."""
_TOP = "top"
"""The room of files at the top of tests."""

Costs = Mapping[str, float]
"""CPU seconds by the file of tests, or by the room."""


def read_cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    before = read_cpu_seconds()
    try:
        return (yield)
    finally:
        spent = item.config.stash.setdefault(_SPENT, defaultdict(float))
        spent[item.nodeid.partition("::")[0]] += read_cpu_seconds() - before


_SPENT = pytest.StashKey[defaultdict[str, float]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a process of xdist has spent."""
    spent = node.config.stash.setdefault(_SPENT, defaultdict(float))
    for path, seconds in getattr(node, "workeroutput", {}).get("costs", {}).items():
        spent[path] += seconds


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["costs"] = dict(session.config.stash.get(_SPENT, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    spent = config.stash.get(_SPENT, defaultdict(float))
    cache = getattr(config, "cache", None)
    key = f"{_KEY}/{config.option.markexpr or 'all'}"  # a folder: a file of its name would be in its way
    before: Costs = cache.get(key, {}) if cache else {}
    rooms = explain_rooms(_add_to_run(config, spent), read_allowed(config.rootpath))
    for line in (*explain_costs(spent, before), *rooms):
        terminalreporter.write_line(line)
    if cache and sum(spent.values()) >= _LEAST_SECONDS and _is_whole(config) and _is_committed(config):
        cache.set(key, {**before, **spent})


def explain_costs(spent: Costs, before: Costs) -> list[str]:
    """Lines for the end of a run; none for a short one. `before`: the figures of the last commit."""
    whole = sum(spent.values())
    if whole < _LEAST_SECONDS:
        return []
    dearest = sorted(spent, key=lambda path: -spent[path])
    lines = [
        f"{whole:.0f} CPU seconds, of which {sum(spent[path] for path in dearest[:_MOST]):.0f} in the dearest files:"
    ]
    lines += [f"{spent[path]:7.1f}  {path}" for path in dearest[:_MOST]]
    grown = [path for path in dearest if path in before and _has_grown(before[path], spent[path])]
    lines += [f"since the last commit: {before[path]:.1f} -> {spent[path]:.1f}  {path}" for path in grown]
    return lines


def _has_grown(before: float, now: float) -> bool:
    return now - before >= _GROWN_SECONDS and now >= _GROWN * before


def sum_rooms(spent: Costs) -> dict[str, float]:
    """By the first folder below tests."""
    rooms: dict[str, float] = defaultdict(float)
    for path, seconds in spent.items():
        folders = PurePath(path).parts[1:-1]
        rooms[folders[0] if folders else _TOP] += seconds
    return dict(rooms)


def explain_rooms(rooms: Costs, allowed: Costs) -> list[str]:
    """A line for each room that takes a quarter and two seconds more than is allowed. A room without a number may take
    any."""
    over = {
        room: seconds
        for room, seconds in rooms.items()
        if room in allowed and seconds > _OVER * allowed[room] and seconds > allowed[room] + _OVER_SECONDS
    }
    return [
        f"tests/{room} took {seconds:.0f} CPU seconds, and house.toml has {allowed[room]:g} for it"
        for room, seconds in sorted(over.items(), key=lambda pair: -pair[1])
    ]


def read_allowed(root: Path) -> Costs:
    """The table `[cpu]` of house.toml; empty where it cannot be read, as `tests/test_house.py` says what is wrong."""
    try:
        allowed: Costs = tomllib.loads((root / "house.toml").read_text(encoding="utf-8")).get("cpu", {})
    except (OSError, ValueError):
        return {}
    return allowed


def _add_to_run(config: pytest.Config, spent: Costs) -> Costs:
    """Keeps what this call has spent by room. Returns the sum of both calls of `make test` to the one that ends last,
    and nothing to another, nor to a run of some files or tests."""
    call = config.getoption("--rooms", None)
    if call is None or config.args_source is config.ArgsSource.ARGS or not _is_whole(config):
        return {}
    return add_call(config.rootpath / "build/costs", call, sum_rooms(spent))


def add_call(folder: Path, call: str, rooms: Costs) -> Costs:
    """Writes the seconds of one call by room; the sum of all calls, empty while another has not ended."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{call}.part"
    part.write_text(json.dumps(rooms))
    part.replace(folder / f"{call}.json")  # whole at once, as the other call may read it
    parts = [folder / f"{each}.json" for each in _CALLS]
    if not all(each.exists() for each in parts):
        return {}
    whole: Counter[str] = Counter()
    for each in parts:
        whole.update(json.loads(each.read_text()))
    return dict(whole)


def _is_whole(config: pytest.Config) -> bool:
    """Whether the run had all tests of its files that `make test` has."""
    chosen = (
        config.getoption("keyword", "") or config.getoption("lf", False) or any("::" in word for word in config.args)
    )
    return not chosen and config.getoption("--hypothesis-profile", None) in (None, "few")


def _is_committed(config: pytest.Config) -> bool:
    """Whether the files are those of the last commit."""
    try:
        ended = subprocess.run(
            ["git", "-C", str(config.rootpath), "status", "--porcelain"], capture_output=True, text=True
        )
    except OSError:
        return False
    return ended.returncode == 0 and not ended.stdout
