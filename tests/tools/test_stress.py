"""What `make stress` reads, says and ends with; and one real run with a test that fails each second time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from stress import Round, choose_code, explain, read_report

from e2e.commands import until

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tools/stress.py"


def build_case(classname: str, name: str, inside: str = "") -> str:
    return f'<testcase classname="{classname}" name="{name}">{inside}</testcase>'


CASES = [
    ("a test that passed", build_case("tests.jobs.test_plan", "test_it"), {}),
    ("a skipped test", build_case("tests.jobs.test_plan", "test_it", '<skipped message="no bwrap" />'), {}),
    (
        "a failed test, the first line of what it says",
        build_case("tests.jobs.test_plan", "test_it", '<failure message="assert 1 == 2&#10; + where" />'),
        {"tests/jobs/test_plan.py::test_it": "assert 1 == 2"},
    ),
    (
        "a test of a class, with values that have every sign",
        build_case("tests.jobs.test_plan.TestPlan", "test_it[a - b.c::d]", '<failure message="no" />'),
        {"tests/jobs/test_plan.py::TestPlan::test_it[a - b.c::d]": "no"},
    ),
    (
        "a test that failed, and its fixture afterwards",
        build_case("tests.jobs.test_plan", "test_it", '<failure message="first" />')
        + build_case("tests.jobs.test_plan", "test_it", '<error message="second" />'),
        {"tests/jobs/test_plan.py::test_it": "first"},
    ),
    (
        "a file that cannot be imported",
        build_case("", "tests.jobs.test_other", '<error message="collection failure" />'),
        {"tests.jobs.test_other": "collection failure"},
    ),
    ("a failure without a word", build_case("gone", "test_it", "<failure />"), {"gone::test_it": ""}),
]


@pytest.mark.parametrize(("cases", "failed"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_failed_tests_are_read_by_their_node_ids(cases: str, failed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tests/jobs").mkdir(parents=True)
    (tmp_path / "tests/jobs/test_plan.py").touch()
    assert read_report(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", tmp_path) == failed


@pytest.mark.parametrize(
    ("codes", "code"),
    [([], 0), ([0, 0], 0), ([0, 1, 0], 1), ([1, 5], 2), ([4], 2), ([1, 130], 130), ([-9], 2)],
)
def test_the_exit_code_tells_failed_tests_from_a_run_that_was_none(codes: list[int], code: int) -> None:
    assert choose_code([Round(1, each) for each in codes]) == code


def test_the_most_frequent_failure_comes_first_with_the_command_that_repeats_it() -> None:
    last = {"a.py::test_a": "-", "b.py::b[x y]": "no b"}
    rounds = [Round(11, 1, {"a.py::test_a": "no a"}), Round(12, 0), Round(13, 1, last)]
    assert explain(rounds).splitlines() == [
        "2 tests failed in 3 rounds",
        "2 of 3  a.py::test_a",
        "    seeds 11, 13: no a",
        "    .venv/bin/pytest a.py::test_a --randomly-seed=11",
        "1 of 3  b.py::b[x y]",
        "    seeds 13: no b",
        "    .venv/bin/pytest 'b.py::b[x y]' --randomly-seed=13",
    ]


def test_a_round_that_pytest_could_not_run_is_named() -> None:
    assert explain([Round(7, 5)]).splitlines() == [
        "no tests failed in 1 round",
        "seed 7: pytest ended with exit code 5",
    ]


FLAKY = """
from pathlib import Path

def test_good(): ...

def test_each_second_time():
    mark = Path("mark")
    if mark.exists():
        mark.unlink()
        assert False, "the second time"
    mark.touch()
"""
PLAIN = ("-p", "no:cacheprovider")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_test_that_fails_each_second_time_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_flaky.py").write_text(FLAKY)
    program = start(tmp_path, "--times", "4", "--burners", "1", *PLAIN)
    said = program.communicate(timeout=180)[0].splitlines()
    assert program.returncode == 1, said
    beginning = said.index("1 test failed in 4 rounds")
    assert said[beginning + 1] == "2 of 4  test_flaky.py::test_each_second_time"
    assert "the second time" in said[beginning + 2]


SLOW = """
import time
from pathlib import Path

def test_bad():
    assert False, "at first"

def test_for_ever():
    Path("begun").touch()
    time.sleep(600)
"""


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose first test has failed, and whose second one does not end."""
    (tmp_path / "test_slow.py").write_text(SLOW)
    program = start(tmp_path, "--burners", "2", "--randomly-dont-reorganize", *PLAIN)
    until("the second test", (tmp_path / "begun").exists)
    yield program
    program.kill()
    program.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_all_processes_and_what_had_failed_is_told(
    number: signal.Signals, endless: subprocess.Popen[str]
) -> None:
    children = psutil.Process(endless.pid).children()
    assert len(children) == 3
    endless.send_signal(number)
    said = endless.communicate(timeout=120)[0]
    assert (endless.returncode, "1 of 1  test_slow.py::test_bad" in said) == (130, True), said
    assert not any(child.is_running() for child in children)


@pytest.mark.slow
def test_busy_processes_end_also_when_the_program_is_killed(endless: subprocess.Popen[str]) -> None:
    children = psutil.Process(endless.pid).children()
    busy = [child for child in children if "pytest" not in child.cmdline()]
    endless.kill()
    endless.wait()
    try:
        assert (len(busy), psutil.wait_procs(busy, 60)[1]) == (2, [])
    finally:
        for child in children:
            if child.is_running():
                child.kill()
