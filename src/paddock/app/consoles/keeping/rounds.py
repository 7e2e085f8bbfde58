"""Whose log is read next, of pods that run: in a round, as no connection stays open for a log that may be quiet. Pure.

A rank that prints is read every half minute, one that does not less and less often. Where more are due than may be
read, the one that has waited longest is next, so that no rank is left out whatever others print. A log whose pod ends
is in no round: it is read at once.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

FIRST_SECONDS = 5.0
"""After a pod has started: an error at the start of a program is there by then."""
SHORTEST_SECONDS = 30.0
LONGEST_SECONDS = 300.0
"""Between two looks at a log. At most so much of it is lost where a node goes with its logs, or a kubelet has dropped
what was printed before (50 MiB of a container by default)."""


@dataclass(slots=True)
class _Turn:
    due: float
    pause: float = SHORTEST_SECONDS
    is_read: bool = False


class Rounds:
    """The pods that are to be read, by UID. Times are seconds of one clock that only grows."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._queue: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, uid: str, now: float) -> None:
        """It has a log from now on; nothing for one that is known."""
        if uid not in self._turns:
            self._put(uid, _Turn(now + FIRST_SECONDS))

    def drop(self, uid: str) -> None:
        self._turns.pop(uid, None)

    def take(self, now: float, most: int) -> list[str]:
        """Those to be read now, at most so many, the one that has waited longest first. Each is `done` later."""
        found: list[str] = []
        while len(found) < most and self._queue and self._queue[0][0] <= now:
            due, uid = heapq.heappop(self._queue)
            turn = self._turns.get(uid)
            if turn is not None and turn.due == due and not turn.is_read:  # else it was dropped, or added anew
                turn.is_read = True
                found.append(uid)
        return found

    def done(self, uid: str, now: float, *, grew: bool) -> None:
        """It was read; `grew`: and had printed something."""
        turn = self._turns.get(uid)
        if turn is not None:
            pause = SHORTEST_SECONDS if grew else min(2 * turn.pause, LONGEST_SECONDS)
            self._put(uid, _Turn(now + pause, pause))

    def _put(self, uid: str, turn: _Turn) -> None:
        self._turns[uid] = turn
        heapq.heappush(self._queue, (turn.due, uid))

    def wait(self, now: float) -> float | None:
        """Seconds until the next is due; None where none is."""
        return max(0.0, self._queue[0][0] - now) if self._queue else None
