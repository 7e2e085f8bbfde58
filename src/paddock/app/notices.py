"""What the operator's notices need of the outside: the file of routes, and HTTP.

The file is a mounted Secret, so it is read each time: the kubelet replaces it when the Secret changes, and the operator
needs no right to read Secrets.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.jobs.sentences.chat_bodies import LARGEST
from paddock.operator import notice_routes
from paddock.operator.metrics import Measures
from paddock.operator.notices import Answer, Notices

if TYPE_CHECKING:
    import aiohttp

_log = logging.getLogger(__name__)

SECONDS = 10.0
"""For one attempt, from the name to the answer."""


def read_file(path: Path) -> str | None:
    """The routes; None where there is no file, as of a Secret that is optional. Raises OSError, UnicodeError."""
    try:
        with path.open("rb") as file:
            return file.read(notice_routes.LARGEST * 4 + 1).decode()
    except FileNotFoundError:
        return None


class Poster:
    """Sends a message, in a session of its own. It follows no redirect, and tells no address in what went wrong."""

    def __init__(self, context: Callable[[], ssl.SSLContext] = ssl.create_default_context) -> None:
        self._context = context
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes) -> Answer:
        import aiohttp
        from yarl import URL

        from paddock.serving.http_proxies import find_proxy  # late, as aiohttp

        if self._session is None:
            # Its own certificates: those that aiohttp reads at its import may be none (`client.sessions`).
            # As many connections as there may be addresses: the time to wait for one would be that of the attempt.
            connector = aiohttp.TCPConnector(limit=notice_routes.MOST_ROUTES, ssl=self._context())
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=aiohttp.ClientTimeout(total=SECONDS), cookie_jar=aiohttp.DummyCookieJar()
            )  # fmt: skip
        headers = {"Content-Type": "application/json", "User-Agent": "paddock"}
        try:
            # No `trust_env`: it would send a password of ~/.netrc along.
            async with self._session.post(
                url, data=body, headers=headers, allow_redirects=False, proxy=find_proxy(URL(url))
            ) as answer:
                return Answer(answer.status, await _read_body(answer.content))
        except TimeoutError:
            return Answer(problem=f"no answer in {SECONDS:.0f} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(problem=_explain(error))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _read_body(content: aiohttp.StreamReader) -> bytes:
    """To its end or to `LARGEST`. Of one that breaks off what has come: there is a code, so nothing is sent again."""
    import aiohttp

    body = b""
    try:
        while len(body) < LARGEST and (part := await content.read(LARGEST - len(body))):
            body += part
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        _log.info("the answer to a notice broke off: %s", type(error).__name__)
    return body


def _explain(error: Exception) -> str:
    """Without the error's own text, which has the address."""
    for each in (error.__cause__, getattr(error, "os_error", None), error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {each.verify_message}"
        if isinstance(each, ssl.SSLError) and isinstance(each.reason, str):
            return f"no TLS: {each.reason}"
        if isinstance(each, OSError) and each.errno and each.strerror and type(each).__module__ == "builtins":
            return os.strerror(each.errno) if each.errno > 0 else "its name is not known"
    return type(error).__name__


def build_notices(path: Path, poster: Poster, measures: Measures) -> Notices:
    return Notices(lambda: read_file(path), poster.post, measures=measures)
