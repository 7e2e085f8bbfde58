"""A stream sends what its page does not show already."""

from __future__ import annotations

import asyncio
import html
import re
from contextlib import suppress
from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.console.live import UNSEEN, digest_main, note_seen
from support.places import Place, serve_place

QUIET, LATE = 0.5, 180.0
"""Seconds in which nothing comes, and in which what comes has come."""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("<p>1</p>", "<p>2</p>", False),
        ("<p>1</p>\n", "\n<p>1</p>", True),
        ('<time datetime="x" data-since="5">1s</time>', '<time datetime="x" data-since="5">2s</time>', True),
        ('<time data-since="5">1s</time>', '<time data-since="6">1s</time>', False),
        ("<time>1s</time>", "<time>2s</time>", False),
    ],
)
def test_an_age_that_grows_is_no_change(one: str, other: str, same: bool) -> None:
    assert (digest_main(one) == digest_main(other)) == same


def test_a_page_says_what_it_shows_to_its_stream() -> None:
    page = f'<main id="main" stream="/live?seen={UNSEEN}">\n<p>{UNSEEN}</p>\n</main></body>'
    noted = note_seen(page)
    assert f"seen={digest_main(f'<p>{UNSEEN}</p>')}" in noted and f"<p>{UNSEEN}</p>" in noted


async def test_what_the_page_shows_is_not_sent_again_but_to_a_browser_that_saw_something_else(tmp_path: Path) -> None:
    async with serve_place({RESOURCE: [build_manifest()]}, tmp_path) as place:
        for address in ("/", "/queue"):
            page = await place.read(address)
            found = re.search(r'data-hx-sse:connect="([^"]+)"', page)
            assert found is not None
            stream = html.unescape(found[1])
            assert await read_event(place, stream, QUIET) == b""
            assert b"data: " in await read_event(place, stream, LATE, "another")


@pytest.mark.parametrize(("takes", "packed"), [("gzip, br", True), ("identity", False)])
async def test_a_stream_is_packed_for_a_browser_that_takes_gzip_and_an_event_comes_at_once(
    tmp_path: Path, takes: str, packed: bool
) -> None:
    async with serve_place({RESOURCE: [build_manifest()]}, tmp_path) as place:
        page = await place.read("/")
        found = re.search(r'data-hx-sse:connect="([^"]+)"', page)
        assert found is not None
        headers = {"Last-Event-ID": "another", "Accept-Encoding": takes}
        async with asyncio.timeout(LATE), place.session.get(html.unescape(found[1]), headers=headers) as answer:
            assert (answer.headers.get("Content-Encoding") == "gzip") == packed
            event = await answer.content.readuntil(b"\n\n")  # the stream goes on
    assert event.startswith(b"id: ")
    assert b"data: " in event


async def read_event(place: Place, address: str, wait: float, last: str = "") -> bytes:
    headers = {"Last-Event-ID": last} if last else {}
    with suppress(TimeoutError):
        async with asyncio.timeout(wait), place.session.get(address, headers=headers) as answer:
            return await answer.content.readuntil(b"\n\n")
    return b""
