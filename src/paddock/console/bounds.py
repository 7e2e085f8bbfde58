"""How much of a console one reader may hold, and all of them together. docs/operations/console.md names the numbers.

A reader's own share comes first, so that who opens too much is refused, and the others notice nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from paddock.console.backend import Identity
from paddock.words.phrases import Phrase, phrase

SESSIONS_OF_ONE, MOST_SESSIONS = 50, 500
PAGES_OF_ONE, MOST_PAGES = 30, 300
"""Of pages that are kept up to date while they are open. Browsers end the stream of a hidden tab."""
MOST_FIELDS = 1000
"""Of a form; aiohttp's own."""


class Full(Exception):
    """There is no room for it. `status`: of the answer."""

    def __init__(self, status: int, said: Phrase) -> None:
        super().__init__(str(said))
        self.status, self.said = status, said


def name_reader(identity: Identity) -> str:
    """The reader in whose share it counts: the user, where the API tells the name, as one user may have many tokens."""
    return identity.name or identity.id


class OpenPages:
    """Those that are kept up to date."""

    def __init__(self, of_one: int = PAGES_OF_ONE, over_all: int = MOST_PAGES) -> None:
        self._of_one, self._over_all = of_one, over_all
        self._of: Counter[str] = Counter()

    @property
    def count(self) -> int:
        return self._of.total()

    @contextmanager
    def hold(self, identity: Identity) -> Iterator[None]:
        """Counts one meanwhile. Raises `Full`."""
        reader = name_reader(identity)
        if self._of[reader] >= self._of_one:
            said = phrase(
                "{most} pages of this console are open in your browsers, and no more are kept up to date for one "
                "reader: close some of them",
                most=self._of_one,
            )
            raise Full(429, said)
        if self.count >= self._over_all:
            said = phrase(
                "{most} pages of this console are open, and no more are kept up to date for all readers together: "
                "this one is tried again until there is room",
                most=self._over_all,
            )
            raise Full(429, said)
        self._of[reader] += 1
        try:
            yield
        finally:
            self._of[reader] -= 1
            self._of += Counter()  # drops who has none
