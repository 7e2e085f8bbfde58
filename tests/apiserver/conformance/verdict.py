"""Whether the embedded API answers a case as it should: as a real server, but for what is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from manual.differences import parts_of

from apiserver.conformance.answers import Answer, compare, list_messages
from apiserver.conformance.corpus import read_own_words, read_wanted

OWN_WORDS = "own words"


@cache
def wanted() -> Mapping[str, Sequence[Answer]]:
    return read_wanted()


@cache
def own_words() -> Mapping[str, list[Any]]:
    return read_own_words()


def find_surprises(name: str, found: Sequence[Answer]) -> set[str]:
    """The parts that differ and are not told to, or are told to and do not. Empty for what is as it should be."""
    told, differing = parts_of(name), compare(found, wanted()[name])
    own = own_words().get(name)
    if own is not None:
        told |= {"message"}
        differing |= {OWN_WORDS} if list_messages(found) != own else set()
    return differing ^ told
