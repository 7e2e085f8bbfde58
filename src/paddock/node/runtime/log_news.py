"""Wakes who follows a log when it grows: inotify(7), where the system has it.

A program writes into its log itself, so nobody in this process knows when it prints. A follower asks to be told once
(`arm`) before it reads, and again before it reads the next time: a program that prints without end costs as much as the
reads of its followers, which are `_PACE` apart. One instance of inotify serves all followers, and is there as long as
they are. Where there is none (another system, no instance or watch left for this user), followers look by themselves.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncinotify import Inotify, Watch

_PACE = 0.01
"""Seconds between two reads of a log that grows without a pause."""
_DOUBT = 1.0
"""Seconds after which a follower looks all the same: a file system may be one whose writes inotify does not see."""


class News:
    """What one follower waits for: that its file has grown, or that somebody tells it to look."""

    def __init__(self, watches: _Watches, file: int) -> None:
        self._watches = watches
        self._file = file
        self._told = asyncio.Event()
        self._watch: Watch | None = None
        self._since = 0.0

    def arm(self) -> None:
        """What comes from now on ends the next `wait`. Before what was there is read, so that nothing is missed."""
        self.disarm()
        self._told.clear()
        self._since = asyncio.get_running_loop().time()
        self._watch = self._watches.add(self._file, self)

    def disarm(self) -> None:
        if self._watch is not None:
            self._watches.discard(self._watch, self)
            self._watch = None

    def tell(self) -> None:
        self._told.set()

    async def wait(self, poll: float) -> None:
        """Until there is news. `poll`: seconds after which it returns where nobody tells of a file that grows."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(poll, _DOUBT) if self._watch is not None else poll):
                await self._told.wait()
        early = self._since + _PACE - asyncio.get_running_loop().time()
        if early > 0:
            await asyncio.sleep(early)


class LogNews:
    """All followers of a node's logs."""

    def __init__(self) -> None:
        self._watches = _Watches()
        self._followers: set[News] = set()

    @contextmanager
    def follow(self, file: int) -> Iterator[News]:
        """`file`: the descriptor of a regular file that is open."""
        news = News(self._watches, file)
        self._followers.add(news)
        try:
            yield news
        finally:
            self._followers.discard(news)
            news.disarm()
            if not self._followers:
                self._watches.close()

    def tell_all(self) -> None:
        for news in self._followers:
            news.tell()


class _Watches:
    """Those of inotify: each tells once of the first write, and is gone then."""

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._waiting: dict[int, set[News]] = {}
        """By number of the watch: followers of one file share it."""

    def add(self, file: int, news: News) -> Watch | None:
        """The watch that tells `news` of the next write; None where there is none."""
        try:
            inotify = self._inotify = self._inotify or self._open()
            from asyncinotify import Mask

            # The file that is open, whatever has its name by now.
            watch = inotify.add_watch(f"/proc/self/fd/{file}", Mask.MODIFY | Mask.ONESHOT)
        except OSError:
            return None
        self._waiting.setdefault(watch.wd, set()).add(news)
        return watch

    def discard(self, watch: Watch, news: News) -> None:
        waiting = self._waiting.get(watch.wd, set())
        waiting.discard(news)
        if not waiting and self._waiting.pop(watch.wd, None) is not None and self._inotify is not None:
            with suppress(OSError):  # it has told, and nobody has heard it yet
                self._inotify.rm_watch(watch)

    def close(self) -> None:
        if self._inotify is not None:
            asyncio.get_running_loop().remove_reader(self._inotify.fd)
            self._inotify.close()
            self._inotify = None
        self._waiting.clear()

    def _open(self) -> Inotify:
        if sys.platform != "linux":
            raise OSError("inotify is Linux's")
        from asyncinotify import Inotify  # late: most processes of a node are never asked for a log

        inotify = Inotify(sync_timeout=0)
        asyncio.get_running_loop().add_reader(inotify.fd, self._take, inotify)
        return inotify

    def _take(self, inotify: Inotify) -> None:
        from asyncinotify import Mask

        for event in inotify:
            told = self._waiting.pop(event.watch.wd, ()) if event.watch is not None else ()
            for news in self._followers() if Mask.Q_OVERFLOW in event.mask else told:
                news.tell()

    def _followers(self) -> list[News]:
        return [news for waiting in self._waiting.values() for news in waiting]
