"""Every page is HTML as the standard has it, with nothing in it that its content security policy would refuse.

html5lib reads each page as a browser would, and names what a browser would mend without a word. The W3C's own checker
knows more (what may stand in what, ARIA); it is a program of Java, and is asked where VNU_JAR names it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest

from browser.places import list_addresses
from support.demo import serve_demo
from support.programs import lack, need
from support.readers import reading

Pages = Mapping[str, str]


@pytest.fixture(params=["en", pytest.param("zh", marks=pytest.mark.slow)])
async def pages(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Pages]:
    """Name -> the text of the page."""
    async with serve_demo(tmp_path) as demo, reading(demo.url) as session:
        await session.enter(demo.sign_in)
        async with session.get(f"/?lang={request.param}"):
            pass
        found = {}
        for name, place in list_addresses().items():
            async with session.get(place) as answer:
                assert answer.status == {"missing": 404}.get(name, 200), (name, answer.status)
                assert "script-src 'self'" in answer.headers["Content-Security-Policy"], name
                found[name] = await answer.text()
        yield found


async def test_each_page_is_html_and_needs_no_inline_script_or_style(pages: Pages) -> None:
    wrong = [said for name, text in pages.items() for said in check(name, text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
async def test_the_checker_of_the_w3c_finds_nothing(pages: Pages, tmp_path: Path) -> None:
    java = need("java")
    jar = os.environ.get("VNU_JAR") or lack("vnu.jar", "is not named: set VNU_JAR to that of npm's vnu-jar")
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text)
    files = sorted(map(str, tmp_path.glob("*.html")))
    done = await asyncio.to_thread(
        subprocess.run, [java, "-jar", jar, "--format", "json", *files], capture_output=True, text=True, timeout=300
    )
    said = [explain(each) for each in json.loads(done.stderr)["messages"] if each.get("type") == "error"]
    assert not said, "\n".join(said)


def explain(message: Mapping[str, Any]) -> str:
    return f"{Path(message['url']).name}:{message.get('lastLine')}: {message['message']}: {message.get('extract')}"


def check(name: str, text: str) -> list[str]:
    """What is wrong with a page, a line for each."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree: Element = parser.parse(text)
    lines = text.splitlines()
    wrong = [f"{name}:{line}: {code} {data}: {lines[line - 1][:150]}" for (line, _), code, data in parser.errors]
    wrong += [f"{name}: {said}" for each in tree.iter() for said in check_element(each)]
    ids = Counter(each.attrib["id"] for each in tree.iter() if "id" in each.attrib)
    wrong += [f"{name}: id {id!r} is there {count} times" for id, count in ids.items() if count > 1]
    for each in tree.iter():
        for key in ("for", "aria-labelledby", "aria-describedby", "list"):
            wrong += [f"{name}: {key}={id!r} is nowhere" for id in each.attrib.get(key, "").split() if id not in ids]
    heads = len(list(tree.iter("h1"))), len(list(tree.iter("main")))
    return wrong + ([] if heads == (1, 1) else [f"{name}: {heads} h1 and main"])


def check_element(each: Element) -> list[str]:
    if not isinstance(each.tag, str):  # a comment
        return []
    inline = [key for key in each.attrib if key.startswith(("on", "hx-")) or key == "style"]
    wrong = [f"<{each.tag} {key}=…>" for key in inline]
    if each.tag == "style" or (each.tag == "script" and not each.attrib.get("src", "").startswith("/static/")):
        wrong.append(f"<{each.tag}> within the page")
    if each.tag == "time" and "datetime" not in each.attrib:  # the script of all pages reads it
        wrong.append("<time> without its moment")
    address = next((each.attrib[key] for key in ("src", "href", "action") if key in each.attrib), "/")
    elsewhere = ("javascript:",) if each.tag == "a" else ("javascript:", "http:", "https:", "//")
    return wrong + ([f"{address} is elsewhere"] if address.startswith(elsewhere) else [])


def test_what_is_wrong_is_found() -> None:
    good = "<!doctype html><html lang=en><title>x</title><main><h1>x</h1>{}</main>"
    assert check("x", good.format("<p id=a>y</p>")) == []
    for bad in (
        "<p id=a>y</p><p id=a>z</p>", "<b><p></b>", "<p style='x'>y</p>", "<a onclick=x>y</a>", "<script>1</script>",
        "<img src='https://x' alt=x>", "<label for=b>y</label>", "<h1>y</h1>", "<div hx-get=x></div>", "<p></table>",
        "<time data-since=1>1 s</time>",
    ):  # fmt: skip
        assert check("x", good.format(bad)), bad
