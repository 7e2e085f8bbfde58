"""`look_at_host` as a program of its own, in a shell or a namespace of a test: its findings, as values."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

PROGRAM = """
import asyncio, json, os, sys
from paddock.doctor.probes.host import look_at_host
found = asyncio.run(look_at_host(sys.argv[2:], interpreter=sys.argv[1], environ=os.environ))
print(json.dumps([{
    "check": each.check, "severity": each.severity, "where": each.where, "command": each.command,
    "said": f"{each.what} {each.why} {each.mend}",
} for each in found]))
"""


@dataclass(frozen=True)
class Found:
    check: str
    severity: str
    where: str
    command: str
    said: str


def command(*peers: str, interpreter: str = "") -> list[str]:
    return [sys.executable, "-c", PROGRAM, interpreter, *peers]


def read(text: str) -> list[Found]:
    return [Found(**row) for row in json.loads(text)]


def checks(found: list[Found]) -> list[str]:
    return [each.check for each in found]
