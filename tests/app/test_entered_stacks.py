"""Stacks that are taken by exec: what has come is told, also where the rest never does."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, cast

import pytest

from paddock.app.entered_stacks import Place, Printed, StackVisitor
from paddock.client.client import Client
from paddock.kube.pod_stacks import Trouble
from paddock.kube.pod_streams import Ended
from paddock.logs.entered_pods import Guards, Look, SeenProcess

STACK = json.dumps([{"thread_name": "MainThread", "frames": [{"name": "f", "filename": "a.py", "line": 3}]}])


class Hangs(StackVisitor):
    """A container in which the first process answers, and the second one's dump never ends."""

    async def _run(
        self, place: Place, command: tuple[str, ...], printed: Printed, data: bytes = b"", until: bytes = b""
    ) -> Ended:
        (token,) = set(re.findall("paddock[0-9a-f]{16}", command[2]))
        printed.out.extend(f"{token} stack 7\n{STACK}\n{token} code 0\n{token} stack 8\n".encode())
        await asyncio.Event().wait()
        raise AssertionError


async def test_what_has_come_until_the_deadline_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.app.entered_stacks._DUMP_SECONDS", 0.05)
    visitor = Hangs(cast(Client, None), None, lambda _: None)
    look = Look(Guards(tool="py-spy"), tuple(SeenProcess(pid, program="python3", python=True) for pid in (7, 8)))
    pod: dict[str, Any] = {"metadata": {"name": "p", "namespace": "default"}}
    entered = await visitor._dump(Place(pod, "main"), look)
    first, second = entered.stacks.processes
    assert [each.function for each in first.threads[0].frames] == ["f"] and not first.trouble
    assert second.trouble == Trouble.NO_ANSWER
