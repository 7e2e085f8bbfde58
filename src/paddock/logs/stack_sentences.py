"""What the places of a job's ranks say together, as sentences: who is where, and who waits for whom. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from paddock.logs.stack_places import Place, show_place
from paddock.logs.stacks import Group, merge_places
from paddock.words.phrases import NOTHING, Names, Phrase, counted, phrase

_MOST_PLACES = 20
"""That are told in one sentence; each stack stands below it."""


def tell_places(groups: Sequence[Group]) -> Phrase:
    """`3 ranks in all_reduce, train.py:88; worker-2 in read_batch, data.py:41`. NOTHING without a group."""
    places = merge_places(groups)
    said = [_tell_place(place, labels) for place, labels in places[:_MOST_PLACES]]
    if left := len(places) - len(said):
        said.append(counted("{count} other place", "{count} other places", count=left))
    return (
        reduce(lambda first, second: phrase("{first}; {second}", first=first, second=second), said) if said else NOTHING
    )


def _tell_place(place: Place, labels: tuple[str, ...]) -> Phrase:
    return (
        phrase("{who} in {place}", who=_tell_who(labels), place=show_place(place))
        if place.function
        else phrase("{who} at {place}", who=_tell_who(labels), place=show_place(place))
    )


def _tell_who(labels: tuple[str, ...]) -> Phrase | Names:
    return counted("{count} rank", "{count} ranks", count=len(labels)) if len(labels) > 2 else Names(labels)


def tell_waiting(groups: Sequence[Group]) -> Phrase | None:
    """What the places tell together, where they tell something: who waits for whom. A rank that is in no collective
    while others are is the one that they wait for; so are two collectives for each other."""
    merged = merge_places(groups)
    inside = [(place, labels) for place, labels in merged if place.collective]
    outside = [label for place, labels in merged if not place.collective for label in labels]
    if not inside:
        return None
    waiting = tuple(label for _, labels in inside for label in labels)
    if outside:
        return phrase(
            "the collective of {waiting} lacks {others}", waiting=_tell_who(waiting), others=Names(tuple(outside))
        )
    if len(inside) > 1:
        return phrase("the ranks are in different collectives, and wait for each other")
    return phrase(
        "all are in the same collective: one that is not among them is missing, or the network between them is cut off"
    )
