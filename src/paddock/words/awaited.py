"""Parses a scheduler's message: the PersistentVolumeClaim or PodGroup that a pod waits for.

The messages are kube-scheduler's and those of `paddock.node.scheduler`; a pod's status has only their text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_FORMS = (
    (
        "missing",
        re.compile(
            r'persistentvolumeclaim "(?P<name>[^"]+)" not found'
            r"(?: \(namespace (?P<namespace>\S+) has (?P<there>[^;)]*)"
            r"(?:; one of this name is in (?P<where>[^)]*))?\))?"
        ),
    ),
    ("deleted", re.compile(r'persistentvolumeclaim "(?P<name>[^"]+)" is being deleted')),
    (
        "unbound",
        re.compile(r"unbound immediate PersistentVolumeClaims(?: \((?P<name>[^:)]+)(?:: (?P<why>.*))?\))?"),
    ),
    ("group", re.compile(r'waiting for the PodGroup "(?P<name>[^"]+)", which does not exist yet')),
)


class Awaited(NamedTuple):
    """`form`: missing, deleted or unbound (a claim), group (a PodGroup). An unknown fact is an empty text."""

    form: str
    facts: Mapping[str, str]


def find_awaited(message: str) -> Awaited | None:
    for form, pattern in _FORMS:
        if match := pattern.search(message):
            return Awaited(form, {name: value or "" for name, value in match.groupdict().items()})
    return None
