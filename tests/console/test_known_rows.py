"""What a live page is sent of its tables: rows that its browser has are left out, and nothing else is."""

from __future__ import annotations

import gzip
import html
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar, StreamReader
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from paddock.console.known_rows import LEFT, leave_out, read_rows
from support.consoles import PADDLE
from support.demo import serve_demo, write_many

AGE = '<time data-since="5">{}s</time>'


def row(name: str, said: str, more: str = "") -> str:
    return f'<tr id="{name}"{more}><td>{said}</td></tr>'


def test_a_row_that_the_browser_has_is_named_alone() -> None:
    before = f"<h1>2</h1><table>{row('a', 'x')}{row('b', AGE.format(1))}</table>"
    after = f"<h1>3</h1><table>{row('c', 'new')}{row('b', AGE.format(9))}{row('a', 'y')}</table>"
    left = leave_out(after, read_rows(before))
    assert left == f'<h1>3</h1><table>{row("c", "new")}<tr id="b" {LEFT}></tr>{row("a", "y")}</table>'


def test_a_row_whose_own_tag_has_changed_comes_whole() -> None:
    assert leave_out(row("a", "x", ' class="old"'), read_rows(row("a", "x"))) == row("a", "x", ' class="old"')
    assert leave_out(row("a", "x", ' class="old"'), read_rows(row("a", "x", ' class="old"'))) == (
        f'<tr id="a" class="old" {LEFT}></tr>'
    )


def test_what_names_no_row_for_certain_comes_whole() -> None:
    for text in (
        row("a", "1") + row("a", "1"),
        f'<tr id="a"><td><table>{row("b", "in it")}</table></td></tr>',
        "<tr><td>without an id</td></tr>",
        '<tr id="a"><td>without an end',
    ):
        assert '<tr id="a" data-hx' not in leave_out(text, read_rows(text))
        assert "without" not in text or leave_out(text, read_rows(text)) == text


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.text(max_size=5).map(html.escape)), max_size=8), st.data())
def test_a_browser_that_fills_in_what_it_has_shows_the_same(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    after = "".join(row(*each) for each in rows)
    earlier = data.draw(st.lists(st.tuples(st.sampled_from("abcde"), st.text(max_size=5).map(html.escape)), max_size=8))
    before = "".join(row(*each) for each in earlier)
    left = leave_out(after, read_rows(before))
    shown = {name: row(name, said) for name, said in earlier}
    filled = re.sub(rf'<tr id="(.)" {LEFT}></tr>', lambda found: shown[found[1]], left)
    assert filled == after


@pytest.mark.slow
async def test_a_change_of_one_job_of_a_thousand_costs_its_page_less_than_four_kilobytes(tmp_path: Path) -> None:
    async with serve_demo(tmp_path) as demo, open_session() as session:
        await write_many(demo.api, 1000)
        async with session.get(demo.sign_in) as answer:
            page = gzip.decompress(await answer.read()).decode()
        found = re.search(r'data-hx-sse:connect="([^"]+)"', page)
        assert found is not None
        costs = []
        async with session.get(URL(demo.url + html.unescape(found[1]), encoded=True)) as answer:
            unpacker = zlib.decompressobj(wbits=31)
            for name in ("many-0007", "many-0003", "many-0040"):  # with the first come losses that were read meanwhile
                status = {"status": {"worker": {"running": 1, "ready": "1/2"}}}
                await demo.api.patch(PADDLE, "default", name, status, subresource="status")
                costs.append(await measure_event(answer.content, unpacker, f"{name}/logs"))
    assert max(costs[1:]) < 4_000, costs


def open_session() -> ClientSession:
    headers = {"Accept-Encoding": "gzip"}
    return ClientSession(cookie_jar=CookieJar(unsafe=True), auto_decompress=False, headers=headers)


async def measure_event(content: StreamReader, unpacker: Any, said: str) -> int:
    """Bytes on the wire of all that came up to the event that says this."""
    packed, text = 0, ""
    while not (said in text and text.endswith("\n\n")):
        piece = await content.readany()
        packed += len(piece)
        text += unpacker.decompress(piece).decode()
    return packed
