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
from paddock.words.phrases import Phrase, phrase

CONNECT_SECONDS, READ_SECONDS = 30.0, 60.0
"""To connect, and without a byte."""

_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})
_READ = ("Content-Range", "Transfer-Encoding", "Content-Encoding", "ETag", "Last-Modified", "Date")


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a file must have."""

    algorithm: str
    wanted: str
    told_by: str = "spec.source.sha256"  # who says so
    header: bytes = b""  # bytes that are hashed before its own, as git does


@dataclass(frozen=True, slots=True)
class Download:
    """One file."""

    url: str
    name: str
    checksum: Checksum | None = None
    """None if nobody said."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Go with each request to its host."""
    identity: str = ""
    """Of a file in a listing, which content the address has; empty for a dataset of one file."""
    size: int | None = None
    """In the listing; None for a dataset of one file, whose size nobody knows before."""
    of_hub: bool = False
    """Whether its host is asked with a token of a hub, whose terms may have to be accepted."""

    @property
    def host(self) -> str:
        """The host with its port, if it is another than usual."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def shown(self) -> Phrase | str:
        """The address for messages. Addresses of a listing are made by a hub's library, and may have the file in their
        query."""
        if not self.identity:
            return hide(self.url)
        return phrase('"{file}" of {endpoint}', file=show(self.name)[1:-1], endpoint=self.host)


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
    status, reason = answer.status, read_text(answer.reason or "")[:100].strip()
    said = f"{status} {reason}".strip()
    if status in (200, 206, 416):
        return
    # Behind a redirect it is another host that answers.
    host = answer.url.host or download.host
    if status in _MAY_PASS:
        raise TryAgain(_say_answer(host, status, reason), _read_seconds(answer.headers.get("Retry-After", "")))
    if status in (401, 403):
        raise FetchError(_say_refusal(host, download, said))
    if status in (404, 410):
        raise FetchError(
            phrase("{host} has no {uri} ({why}): correct spec.source.uri", host=host, uri=download.shown, why=said)
        )
    raise FetchError(_say_no_file(host, download, status, reason))


def _say_answer(host: str, status: int, reason: str) -> Phrase:
    if not reason:
        return phrase("{host} answers {code}", host=host, code=status)
    return phrase("{host} answers {code} {why}", host=host, code=status, why=reason)


def _say_no_file(host: str, download: Download, status: int, reason: str) -> Phrase:
    if not reason:
        return phrase(
            "{host} answers {code} for {uri}, which is no file: correct spec.source.uri",
            host=host, code=status, uri=download.shown,
        )  # fmt: skip
    return phrase(
        "{host} answers {code} {why} for {uri}, which is no file: correct spec.source.uri",
        host=host, code=status, why=reason, uri=download.shown,
    )  # fmt: skip


def _say_refusal(host: str, download: Download, said: str) -> Phrase:
    if download.of_hub:
        return phrase(
            "{host} refuses {uri} ({why}): accept the terms on its page, if it has some, and give a token by a Secret "
            "that spec.source.secretName names",
            host=host, uri=download.shown, why=said,
        )  # fmt: skip
    return phrase(
        "{host} refuses {uri} ({why}): spec.source.secretName names a Secret with username and password, or a token",
        host=host, uri=download.shown, why=said,
    )  # fmt: skip


def explain(error: Exception, download: Download) -> Exception:
    """`TryAgain` for what may pass, else `FetchError`."""
    host, uri = download.host, download.shown
    match error:
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError() | aiohttp.ClientSSLError():
            said = phrase(
                "{host}: its certificate is not trusted here ({why}): name the file of its authority in the variable "
                "SSL_CERT_FILE, or correct the address",
                host=host, why=read_first_line(error),
            )  # fmt: skip
            return FetchError(said, Fault.MACHINE)
        case aiohttp.TooManyRedirects():
            return FetchError(phrase("{uri} leads from one address to the next without end: correct it", uri=uri))
        case aiohttp.NonHttpUrlClientError() | aiohttp.InvalidURL():
            address = hide(read_first_line(error))
            return FetchError(phrase("{uri} leads to {address}, which is no http(s) address", uri=uri, address=address))
        case aiohttp.ClientHttpProxyError():
            return TryAgain(_say_proxy(host, error.status, read_text(error.message)[:100]))
        case aiohttp.ClientResponseError():
            why = _read_problem(error)
            return TryAgain(phrase("{host} sends an answer that cannot be read ({why})", host=host, why=why))
        case aiohttp.ClientConnectorDNSError():
            return TryAgain(phrase("the name {host} is not known", host=error.host))
        case aiohttp.ClientProxyConnectionError():
            return TryAgain(phrase("the proxy {host} cannot be reached", host=error.host))
        case aiohttp.ClientConnectorError():
            why = error.os_error.strerror or str(error.os_error)
            return TryAgain(phrase("{host} cannot be reached ({why})", host=host, why=why))
        case TimeoutError():
            return TryAgain(phrase("{host} sent nothing for {seconds} s", host=host, seconds=f"{READ_SECONDS:.0f}"))
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionError():
            return TryAgain(phrase("{host} cut the connection", host=host))
    return TryAgain(f"{download.host}: {read_first_line(error)}")


def _say_proxy(host: str, status: int, reason: str) -> Phrase:
    if not reason:
        return phrase("the proxy of {host} answers {code}", host=host, code=status)
    return phrase("the proxy of {host} answers {code} {why}", host=host, code=status, why=reason)


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
    """The moment of an HTTP date; None for what is none. Its weekday may be wrong, as real servers send it."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read_seconds(text: str) -> float:
    """The seconds of Retry-After; 0 for a date, which our own waits do as well for."""
    return float(text) if text.isascii() and text.isdigit() else 0.0
