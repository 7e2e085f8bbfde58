"""The values that a place is rendered to, and from. Frozen.

A place reads a `Request` and gives a `Rendering`; what it cannot do at all it refuses with `Unplaceable`, and what is
only lost there is told before anything is written (`losses`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paddock.jobs.model import Job
from paddock.kube.meta import Manifest
from paddock.places.hosts import Host
from paddock.places.programs import RankProgram
from paddock.places.programs import Unplaceable as Unplaceable
from paddock.words.phrases import Phrase

MARK = "made by `paddock render`"
"""Stands in the first lines of each file that is written: a file without it is the user's own, and never replaced."""


class Ability(StrEnum):
    """What a job may ask for beside its programs. A place that has it not loses it (`losses`)."""

    RESTARTS = "restarts"
    DEADLINE = "deadline"
    TTL = "ttl"
    SUSPEND = "suspend"
    ELASTIC = "elastic"
    GANG = "gang"  # all or nothing, queues, priorities
    IMAGE = "image"
    RESOURCES = "resources"  # limits of CPU and memory
    DEVICES = "devices"  # a number of cards, not the machine's all
    VOLUMES = "volumes"
    NODES = "nodes"  # selectors, affinity, tolerations
    COMPANIONS = "companions"  # init containers and side-cars
    PROBES = "probes"
    ACCOUNT = "account"  # service account, pull secrets
    OBJECTS = "objects"  # what stands beside the job in its file, of any kind


class Hosts(StrEnum):
    """What `--hosts` is to a place."""

    NAMED = "named"  # wanted: bare machines, Docker
    ONE = "one"  # the machine where the files are used: Docker Compose
    GIVEN = "given"  # the platform gives them while the job starts: clouds


@dataclass(frozen=True, slots=True)
class File:
    """A file to write."""

    path: str  # relative to the output directory, with `/`
    text: str  # it ends with a line break
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Rendering:
    """The files of a job for one place."""

    files: tuple[File, ...]  # in the order of use
    steps: tuple[Phrase | str, ...] = ()  # what to type next, one command or sentence each
    notes: tuple[Phrase, ...] = ()  # what a reader must know of this rendering, such as what was not tried


@dataclass(frozen=True, slots=True)
class Request:
    """What a place renders."""

    job: Job
    manifest: Manifest  # of the job, as written in `file`
    file: str  # the shown name of the file
    hosts: tuple[Host, ...] = ()  # empty for a place whose hosts are given by the platform
    programs: tuple[RankProgram, ...] = ()  # empty for a place whose hosts are given by the platform
    others: tuple[Manifest, ...] = ()  # the other objects of the file (Secrets, ConfigMaps, claims)

    @property
    def name(self) -> str:
        """The job's name, as names of files and containers have it; of a generateName, what it begins with."""
        metadata = self.manifest["metadata"]
        return str(metadata.get("name") or str(metadata.get("generateName") or "").rstrip("-.") or "job")


@dataclass(frozen=True, slots=True)
class Platform:
    """A place that jobs are rendered for."""

    name: str
    """Its name in `--to`."""
    title: Phrase | str
    """How sentences call it; a name is a text."""
    hosts: Hosts
    render: Callable[[Request], Rendering]
    page: str
    """Its page in docs/places."""
    has: frozenset[Ability] = frozenset()
    """The abilities that are not lost there."""
    check: Callable[[Job], tuple[Phrase, ...]] = field(default=lambda job: ())
    """Reasons why it cannot carry the job."""
    said: Mapping[Ability, Phrase] = field(default_factory=dict)
    """Sentences of its own for abilities that are lost there in another way than `losses` says."""
