"""SPDY/3.1: the same frames however the bytes are cut, and bounds for whatever comes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.streaming.spdy import (
    DICTIONARY,
    MOST_CONTROL,
    MOST_HEADERS,
    Data,
    Frame,
    GoAway,
    Ping,
    ProtocolError,
    Reader,
    RstStream,
    SynReply,
    SynStream,
    Writer,
)

streams = st.integers(0, 2**31 - 1)
names = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=20)
headers = st.dictionaries(
    names, st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=40), max_size=6
)
frames = st.one_of(
    st.builds(SynStream, streams, headers, st.booleans()),
    st.builds(SynReply, streams, headers, st.booleans()),
    st.builds(RstStream, streams, st.integers(0, 2**32 - 1)),
    st.builds(Ping, st.integers(0, 2**32 - 1)),
    st.builds(GoAway, streams),
    st.builds(Data, streams, st.binary(max_size=300), st.booleans()),
)


def join(read: Iterable[Frame]) -> list[Frame]:
    """With the parts of each data frame put together again."""
    joined: list[Frame] = []
    for frame in read:
        last = joined[-1] if joined else None
        is_part = isinstance(frame, Data) and isinstance(last, Data) and not last.fin and last.stream == frame.stream
        if is_part:
            assert isinstance(frame, Data)
            assert isinstance(last, Data)
            joined[-1] = Data(frame.stream, last.data + frame.data, frame.fin)
        else:
            joined.append(frame)
    return joined


@given(st.lists(frames, max_size=12), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_frames(written: list[Frame], sizes: list[int]) -> None:
    writer = Writer()
    data = b"".join(writer.write(frame) for frame in written)
    reader, read, place = Reader(), list[Frame](), 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        read += reader.feed(data[place : place + size])
        place += size
    assert join(read) == join(written)
    assert join(Reader().feed(data)) == join(written)


@given(st.binary(max_size=400), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_whatever_comes_is_frames_or_a_protocol_error(data: bytes, sizes: list[int]) -> None:
    reader, place = Reader(), 0
    try:
        while place < len(data):
            size = sizes[place % len(sizes)]
            list(reader.feed(data[place : place + size]))
            place += size
    except ProtocolError:
        pass


@given(headers, st.binary(max_size=60), st.integers(0, 60))
def test_a_header_block_that_is_damaged_is_a_protocol_error_or_other_headers(
    named: Mapping[str, str], noise: bytes, at: int
) -> None:
    data = bytearray(Writer().write(SynReply(1, named)))
    data[12 + at : 12 + at + len(noise)] = noise
    data[4:8] = struct.pack(">I", len(data) - 8)
    try:
        list(Reader().feed(bytes(data)))
    except ProtocolError:
        pass


def test_the_dictionary_is_that_of_the_draft() -> None:
    """Its length and checksum: 1423 bytes, and the Adler-32 that begins each stream that is packed by it."""
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_bytes_are_those_of_the_draft() -> None:
    assert Writer().write(Ping(1)) == bytes.fromhex("80030006 00000004 00000001")
    assert Writer().write(RstStream(5, 3)) == bytes.fromhex("80030003 00000008 00000005 00000003")
    assert Writer().write(Data(7, b"ab", fin=True)) == bytes.fromhex("00000007 01000002 6162")
    opened = Writer().write(SynStream(1, {"StreamType": "stdin"}))
    assert opened[:18] == bytes.fromhex("80030001") + struct.pack(">IIIH", len(opened) - 8, 1, 0, 0)
    text = zlib.decompressobj(zdict=DICTIONARY).decompress(opened[18:])
    assert text == struct.pack(">II", 1, 10) + b"streamtype" + struct.pack(">I", 5) + b"stdin"


def test_what_does_not_matter_is_passed_over() -> None:
    settings = bytes.fromhex("80030004 0000000c 00000001 00000004 00000064")
    window = bytes.fromhex("80030009 00000008 00000001 00010000")
    unknown = bytes.fromhex("80030063 00000002 abcd")
    assert list(Reader().feed(settings + window + unknown + Writer().write(Ping(3)))) == [Ping(3)]


def test_headers_of_a_frame_that_does_not_matter_are_read_for_those_that_follow() -> None:
    writer = Writer()
    passed = writer.write(SynReply(1, {"a": "b"}))
    passed = passed[:2] + b"\x00\x08" + passed[4:]  # HEADERS, which has the form of SYN_REPLY
    assert list(Reader().feed(passed + writer.write(SynReply(3, {"a": "b"})))) == [SynReply(3, {"a": "b"})]


def _packed(text: bytes) -> bytes:
    packer = zlib.compressobj(9, zdict=DICTIONARY)
    block = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
    return struct.pack(">II", 0x80030002, 4 + len(block)) + struct.pack(">I", 1) + block


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes.fromhex("80020006 00000004 00000001"), "version 2"),
        (struct.pack(">II", 0x80030001, MOST_CONTROL + 1), "a control frame of"),
        (bytes.fromhex("80030006 00000002 0001"), "too short"),
        (bytes.fromhex("80030002 00000008 00000001 ffffffff"), "cannot be unpacked"),
        (_packed(bytes(10 * MOST_HEADERS)), "longer than"),  # ten bytes of it are a thousand of these
        (_packed(struct.pack(">II", 2**31, 0)), "which it cannot have"),
        (_packed(struct.pack(">III", 1, 100, 0)), "ends within a header"),
        (_packed(struct.pack(">I", 257) + bytes(8 * 257)), "has 257 headers: 256 are read"),
    ],
)  # fmt: skip
def test_what_exceeds_a_bound_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        list(Reader().feed(data))
