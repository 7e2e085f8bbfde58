"""`make test` is two calls of pytest: neither's failure is lost, and Ctrl-C ends both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from light_tests import choose_code, split

from e2e.commands import until
from support import order

ROOT = Path(__file__).resolve().parents[2]
PASSES, FAILS = "def test_it(): pass\n", "def test_it(): assert 0\n"
LASTS = """
import pathlib, time
def test_it():
    pathlib.Path(pathlib.Path(__file__).parent.name).touch()
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((0, 0), 0),
        ((0, 1), 1),
        ((1, 0), 1),
        ((0, 5), 0),
        ((5, 0), 0),
        ((5, 5), 5),
        ((5, 1), 1),
        ((2, 1), 2),
        ((0, -9), -9),
    ],
)
def test_a_call_that_has_failed_is_not_lost(codes: tuple[int, int], code: int) -> None:
    assert choose_code(codes) == code


def test_the_words_of_both_calls_come_last() -> None:
    assert split(["-n", "5", "--", "--", "-m", "light", "--", "x"]) == [["-n", "5"], [], ["-m", "light", "--", "x"]]
    assert split([]) == [[], [], []]


def test_what_computes_in_a_folder_that_waits_is_there_and_in_one_room_alone() -> None:
    for each in order.COMPUTING:
        assert (ROOT / "tests" / each).exists(), each
        assert each.split("/")[0] in order.WAITING, each
    rooms = {
        path: order.waits(Path(path)) for path in ("cli/script/test_usage.py", "cli/test_get.py", "jobs/test_plan.py")
    }
    assert list(rooms.values()) == [False, True, False]


def start(place: Path, computing: str, waiting: str) -> subprocess.Popen[str]:
    for room, text in (("jobs", computing), ("operator", waiting)):
        (place / "tests" / room).mkdir(parents=True)
        (place / "tests" / room / f"test_{room}.py").write_text(text)
    (place / "tests" / "conftest.py").write_text(
        "import support.order as order, pathlib\norder._TESTS = pathlib.Path(__file__).parent\n"
    )
    (place / "pytest.ini").write_text("[pytest]\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTEST_ADDOPTS": "-p support.order"}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "light_tests.py"), "--", "--", "-rf", "tests"],
        cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("computing", "waiting", "code"),
    [
        (FAILS, PASSES, 1),
        pytest.param(PASSES, FAILS, 1, marks=pytest.mark.slow),
        pytest.param(PASSES, PASSES, 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_both_calls_are_shown(tmp_path: Path, computing: str, waiting: str, code: int) -> None:
    tests = start(tmp_path, computing, waiting)
    said, _ = tests.communicate(timeout=180)
    assert tests.returncode == code, said
    assert said.count("1 passed") == 2 - code and said.count("1 failed") == code, said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both_and_shows_what_there_was(tmp_path: Path, number: int) -> None:
    tests = start(tmp_path, LASTS, LASTS)
    until("both are at their test", lambda: all((tmp_path / room).exists() for room in ("jobs", "operator")))
    tests.send_signal(number)
    said, _ = tests.communicate(timeout=180)
    assert tests.returncode == 130 and said.count("KeyboardInterrupt") >= 2, said
