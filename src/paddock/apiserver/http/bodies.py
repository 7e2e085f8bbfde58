"""Receives the bodies of requests: how long they may be, and how long they may take. `requests` parses them."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from aiohttp import web

from paddock.kube.errors import Timeout, TooLarge

BODY_LIMIT = 3 * 1024 * 1024  # as in kube-apiserver
_BODY_SECONDS = 60.0


class Body(NamedTuple):
    """What a request brings."""

    value: Any  # of JSON
    warnings: tuple[str, ...]  # fields that it has twice
    size: int  # bytes that were sent


def expected_size(request: web.Request) -> int:
    """Bytes of the body, at most. `TooLarge` if that is too many."""
    if request.content_length is None:
        return BODY_LIMIT if request.body_exists else 0
    if request.content_length > BODY_LIMIT:
        raise TooLarge(f"Request entity too large: limit is {BODY_LIMIT} bytes")
    return request.content_length


async def receive_body(request: web.Request, limit: int = BODY_LIMIT) -> bytes:
    """Raises `TooLarge` for more bytes than `limit`, and `Timeout` if it does not arrive."""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit:
                    raise TooLarge(f"Request entity too large: limit is {limit} bytes")
    except TimeoutError:
        raise Timeout(f"the body of the request has not arrived within {_BODY_SECONDS:.0f} s") from None
    return bytes(body)
