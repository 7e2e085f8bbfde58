"""All cases by room, and the goldens: what a real kube-apiserver answered to them.

`goldens/VERSION/ROOM.json` has the answers of one release, a line for each case. `pytest -m kubernetes
--rewrite-goldens tests/kubernetes/test_conformance.py` records those of the server that is here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from apiserver.conformance.answers import Answer
from apiserver.conformance.cases import Case
from apiserver.conformance.rooms import (
    applies,
    customs,
    deletes,
    kinds,
    lists,
    metadata,
    namespaces,
    patches,
    pods,
    rights,
    shapes,
    watches,
    writes,
)

_MODULES: tuple[ModuleType, ...] = (
    metadata, writes, deletes, patches, applies, watches, lists, namespaces, pods, kinds, customs, shapes, rights,
)  # fmt: skip
ROOMS: Mapping[str, Sequence[Case]] = {module.__name__.rpartition(".")[2]: module.CASES for module in _MODULES}
CASES: Mapping[str, Case] = {case.name: case for cases in ROOMS.values() for case in cases}
GOLDENS = Path(__file__).parent / "goldens"
OWN_WORDS = GOLDENS / "own_words.json"
"""The sentences of the embedded API where it says the same error in words of its own, by case."""

Minor = tuple[int, int]
"""Of a release of Kubernetes: (1, 20)."""


def read_minor(text: str) -> Minor:
    """`1.20.2` -> (1, 20)"""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def is_asked(case: Case, version: Minor) -> bool:
    """Whether a server of this release has the rule."""
    return not case.since or read_minor(case.since) <= version


def read_goldens(version: str = "") -> dict[str, Sequence[Answer]]:
    """By the name of the case; of the newest release that answered it, or of one release."""
    found: dict[str, Sequence[Answer]] = {}
    folders = sorted(filter(Path.is_dir, GOLDENS.iterdir()), key=lambda folder: read_minor(folder.name))
    for folder in folders:
        if version in ("", folder.name):
            for path in sorted(folder.glob("*.json")):
                found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def write_goldens(version: str, answers: Mapping[str, Sequence[Answer]]) -> None:
    folder = GOLDENS / version
    folder.mkdir(parents=True, exist_ok=True)
    for room, cases in ROOMS.items():
        told = {each.name: answers[each.name] for each in cases if each.name in answers and not each.since}
        write_lines(folder / f"{room}.json", told)


def write_lines(path: Path, values: Mapping[str, Any]) -> None:
    """JSON with a line for each key, so that a difference is read line by line."""
    dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
    lines = [f"{dump(name)}: {dump(value)}" for name, value in values.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_own_words() -> dict[str, list[Any]]:
    """By the name of the case, the sentences of each of its answers."""
    found: dict[str, list[Any]] = json.loads(OWN_WORDS.read_text(encoding="utf-8"))
    return found


def read_wanted() -> dict[str, Sequence[Answer]]:
    """What the embedded server is compared with: goldens, and what is written by hand of newer rules."""
    by_hand = {name: case.expected for name, case in CASES.items() if case.since}
    return {**read_goldens(), **by_hand}
