"""What `.ci/run` remembers of a tier, and in which folders it looks. Its functions are taken out of it by name."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from support.programs import need

ROOT = Path(__file__).resolve().parents[2]
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
DAY = 24 * 3600


def take(*names: str) -> str:
    """The functions of these names, as they stand there: on one line, or up to a line with their bracket alone."""
    found = [re.search(rf"^{name}\(\) \{{(.*\}}$|(.*\n)+?\}}$)", CI, re.MULTILINE) for name in names]
    assert all(found), names
    return "\n".join(each[0] for each in found if each)


class Machine:
    """A clone in which CI runs, and what it remembers. A commit is made so many days ago."""

    def __init__(self, root: Path) -> None:
        self.root, self.cache = root / "clone", root / "cache"
        self.cache.mkdir()
        (self.root / ".ci").mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, days: float = 0) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        date = f"@{int(time.time() - days * DAY)} +0000"
        environment = {**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        return subprocess.run(
            ["git", *names, *words], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, days: float) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a", days=days)
        return self.git("rev-parse", "HEAD")

    def move_passed(self, commit: str, days: float) -> str:
        """A person has seen all tiers pass at that commit."""
        (self.root / ".ci" / "passed").write_text(f"# Which.\n{commit} 2026-11-30, its CI\n")
        return self.commit(days)

    def run(self, end: str = "yes", since: str = "") -> str:
        """The commit since which the tier `slow` runs what has changed, or "nothing": all. `end`: it passes."""
        functions = take("recorded", "known", "recent", "since", "affected", "passed", "tier")
        script = f"""
set -euo pipefail
cache={self.cache} complete=yes begun_at=$(git rev-parse HEAD)
tests() {{ failed=$([ {end} = yes ] && echo 0 || echo 1); shift 8; echo "$*"; }}
{functions}
tier slow "" 900 -m slow
"""
        environment = {**os.environ, "PADDOCK_SINCE": since}
        ended = subprocess.run(["bash", "-c", script], cwd=self.root, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        words = ended.stdout.split()
        assert words[-2:] == ["-m", "slow"], ended.stdout
        return words[0].removeprefix("--affected=") if words[0].startswith("--affected=") else "nothing"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    need("git")
    return Machine(tmp_path)


def test_a_run_of_some_tests_does_not_put_off_the_run_of_all(machine: Machine) -> None:
    old = machine.commit(days=9)
    assert machine.run() == "nothing", "no commit is known"
    assert machine.run() == "nothing", "the only one is more than a week old"
    whole = machine.commit(days=6)
    assert machine.run() == "nothing"
    some = machine.commit(days=3)
    assert machine.run() == whole
    last = machine.commit(days=2)
    assert machine.run() == some, "the commit at which some of its tests have passed"
    (machine.cache / "whole-slow").write_text(f"{old}\n")  # as if days had gone by
    assert machine.run() == "nothing", "a week after the last run of all of them"
    assert machine.run() == last


def test_without_a_run_of_all_here_the_week_is_that_of_the_commit_that_a_person_has_written(machine: Machine) -> None:
    seen = machine.commit(days=6)
    moved = machine.move_passed(seen, days=5)
    assert machine.run() == seen
    assert not (machine.cache / "whole-slow").exists(), "some of its tests have run"
    machine.commit(days=0)
    assert machine.run() == moved


def test_a_commit_that_a_person_has_written_more_than_a_week_ago_is_too_old_for_a_machine_that_passed_since(
    machine: Machine,
) -> None:
    old = machine.commit(days=8)
    recent = machine.move_passed(old, days=2)
    (machine.cache / "passed-slow").write_text(f"{recent}\n")
    machine.commit(days=1)
    assert machine.run() == "nothing"
    assert machine.run() == machine.git("rev-parse", "HEAD"), "all of them have run now"


def test_a_run_that_fails_is_remembered_by_nobody(machine: Machine) -> None:
    machine.commit(days=1)
    assert machine.run(end="no") == "nothing"
    assert list(machine.cache.iterdir()) == []


def test_a_commit_of_another_history_says_nothing(machine: Machine) -> None:
    machine.commit(days=2)
    machine.git("checkout", "-q", "-b", "mine")
    machine.commit(days=1)
    assert machine.run() == "nothing"
    machine.git("checkout", "-q", "main")
    assert machine.run() == "nothing"


def test_who_names_the_commit_is_believed_and_only_all_tests_are_remembered(machine: Machine) -> None:
    old = machine.commit(days=30)
    machine.commit(days=1)
    assert machine.run(since=old) == old
    assert list(machine.cache.iterdir()) == []
    assert machine.run(since="nothing") == "nothing"
    assert machine.run() == machine.git("rev-parse", "HEAD"), "`PADDOCK_SINCE=nothing .ci/run` is the week's run of all"


def test_what_is_not_committed_is_remembered_by_nobody(machine: Machine) -> None:
    machine.commit(days=1)
    (machine.root / "new").touch()
    machine.run()
    assert list(machine.cache.iterdir()) == []


def test_the_folders_with_tests_of_a_sandbox_are_those_of_its_line() -> None:
    line = re.search(r'^  tests "tests with bubblewrap" (?:.*\\\n)*.*$', CI, re.MULTILINE)
    assert line
    named = set(re.findall(r"tests/\w+", line[0]))
    marks = re.compile(r"\bmark\.sandbox\b|\bparams=SANDBOXES\b|, SANDBOXES\)|\bONE_SANDBOX\b")
    paths = [path for path in (ROOT / "tests").rglob("*.py") if marks.search(path.read_text(encoding="utf-8"))]
    found = {"/".join(path.relative_to(ROOT).parts[:2]) for path in paths}
    assert named == found - {"tests/support"}
