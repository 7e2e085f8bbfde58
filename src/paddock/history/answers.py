"""What the console of a cluster answers to programs that ask for what is kept: the JSON of both sides. Pure.

    GET /kept/v1/namespaces/NAMESPACE/runs?name=NAME                   `Runs`
    GET /kept/v1/namespaces/NAMESPACE/logs?name=NAME&uid=UID           `Logs`
    GET /kept/v1/namespaces/NAMESPACE/logs/DIRECTORY/CONTAINER/FILE    the bytes of a file of `Logs`

Each request carries the reader's own token of the cluster (`Authorization: Bearer`). An error is a `Refusal`. A field
that is not known is passed over, and one that is missing has its default, so both sides may be of other versions; what
changes more is another version in the address.
"""

from __future__ import annotations

import msgspec

from paddock.history.records import RunRecord
from paddock.kube.pod_logs import LogOwner
from paddock.kube.times import Moment

PREFIX = "/kept/v1/"
VERSION = 1
MOST_RUNS = 1_000
MOST_LOGS = 20_000
LARGEST_ANSWER = 64 * 2**20
"""Bytes of an answer in JSON that are read; records have 8 MiB at most each, and most have a few KiB."""


class KeptFile(msgspec.Struct, frozen=True):
    """The log of one pod."""

    directory: str
    """Of the pod (`kube.pod_logs`)."""
    container: str
    file: str
    size: int
    """Bytes, at the moment of asking."""
    modified: Moment
    owner: LogOwner
    """Its labels are those alone that say which rank it is."""
    stopped: int | None = None
    """Bytes at which it stops, as there was no room for more."""
    gaps: tuple[tuple[Moment, Moment], ...] = ()
    """The times between which lines are missing."""
    missed: tuple[Moment, Moment] | None = None
    """See `console.backend.LeftOut`."""


class Runs(msgspec.Struct, frozen=True):
    """Oldest first."""

    version: int = VERSION
    runs: tuple[RunRecord, ...] = ()
    older: int = 0
    """That are left out."""
    troubles: tuple[str, ...] = ()
    """Why something newer may not be kept, in English."""


class Logs(msgspec.Struct, frozen=True):
    """By pod."""

    version: int = VERSION
    logs: tuple[KeptFile, ...] = ()
    more: int = 0
    """That are left out."""


class Refusal(msgspec.Struct, frozen=True):
    """Why nothing is answered."""

    version: int = VERSION
    reason: str = ""
    """`NotKept`: this console keeps nothing. `Unauthorized`, `Forbidden`, `NotFound`, `TooManyRequests`,
    `NotPrivate` (plain HTTP from elsewhere), `Unavailable`."""
    message: str = ""
    """In English."""
