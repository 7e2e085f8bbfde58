"""`paddock history` of ten thousand runs looks into the logs of few of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from history.test_logs import write_log
from paddock.app.home import Home
from paddock.history.records import RunRecord, write_record

pytestmark = pytest.mark.slow  # it writes 40,000 files first

NAMES, RUNS, HOUR = 10, 10_000, 3600.0
BEGUN = 1_700_000_000.0
RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "long-job", "long", 1, BEGUN, phase="Running")

_COUNT = """
import sys
from paddock.cli.main import cli
below, opened = sys.argv[1], []
def look(name, args):
    if name == "open" and str(args[0]).startswith(below):
        opened.append(args[0])
sys.addaudithook(look)
try:
    cli(sys.argv[2:], prog_name="paddock")
finally:
    print("opened", *sorted(opened), sep="\\n", file=sys.stderr)
"""
"""Runs the command with the words behind the directory, and prints each file below that which it has opened."""


@dataclass(frozen=True)
class Asked:
    out: str
    opened: list[str]
    """Relative to the directory of pods."""


def ask(home: Home, *words: str) -> Asked:
    environ = {**os.environ, "PADDOCK_HOME": str(home.root), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, str(home.pod_logs), *words], env=environ, capture_output=True, text=True
    )
    said, _, opened = done.stderr.partition("opened\n")
    assert done.returncode == 0 and not said, done.stderr
    return Asked(done.stdout, [os.path.relpath(path, home.pod_logs) for path in opened.splitlines()])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One job that has trained for a year beside 10,000 runs, one an hour, of which the last has not ended."""
    root = tmp_path_factory.mktemp("home")
    home = Home(root, root)
    write(home, RUN)
    over = replace(RUN, ended=1.0, deleted=1.0, phase="Completed", finished=True, settled=True)
    for number in range(RUNS):
        place = {"uid": f"u{number}", "run": 1 + number // NAMES, "created": BEGUN + HOUR * number}
        write(home, replace(over if number < RUNS - 1 else RUN, name=f"fit-{number % NAMES}", **place))
    return home


def write(home: Home, run: RunRecord) -> None:
    write_record(home.history, run)
    log = write_log(home.node, f"{run.name}-worker-0", run.uid, job=run.uid, text="Epoch 3, Loss: 0.5\n")
    os.utime(log.parents[1], (run.created, run.created))


LAST, LONG = f"u{RUNS - 1}", "long"
OWNERS = {f"default_fit-9-worker-0_u{number}/.owner.json" for number in (RUNS - 1, RUNS - 11, RUNS - 21)}
"""Of the name of the last run, as far as they are of its day: whose each is stands in it."""


def read(pod: str) -> set[str]:
    return {f"{pod}/.owner.json", f"{pod}/paddle/0.log"}


def test_of_the_table_only_runs_that_go_on_are_read(home: Home) -> None:
    asked = ask(home, "history")
    assert asked.out.count("\n") == RUNS + 2
    assert asked.opened == sorted(
        OWNERS | read(f"default_fit-9-worker-0_{LAST}") | read(f"default_long-job-worker-0_{LONG}")
    )


def test_of_the_last_runs_those_before_are_not_read(home: Home) -> None:
    asked = ask(home, "history", "--limit", "5")
    assert [line.split()[:2] for line in asked.out.splitlines()[1:]] == [
        [f"fit-{each}", "1000"] for each in range(5, 10)
    ]
    assert "epoch 3 loss 0.5" in asked.out.splitlines()[-1]
    assert asked.opened == sorted(OWNERS | read(f"default_fit-9-worker-0_{LAST}"))
    asked = ask(home, "history", "fit-9", "--limit", "2", "-o", "json")
    assert [each["run"] for each in json.loads(asked.out)] == [RUNS // NAMES - 1, RUNS // NAMES]
    assert len(asked.opened) < 10


def test_of_one_run_the_log_is_found_without_those_before_it(home: Home) -> None:
    asked = ask(home, "logs", "fit-9")
    assert asked.out == "Epoch 3, Loss: 0.5\n"
    assert len(asked.opened) < 20 and all(each in OWNERS or LAST in each for each in asked.opened)
