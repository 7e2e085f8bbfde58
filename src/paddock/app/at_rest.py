"""The API of a home whose cluster is not up, from its files: nothing is started to look at objects or to delete one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from paddock.app.home import Home, Lock
from paddock.kube.api import Api
from paddock.kube.errors import Unavailable
from paddock.words.phrases import phrase

_LOCK_TRIES, _LOCK_SECONDS = 60, 0.05


@asynccontextmanager
async def open_at_rest(home: Home, *, wait: bool = True) -> AsyncIterator[Api | None]:
    """None where no cluster has ever been. A cluster that is started meanwhile waits until this ends. Raises
    `ApiError`, also where one holds the home already, and OSError for a home that may not be looked at."""
    if not _has_store(home):
        yield None
        return
    from paddock.apiserver.objects.in_process import LocalApi  # late: a server is imported where one is needed

    lock = Lock(home)
    for _ in range(_LOCK_TRIES if wait else 1):  # another command may be reading it too
        if lock.acquire():
            break
        await asyncio.sleep(_LOCK_SECONDS)
    else:
        raise Unavailable(str(phrase("the cluster of {path} is starting or ending: try again", path=str(home.root))))
    with suppress(OSError):  # a full disk
        lock.write_pid()  # else a killed cluster would be taken for one that is up
    try:
        api = await LocalApi.open(home.api)
        try:
            yield api
        finally:
            await api.close()
    finally:
        lock.release()


def _has_store(home: Home) -> bool:
    """Raises OSError where that is not known: `exists` calls it absent in later versions of Python."""
    try:
        (home.api / "store.sqlite").stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
