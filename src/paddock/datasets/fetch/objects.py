"""One object of a bucket, from the bucket to its file: in one piece, or as a part that goes on where it was."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, PreconditionError

from paddock.datasets.fetch.bodies import Again, Answer, Body, Changed, Known, Refused, Verdict, begin, judge, name_host
from paddock.datasets.fetch.buckets import Bucket
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.listing import Entry
from paddock.datasets.fetch.meter import FETCHING, Meter
from paddock.datasets.fetch.parts import Part
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta

SMALL = 128 << 10
"""Bytes up to which an object is fetched in one piece. Eight at once are 1 MiB: the most that comes twice after a
kill."""

CHUNK = 64 << 10
"""Least bytes of a write; of obstore's own 10 MiB, eight times as much would be lost in a kill."""

MOST_CHANGES = 3
_MD5 = re.compile(r'"?([0-9a-f]{32})"?')


class Anew(Exception):
    """The object is not the listed one any more. `said`: what shows it; its {host} is open (`bodies.name_host`)."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(said)
        self.said = said


_GONE, _OTHER = phrase("{host} has no such object"), phrase("{host} has another object of this name")
_BUCKET = phrase("the bucket")


def build_entry(meta: ObjectMeta, folder: str) -> Entry:
    """What obstore tells of an object, as a file below `folder`."""
    key = meta["path"]
    return Entry(key.removeprefix(f"{folder}/") if folder else key, key, meta["size"], read_identity(meta))


def read_identity(meta: ObjectMeta) -> str:
    return meta["e_tag"] or f"at {meta['last_modified']}"


def _read_answer(result: GetResult, offset: int) -> Answer:
    """What obstore has read of the headers. It has no answer without a length, nor one of another range than was asked
    for; the object's own Content-Encoding is part of what was put there, and its bytes come as they are."""
    size = result.meta["size"]
    first, last = result.range
    told = f"bytes {first}-{last - 1}/{size}" if offset else ""
    return Answer(206 if offset else 200, told, last - first, validator=_unify(read_identity(result.meta)))


def _unify(identity: str) -> str:
    """An ETag as headers have it, where a listing leaves the quotes out; a date to the second, as headers have it."""
    if identity.startswith("at "):
        return identity.partition(".")[0].partition("+")[0]
    return identity if identity.startswith("W/") else f'"{identity.strip(chr(34))}"'


@dataclass(slots=True)
class Transfer:
    """`run` raises `FetchError` and OSError."""

    bucket: Bucket
    entry: Entry
    target: Target
    meter: Meter
    patience: Patience
    tries: Tries = field(init=False)
    _seen: str = ""

    def __post_init__(self) -> None:
        self.tries = Tries(self.meter, self.patience)

    async def run(self) -> None:
        said = _OTHER
        for _ in range(MOST_CHANGES + 1):
            try:
                await (self._fetch_small() if self.entry.size <= SMALL else self._fetch_large())
                return
            except Anew as problem:
                said = problem.said
                await self._look_again()
        changing = phrase(
            "{uri} changes while it is fetched: wait until it does not ({why})",
            uri=self.bucket.show(self.entry.key), why=name_host(said, _BUCKET),
        )  # fmt: skip
        raise FetchError(changing)

    @property
    def _tag(self) -> str:
        """The ETag; empty if the bucket gives none."""
        return "" if self.entry.identity.startswith("at ") else self.entry.identity

    @property
    def _wanted(self) -> str:
        """The MD5 that the object must have; empty if its ETag is none, as that of one that was put in pieces."""
        found = _MD5.fullmatch(self.entry.identity)
        return found[1] if found and self.bucket.checks_tags else ""

    async def _fetch_small(self) -> None:
        name, size, last = self.entry.name, self.entry.size, False
        while True:
            data = await self._read_small()
            if data is None or (not size and self.target.is_directory(name)):
                self.meter.expect(self.meter.total, self.meter.all_files - 1)
                return
            if self._accepts(hashlib.md5(data, usedforsecurity=False).hexdigest(), last):
                self.target.write(name, data, self.entry.identity)
                self.meter.finish_file()
                return
            self.meter.find(-size)
            last = True

    async def _read_small(self) -> memoryview | None:
        """None for what a console has put there to show a folder: it is listed without the "/" of its key, and is not
        found by that."""
        while True:
            try:
                result, body = await self._get(0)
                data = memoryview(await result.bytes_async())
                self._settle(judge(body, len(data)))
                self.meter.receive(len(data))
                return data
            except TryAgain as problem:
                await self.tries.wait(problem)
            except FileNotFoundError:
                if self.entry.size:
                    raise Anew(_GONE) from None
                return None
            except (BaseError, OSError) as error:
                await self._wait(error)

    async def _fetch_large(self) -> None:
        part = self.target.open_part(self.entry.name, "md5" if self._wanted else "")
        try:
            if part.identity != self.entry.identity or part.size > self.entry.size:
                part.begin(self.entry.identity)
            self.meter.find(part.size)
            await self._fill_verified(part)
        except Anew:
            self.meter.find(-part.size)
            part.begin("")
            raise
        finally:
            part.close()

    async def _fill_verified(self, part: Part) -> None:
        resumed = part.size > 0
        for last in (False, True) if not resumed else (False, False, True):
            await self._fill(part)
            found = await asyncio.to_thread(part.digest) if self._wanted else ""
            if self._accepts(found, last):
                break
            self.meter.find(-part.size)
            part.begin(self.entry.identity)
        self.target.keep(part)
        self.meter.finish_file()

    async def _fill(self, part: Part) -> None:
        while part.size < self.entry.size:
            self.tries.reach(part.size)
            try:
                result, body = await self._get(part.size)
                async for chunk in result.stream(min_chunk_size=CHUNK):
                    part.append(memoryview(chunk))
                    self.meter.receive(len(chunk))
                    self.tries.reach(part.size)
                self._settle(judge(body, part.size))
            except TryAgain as problem:
                await self.tries.wait(problem)
            except FileNotFoundError:
                raise Anew(_GONE) from None
            except (BaseError, OSError) as error:
                await self._wait(error)

    async def _get(self, offset: int) -> tuple[GetResult, Body]:
        """The object from a byte on. Raises what `_settle` raises."""
        options: GetOptions = {"if_match": self._tag or None}
        if offset:
            options["range"] = {"offset": offset}
        result = await obstore.get_async(self.bucket.store, self.entry.key, options=options)
        known = Known(
            start=offset,
            validator=_unify(self.entry.identity),
            conditional=bool(self._tag),
            listed=self.entry.size,
            checked=bool(self._wanted),
            pinned=True,
        )
        body = begin(known, _read_answer(result, offset))
        if not isinstance(body, Body):
            self._settle(body)
            raise TryAgain(phrase("{uri} was not sent", uri=self.bucket.show(self.entry.key)))
        return result, body

    def _settle(self, verdict: Verdict) -> None:
        """Returns where the object is there. Raises `TryAgain`, `Anew` and `FetchError`."""
        uri = self.bucket.show(self.entry.key)
        match verdict:
            case Again(part, whole):
                cut = phrase("{uri} was cut: the bucket sent {part} of {whole} bytes", uri=uri, part=part, whole=whole)
                raise TryAgain(cut)
            case Changed(said):
                raise Anew(said)
            case Refused(said):
                raise FetchError(name_host(said, phrase("{uri}: the bucket", uri=uri)))

    async def _wait(self, error: Exception) -> None:
        """For the next try. Raises what is no failure that may pass."""
        if isinstance(error, PreconditionError):
            raise Anew(_OTHER) from None
        if isinstance(error, OSError) and error.errno:
            raise error  # of a write here
        problem = self.bucket.explain(error, self.entry.key)
        if not isinstance(problem, TryAgain):
            raise problem from None
        await self.tries.wait(problem)

    def _accepts(self, found: str, last: bool) -> bool:
        """Whether the bytes are the object's. An ETag that looks like an MD5 and is none (of objects that a key service
        encrypts) is known by this: the object came twice with the same bytes."""
        if not self._wanted or found == self._wanted:
            return True
        if self._seen == found:
            self.bucket.doubt_tags(self.target)
            return True
        self._seen = found
        if last:
            said = phrase(
                "{uri} has the checksum md5 {found}, and the bucket says {wanted}: its bytes change on the way; fetch "
                "it again",
                uri=self.bucket.show(self.entry.key), found=found, wanted=self._wanted,
            )  # fmt: skip
            raise FetchError(said)
        return False

    async def _look_again(self) -> None:
        """The object as it is now."""
        before = self.entry
        while True:
            try:
                meta = await obstore.head_async(self.bucket.store, before.key)
                break
            except FileNotFoundError:
                said = phrase(
                    "{uri} was removed while the dataset was fetched: fetch it again", uri=self.bucket.show(before.key)
                )
                raise FetchError(said) from None
            except (BaseError, OSError) as error:
                await self._wait(error)
        self.entry = Entry(before.name, before.key, meta["size"], read_identity(meta))
        self.meter.expect(self.meter.total + self.entry.size - before.size, self.meter.all_files)
        self.meter.enter(FETCHING, str(phrase("{uri} has changed", uri=self.bucket.show(before.key))))
