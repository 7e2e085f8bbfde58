"""The words of tables in the reader's language: heads, states and durations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paddock.views.phases import say_state
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, phrase, render

_HEADS: Mapping[str, Phrase] = {
    "NAMESPACE": phrase("NAMESPACE"),
    "NAME": phrase("NAME"),
    "STATUS": phrase("STATUS"),
    "PHASE": phrase("PHASE"),
    "MODE": phrase("MODE"),
    "PROGRESS": phrase("PROGRESS"),
    "AGE": phrase("AGE"),
    "WHY": phrase("WHY"),
    "READY": phrase("READY"),
    "RESTARTS": phrase("RESTARTS"),
    "NODE": phrase("NODE"),
    "WHAT": phrase("WHAT"),
    "SIZE": phrase("SIZE"),
    "IMAGES": phrase("IMAGES"),
    "ACCESS": phrase("ACCESS"),
    "USED": phrase("USED"),
    "JOBS": phrase("JOBS"),
    "SOURCE": phrase("SOURCE"),
    "SORT": phrase("SORT"),
    "THINGS": phrase("THINGS"),
    "FREES": phrase("FREES"),
    "LOST": phrase("LOST"),
    "POSITION": phrase("POSITION"),
    "PRIORITY": phrase("PRIORITY"),
    "RANKS": phrase("RANKS"),
    "NEEDS": phrase("NEEDS"),
    "WAITS": phrase("WAITS"),
    "RUN": phrase("RUN"),
    "STARTED": phrase("STARTED"),
    "TOOK": phrase("TOOK"),
    "ENDED": phrase("ENDED"),
    "METRICS": phrase("METRICS"),
    "DIRECTORY": phrase("DIRECTORY"),
    "CHANGED": phrase("CHANGED"),
    "ATTEMPT": phrase("ATTEMPT"),
    "BEGAN": phrase("BEGAN"),
    "JOB": phrase("JOB"),
    "MEMORY": phrase("MEMORY"),
    "FILE": phrase("FILE"),
    "KIND": phrase("KIND"),
    "PERSON": phrase("PERSON"),
    "GPU-HOURS": phrase("GPU-HOURS"),
    "CPU-HOURS": phrase("CPU-HOURS"),
    "POD-HOURS": phrase("POD-HOURS"),
}
_STATES = frozenset({"STATUS", "PHASE", "MODE", "ENDED"})
_DURATIONS = frozenset({"AGE", "WAITS", "TOOK"})
"""Heads of columns of such cells."""


def say_table(header: Sequence[str], rows: Iterable[Sequence[str]], language: str) -> list[list[str]]:
    """Header and rows in a language: heads, states and durations. In English they are as they are."""
    if language == "en":
        return [list(header), *map(list, rows)]
    heads, format_ = [name.strip() for name in header], format_of(language)
    said = [
        name.replace(head, render(_HEADS[head], language)) if head in _HEADS else name
        for name, head in zip(header, heads, strict=True)
    ]
    cells = [
        [
            say_state(cell, language) if head in _STATES
            else format_.say_duration(cell) if head in _DURATIONS
            else cell
            for head, cell in zip(heads, row, strict=True)
        ]
        for row in rows
    ]  # fmt: skip
    return [said, *cells]
