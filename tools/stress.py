#!/usr/bin/env python3
"""Tests again and again, beside processes that take the cores: which of them lean on time?

    make stress                                    the tests of `make test`, five times, beside four busy processes
    make stress TIER=slow TIMES=20 BURNERS=8       those of another tier, so often, beside so many
    make stress TESTS="tests/operator -k gang"     those that more words of pytest choose

    tools/stress.py --times 5 --burners 4 WORD…    the same for any words of pytest

Each round has a seed of its own. The end says of each test that failed how often, with which seeds, and the command
that repeats it. Ends with 1 if a test failed, 2 if pytest could not run them, and 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree

# It ends by itself when its parent is killed.
_BURNER = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
_PYTEST = (sys.executable, "-m", "pytest")
_PASSED_OR_FAILED = (0, 1)
"""Exit codes of pytest; with any other no test ran, or it could not go on."""
_INTERRUPTED = 130
_END_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Round:
    """`failed`: the first line of what each failed test says, by its node id. `code`: of pytest."""

    seed: int
    code: int
    failed: dict[str, str] = field(default_factory=dict)


def read_report(text: str, root: Path) -> dict[str, str]:
    """The failed tests of a JUnit report: the first line of what each says, by its node id."""
    found: dict[str, str] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        for each in (*case.findall("failure"), *case.findall("error")):
            said = (each.get("message") or "").strip().splitlines()
            found.setdefault(_find_node(case.get("classname", ""), case.get("name", ""), root), (said or [""])[0])
    return found


def _find_node(dotted: str, name: str, root: Path) -> str:
    """pytest writes the path and the class of a test in one, with dots: `tests.jobs.test_plan.TestPlan`."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count]) + ".py"
        if (root / path).is_file():
            return "::".join([path, *parts[count:], name])
    return "::".join(part for part in (dotted, name) if part)


def build_command(words: Sequence[str], seed: int, report: Path) -> list[str]:
    return [*_PYTEST, "-q", f"--randomly-seed={seed}", f"--junit-xml={report}", *words]


def explain(rounds: Sequence[Round]) -> str:
    """A test that failed has three lines, the most frequent first: how often, what it said, how to repeat it."""
    failed = {name for each in rounds for name in each.failed}
    having = {name: [each for each in rounds if name in each.failed] for name in failed}
    lines = [f"{_count(len(failed), 'test')} failed in {_count(len(rounds), 'round')}"]
    for name in sorted(failed, key=lambda name: (-len(having[name]), name)):
        seeds = [each.seed for each in having[name]]
        lines += [
            f"{len(seeds)} of {len(rounds)}  {name}",
            f"    seeds {', '.join(map(str, seeds))}: {having[name][0].failed[name]}",
            f"    {shlex.join(['.venv/bin/pytest', name, f'--randomly-seed={seeds[0]}'])}",
        ]
    lines += [
        f"seed {each.seed}: pytest ended with exit code {each.code}"
        for each in rounds
        if each.code not in _PASSED_OR_FAILED
    ]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def choose_code(rounds: Sequence[Round]) -> int:
    codes = {each.code for each in rounds}
    if codes <= set(_PASSED_OR_FAILED):
        return max(codes, default=0)
    return _INTERRUPTED if _INTERRUPTED in codes else 2


@contextmanager
def burning(count: int) -> Iterator[None]:
    """So many processes are busy, each with a core if it gets one."""
    command = [sys.executable, "-c", _BURNER, str(os.getpid())]
    # In a group of their own, as Ctrl-C is for this process alone.
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL, process_group=0) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()


def run_round(words: Sequence[str], root: Path) -> Round:
    """Runs pytest once. After Ctrl-C its code is 130, and it has what failed before."""
    seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory(prefix="stress-") as directory:
        report = Path(directory, "report.xml")
        code = _end(subprocess.Popen(build_command(words, seed, report), cwd=root, process_group=0))
        failed = read_report(report.read_text(), root) if report.exists() else {}
    return Round(seed, code, failed)


def _end(tests: subprocess.Popen[bytes]) -> int:
    try:
        return tests.wait()
    except KeyboardInterrupt:
        tests.send_signal(signal.SIGINT)  # it tells what has failed so far
        try:
            tests.wait(_END_SECONDS)
        finally:
            tests.kill()
            tests.wait()
        return _INTERRUPTED


def run(words: Sequence[str], times: int, burners: int, root: Path) -> list[Round]:
    """Stops after a round that pytest could not run, as the next one would be the same."""
    rounds: list[Round] = []
    with burning(burners):
        while len(rounds) < times and all(each.code in _PASSED_OR_FAILED for each in rounds):
            begun = time.monotonic()
            rounds.append(run_round(words, root))
            took, last = time.monotonic() - begun, rounds[-1]
            done = f"round {len(rounds)} of {times}, seed {last.seed}: {_count(len(last.failed), 'test')} failed"
            print(f"{done}, {took:.0f} s", flush=True)
    return rounds


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5, metavar="N", help="so many rounds")
    parser.add_argument("--burners", type=int, default=4, metavar="N", help="so many busy processes")
    asked, words = parser.parse_known_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    rounds = run(words, asked.times, asked.burners, Path.cwd())
    print(explain(rounds))
    return choose_code(rounds)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is as Ctrl-C: the busy processes end, and what failed is told."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
