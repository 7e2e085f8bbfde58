"""Leaderships that a test gives and takes: of all there is, and of two shards."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from paddock.operator.election import NO_TERMS, Term, has_news


class Led:
    """A leadership that the test controls."""

    shards = 1

    def __init__(self) -> None:
        self.leads = True
        self.term: tuple[str, int] | None = ("first", 0)
        self.asked = asyncio.Event()
        self._won = asyncio.Event()

    @property
    def terms(self) -> Mapping[int, Term | None]:
        return {0: self.term} if self.leads else {}

    def holds(self, shard: int, term: Term | None) -> bool:
        return self.leads and term == self.term

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        self.asked.set()
        while not self.leads:
            self._won.clear()
            await self._won.wait()

    def win(self, term: tuple[str, int]) -> None:
        self.term, self.leads = term, True
        self._won.set()


class Shared:
    """Two shards of which the test gives some. `terms`: as in `operator.election.Leadership`."""

    shards = 2

    def __init__(self) -> None:
        self.terms: dict[int, Term | None] = {}
        self._won = asyncio.Event()

    def holds(self, shard: int, term: Term | None) -> bool:
        return shard in self.terms and self.terms[shard] == term

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        while not has_news(self.terms, known):
            self._won.clear()
            await self._won.wait()

    def win(self, shard: int, term: Term) -> None:
        self.terms[shard] = term
        self._won.set()
