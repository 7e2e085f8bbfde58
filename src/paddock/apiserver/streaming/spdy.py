"""SPDY/3.1 as the clients of Kubernetes use it: bytes in, frames out, and back. Pure: it knows no socket.

Source: SPDY Protocol Draft 3.1 (§2.2 framing, §2.6 control frames, §2.6.10.1 the dictionary of header blocks). kubectl
before 1.31 speaks it for exec and attach, and every kubectl for port-forward, the newer ones within a WebSocket. There
is no flow control: Go's library neither sends nor heeds WINDOW_UPDATE, so it is read and ignored, as SETTINGS is.

Rule: whatever comes, memory stays bounded: a control frame has `MOST_CONTROL` bytes, its headers unpacked
`MOST_HEADERS`, and the bytes of a data frame are handed on as they come.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

MOST_CONTROL = 16 * 1024
"""Bytes of a control frame."""
MOST_HEADERS = 64 * 1024
"""Bytes of its header block when unpacked."""
_MOST_NAMES = 256
"""Headers of a block."""
MOST_DATA = 2**24 - 1
"""Bytes of a data frame."""
_HEAD = struct.Struct(">II")
_VERSION = 3
_FIN = 1

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _build_dictionary() -> bytes:
    words = [word.replace("_", " ").encode() for word in _WORDS.split()]
    return b"".join(len(word).to_bytes(4, "big") + word for word in words) + _REST.encode()


DICTIONARY = _build_dictionary()
"""Of header blocks: words with their lengths before them, and a rest. Both sides have it, byte for byte."""


class ProtocolError(ValueError):
    """What came is no SPDY/3.1, or exceeds a bound. The connection is of no use any more."""


class Kind(IntEnum):
    """The types of control frames that matter here."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class Reset(IntEnum):
    """The reasons of RST_STREAM that are sent here."""

    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3


@dataclass(frozen=True, slots=True)
class SynStream:
    """The client opens a stream."""

    stream: int
    headers: Mapping[str, str]
    """Names in lower case. Of several values of one name, the first."""
    fin: bool = False
    """It will send nothing on it."""


@dataclass(frozen=True, slots=True)
class SynReply:
    """The answer to `SynStream`."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class RstStream:
    stream: int
    status: int = Reset.PROTOCOL_ERROR


@dataclass(frozen=True, slots=True)
class Ping:
    number: int
    """Odd of a client's own, even of a server's; the other side sends the same back."""


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream: int = 0
    """The last one that its sender has taken."""


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream: a whole frame, or the part of one that has come."""

    stream: int
    data: bytes
    fin: bool = False
    """Its sender sends no more on this stream."""


Frame = SynStream | SynReply | RstStream | Ping | GoAway | Data


class Reader:
    """One direction of a connection: bytes to frames. After a `ProtocolError` it must not be used."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)
        self._stream, self._left, self._fin = 0, 0, False  # of the data frame that has begun

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete by these bytes, and what has come of a data frame. Raises `ProtocolError`."""
        self.add(data)
        while (frames := self.take()) is not None:
            yield from frames

    def add(self, data: bytes) -> None:
        """For `take`."""
        self._buffer += data

    def take(self) -> Sequence[Frame] | None:
        """The next frame, empty for one that does not matter; None if more bytes are needed. Raises
        `ProtocolError`."""
        if self._left:
            return self._take_data()
        if len(self._buffer) < _HEAD.size:
            return None
        first, second = _HEAD.unpack_from(self._buffer)
        flags, length = second >> 24, second & MOST_DATA
        if first >> 31:
            return self._take_control(first, flags, length)
        del self._buffer[: _HEAD.size]
        self._stream, self._left, self._fin = first, length, bool(flags & _FIN)
        return () if length else (Data(first, b"", self._fin),)

    def _take_data(self) -> Sequence[Frame] | None:
        if not self._buffer:
            return None
        data = bytes(self._buffer[: self._left])
        del self._buffer[: len(data)]
        self._left -= len(data)
        return (Data(self._stream, data, self._fin and not self._left),)

    def _take_control(self, first: int, flags: int, length: int) -> Sequence[Frame] | None:
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise ProtocolError(f"a frame of SPDY version {version}: version 3 is read")
        if length > MOST_CONTROL:
            raise ProtocolError(f"a control frame of {length} bytes: {MOST_CONTROL} are read")
        end = _HEAD.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_HEAD.size : end])
        del self._buffer[:end]
        return self._read_control(kind, flags, body)

    def _read_control(self, kind: int, flags: int, body: bytes) -> Sequence[Frame]:
        fin = bool(flags & _FIN)
        match kind:
            case Kind.SYN_STREAM:
                return (SynStream(_number(body) & 0x7FFFFFFF, self._read_headers(body[10:]), fin),)
            case Kind.SYN_REPLY:
                return (SynReply(_number(body) & 0x7FFFFFFF, self._read_headers(body[4:]), fin),)
            case Kind.HEADERS:
                # Its block belongs to the compression of all that follow, so it is read in any case.
                self._read_headers(body[4:])
                return ()
            case Kind.RST_STREAM:
                return (RstStream(_number(body) & 0x7FFFFFFF, _number(body, 4)),)
            case Kind.PING:
                return (Ping(_number(body)),)
            case Kind.GOAWAY:
                return (GoAway(_number(body) & 0x7FFFFFFF),)
        return ()

    def _read_headers(self, block: bytes) -> Mapping[str, str]:
        try:
            text = self._headers.decompress(block, MOST_HEADERS)
        except zlib.error as error:
            raise ProtocolError(f"a header block cannot be unpacked: {error}") from None
        if self._headers.unconsumed_tail:
            raise ProtocolError(f"a header block is longer than {MOST_HEADERS} bytes when it is unpacked")
        return _read_pairs(text)


def _number(body: bytes, offset: int = 0) -> int:
    if len(body) < offset + 4:
        raise ProtocolError("a control frame is too short")
    return int.from_bytes(body[offset : offset + 4], "big")


def _read_pairs(text: bytes) -> Mapping[str, str]:
    """Names and values, each with its length before it (§2.6.10)."""
    count, offset = _number(text), 4
    if count > len(text) // 8:
        raise ProtocolError(f"a header block says that it has {count} headers, which it cannot have")
    if count > _MOST_NAMES:
        raise ProtocolError(f"a header block has {count} headers: {_MOST_NAMES} are read")
    words = []
    for _ in range(2 * count):
        end = offset + 4 + _number(text, offset)
        if end > len(text):
            raise ProtocolError("a header block ends within a header")
        words.append(text[offset + 4 : end].decode("utf-8", "replace"))
        offset = end
    # A zero byte separates the values of one name.
    return {name.lower(): value.partition("\0")[0] for name, value in zip(words[::2], words[1::2], strict=True)}


class Writer:
    """The other direction: frames to bytes. They must be sent in the order in which they were written."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def write(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream, data, fin):
                if len(data) > MOST_DATA:
                    raise ValueError(f"a data frame has {MOST_DATA} bytes at most: found {len(data)}")
                return _HEAD.pack(stream, fin << 24 | len(data)) + data
            case SynStream(stream, headers, fin):
                # The stream that it belongs to, its priority and its slot of a certificate: none.
                return _control(Kind.SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + self._pack(headers), fin)
            case SynReply(stream, headers, fin):
                return _control(Kind.SYN_REPLY, struct.pack(">I", stream) + self._pack(headers), fin)
            case RstStream(stream, status):
                return _control(Kind.RST_STREAM, struct.pack(">II", stream, status))
            case Ping(number):
                return _control(Kind.PING, struct.pack(">I", number))
            case GoAway(last):
                return _control(Kind.GOAWAY, struct.pack(">II", last, 0))

    def _pack(self, headers: Mapping[str, str]) -> bytes:
        words = [part.encode() for name, value in headers.items() for part in (name.lower(), value)]
        text = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(word)) + word for word in words)
        return self._headers.compress(text) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: Kind, body: bytes, fin: bool = False) -> bytes:
    return _HEAD.pack(1 << 31 | _VERSION << 16 | kind, fin << 24 | len(body)) + body
