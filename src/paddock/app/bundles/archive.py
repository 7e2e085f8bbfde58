"""A bundle as the bytes of one file, tar and gzip, and back. Pure but for the reader that it is given.

A bundle comes from a stranger. It is read in one pass and in memory, never written out: only regular files count, under
the names that a bundle has; all sizes are bounded while they are unpacked; what is none is refused by one sentence.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol, TypeVar

import msgspec

from paddock.app.bundles.contents import FORMAT, Answer, Bundle, Head, LogEntry
from paddock.history.records import RunRecord
from paddock.words.phrases import Foreign, Phrase, phrase

PACKED_BYTES, UNPACKED_BYTES, MEMBERS = 48 << 20, 64 << 20, 10_000
"""The most that is read."""
JSON_BYTES = 16 << 20
"""Of all that is no log: its values take many times as much memory."""
_MEMBER = re.compile(
    r"README\.txt|bundle\.json|history\.json|documents\.json|objects/[a-z0-9.-]{1,100}\.json|logs/[a-z0-9.-]{1,150}\.log"
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_UID = re.compile(r"[A-Za-z0-9-]{0,63}")
_GAP = b"[paddock: here %d bytes are left out]\n"
_GAP_UNKNOWN = b"[paddock: here lines are left out]\n"
_DAMAGE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)
V = TypeVar("V")


class BadBundle(Exception):
    """A file that is no bundle; `said` goes on after its name and a colon."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


def pack(bundle: Bundle, readme: str) -> bytes:
    """The bytes of the file. The same bundle gives the same bytes."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", mtime=bundle.head.made, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, content in _list_members(bundle, readme):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(content), 0o600, int(bundle.head.made)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _list_members(bundle: Bundle, readme: str) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", readme.encode()
    yield "bundle.json", _write(bundle.head)
    for answer in bundle.answers.values():
        group = answer.api_version.rpartition("/")[0]
        version = answer.api_version.rpartition("/")[2]
        name = f"{answer.plural}.{version}.{group}" if group else answer.plural
        yield f"objects/{name}.json", _write(answer)
    yield "history.json", _write(bundle.runs)
    yield "documents.json", _write(bundle.documents)
    for entry in bundle.head.logs:
        yield entry.file, _write_log(bundle, entry)


def _write(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def _write_log(bundle: Bundle, entry: LogEntry) -> bytes:
    first, last = bundle.read_log(entry)
    if entry.left_out is None:
        return first
    return first + (_GAP % entry.left_out if entry.left_out else _GAP_UNKNOWN) + last


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Bounded:
    """The bytes of another reader, at most so many. Raises `BadBundle` for more."""

    def __init__(self, reader: _Reader, most: int) -> None:
        self._reader, self._left = reader, most

    def read(self, size: int) -> bytes:
        chunk = self._reader.read(max(0, min(size, self._left + 1)))
        self._left -= len(chunk)
        if self._left < 0:
            raise BadBundle(phrase("it is larger than a bundle can be: nothing of it is read"))
        return chunk


_NONE = phrase("it is no bundle of a job: `{command}` writes one", command="paddock bundle JOB")


def unpack(file: IO[bytes]) -> Bundle:
    """Raises `BadBundle`, and `OSError` of the file."""
    try:
        members = _read_members(file)
    except gzip.BadGzipFile as error:
        raise BadBundle(_NONE) from error
    if "bundle.json" not in members:
        raise BadBundle(_NONE)
    _check_format(members["bundle.json"])
    head = _check_head(_read(members["bundle.json"], Head, "bundle.json"))
    answers = [_read(content, Answer, name) for name, content in members.items() if name.startswith("objects/")]
    return Bundle(
        head,
        {(each.api_version, each.plural): each for each in answers},
        _read(members.get("history.json", b"[]"), tuple[RunRecord, ...], "history.json"),
        _read(members.get("documents.json", b"{}"), dict[str, Any], "documents.json"),
        {entry.file: _read_log(members.get(entry.file, b""), entry) for entry in head.logs},
    )


def _read_members(file: IO[bytes]) -> dict[str, bytes]:
    raw: Any = _Bounded(file, PACKED_BYTES)
    try:
        with gzip.GzipFile(fileobj=raw, mode="rb") as unzipped:
            bounded: Any = _Bounded(unzipped, UNPACKED_BYTES)
            with tarfile.open(fileobj=bounded, mode="r|") as tar:
                return _read_all(tar)
    except gzip.BadGzipFile:
        raise
    except (*_DAMAGE, ValueError, OverflowError, RecursionError) as error:
        raise BadBundle(
            phrase("it is damaged, or no bundle: {why}", why=Foreign(str(error) or type(error).__name__))
        ) from error


def _read_all(tar: tarfile.TarFile) -> dict[str, bytes]:
    found, json_left = dict[str, bytes](), JSON_BYTES
    for count, member in enumerate(tar):
        if count >= MEMBERS:
            raise BadBundle(phrase("it has more files than a bundle can have"))
        if member.name in found:
            raise BadBundle(phrase("it has two files of the name {name}", name=repr(member.name)))
        content = _read_member(tar, member)
        if not member.name.startswith("logs/"):
            json_left -= len(content)
        if json_left < 0:
            raise BadBundle(phrase("it is larger than a bundle can be: nothing of it is read"))
        found[member.name] = content
    return found


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Raises `BadBundle` for a link, a device, a sparse file, and a name that no file of a bundle has."""
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise BadBundle(phrase("{name} in it is no regular file, as all files of a bundle are", name=repr(member.name)))
    if not _MEMBER.fullmatch(member.name):
        raise BadBundle(phrase("{name} in it is no file of a bundle", name=repr(member.name)))
    if not 0 <= member.size <= UNPACKED_BYTES:
        raise BadBundle(phrase("it is larger than a bundle can be: nothing of it is read"))
    reader = tar.extractfile(member)
    content = reader.read() if reader is not None else b""
    if len(content) != member.size:
        raise BadBundle(phrase("{name} in it is cut off", name=repr(member.name)))
    return content


def _check_format(content: bytes) -> None:
    """A later format is told as that, and not by the first of its fields that is not known."""
    found = _read(content, dict[str, Any], "bundle.json").get("format")
    if isinstance(found, int) and found > FORMAT:
        raise BadBundle(
            phrase("a later Paddock made it (format {found}; this one reads {known}): use that one, or a later one",
                   found=found, known=FORMAT)
        )  # fmt: skip


def _check_head(head: Head) -> Head:
    """Names stand in the commands that are advised, so they are checked as an API server does."""
    job, namespaces = head.job, (head.job.namespace, head.place.namespace)
    if not all(map(_NAME.fullmatch, (job.name, *namespaces))) or not _UID.fullmatch(job.uid):
        raise BadBundle(phrase("the name of its job is none that Kubernetes allows"))
    return head


def _read(content: bytes, kind: type[V], name: str) -> V:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadBundle(
            phrase("{name} in it is not as Paddock writes it: {why}", name=name, why=Foreign(str(error)))
        ) from error


def _read_log(content: bytes, entry: LogEntry) -> bytes:
    """The two parts without the line between them."""
    if entry.left_out is None:
        return content
    first, last = max(0, entry.first), max(0, entry.last)
    return content[:first] + (content[max(first, len(content) - last) :] if last else b"")
