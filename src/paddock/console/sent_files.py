"""Sends an open file, or the part of it that is asked for (RFC 9110, 14): a download that was cut goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from aiohttp import web

_CHUNK = 2**18


async def send_file(request: web.Request, descriptor: int, headers: Mapping[str, str]) -> web.StreamResponse:
    """As many bytes as the file has now. One that loses some meanwhile is cut off, so that no browser takes it for
    whole. `descriptor`: of a regular file; the caller closes it."""
    status = os.fstat(descriptor)
    mark = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    begin, end = 0, status.st_size
    part = _read_range(request, status.st_size, mark)
    if part is not None and part[0] >= part[1]:
        return web.Response(status=416, headers={**headers, "Content-Range": f"bytes */{status.st_size}"})
    answer = web.StreamResponse(headers={**headers, "Accept-Ranges": "bytes", "ETag": mark})
    if part is not None:
        begin, end = part
        answer.set_status(206)
        answer.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{status.st_size}"
    answer.content_length = end - begin
    await answer.prepare(request)
    if request.method == "HEAD":
        return answer
    while begin < end:
        chunk = await asyncio.to_thread(os.pread, descriptor, min(_CHUNK, end - begin), begin)
        if not chunk:
            if request.transport is not None:
                request.transport.abort()
            return answer
        begin += len(chunk)
        await answer.write(chunk)
    await answer.write_eof()
    return answer


def _read_range(request: web.Request, size: int, mark: str) -> tuple[int, int] | None:
    """The first byte and the one behind the last; None for the whole file, also where its beginning was read of a file
    that is another one now. An empty part cannot be had."""
    if request.headers.get("If-Range", mark) != mark:
        return None
    try:
        asked = request.http_range
    except ValueError:  # several parts, or no bytes
        return None
    if asked.start is None and asked.stop is None:
        return None
    begin, end, _ = asked.indices(size)
    return begin, end
