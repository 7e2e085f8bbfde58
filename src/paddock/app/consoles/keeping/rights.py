"""Who may see what is kept: whom the API lets see the like of it now.

A record is shown to who may get jobs of its kind in its namespace, a log and what was read out of it to who may get
`pods/log` there besides. The API is asked for both by the reader's own token (SelfSubjectAccessReview), never the
keeper: what it does not say is not shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from paddock.app.consoles.rights import ReviewedRights
from paddock.history.records import RunRecord
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import PODS, Resource

MOST_ASKED = 500
"""Kinds of namespaces of which it is asked for one page; what is beyond is not shown. Who may see all namespaces is
asked for each kind once."""
_AT_ONCE = 8


def find_kind(run: RunRecord) -> Resource | None:
    named = (run.api_version, run.kind)
    return next((each for each in KINDS if (each.api_version, each.kind) == named), None)


class Sight:
    """What one reader may see."""

    def __init__(self, rights: ReviewedRights) -> None:
        self._rights, self._turn = rights, asyncio.Semaphore(_AT_ONCE)

    async def may_see(self, kind: Resource | None, namespace: str) -> bool:
        """The jobs of a kind; `namespace` empty: of all namespaces."""
        return kind is not None and await self._rights.is_allowed("get", kind, namespace)

    async def may_see_some(self, namespace: str) -> bool:
        """The jobs of any kind."""
        return any([await self.may_see(kind, namespace) for kind in KINDS])

    async def may_read_logs(self, namespace: str) -> bool:
        return await self._rights.is_allowed("get", PODS, namespace, "log")

    async def choose(self, runs: Iterable[RunRecord]) -> list[RunRecord]:
        """Those that this reader may see, in their order; without their numbers where they may not read logs."""
        listed = list(runs)
        asked = list(dict.fromkeys((find_kind(run), run.namespace) for run in listed))
        everywhere = {kind for kind in dict.fromkeys(kind for kind, _ in asked) if await self.may_see(kind, "")}
        wanted = [each for each in asked if each[0] not in everywhere][:MOST_ASKED]
        found = await asyncio.gather(*(self._ask(kind, namespace) for kind, namespace in wanted))
        seen = {each for each, may in zip(wanted, found, strict=True) if may}
        shown = [run for run in listed if find_kind(run) in everywhere or (find_kind(run), run.namespace) in seen]
        logs = await self._find_logs(list(dict.fromkeys(run.namespace for run in shown)))
        return [run if run.namespace in logs else without_numbers(run) for run in shown]

    async def _ask(self, kind: Resource | None, namespace: str) -> bool:
        async with self._turn:
            return await self.may_see(kind, namespace)

    async def _find_logs(self, namespaces: Sequence[str]) -> frozenset[str]:
        """Those of these namespaces whose logs this reader may read."""
        if len(namespaces) > 1 and await self.may_read_logs(""):
            return frozenset(namespaces)
        asked = namespaces[:MOST_ASKED]
        found = await asyncio.gather(*(self._ask_logs(each) for each in asked))
        return frozenset(each for each, may in zip(asked, found, strict=True) if may)

    async def _ask_logs(self, namespace: str) -> bool:
        async with self._turn:
            return await self.may_read_logs(namespace)


def without_numbers(run: RunRecord) -> RunRecord:
    """The record without what was read out of logs. Pure."""
    return replace(run, metrics={}, settled=True) if run.metrics or not run.settled else run
