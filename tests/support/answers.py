"""A server on loopback whose answers are a test's own: what no real API server can be made to say."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler


@asynccontextmanager
async def serve_answers(
    answer: Handler, *, cancels: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """The server's URL. `cancels`: a request that its client has left is not answered further."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=cancels, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
