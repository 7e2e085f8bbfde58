"""A file by http as it is asked for, and what an answer's head says of it: a body, a refusal, a failure that may pass.

A server's text is decoded here, once, so that messages, marks and headers can carry it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from paddock.datasets.fetch.bodies import Answer
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.names import show
from paddock.datasets.fetch.tries import TryAgain
from paddock.datasets.fetching import Fault
from paddock.datasets.sources import hide

CONNECT_SECONDS, READ_SECONDS = 30.0, 60.0
"""To connect, and without a byte."""

_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})
_READ = ("Content-Range", "Transfer-Encoding", "Content-Encoding", "ETag", "Last-Modified", "Date")


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
    a listing, which content the address has; empty for a dataset of one file. `size`: in the listing; None for a
    dataset of one file, whose size nobody knows before."""

    url: str
    name: str
    checksum: Checksum | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    size: int | None = None
    advice: str = "spec.source.secretName names a Secret with username and password, or a token"

    @property
    def host(self) -> str:
        """With its port, if it is another than usual."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def shown(self) -> str:
        """For messages. Addresses of a listing are made by a hub's library, and may have the file in their query."""
        return f"{show(self.name)} of {self.host}" if self.identity else hide(self.url)


def can_be_sent(validator: str) -> bool:
    """Whether a header can carry it as it came. Bytes that are no UTF-8 (RFC 9110 allows them in an ETag) are kept as
    `\\xe9`, as aiohttp would leave them out; such an ETag is compared, and not sent."""
    return validator.isprintable() and validator != "" and "\\" not in validator


def read_answer(answer: aiohttp.ClientResponse) -> Answer:
    # One that stands there twice is a list (RFC 9110, 5.3): the second of two encodings counts as well.
    headers = {name: read_text(", ".join(answer.headers.getall(name, ()))) for name in _READ}
    return Answer(
        answer.status,
        headers["Content-Range"],
        answer.content_length,
        headers["Transfer-Encoding"],
        headers["Content-Encoding"],
        _read_validator(headers),
    )


def read_text(said: str) -> str:
    """What a server says, as text that can be written and sent on: aiohttp gives bytes that are no UTF-8 as halves of
    surrogates."""
    return said.encode(errors="surrogateescape").decode(errors="backslashreplace")


def refuse_status(download: Download, answer: aiohttp.ClientResponse) -> None:
    """Raises what the status alone says."""
    status, said = answer.status, f"{answer.status} {read_text(answer.reason or '')[:100]}".strip()
    if status in (200, 206, 416):
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
                f"{download.host}: its certificate is not trusted here ({read_first_line(error)}): name the file of "
                "its authority in the variable SSL_CERT_FILE, or correct the address",
                Fault.MACHINE,
            )
        case aiohttp.TooManyRedirects():
            return FetchError(f"{download.shown} leads from one address to the next without end: correct it")
        case aiohttp.NonHttpUrlClientError() | aiohttp.InvalidURL():
            return FetchError(f"{download.shown} leads to {hide(read_first_line(error))}, which is no http(s) address")
        case aiohttp.ClientHttpProxyError():
            return TryAgain(f"the proxy of {download.host} answers {error.status} {read_text(error.message)[:100]}")
        case aiohttp.ClientResponseError():
            return TryAgain(f"{download.host} sends an answer that cannot be read ({_read_problem(error)})")
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
    return TryAgain(f"{download.host}: {read_first_line(error)}")


def read_first_line(error: Exception) -> str:
    return read_text((str(error) or type(error).__name__).splitlines()[0])


def _read_problem(error: aiohttp.ClientResponseError) -> str:
    """aiohttp's title of what its parser refuses: a status line, a length that lies, bytes behind the end. The lines
    that follow show the bytes."""
    title, *_ = read_text(error.message).splitlines() or [type(error).__name__]
    return title.removesuffix(":")[:200]


def _read_validator(headers: Mapping[str, str]) -> str:
    """A strong ETag, else Last-Modified; empty if there is neither. A weak ETag says nothing about bytes, and a date
    counts only where it is a second old or more, as a file may change twice in one second (RFC 9110, 8.8.2.2)."""
    tag, modified = headers["ETag"], headers["Last-Modified"]
    if tag.startswith('"'):
        return tag
    changed, sent = _read_date(modified), _read_date(headers["Date"])
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
