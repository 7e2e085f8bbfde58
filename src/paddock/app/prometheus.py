"""Asks a Prometheus: one instant query, one answer, bounded in time and size.

Its HTTP API (prometheus.io/docs/prometheus/latest/querying/api, version 1), which Thanos, Mimir and VictoriaMetrics
serve too. Whoever can write a label can write any text into it: what is shown is cleaned where it is printed. An
address may have a name and a password (`https://name:password@host`), or the environment a token (`TOKEN`); no sentence
has them.
"""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from paddock.client.identity import is_token
from paddock.images.references import is_loopback
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    import ssl

SECONDS = 30.0
"""From the name to the last byte; a query over a month may take a Prometheus some seconds."""
LARGEST = 16 * 2**20
"""Bytes of an answer: some hundred thousand series."""
_SHOWN = 300
"""Characters of Prometheus' own error that are shown."""

TOKEN = "PADDOCK_PROMETHEUS_TOKEN"  # noqa: S105 - the name of the variable
"""The environment variable of a bearer token (RFC 6750), as OpenShift's Thanos and Mimir behind a gateway want one."""

Series = Sequence[tuple[Mapping[str, str], float]]
"""The labels and the value of each."""


class PrometheusError(Exception):
    """It was not asked, or has not answered as it should. `said`: the sentence for the reader."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Address:
    """Where it is: `http://127.0.0.1:9090`, `https://host/prometheus`."""

    url: str
    """Without a name and a password, and without a slash at its end."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


def find_address(text: str, environment: Mapping[str, str]) -> Address:
    """The address with the token of `TOKEN`. Raises `PrometheusError`, also for a token that others could read on its
    way. Pure."""
    address, token = read_address(text), environment.get(TOKEN, "").strip()
    if not token:
        return address
    if not is_token(token):
        said = phrase("what {variable} has is no token: one has no spaces, and no letters but ASCII's", variable=TOKEN)
        raise PrometheusError(said)
    if address.user or address.password:
        raise PrometheusError(
            phrase(
                "the address of the Prometheus has a name and a password, and {variable} a token: leave one of them "
                "out",
                variable=TOKEN,
            )
        )
    parts = urlsplit(address.url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise PrometheusError(
            phrase(
                "the token of {variable} would go to {url} unencrypted, so it is sent to https:// alone, or to http:// "
                "of this machine, as through `kubectl port-forward`",
                variable=TOKEN, url=address.url,
            )
        )  # fmt: skip
    return replace(address, token=token)


def read_address(text: str) -> Address:
    """Raises `PrometheusError` for what is no address of a Prometheus. Pure."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise PrometheusError(
            phrase(
                "the address of a Prometheus is http://HOST:PORT or https://HOST/PATH, without ? and #; {text} is none",
                text=repr(text if "@" not in text else f"***@{text.rpartition('@')[2]}"),
            )
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = host if port is None else f"{host}:{port}"
    url = urlunsplit((parts.scheme, where, parts.path.rstrip("/"), "", ""))
    return Address(url, unquote(parts.username or ""), unquote(parts.password or ""))


async def query(address: Address, expression: str, context: Callable[[], ssl.SSLContext] | None = None) -> Series:
    """The value of each series of an expression now. It follows no redirect. Raises `PrometheusError`."""
    import ssl as tls

    import aiohttp
    from yarl import URL

    from paddock.serving.http_proxies import find_proxy

    connector = aiohttp.TCPConnector(ssl=(context or tls.create_default_context)())
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=aiohttp.ClientTimeout(total=SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(), headers=_build_headers(address),
            ) as session,
            # POST: an expression may be longer than an address can be. Each Prometheus since 2.1 takes it.
            session.post(
                f"{address.url}/api/v1/query", data={"query": expression, "timeout": f"{SECONDS:.0f}s"},
                allow_redirects=False, proxy=find_proxy(URL(address.url)),
            ) as answer,
        ):  # fmt: skip
            return read_answer(address, answer.status, await _read(answer.content))
    except TimeoutError:
        raise PrometheusError(
            phrase("the Prometheus at {url} has not answered within {seconds} s", url=address.url, seconds=int(SECONDS))
        ) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise PrometheusError(
            phrase("the Prometheus at {url} cannot be reached: {why}", url=address.url, why=_explain(error))
        ) from None


def _build_headers(address: Address) -> dict[str, str]:
    headers = {"Accept": "application/json", "User-Agent": "paddock"}
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    elif address.user or address.password:  # RFC 7617
        headers["Authorization"] = f"Basic {b64encode(f'{address.user}:{address.password}'.encode()).decode()}"
    return headers


async def _read(content: Any) -> bytes:
    """One byte more than `LARGEST` at most."""
    body = bytearray()
    while len(body) <= LARGEST and (part := await content.read(LARGEST + 1 - len(body))):
        body += part
    return bytes(body)


def _explain(error: Exception) -> str:
    """Without the error's own text, which may have the address with its password."""
    for each in (error.__cause__, getattr(error, "os_error", None), error):
        if message := str(getattr(each, "verify_message", "") or ""):
            return message
        if isinstance(each, OSError) and each.errno:
            return os.strerror(each.errno) if each.errno > 0 else "its name is not known"
    return type(error).__name__


def read_answer(address: Address, code: int, body: bytes) -> Series:
    """The series of an answer; those whose value is no finite number are left out. Raises `PrometheusError`. Pure."""
    if len(body) > LARGEST:
        raise PrometheusError(
            phrase(
                "the answer of the Prometheus at {url} is longer than {size} MiB: ask for one namespace, by -n",
                url=address.url, size=LARGEST // 2**20,
            )
        )  # fmt: skip
    if code in (401, 403):
        raise PrometheusError(
            phrase(
                "the Prometheus at {url} wants a name and a password or a token, or another one (HTTP {code}): "
                "https://NAME:PASSWORD@HOST, best in PADDOCK_PROMETHEUS, or the token in {variable}",
                url=address.url, code=code, variable=TOKEN,
            )
        )  # fmt: skip
    try:
        document: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("status") not in ("success", "error"):
        raise PrometheusError(
            phrase(
                "what answers at {url} is no Prometheus (HTTP {code}): its address ends before /api/v1 or /graph",
                url=address.url, code=code,
            )
        )  # fmt: skip
    if document["status"] == "error":
        why = str(document.get("error") or document.get("errorType") or "")[:_SHOWN]
        raise PrometheusError(phrase("the Prometheus at {url} refuses: {why}", url=address.url, why=why))
    data = document.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "vector" or not isinstance(data.get("result"), list):
        raise PrometheusError(phrase("the answer of the Prometheus at {url} has no series", url=address.url))
    return [found for each in data["result"] if (found := _read_series(each)) is not None]


def _read_series(each: Any) -> tuple[Mapping[str, str], float] | None:
    try:
        labels = {str(name): str(text) for name, text in each["metric"].items()}
        value = float(each["value"][1])
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        return None
    return (labels, value) if math.isfinite(value) else None
