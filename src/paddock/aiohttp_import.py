"""How aiohttp is imported by a process that is Paddock's own: in half the time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_certificates() -> Iterator[None]:
    """At its import aiohttp reads the certificates of the system, twice, for connections without a TLS context: a tenth
    of the time of `paddock get`, and of the start of a cluster. Connections of `client` have contexts of their own, and
    the API server makes none. In a program of the user, where others may use aiohttp too, `sdk` has imported it
    before."""
    if "aiohttp" in sys.modules:
        yield
        return
    names = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        import aiohttp  # noqa: F401

        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
