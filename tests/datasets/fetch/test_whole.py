"""Files end to end from servers that send less, more or something else than they tell: whole, or not ready."""

from __future__ import annotations

import asyncio
import gzip
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.fetch.calls import fetch, must_fail, must_fetch, read_tree
from datasets.fetch.raw import Raw, build_answer, in_turn, read_start, serve_raw
from datasets.fetch.web import build_bytes
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetching import Failed, Fault, Fetched, Request

DATA = build_bytes(1000)
FIRST = build_answer("200 OK", 'ETag: "a"', "Content-Length: 1000", body=DATA[:300])
"""Of 1000 bytes, cut at 300."""


def answer_rest(content_range: str, *headers: str, body: bytes, tag: str = '"a"') -> bytes:
    told = f"ETag: {tag}", f"Content-Range: bytes {content_range}", f"Content-Length: {len(body)}"
    return build_answer("206 Partial Content", *told, *headers, body=body)


async def fetch_from(tmp_path: Path, *answers: bytes) -> tuple[Fetched | Failed, Raw]:
    async with serve_raw(in_turn(*answers)) as server:
        return await fetch(Request(uri=f"{server.url}/x", target=str(tmp_path / "t"))), server


async def test_a_whole_that_the_rest_does_not_tell_is_the_one_that_was_told_before(tmp_path: Path) -> None:
    rest = answer_rest("600-999/*", body=DATA[600:])
    end, server = await fetch_from(tmp_path, FIRST, answer_rest("300-599/*", body=DATA[300:600]), rest)
    assert isinstance(end, Fetched) and not end.length_unknown
    assert [read_start(head) for head in server.heads] == [None, 300, 600]
    assert read_tree(tmp_path / "t") == {"x": DATA}


async def test_the_length_that_was_told_is_known_to_the_next_process(tmp_path: Path) -> None:
    """One that has ended left 300 of 1000 bytes, and the server now tells no whole."""
    busy = build_answer("503 Busy", "Content-Length: 0")
    async with serve_raw(in_turn(FIRST, busy)) as server:
        request = Request(uri=f"{server.url}/x", target=str(tmp_path / "t"))
        await must_fail(request)
        server.answer = in_turn(answer_rest("300-599/*", body=DATA[300:600]), busy)
        end = await must_fail(request)
        assert end.fault == Fault.NETWORK and read_tree(tmp_path / "t") == {}
        server.answer = in_turn(answer_rest("600-999/*", body=DATA[600:]))
        assert not (await must_fetch(request)).length_unknown
    assert read_tree(tmp_path / "t") == {"x": DATA}


async def test_a_whole_that_nobody_tells_is_unknown_and_said(tmp_path: Path) -> None:
    cut = build_answer("200 OK", 'ETag: "a"', body=b"")[:-2] + b"Transfer-Encoding: chunked\r\n\r\n12c\r\n" + DATA[:300]
    end, _ = await fetch_from(tmp_path, cut, answer_rest("300-599/*", body=DATA[300:600]))
    assert isinstance(end, Fetched) and end.length_unknown and end.size == 600


async def test_two_lengths_of_one_content_are_not_put_together(tmp_path: Path) -> None:
    whole = build_answer("200 OK", 'ETag: "b"', "Content-Length: 4", body=b"last")
    end, server = await fetch_from(tmp_path, FIRST, answer_rest("300-499/500", body=b"D" * 200), whole)
    assert isinstance(end, Fetched) and not end.length_unknown
    assert [read_start(head) for head in server.heads] == [None, 300, None]
    assert read_tree(tmp_path / "t") == {"x": b"last"}


async def test_packed_bytes_never_stand_behind_plain_ones(tmp_path: Path) -> None:
    packed = gzip.compress(DATA[300:]).ljust(700, b"\0")[:700]
    told = "Content-Encoding: identity", "Content-Encoding: gzip"
    end, _ = await fetch_from(tmp_path, FIRST, answer_rest("300-999/1000", *told, body=packed))
    assert isinstance(end, Failed) and end.fault == Fault.SOURCE
    assert "packed by gzip" in end.message and "have it send the file as it is" in end.message
    assert read_tree(tmp_path / "t") == {}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (build_answer("416 Range Not Satisfiable", "Content-Range: bytes */0", "Content-Length: 0"), "(416)"),
        (answer_rest("0-9/*", body=b"B" * 10), "sends a part of it (206), though all of it was asked for"),
        (answer_rest("0-9/10", body=b"B" * 10), "(206)"),
        (build_answer("204 No Content"), "answers 204 No Content"),
    ],
)
async def test_a_part_that_nobody_asked_for_is_no_file(tmp_path: Path, answer: bytes, words: str) -> None:
    end, server = await fetch_from(tmp_path, answer)
    assert isinstance(end, Failed) and end.fault == Fault.SOURCE
    assert words in end.message and f"{server.url}/x" in end.message
    assert read_tree(tmp_path / "t") == {}


@pytest.mark.parametrize(
    "headers",
    [["Content-Length: 5", "Transfer-Encoding: chunked"], [f"Content-Length: {10**22}"], ["Content-Length: -5"]],
)
async def test_an_answer_that_is_none_is_told_and_tried_again(tmp_path: Path, headers: list[str]) -> None:
    end, _ = await fetch_from(tmp_path, build_answer("200 OK", *headers, body=b"2\r\nhi\r\n0\r\n\r\n"))
    assert isinstance(end, Failed) and end.fault == Fault.NETWORK
    assert "sends an answer that cannot be read (" in end.message
    assert "\n" not in end.message and ":)" not in end.message


async def test_a_server_that_speaks_another_protocol_is_told_by_what_cannot_be_read(tmp_path: Path) -> None:
    end, _ = await fetch_from(tmp_path, b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    assert isinstance(end, Failed) and end.fault == Fault.NETWORK
    assert "sends an answer that cannot be read (Bad status line); tried" in end.message


class TestHub:
    @pytest.fixture
    def list_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
        """Makes a Python that lists what the test says, in place of a hub's library."""

        def build(*files: tuple[str, object, str]) -> None:
            lines = [json.dumps({"revision": "r", "headers": {}})]
            lines += [json.dumps([name, size, "", "", url]) for name, size, url in files]
            program = tmp_path / "python"
            program.write_text("#!/bin/sh\ncat >/dev/null\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
            program.chmod(0o755)
            monkeypatch.setenv("PADDOCK_HUB_PYTHON", str(program))

        return build

    def build(self, tmp_path: Path) -> Request:
        return Request(uri="hf://datasets/ann/words", target=str(tmp_path / "t"))

    async def test_a_body_that_ends_before_its_size_is_not_the_file(self, tmp_path: Path, list_files: object) -> None:
        async with serve_raw(in_turn(build_answer("200 OK", body=b"hi"))) as server:
            list_files(("a", 10, f"{server.url}/a"))
            end = await must_fail(self.build(tmp_path))
        assert end.fault == Fault.NETWORK
        assert 'sent 2 of 10 bytes of "a"; tried 4 times' in end.message
        assert read_tree(tmp_path / "t") == {}

    async def test_a_body_without_a_length_that_is_as_long_as_listed_is_the_file(
        self, tmp_path: Path, list_files: object
    ) -> None:
        async with serve_raw(in_turn(build_answer("200 OK", body=b"hi"))) as server:
            list_files(("a", 2, f"{server.url}/a"))
            end = await must_fetch(self.build(tmp_path))
        assert not end.length_unknown
        assert read_tree(tmp_path / "t") == {"a": b"hi"}

    async def test_another_length_than_listed_is_told(self, tmp_path: Path, list_files: object) -> None:
        async with serve_raw(in_turn(build_answer("200 OK", "Content-Length: 2", body=b"hi"))) as server:
            list_files(("a", 1, f"{server.url}/a"))
            end = await must_fail(self.build(tmp_path))
        assert end.fault == Fault.SOURCE
        assert "tells a length of 2 bytes, and the listing says 1" in end.message

    @pytest.mark.parametrize(
        "size",
        [
            -5,
            2**63,
            pytest.param(2**70, marks=pytest.mark.slow),
            pytest.param(None, marks=pytest.mark.slow),
            pytest.param(1.5, marks=pytest.mark.slow),
            pytest.param("2", marks=pytest.mark.slow),
            pytest.param(True, marks=pytest.mark.slow),
        ],
    )
    async def test_a_size_that_is_none_is_refused_where_it_is_listed(
        self, tmp_path: Path, list_files: object, size: object
    ) -> None:
        async with serve_raw(in_turn(build_answer("200 OK", "Content-Length: 2", body=b"hi"))) as server:
            list_files(("a", size, f"{server.url}/a"))
            end = await must_fail(self.build(tmp_path))
        assert end.fault == Fault.SOURCE and server.heads == []
        assert (
            f'the source lists "a" with the size {size}, and a file has 0 to 9223372036854775807 bytes' in end.message
        )

    async def test_sizes_whose_sum_is_no_number_of_the_api_are_refused(
        self, tmp_path: Path, list_files: object
    ) -> None:
        list_files(("a", 2**62, "http://127.0.0.1:9/a"), ("b", 2**62, "http://127.0.0.1:9/b"))
        assert 'lists "b" with the size' in (await must_fail(self.build(tmp_path))).message

    async def test_the_rest_is_asked_for_if_the_content_is_the_same(self, tmp_path: Path, list_files: object) -> None:
        """Without a checksum, the server's own validator says so: a branch of a hub moves."""
        other = build_answer("200 OK", 'ETag: "b"', "Content-Length: 1000", body=DATA[::-1])
        async with serve_raw(in_turn(FIRST, other)) as server:
            list_files(("a", 1000, f"{server.url}/a"))
            await must_fetch(self.build(tmp_path))
        assert 'If-Range: "a"' in server.heads[1]
        assert read_tree(tmp_path / "t") == {"a": DATA[::-1]}


CONTENTS = {'"a"': build_bytes(40, 1), '"b"': build_bytes(40, 2)}


@dataclass(frozen=True)
class Turn:
    """One answer: true in its bytes and its ETag, and in nothing else. `told`: added to the length; None: no length.
    `sent`: bytes of the body that come. `shift`: where the part begins, from what was asked for. `star`: the part does
    not tell the whole; `bare`: nor its ETag."""

    tag: str
    part: bool
    told: int | None
    sent: int
    chunked: bool
    shift: int
    star: bool
    bare: bool

    def build(self, head: str, totals: dict[str, set[int]]) -> bytes:
        data, asked = CONTENTS[self.tag], read_start(head)
        start = max(0, (asked or 0) + self.shift) if self.part else 0
        whole = len(data) + (self.told or 0)
        body = data[start : min(whole, start + self.sent)]
        headers = [] if self.bare and self.part else [f"ETag: {self.tag}"]
        if self.part and start >= len(data):
            totals[self.tag].add(whole)
            return build_answer("416 No", *headers, f"Content-Range: bytes */{whole}", "Content-Length: 0")
        if self.part:
            last = max(start, min(whole, len(data)) - 1)
            headers.append(f"Content-Range: bytes {start}-{last}/{'*' if self.star else whole}")
        if not (self.part and self.star):
            totals[self.tag].add(whole)
        if self.chunked:
            totals[self.tag].add(len(body))
            return build_answer(
                "206 P" if self.part else "200 OK", *headers, "Transfer-Encoding: chunked", body=pack(body)
            )
        if self.told is not None:
            headers.append(f"Content-Length: {last + 1 - start if self.part else whole}")
        return build_answer("206 P" if self.part else "200 OK", *headers, body=body)


def pack(body: bytes) -> bytes:
    return (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"


_turns = st.builds(
    Turn,
    tag=st.sampled_from(sorted(CONTENTS)),
    part=st.booleans(),
    told=st.sampled_from([0, 0, None, -20, 5]),
    sent=st.sampled_from([60, 60, 13, 7, 0]),
    chunked=st.sampled_from([False, False, True]),
    shift=st.sampled_from([0, 0, 0, -3, 2]),
    star=st.booleans(),
    bare=st.booleans(),
)
_cut = Turn('"a"', part=False, told=0, sent=13, chunked=False, shift=0, star=False, bare=False)


@given(st.lists(_turns, min_size=1, max_size=8).map(lambda turns: [_cut, *turns]))
def test_a_file_that_is_ready_is_one_content_as_long_as_was_told(turns: list[Turn]) -> None:
    """In whatever order a server answers, and however often a process begins anew."""
    totals: dict[str, set[int]] = {tag: set() for tag in CONTENTS}
    left = list(turns)

    async def check(directory: Path) -> None:
        request = Request(uri="", target=str(directory / "t"))
        async with serve_raw(lambda head: (left.pop(0) if left else turns[-1]).build(head, totals)) as server:
            for _ in range(3):
                end = await fetch(Request(uri=f"{server.url}/x", target=request.target))
                if isinstance(end, Fetched):
                    break
        found = read_tree(directory / "t").get("x")
        assert (found is not None) == isinstance(end, Fetched)
        if isinstance(end, Fetched) and not end.length_unknown:
            owners = [
                tag for tag, data in CONTENTS.items() if data[: len(found)] == found and len(found) in totals[tag]
            ]
            assert owners, (found, totals)

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(check(Path(directory)))


def test_what_a_mark_of_an_older_paddock_says_is_read(tmp_path: Path) -> None:
    target = Target(str(tmp_path / "t"))
    part = target.open_part("x")
    part.begin('"a"')
    part.append(DATA[:300])
    part.close()
    mark = next((tmp_path / "t/.paddock/parts").glob("*.json"))
    mark.write_text('{"name":"x","identity":"\\"a\\""}')
    again = target.open_part("x")
    assert (again.size, again.identity, again.total) == (300, '"a"', None)
    again.close()
    target.close()
