"""Warns of a parameter server or heter rank that needs PADDLE_TRAINER_ID, which is for workers alone
(`frameworks.paddle`), in a PaddleJob of batch.paddlepaddle.org."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from paddock.manifests.parts import Container, Part, mappings
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_WITHOUT_NUMBER = ("ps", "heter")
_OF_KUBERNETES = "$(PADDLE_TRAINER_ID)"
_OF_SHELL = re.compile(r"\$(?:PADDLE_TRAINER_ID\b|\{PADDLE_TRAINER_ID\})")
"""`${PADDLE_TRAINER_ID:-0}` has an answer for ranks without it."""
_UNKNOWN = re.compile(r"\bPADDLE_TRAINER_ID=|\bTRAINING_ROLE\b|\b(?:if|case)\b|&&|\|\|")
"""Of a shell that sets it, or decides who comes there, nothing is known."""


def check_servers(parts: Sequence[Part], kind: str) -> Iterator[Problem]:
    roles = {part.name: part for part in parts if part.replicas > 0} if kind == "PaddleJob" else {}
    for name in _WITHOUT_NUMBER:
        if name in roles:
            yield from _check_number(roles[name])


def _check_number(part: Part) -> Iterator[Problem]:
    containers = part.containers()
    trains = next((each for each in containers if each.name == "paddle"), containers[0] if containers else None)
    path = _find_read(trains) if trains is not None else ""
    if not path:
        return
    advice = (
        phrase("PADDLE_PSERVER_ID has the server's number")
        if part.name == "ps"
        else phrase("PaddlePaddle finds the number of a heter rank by its endpoint")
    )
    said = phrase(
        "PADDLE_TRAINER_ID is read here, and {role} ranks have none, as PaddlePaddle would look up a worker by it: "
        "{advice}",
        role=part.name, advice=advice,
    )  # fmt: skip
    yield told(path, said, severity="warning", about_key=True)


def _find_read(container: Container) -> str:
    """The path of the first field that needs the variable; empty without one."""
    env = list(mappings(container.value.get("env"), f"{container.path}.env"))
    for key in ("command", "args"):
        words: Any = container.value.get(key)
        text = "\n".join(map(str, words)) if isinstance(words, list) else ""
        if _OF_KUBERNETES in text or (_OF_SHELL.search(text) and not _UNKNOWN.search(text)):
            return f"{container.path}.{key}"
    return next((f"{path}.value" for path, entry in env if _OF_KUBERNETES in str(entry.get("value"))), "")
