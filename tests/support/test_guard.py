"""Real pytest over files that leave something: the guard names the file, and the test when it is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEAVES = """
import os, pytest
@pytest.fixture(scope="session")
def served():
    os.environ["OF_THE_SESSION"] = "stays"
    yield
    del os.environ["OF_THE_SESSION"]
def test_before(): pass
def test_it_leaves(): {leaves}
def test_after(served): pass
def test_as_well(served): {leaves_later}
"""
PUTS_BACK = """
import os, pytest, signal
@pytest.fixture(scope="session")
def plane():
    os.environ["OF_THE_PLANE"] = "stays"
@pytest.fixture
def world(request, monkeypatch):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    monkeypatch.setenv("FOR_A_MOMENT", "here")
    request.getfixturevalue("plane")
    signal.signal(signal.SIGUSR1, before)
def test_it(world): pass
"""
NOTHING = "pass"
SETS, SETS_LATER = 'os.environ["LEFT"] = "here"', 'os.environ["LATER"] = "here"'


def run(place: Path, words: tuple[str, ...], leaves: str, leaves_later: str = NOTHING) -> tuple[int, str]:
    (place / "test_leaves.py").write_text(LEAVES.format(leaves=leaves, leaves_later=leaves_later))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_ADDOPTS": ""}
    plugins = ("-p", "support.guard", "-p", "no:cacheprovider", "-p", "no:randomly", "-q", "-rE")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *words, str(place)],
        env=environment, cwd=place, capture_output=True, text=True,
    )  # fmt: skip
    return ended.returncode, ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--guard=test",), pytest.param(("-n", "1"), marks=pytest.mark.slow)])
def test_a_file_that_leaves_nothing_passes_whatever_a_fixture_of_the_session_holds(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, said = run(tmp_path, words, NOTHING)
    assert code == 0 and "4 passed" in said, said


def test_what_a_file_leaves_before_and_after_a_fixture_of_the_session_is_said_with_the_command_that_names_the_test(
    tmp_path: Path,
) -> None:
    code, said = run(tmp_path, (), SETS, SETS_LATER)
    assert code == 1 and "ERROR test_leaves.py::test_as_well" in said, said
    lines = said.splitlines()
    start = lines.index("a test of this file leaves for the next one:")
    assert lines[start + 1 : start + 3] == [
        "an environment variable was {}, and is {b'LATER': b'here', b'LEFT': b'here'}",
        "to know which test it is: pytest --guard=test test_leaves.py",
    ]


@pytest.mark.slow
def test_what_is_put_back_after_a_fixture_of_the_session_began_is_not_left(tmp_path: Path) -> None:
    """As an event loop does that sets up an asynchronous fixture, which asks for one of the session."""
    (tmp_path / "test_puts_back.py").write_text(PUTS_BACK)
    code, said = run(tmp_path, (), NOTHING)
    assert code == 0, said


def test_asked_for_each_test_the_guard_names_it(tmp_path: Path) -> None:
    code, said = run(tmp_path, ("--guard=test",), SETS)
    assert code == 1 and "ERROR test_leaves.py::test_it_leaves" in said, said
    assert "this test leaves for the next one:\nan environment variable was {}, and is {b'LEFT': b'here'}" in said, said
