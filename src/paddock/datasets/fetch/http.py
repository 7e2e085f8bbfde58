"""One file by http or https, with aiohttp: it goes on where it was cut, also after the process was killed.

What makes that safe is a validator that the server gives (a strong ETag, else a Last-Modified that is as good): the
rest of a file is asked for only `If-Range` the content is the same (RFC 9110, 13.1.5). A server without validators is
asked for the rest only where a checksum will tell. What an answer is worth, and whether a file is whole, `bodies` says.

A body that has neither a length nor chunks ends where the connection does, so a cut looks like its end. It is taken, as
wget and curl take it, and `Fetched.length_unknown` says so.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from yarl import URL

from paddock.datasets.fetch.answers import (
    CONNECT_SECONDS,
    READ_SECONDS,
    Checksum,
    Download,
    can_be_sent,
    explain,
    read_answer,
    read_first_line,
    refuse_status,
)
from paddock.datasets.fetch.bodies import (
    Again,
    Answer,
    Body,
    Changed,
    Known,
    Refused,
    Unknown,
    Verdict,
    begin,
    judge,
    name_host,
)
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.meter import FETCHING, VERIFYING, Meter
from paddock.datasets.fetch.names import show
from paddock.datasets.fetch.parts import Part
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.datasets.fetching import Fetched, Request
from paddock.datasets.sources import Source, hide, split_login
from paddock.words.phrases import Phrase, phrase

MOST_CHANGES = 3
"""A file that changes more often while it is fetched is a failure."""


_KEPT = "http.json"


class Kept(msgspec.Struct, frozen=True):
    """The file that is complete, and its validator: the server is asked whether it has another. `length_unknown`: as
    in `Fetched`."""

    name: str
    size: int
    identity: str
    length_unknown: bool = False


class Anew(Exception):
    """The part may be of another content than the source has: it is fetched from its first byte. `said`: why; its
    {host} is open (`bodies.name_host`)."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(said)
        self.said = said


async def fetch(request: Request, source: Source, target: Target, meter: Meter, patience: Patience) -> Fetched:
    """The file at `source`, in `target`. Raises `FetchError` and OSError."""
    checksum = Checksum("sha256", request.sha256) if request.sha256 else None
    url, login = split_login(source.place)
    download = Download(url, source.path, checksum, _build_headers(request.secret, login))
    meter.expect(0, 1)
    async with open_session() as session:
        revision = await fetch_file(session, download, target, meter, patience)
    target.remove_others(lambda name: name == download.name)
    size = target.measure(download.name) or 0
    unknown = not checksum and _is_length_unknown(target)
    return Fetched(size=size, files=1, fetched=meter.fetched, revision=revision, length_unknown=unknown)


@asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
    # Proxies of the environment; bytes as they are stored, not as a server may pack them for the way.
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as session:
        yield session


async def fetch_file(
    session: aiohttp.ClientSession, download: Download, target: Target, meter: Meter, patience: Patience
) -> str:
    """Returns what the server calls the content; empty if it says nothing."""
    checksum = download.checksum
    if checksum and not download.identity and await _is_there(download.name, checksum, target, meter):
        return f"{checksum.algorithm}:{checksum.wanted}"
    part = target.open_part(download.name, *((checksum.algorithm, checksum.header) if checksum else ()))
    try:
        if download.identity and part.identity != download.identity:
            part.begin(download.identity)
        return await _fetch_part(session, download, part, target, meter, Tries(meter, patience))
    finally:
        part.close()


async def _is_there(name: str, checksum: Checksum, target: Target, meter: Meter) -> bool:
    """Whether an earlier process has fetched it: only a checksum says so without asking the server."""
    size = target.measure(name)
    if size is None:
        return False
    meter.enter(VERIFYING)
    if await asyncio.to_thread(target.read_digest, name, checksum.algorithm) != checksum.wanted:
        return False
    meter.expect(size, 1)
    meter.find(size, 1)
    return True


async def _fetch_part(
    session: aiohttp.ClientSession, download: Download, part: Part, target: Target, meter: Meter, tries: Tries
) -> str:
    meter.find(part.size)
    changes = 0
    while True:
        resumed = part.size > 0
        tries.reach(part.size)
        try:
            verdict = await _receive(session, download, part, target, meter, tries)
            if isinstance(verdict, Kept):
                part.remove()
                return verdict.identity
            _settle(verdict, download)
            await _verify(download, part, meter, resumed)
            break
        except TryAgain as problem:
            await tries.wait(problem)
        except Anew as problem:
            changes += 1
            _drop(download, part, meter)
            if changes > MOST_CHANGES:
                raise FetchError(_explain_changes(download, problem)) from None
    target.keep(part)
    if not download.identity:
        kept = Kept(part.name, part.size, part.identity, isinstance(verdict, Unknown))
        target.write_state(_KEPT, msgspec.json.encode(kept))
    meter.finish_file()
    return part.identity


def _settle(verdict: Verdict, download: Download) -> None:
    """Returns where the file is there. Raises `TryAgain`, `Anew` and `FetchError`."""
    match verdict:
        case Again(part, whole):
            said = phrase(
                "{host} sent {part} of {whole} bytes of {file}",
                host=download.host, part=part, whole=whole, file=show(download.name),
            )  # fmt: skip
            raise TryAgain(said)
        case Changed(said):
            raise Anew(said)
        case Refused(said):
            raise FetchError(name_host(said, f"{download.shown}: {download.host}"))


def _explain_changes(download: Download, problem: Anew) -> Phrase:
    return phrase(
        "{uri} changes while it is fetched: wait until it does not ({why})",
        uri=download.shown, why=name_host(problem.said, download.host),
    )  # fmt: skip


def _drop(download: Download, part: Part, meter: Meter) -> None:
    meter.find(-part.size)
    part.begin(download.identity)


async def _verify(download: Download, part: Part, meter: Meter, resumed: bool) -> None:
    """Raises `Anew` where the parts of a resumed file may be of two contents, else `FetchError`."""
    checksum = download.checksum
    if checksum is None:
        return
    if not download.identity:
        meter.enter(VERIFYING)
    found = await asyncio.to_thread(part.digest)
    if found == checksum.wanted:
        return
    if resumed:
        raise Anew(phrase("{host} sent parts that do not belong together"))
    part.remove()
    said = phrase(
        "{uri} has the checksum {algorithm} {found}, and {field} says {wanted}: the file is another one, or the "
        "checksum is; what was fetched of it is removed",
        uri=download.shown, algorithm=checksum.algorithm, found=found, field=checksum.told_by, wanted=checksum.wanted,
    )  # fmt: skip
    raise FetchError(said)


async def _receive(
    session: aiohttp.ClientSession, download: Download, part: Part, target: Target, meter: Meter, tries: Tries
) -> Verdict | Kept:
    """One request. Returns the complete file if it is the source's still, else what the part is now. Raises `TryAgain`
    and `FetchError`."""
    kept = _read_kept(download, part, target)
    known = _build_known(download, part)
    try:
        async with await _ask(session, download, _build_conditions(download, known, kept)) as answer:
            if answer.status == 304 and kept:
                meter.expect(kept.size, 1)
                meter.find(kept.size, 1)
                return kept
            refuse_status(download, answer)
            said = read_answer(answer)
            body = begin(known, said)
            if not isinstance(body, Body):
                return body
            _make_ready(download, part, body, said, meter)
            target.check_space((body.total or body.end or 0) - part.size)
            await _read_body(answer, body, part, meter, tries)
    except (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError) as error:
        raise explain(error, download) from error
    return judge(body, part.size)


async def _ask(
    session: aiohttp.ClientSession, download: Download, headers: Mapping[str, str]
) -> aiohttp.ClientResponse:
    try:
        return await session.get(_build_url(download.url), headers=headers)
    except aiohttp.ClientError:
        raise
    except ValueError as error:
        # Of a redirect: a name and a password in its address beside those that were sent, a port that is none.
        said = phrase(
            "{uri} leads to an address that cannot be asked for ({why})",
            uri=download.shown, why=hide(read_first_line(error)),
        )  # fmt: skip
        raise FetchError(said) from error


def _make_ready(download: Download, part: Part, body: Body, answer: Answer, meter: Meter) -> None:
    """The part, for the bytes that follow."""
    if not download.identity:
        meter.expect(body.total or 0, 1)
    if body.start:
        part.learn(body.total)
        return
    if part.size:
        said = phrase("{host} sends {file} from its first byte again", host=download.host, file=show(download.name))
        meter.enter(FETCHING, str(said))
    meter.find(-part.size)
    part.begin(download.identity or answer.validator, answer.validator, body.total)


async def _read_body(answer: aiohttp.ClientResponse, body: Body, part: Part, meter: Meter, tries: Tries) -> None:
    """To its end, or a little beyond the byte that it must end with."""
    meter.enter(FETCHING)
    async for data in answer.content.iter_any():
        part.append(data)
        meter.receive(len(data))
        tries.reach(part.size)
        if body.end is not None and part.size > body.end:
            return


def _read_kept(download: Download, part: Part, target: Target) -> Kept | None:
    """The file that is complete, if nothing of a newer one has come yet."""
    kept = None if download.identity else _read_state(target)
    if kept is None:
        return None
    there = kept.name == download.name and target.has(kept.name, kept.size, kept.identity)
    return kept if there and kept.identity and not part.size and not download.checksum else None


def _read_state(target: Target) -> Kept | None:
    try:
        return msgspec.json.decode(target.read_state(_KEPT), type=Kept)
    except (OSError, msgspec.DecodeError):
        return None


def _is_length_unknown(target: Target) -> bool:
    kept = _read_state(target)
    return kept is not None and kept.length_unknown


def _build_known(download: Download, part: Part) -> Known:
    """Before a request for the rest of a part, or for all of the file. Where neither a checksum nor a validator will
    tell whether the rest belongs to what is there, all is asked for."""
    checked = download.checksum is not None
    # Of a listing, the checksum says which content the address has; the validators of a hub's servers may differ.
    validator = "" if checked and download.identity else part.validator or ("" if download.identity else part.identity)
    if not (part.size and (validator or checked)):
        return Known(validator=validator, total=part.total, listed=download.size)
    return Known(part.size, validator, can_be_sent(validator), part.total, download.size, checked)


def _build_conditions(download: Download, known: Known, kept: Kept | None) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity", **download.headers}
    if known.start:
        headers["Range"] = f"bytes={known.start}-"
        if known.conditional:
            headers["If-Range"] = known.validator
    elif kept and can_be_sent(kept.identity):
        headers["If-None-Match" if kept.identity.startswith('"') else "If-Modified-Since"] = kept.identity
    return headers


def _build_url(url: str) -> URL:
    """As it was written: a query may be signed."""
    return URL(url, encoded=url.isascii())


def _build_headers(secret: Mapping[str, str], login: tuple[str, str] | None) -> dict[str, str]:
    """`login`: a name and a password of the address, where the Secret has none. Raises `FetchError`."""
    if token := secret.get("token", "").strip():
        if not (token.isascii() and token.isprintable()):
            raise FetchError(phrase("the token of the Secret has a character that no header can have: correct it"))
        return {"Authorization": f"Bearer {token}"}
    if username := secret.get("username", ""):
        login = username, secret.get("password", "")
    if login is None:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(":".join(login).encode()).decode()}
