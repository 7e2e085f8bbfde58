"""Sessions of aiohttp, for what streams and what goes through a proxy: `client.pool` sends every other request.

aiohttp is imported when the first of them is opened: it takes a quarter of the time of `paddock get`, which needs none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


def open_session(
    limit: int, *, check: Callable[[aiohttp.ClientResponse], Awaitable[None]] | None = None
) -> aiohttp.ClientSession:
    """`limit`: connections at once; 0 for any number. `check` is given each answer before aiohttp looks at it, and may
    raise. To be called in a running event loop."""
    with _without_certificates():
        import aiohttp

    connector = aiohttp.TCPConnector(limit=limit)
    # An API server sets no cookies: parsing them would cost a little at every request.
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), raise_for_status=check or False
    )


@contextmanager
def _without_certificates() -> Iterator[None]:
    """At its import aiohttp reads the certificates of the system, twice, for connections without a TLS context: a tenth
    of the time of a short command. Connections of `client` have contexts of their own. Where others may use aiohttp
    too, it has been imported before, whole: by servers, and in a program of the user by `sdk`."""
    if "aiohttp" in sys.modules:
        yield
        return
    names = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
