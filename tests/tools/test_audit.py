"""What CI says of known vulnerabilities: they fail a change of the lock that has them, and silence is never "none"."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from audit import LOCKS, Audit, find_changed, judge, read_report, run_audit

ROOT = Path(__file__).resolve().parents[2]
LOCK = "requirements.lock"


def build_report(*packages: dict[str, Any]) -> dict[str, Any]:
    """As pip-audit 2.10.1 prints it."""
    return {"dependencies": list(packages), "fixes": []}


WELL = {"name": "click", "version": "8.5.1", "vulns": []}
UNKNOWN = {"name": "rich", "skip_reason": "Dependency not found on PyPI and could not be audited: rich (15.0.0)"}
BAD = {
    "name": "jinja2",
    "version": "3.1.5",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["3.1.6"], "aliases": [], "description": "…"}],
}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (build_report(WELL), "requirements.lock: 0 known vulnerabilities in 1 packages"),
        (build_report(WELL, UNKNOWN), "0 known vulnerabilities in 1 packages; nothing is known of 1 more"),
        (build_report(UNKNOWN, UNKNOWN), "skipped, as the index has no advisories: it told nothing of 2 packages"),
        (build_report(WELL, BAD), "1 known vulnerabilities in 2 packages"),
    ],
)
def test_what_is_known_and_what_is_not_are_counted(report: dict[str, Any], said: str) -> None:
    """pip-audit itself says "No known vulnerabilities found" of packages that its index does not know."""
    lines, code = judge([read_report(LOCK, report)], changed=())
    assert (said in lines[0], code) == (True, 0), lines


@pytest.mark.parametrize(
    ("changed", "code"), [((), 0), (("deploy/operator.lock",), 0), ((LOCK,), 1), ((LOCK, "deploy/operator.lock"), 1)]
)
def test_a_vulnerability_is_told_and_fails_the_change_that_writes_its_lock(changed: tuple[str, ...], code: int) -> None:
    clean = read_report("deploy/operator.lock", build_report(WELL))
    lines, found = judge([read_report(LOCK, build_report(WELL, BAD)), clean], changed)
    assert "  jinja2 3.1.5: PYSEC-2026-1, mended in 3.1.6" in lines
    assert found == code


def write_program(place: Path, text: str) -> str:
    program = place / "uv"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'error: no connection' >&2; exit 2", "pip-audit did not answer: error: no connection"),
        ("exit 1", "pip-audit did not answer: it said nothing"),
        ("echo '{\"other\": 1}'", "pip-audit did not answer: it said nothing"),
    ],
)
def test_an_index_that_does_not_answer_is_said_and_fails_nothing(text: str, why: str, tmp_path: Path) -> None:
    audit = run_audit(write_program(tmp_path, text), LOCK)
    assert audit == Audit(LOCK, why=why)
    assert judge([audit], changed=(LOCK,)) == ([f"{LOCK}: skipped, as {why}"], 0)


def test_without_uv_it_is_skipped(tmp_path: Path) -> None:
    assert "cannot be started: No such file" in run_audit(str(tmp_path / "uv"), LOCK).why


def test_what_has_changed_is_asked_of_git_and_an_unknown_commit_is_nothing() -> None:
    assert find_changed("nothing") == set()
    assert find_changed("HEAD") <= set(LOCKS)


def test_every_lock_is_looked_at() -> None:
    found = {*ROOT.glob("requirements*.lock"), *(ROOT / "deploy").glob("*.lock")}
    assert {str(path.relative_to(ROOT)) for path in found} == set(LOCKS)
