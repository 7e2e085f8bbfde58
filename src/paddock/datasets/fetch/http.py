"""One file by http or https, with aiohttp: it goes on where it was cut, also after the process was killed.

What makes that safe is a validator that the server gives (a strong ETag, else a Last-Modified that is as good): the
rest of a file is asked for only `If-Range` the content is the same (RFC 9110, 13.1.5). A server without validators is
asked for the rest only where a checksum will tell.

A body that has neither a length nor chunks ends where the connection does, so a cut looks like its end. It is taken, as
wget and curl take it, and `Fetched.length_unknown` says so.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.meter import FETCHING, VERIFYING, Meter
from paddock.datasets.fetch.names import show
from paddock.datasets.fetch.parts import Part
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.datasets.fetching import Fault, Fetched, Request
from paddock.datasets.sources import Source, hide

CONNECT_SECONDS, READ_SECONDS = 30.0, 60.0
"""To connect, and without a byte."""

MOST_CHANGES = 3
"""A file that changes more often while it is fetched is a failure."""

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})


_KEPT = "http.json"


class Kept(msgspec.Struct, frozen=True):
    """The file that is complete, and its validator: the server is asked whether it has another. `length_unknown`: as
    in `Fetched`."""

    name: str
    size: int
    identity: str
    length_unknown: bool = False


class Changed(Exception):
    """The content at the source is another than that of the part: it is fetched from its first byte."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a file must have. `header`: bytes that are hashed before its own, as git does. `told_by`: who says so."""

    algorithm: str
    wanted: str
    told_by: str = "spec.source.sha256"
    header: bytes = b""


@dataclass(frozen=True, slots=True)
class Download:
    """One file. `checksum`: None if nobody said. `headers`: go with each request to its host. `identity`: of a file in
    a listing, which content the address has, whatever the server's validators say; empty for a dataset of one file,
    whose size nobody knows before."""

    url: str
    name: str
    checksum: Checksum | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    advice: str = "spec.source.secretName names a Secret with username and password, or a token"

    @property
    def host(self) -> str:
        parts = urlsplit(self.url)
        return parts.hostname + (f":{parts.port}" if parts.port else "") if parts.hostname else ""

    @property
    def shown(self) -> str:
        """For messages. Addresses of a listing are made by a hub's library, and may have the file in their query."""
        return f"{show(self.name)} of {self.host}" if self.identity else hide(self.url)


async def fetch(request: Request, source: Source, target: Target, meter: Meter, patience: Patience) -> Fetched:
    """The file at `source`, in `target`. Raises `FetchError` and OSError."""
    checksum = Checksum("sha256", request.sha256) if request.sha256 else None
    download = Download(source.place, source.path, checksum, _build_headers(request.secret))
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
            if (same := await _receive(session, download, part, target, meter, tries)) is not None:
                part.remove()
                return same
            await _verify(download, part, meter, resumed)
            break
        except TryAgain as problem:
            await tries.wait(problem)
        except Changed:
            changes += 1
            _drop(download, part, meter)
            if changes > MOST_CHANGES:
                raise FetchError(f"{download.shown} changes while it is fetched: wait until it does not") from None
    target.keep(part)
    if not download.identity:
        kept = Kept(part.name, part.size, part.identity, not part.length_known)
        target.write_state(_KEPT, msgspec.json.encode(kept))
    meter.finish_file()
    return part.identity


def _drop(download: Download, part: Part, meter: Meter) -> None:
    meter.find(-part.size)
    part.begin(download.identity)


async def _verify(download: Download, part: Part, meter: Meter, resumed: bool) -> None:
    """Raises `Changed` where the parts of a resumed file may be of two contents, else `FetchError`."""
    checksum = download.checksum
    if checksum is None:
        return
    if not download.identity:
        meter.enter(VERIFYING)
    found = await asyncio.to_thread(part.digest)
    if found == checksum.wanted:
        return
    if resumed:
        raise Changed
    part.remove()
    raise FetchError(
        f"{download.shown} has the checksum {checksum.algorithm} {found}, and {checksum.told_by} says "
        f"{checksum.wanted}: the file is another one, or the checksum is; what was fetched of it is removed"
    )


async def _receive(
    session: aiohttp.ClientSession, download: Download, part: Part, target: Target, meter: Meter, tries: Tries
) -> str | None:
    """One request. Returns the validator if the file that is complete already is the source's still, else None, and
    the part is whole. Raises `TryAgain`, `Changed` and `FetchError`."""
    kept = _read_kept(download, part, target)
    headers = _build_conditions(download, part, kept)
    try:
        async with session.get(_build_url(download.url), headers=headers) as answer:
            if answer.status == 304 and kept:
                meter.expect(kept.size, 1)
                meter.find(kept.size, 1)
                return kept.identity
            total, has_rest = _read_answer(download, part, answer, meter)
            if not download.identity:
                meter.expect(total, 1)
            target.check_space(total - part.size)
            if has_rest:
                await _read_body(answer, part, meter, tries)
    except (aiohttp.ClientError, TimeoutError, ConnectionError, ssl.SSLError) as error:
        raise explain(error, download) from error
    if total and part.size != total:
        raise TryAgain(f"{download.host} sent {part.size} of {total} bytes of {show(download.name)}")
    return None


async def _read_body(answer: aiohttp.ClientResponse, part: Part, meter: Meter, tries: Tries) -> None:
    meter.enter(FETCHING)
    async for data in answer.content.iter_any():
        part.append(data)
        meter.receive(len(data))
        tries.reach(part.size)


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


def _build_conditions(download: Download, part: Part, kept: Kept | None) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity", **download.headers}
    if part.size and (part.identity or download.checksum):
        headers["Range"] = f"bytes={part.size}-"
        if part.identity and not download.identity:
            headers["If-Range"] = part.identity
    elif kept:
        headers["If-None-Match" if kept.identity.startswith('"') else "If-Modified-Since"] = kept.identity
    return headers


def _read_answer(download: Download, part: Part, answer: aiohttp.ClientResponse, meter: Meter) -> tuple[int, bool]:
    """The size of the whole, 0 if it is not known, and whether the body is the rest of the part, which is made ready
    for it."""
    identity = download.identity or _read_validator(answer.headers)
    found = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status == 416:
        # Nothing is left to send: the part is whole, if the server's file is no longer.
        if found and found[3] == str(part.size) and identity in ("", part.identity):
            return part.size, False
        raise Changed
    _refuse_status(download, answer)
    chunked = "chunked" in answer.headers.get("Transfer-Encoding", "").lower()
    part.length_known = chunked or answer.content_length is not None
    if answer.status == 206:
        if not found or found[1] != str(part.size) or (part.identity and identity not in ("", part.identity)):
            raise Changed
        return (int(found[3]) if found[3] != "*" else 0), True
    _refuse_encoding(download, answer)
    if part.size:
        meter.enter(FETCHING, f"{download.host} sends {show(download.name)} from its first byte again")
    meter.find(-part.size)
    part.begin(identity)
    return answer.content_length or 0, True


def _refuse_encoding(download: Download, answer: aiohttp.ClientResponse) -> None:
    encoding = answer.headers.get("Content-Encoding", "").lower()
    if encoding not in ("", "identity"):
        raise FetchError(
            f"{download.host} sends {show(download.name)} packed by {encoding}, though it was asked not to: have the "
            "server send the file as it is"
        )


def _refuse_status(download: Download, answer: aiohttp.ClientResponse) -> None:
    """Raises unless there is a body to take."""
    status, said = answer.status, f"{answer.status} {answer.reason or ''}".strip()
    if status in (200, 206):
        return
    # Behind a redirect it is another host that answers.
    host = answer.url.host or download.host
    if status in _MAY_PASS:
        raise TryAgain(f"{host} answers {said}", _read_seconds(answer.headers.get("Retry-After", "")))
    if status in (401, 403):
        raise FetchError(f"{host} refuses {download.shown} ({said}): {download.advice}")
    if status in (404, 410):
        raise FetchError(f"{host} has no {download.shown} ({said}): correct spec.source.uri")
    raise FetchError(f"{host} answers {said} for {download.shown}, which is no file: correct spec.source.uri")


def explain(error: Exception, download: Download) -> Exception:
    """`TryAgain` for what may pass, else `FetchError`."""
    match error:
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError() | aiohttp.ClientSSLError():
            return FetchError(
                f"{download.host}: its certificate is not trusted here ({_first_line(error)}): name the file of "
                "its authority in the variable SSL_CERT_FILE, or correct the address",
                Fault.MACHINE,
            )
        case aiohttp.TooManyRedirects():
            return FetchError(f"{download.shown} leads from one address to the next without end: correct it")
        case aiohttp.NonHttpUrlClientError() | aiohttp.InvalidURL():
            return FetchError(f"{download.shown} leads to {hide(_first_line(error))}, which is no http(s) address")
        case aiohttp.ClientConnectorDNSError():
            return TryAgain(f"the name {error.host} is not known")
        case aiohttp.ClientProxyConnectionError():
            return TryAgain(f"the proxy {error.host} cannot be reached")
        case aiohttp.ClientConnectorError():
            return TryAgain(f"{download.host} cannot be reached ({error.os_error.strerror or error.os_error})")
        case TimeoutError():
            return TryAgain(f"{download.host} sent nothing for {READ_SECONDS:.0f} s")
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionError():
            return TryAgain(f"{download.host} cut the connection")
    return TryAgain(f"{download.host}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _read_validator(headers: Mapping[str, str]) -> str:
    """A strong ETag, else Last-Modified; empty if there is neither. A weak ETag says nothing about bytes, and a date
    counts only where it is a second old or more, as a file may change twice in one second (RFC 9110, 8.8.2.2)."""
    tag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if tag.startswith('"'):
        return tag
    changed, sent = _read_date(modified), _read_date(headers.get("Date", ""))
    return modified if changed and sent and (sent - changed).total_seconds() >= 1 else ""


def _read_date(text: str) -> datetime | None:
    """Of an HTTP date; None for what is none. Its weekday may be wrong, as real servers send it."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read_seconds(text: str) -> float:
    """Of Retry-After; 0 for a date, which our own waits do as well for."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _build_url(url: str) -> URL:
    """As it was written: a query may be signed."""
    return URL(url, encoded=url.isascii())


def _build_headers(secret: Mapping[str, str]) -> dict[str, str]:
    if token := secret.get("token", "").strip():
        return {"Authorization": f"Bearer {token}"}
    if username := secret.get("username", ""):
        return {"Authorization": aiohttp.encode_basic_auth(username, secret.get("password", ""))}
    return {}
