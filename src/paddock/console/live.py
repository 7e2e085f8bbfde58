"""A page that somebody looks at: its <main> again whenever it differs, as a stream of server-sent events.

While the API does not answer, the page keeps what it had, and says since when.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from paddock.console.api_errors import say_error
from paddock.console.known_rows import AGE, Rows, leave_out, read_rows
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.console.pages import render_main, render_notice
from paddock.kube.errors import ApiError, Unauthorized, Unavailable
from paddock.words.phrases import Phrase

BEAT_SECONDS = 20.0
"""A comment on a quiet stream: the browser, and proxies between, see that it lives."""
LISTEN_SECONDS = 2.0
"""How often an open page looks whether the API still answers: at what is known, without a request."""

UNSEEN = "0000000000000000"
"""In the address of a stream, in place of the digest of what its page shows."""
_GZIP = 31

_Built = Mapping[str, Any]


class EventStream:
    """Writes server-sent events. `packed`: as gzip, of which each event comes at once."""

    def __init__(self, answer: web.StreamResponse, *, packed: bool) -> None:
        """Before the answer is prepared."""
        self._answer = answer
        self._packer = zlib.compressobj(wbits=_GZIP) if packed else None
        if packed:
            answer.headers["Content-Encoding"] = "gzip"

    async def write(self, events: bytes) -> None:
        if self._packer is not None:
            events = self._packer.compress(events) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        await self._answer.write(events)

    async def end(self) -> None:
        if self._packer is not None:
            await self._answer.write(self._packer.flush())


async def send_changes(
    stream: EventStream,
    screen: Screen,
    look: Callable[[], PageContext],
    changes: AsyncIterator[None],
    seen: str = "",
) -> None:
    """Sends changes without end. `look`: at this moment. `seen`: the digest of what the browser shows. Raises
    `Unauthorized`."""
    sent, built = seen, None
    known: Rows = {}
    change = asyncio.ensure_future(_next(changes))
    try:
        while True:
            page = look()
            text, built = await render(screen, page, built)
            digest = digest_main(text)
            if digest != sent:
                sent = digest
                await stream.write(write_event(leave_out(text, known), digest))
            known = read_rows(text)
            every = screen.every if built is None else built.get("again", screen.every)
            if await _wait(stream, change, every, page):
                change = asyncio.ensure_future(_next(changes))
    finally:
        change.cancel()


async def _next(changes: AsyncIterator[None]) -> None:
    await anext(changes)


async def render(screen: Screen, page: PageContext, before: _Built | None) -> tuple[str, _Built | None]:
    """What a live page shows now, and what its screen built: while the API does not answer, what it built `before`. An
    object that is gone may come again."""
    try:
        built = await screen.build(page)
    except Missing as missing:
        return render_main_notice(page, missing.said), None
    except Unauthorized:
        raise
    except ApiError as error:
        if before is None or not isinstance(error, Unavailable):
            return render_main_notice(page, say_error(error)), before
        built = before
    return render_main(screen, page, built), built


def render_main_notice(page: PageContext, said: Phrase) -> str:
    """What a live page shows in place of its <main>."""
    return render_notice("notice.html", page, {"status": 200, "said": page.say(said)}, frame="main.html")


async def _wait(stream: EventStream, change: asyncio.Future[None], every: float, page: PageContext) -> bool:
    """Whether there was the change, before `every` seconds (0: no limit) were over, or the API fell silent or spoke
    again. A comment is sent meanwhile."""
    begun = beat = time.monotonic()
    while not (await asyncio.wait({change}, timeout=min(every or LISTEN_SECONDS, LISTEN_SECONDS)))[0]:
        now = time.monotonic()
        if now - beat >= BEAT_SECONDS:
            beat = now
            await stream.write(b": still here\n\n")
        is_silent = replace(page, now=time.time()).silent_since is not None
        if is_silent or page.silent_since is not None or (every and now - begun >= every):
            return False
    change.result()
    return True


def digest_main(text: str) -> str:
    """A digest of a <main>, without its ages: they grow by themselves, by a script."""
    return hashlib.sha256(AGE.sub(r"\1", text).strip().encode()).hexdigest()[: len(UNSEEN)]


def note_seen(page: str) -> str:
    """The page, whose stream's address now says what it shows: that is not sent again."""
    begin, end = page.find(">", page.find("<main ")) + 1, page.rfind("</main>")
    return page.replace(UNSEEN, digest_main(page[begin:end]), 1)


def write_event(text: str, digest: str = "") -> bytes:
    """A browser that connects again says the digest of the last one."""
    named = f"id: {digest}\n".encode() if digest else b""
    return named + b"".join(b"data: %s\n" % line for line in text.encode().splitlines()) + b"\n"
