"""What a kept log lacks, as sentences for pages and commands alike. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from paddock.kube.times import Moment, format_time
from paddock.words.phrases import Phrase, phrase


def explain_holes(
    rank: str, gaps: Iterable[tuple[Moment, Moment]], missed: tuple[Moment, Moment] | None
) -> Iterator[Phrase]:
    """`gaps`: the times between which lines are missing. `missed`: when the last line was printed that is there (0
    where there is none), and when it was noticed that the pod is gone."""
    for since, until in gaps:
        yield phrase(
            "{rank}: lines between {since} and {until} are missing: the cluster did not have them any more when they "
            "were to be copied",
            rank=rank, since=format_time(since), until=format_time(until),
        )  # fmt: skip
    if missed is None:
        return
    since, until = missed
    if since:
        yield phrase(
            "{rank}: whether it printed more after {since} is not known: its pod was gone before its log was read to "
            "its end (noticed at {until})",
            rank=rank, since=format_time(since), until=format_time(until),
        )  # fmt: skip
    else:
        yield phrase(
            "{rank}: what it printed is not known: its pod was gone before its log was read (noticed at {until})",
            rank=rank, until=format_time(until),
        )  # fmt: skip
