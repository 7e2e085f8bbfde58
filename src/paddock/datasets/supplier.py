"""Where the files of datasets come to be: the seam between the controller (`datasets.library`) and the two worlds.

`datasets.local` is the laptop (directories of this machine, child processes), `datasets.cluster` a cluster (a claim,
and a Job that fills it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from paddock.datasets.definition import Definition
from paddock.datasets.states import State

Report = Callable[[State], None]
"""Takes each state on the way."""


class Supplier(Protocol):
    """All methods are idempotent. Errors of the API are raised as `kube.errors.ApiError`; every other outcome is a
    state."""

    relook_seconds: float | None
    """How often `stands` is asked of a dataset that is ready, as somebody may have removed its files; None: never."""

    status_seconds: float
    """Between two writes of a status whose phase is the same."""

    async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
        """What is there now. Starts nothing. `status`: as recorded, by this controller or one before."""
        ...

    async def stands(self, dataset: Definition) -> bool:
        """Whether a dataset that was ready is so still, by what is cheap to know. False: it is to be looked at."""
        ...

    async def fetch(self, dataset: Definition, report: Report) -> State:
        """Fetches to the end, or goes on with what an earlier call began: `Ready` or `Failed`. When it is cancelled,
        the child ends on the laptop, goes on in a cluster, and what is there stays."""
        ...

    async def remove(self, dataset: Definition) -> None:
        """Removes all that was made for it, also while it is fetched."""
        ...

    async def prune(self, dataset: Definition) -> None:
        """Removes what nobody reads any more, of a dataset that is ready. Called while no pod mounts it, and only where
        it `has_remains` and `relook_seconds` is a number."""
        ...

    def has_remains(self, dataset: Definition) -> bool:
        """Whether `prune` would find something: pods are listed only then."""
        ...
