"""How many ranks of a job trained together, over time, as one sentence. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paddock.kube.times import Moment
from paddock.words.phrases import Phrase, counted, phrase

MOST = 6
"""Sizes in the sentence, the newest."""

BRIEF = 3.0
"""Seconds. For less long a rank was away that had not been heard of yet, or its pod was being replaced."""


def merge_sizes(sizes: Sequence[tuple[Moment, int]]) -> tuple[tuple[Moment, int], ...]:
    """Without those that lasted for a moment alone, and those that are the same as the one before."""
    ends = [moment for moment, _ in sizes[1:]]
    lasting = [each for each, end in zip(sizes, ends, strict=False) if end - each[0] >= BRIEF] + list(sizes[-1:])
    kept: list[tuple[Moment, int]] = []
    for moment, ranks in lasting:
        if not kept or kept[-1][1] != ranks:
            kept.append((moment, ranks))
    return tuple(kept)


def explain_past_sizes(sizes: Sequence[tuple[Moment, int]], format_moment: Callable[[Moment], str]) -> Phrase | None:
    """`trained with 3 ranks from 20:49:55, then 2 from 20:51:03`; None of a job whose size was always the same."""
    merged = merge_sizes(sizes)
    if len(merged) < 2:
        return None
    shown = merged[-MOST:]
    said = counted(
        "{count} rank from {time}", "{count} ranks from {time}", count=shown[0][1], time=format_moment(shown[0][0])
    )
    for moment, ranks in shown[1:]:
        said = phrase("{before}, then {count} from {time}", before=said, count=ranks, time=format_moment(moment))
    if len(merged) > len(shown):
        said = phrase("{said} ({count} earlier changes are left out)", said=said, count=len(merged) - len(shown))
    return phrase("size over time: {said}", said=said)
