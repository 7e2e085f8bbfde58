"""What is needed of the disk: by the objects of a home's cluster, by programs that run, by other homes of the user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from paddock.app.home import Home, list_homes, read_home
from paddock.words.phrases import Phrase

_KEY = re.compile(rb"environments/([0-9a-f]{8,64})/")


@dataclass(frozen=True, slots=True)
class Uses:
    """What the objects of one home's cluster need, up or down."""

    built: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the key of a built directory: the Environments that have it."""
    seeded: frozenset[str] = frozenset()
    """The Environments that come with Paddock and were not changed."""
    used: Mapping[str, Phrase | str] = field(default_factory=dict)
    """By the key: an unfinished job or pod that runs in it, or will."""
    listed: frozenset[str] = frozenset()
    """UIDs of the jobs that are there, ended or not."""
    active: frozenset[str] = frozenset()
    """UIDs of the unfinished jobs and pods, and of the jobs of such pods."""
    names: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of those jobs."""
    manifests: str = ""
    """The unfinished jobs, as JSON: which paths they name."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What all of the user's homes and programs need."""

    own: Uses
    others: tuple[Uses, ...] = ()
    unknown: tuple[tuple[Path, Phrase | str], ...] = ()
    """Homes that could not be asked, and why: what they may need is kept."""
    running: frozenset[str] = frozenset()
    """Keys of the directories that programs run in, of whatever home."""

    @property
    def all(self) -> tuple[Uses, ...]:
        return (self.own, *self.others)


def find_other_homes(home: Home) -> list[Home]:
    """The homes of the user, beside this one, whose clusters use the same cache: those that have noted it, those that
    are up, and the usual one."""
    usual = read_home({})
    found = {*list_homes(home), *_list_up(home), *([usual.root] if usual.cache == home.cache else [])} - {home.root}
    return [Home(root, home.cache) for root in sorted(found)]


def _list_up(home: Home) -> Iterator[Path]:
    """The homes of clusters that run, also of a Paddock that notes none."""
    for words, _ in _read_programs():
        if b"paddock.app.local" in words and b"--home" in words and b"--cache" in words:
            named = dict(pairwise(words))
            if Path(os.fsdecode(named[b"--cache"])) == home.cache:
                yield Path(os.fsdecode(named[b"--home"]))


def find_running(cache: Path) -> frozenset[str]:
    """Keys of the built directories that a program of the user has in its command or in its variables."""
    place = os.fsencode(cache) + b"/"
    texts = (b"\0".join(words) + b"\0" + variables for words, variables in _read_programs())
    return frozenset(
        key.decode() for text in texts if place in text for key in _KEY.findall(text.replace(place, b"\0"))
    )


def _read_programs() -> Iterator[tuple[list[bytes], bytes]]:
    """The words and the variables of every program that may be looked at."""
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield (each / "cmdline").read_bytes().split(b"\0"), (each / "environ").read_bytes()
