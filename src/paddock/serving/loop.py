"""The event loop of processes that serve: uvloop. asyncio's own fills a buffer of 256 KiB for each TLS connection at
once (`asyncio.sslproto.SSLProtocol.max_size`), and takes twice the processor's time for a request."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
