"""Whether what is to be kept is kept: said on the console's pages and by its health.

A keeper that cannot write ends nothing else: pages are served, and what is kept is read. So its health is a sentence
and no error, as a restart would mend nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.times import Moment, format_time
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Foreign, Phrase, phrase

STANDBY = phrase(
    "another process keeps the logs and the history of this cluster in the same directory, so this one only reads what "
    "is kept there: a console that keeps has one replica"
)


class Health:
    """`clock`: seconds since the epoch."""

    def __init__(self, clock: Callable[[], Moment] = time.time) -> None:
        self._clock = clock
        self._standby = False
        self._failures: dict[str, tuple[Moment, Phrase]] = {}
        """By what failed: since when, and why."""

    def stand_by(self, *, stands: bool) -> None:
        self._standby = stands

    def note(self, what: str, error: Exception | None) -> None:
        """How the last work of this sort went (`logs`, `records`): None for well."""
        if error is None:
            self._failures.pop(what, None)
        elif (said := _explain(what, error)) is not None:
            since = self._failures.get(what, (self._clock(), said))[0]
            self._failures[what] = since, said

    @property
    def fails(self) -> bool:
        return bool(self._failures)

    def list(self) -> list[Phrase]:
        """What a reader is to know; nothing where all is well."""
        failed = [
            phrase("since {since} the console keeps nothing new of this cluster: {why}",
                   since=format_time(since), why=why)
            for since, why in list(self._failures.values())[:1]
        ]  # fmt: skip
        return [*([STANDBY] if self._standby else []), *failed]


def _explain(what: str, error: Exception) -> Phrase | None:
    if isinstance(error, OSError):
        return phrase("its directory takes no more ({why})", why=explain_unreadable(error))
    if isinstance(error, Forbidden):
        return phrase("its account may not ({why})", why=Foreign(error.message))
    if isinstance(error, ApiError) and what == "records":
        return phrase("the API server does not answer it ({why})", why=Foreign(error.message))
    return None
