"""docs/doctor-host.md names each check of a machine, with its severity, in both languages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from paddock.doctor.host import network, reach, room
from paddock.doctor.host.wheels import OLDEST_DRIVER
from paddock.doctor.probes.peers import PORTS

ROOT = Path(__file__).resolve().parents[2]
WORDS = {".md": ("wrong", "risk"), ".zh-CN.md": ("错误", "风险")}


def read_checks() -> dict[str, set[str]]:
    """Each check of the code -> its severities, `WRONG` and `RISK`."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src/paddock/doctor/host").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            first = node.args[0]
            if node.func.id in ("Finding", "_finding") and isinstance(first, ast.Constant):
                severities = set(re.findall(r"Severity\.(\w+)", ast.unparse(node.args[1]))) or {"WRONG"}
                found.setdefault(str(first.value), set()).update(severities)
    return found


def read_rows(end: str) -> dict[str, str]:
    text = (ROOT / f"docs/doctor-host{end}").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([a-z][a-z0-9-]+)` \| ([^|]+) \|", text, flags=re.MULTILINE))


@pytest.mark.parametrize("end", WORDS)
def test_each_check_of_the_code_is_a_row_of_the_page_and_the_other_way_round(end: str) -> None:
    assert set(read_rows(end)) == set(read_checks())
    assert len(read_checks()) > 40


@pytest.mark.parametrize("end", WORDS)
def test_a_row_has_the_severity_of_its_check(end: str) -> None:
    wrong, risk = WORDS[end]
    checks = read_checks()
    for check, said in read_rows(end).items():
        told = {name for name, word in (("WRONG", wrong), ("RISK", risk)) if word in said}
        assert told == checks[check], check


def test_both_languages_have_the_same_names_and_commands() -> None:
    spans = [
        set(re.findall(r"`[^`]+`", (ROOT / f"docs/doctor-host{end}").read_text(encoding="utf-8"))) for end in WORDS
    ]
    assert spans[0] == spans[1]


@pytest.mark.parametrize("end", WORDS)
def test_the_numbers_are_those_of_the_code(end: str) -> None:
    text = (ROOT / f"docs/doctor-host{end}").read_text(encoding="utf-8")
    assert all(str(port) in text for port in PORTS)
    drivers = (".".join(f"{part:02d}" for part in version) for version in OLDEST_DRIVER.values())
    assert all(driver in text for driver in drivers)
    for number in (reach.SLOW, reach.SLOW_NAME, room.FEW_FILES, room.SOME_FILES, round(network.FAR_APART)):
        assert str(number) in text
