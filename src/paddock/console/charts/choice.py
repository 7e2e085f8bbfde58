"""Which of the numbers that the ranks of a job printed, wrote or used are drawn. Pure.

The usual ones are those of any training (`METRICS`), what was written to PADDOCK_METRICS, and further metrics of its
own, as `mse` or `reward`. All others that were read, as the size of a batch, a time or an amount of memory, are drawn
for who asks for them by the address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from paddock.console.charts.numbers import MEASURED, METRICS, OWN, LogNumbers
from paddock.console.charts.usage import USED
from paddock.logs.number_names import read_name

MOST_CHARTS = 24
"""Of one page."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The numbers of a page, by name."""

    known: Sequence[str]
    """All that there are."""
    drawn: Collection[str]
    is_usual: bool
    """Whether the reader asked for none of them by name."""


def list_known(logs: Iterable[LogNumbers], used: Collection[str]) -> list[str]:
    """All numbers that were read: those of any training first, then those that have a curve without being asked for.
    Speed is what the program prints, else what is measured. `used`: what is known of what the ranks use."""
    logs = list(logs)
    names = {name for log in logs for name in log.series}
    if "speed" in names:
        names.discard(MEASURED)
    own = sorted((name for name in names if name.startswith(OWN)), key=lambda name: (not _is_usual(name, logs), name))
    return [name for name in (*METRICS, MEASURED) if name in names] + own + [name for name in USED if name in used]


def choose(logs: Iterable[LogNumbers], used: Collection[str], asked: Collection[str]) -> Choice:
    """`asked`: names of the address; of those that nobody knows none is drawn, and without any left the usual ones."""
    logs = list(logs)
    known = list_known(logs, used)
    drawn = [name for name in known if name in asked][:MOST_CHARTS]
    if drawn:
        return Choice(known, drawn, is_usual=False)
    usual = [name for name in known if not name.startswith(OWN) or _is_usual(name, logs)]
    return Choice(known, usual[:MOST_CHARTS], is_usual=True)


def _is_usual(name: str, logs: Sequence[LogNumbers]) -> bool:
    written = any(log.is_on_purpose(name) for log in logs)
    return written or read_name(name.removeprefix(OWN)).kind == "score"


def is_exact(name: str) -> bool:
    """Whether its curve is drawn as it is: a program chooses a learning rate, and evaluates seldom."""
    meaning = read_name(name.removeprefix(OWN))
    return meaning.evaluates or meaning.kind == "lr"
