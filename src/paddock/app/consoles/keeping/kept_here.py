"""What one console keeps, for its parts: the keeper that runs beside it, its health, and what readers are given."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from paddock.app.consoles.keeping.health import Health
from paddock.app.consoles.keeping.keeper import ClusterKeeper, Keeping, open_spool
from paddock.app.consoles.keeping.programs import Programs
from paddock.app.consoles.keeping.rights import Sight
from paddock.app.consoles.keeping.runs import ReadersRuns
from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.rights import ReviewedRights
from paddock.app.consoles.runs import LocalRuns
from paddock.app.consoles.spool.files import ClusterSpool, read_left_out
from paddock.client.kubeconfig import Config
from paddock.history.record_shelf import RecordShelf


class KeptHere:
    """Of one directory. `server`: without a credential."""

    def __init__(self, spool: ClusterSpool, server: Config) -> None:
        self.health = Health()
        records = RecordShelf(spool.home.history)
        self.programs = Programs(server, spool.history, records=records)
        logs = LocalLogs(spool.history, read_left_out=read_left_out, records=records)
        self._runs = LocalRuns(spool.history, logs, records)
        self._of_readers: weakref.WeakKeyDictionary[ReviewedRights, ReadersRuns] = weakref.WeakKeyDictionary()

    def find_runs(self, rights: ReviewedRights) -> ReadersRuns:
        """Those of the reader with these rights, the same each time."""
        if rights not in self._of_readers:
            self._of_readers[rights] = ReadersRuns(self._runs, Sight(rights))
        return self._of_readers[rights]


@asynccontextmanager
async def open_kept(keeping: Keeping, server: Config, cache: Path) -> AsyncIterator[tuple[ClusterSpool, KeptHere]]:
    """Keeps until the end of the context. Raises `CannotServe` for a directory that cannot be used."""
    spool = open_spool(keeping, cache)
    kept = KeptHere(spool, server)
    works = [
        asyncio.create_task(each) for each in (ClusterKeeper(keeping, spool, kept.health).run(), kept.programs.run())
    ]
    try:
        yield spool, kept
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await kept.programs.close()
        spool.release()
