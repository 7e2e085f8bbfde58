"""What answers are made of: files, data, forms, sentences of errors."""

from __future__ import annotations

import gzip
import mimetypes
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from paddock.console import security
from paddock.console.bounds import MOST_FIELDS, Full
from paddock.console.page_context import Answer, OpenFile
from paddock.console.pages import STATIC
from paddock.console.sent_files import send_file
from paddock.words.phrases import Phrase, phrase

_WORTH_PACKING = 1024
"""Bytes of a body."""


SIGNED_OUT = phrase("you are not signed in, or not any more: `paddock console` opens this console anew")
SIGNED_OUT_HERE = phrase(
    "you are not signed in, or not any more: end `paddock console` with Ctrl-C and start it again, and it prints a new "
    "link"
)
"""Of a console that runs in somebody's terminal, with the contexts that were named there."""
NOTICES = {
    200: phrase("sign in with the link that `paddock console` prints"),
    400: phrase("the browser sent a request that cannot be read"),
    401: phrase("this link was used already, or is older than five minutes: `paddock console` prints a new one"),
    403: phrase("this request did not come from a page of this console, so nothing was done"),
    404: phrase("there is no such page"),
    405: phrase("there is no such page"),
    413: phrase("this is more than the console takes: 2 MiB"),
    421: phrase("this console does not answer to that name: open it by the address that `paddock console` prints"),
    500: phrase("the console failed at this page, by a bug of Paddock; its log has the details"),
}
"""What a page says that is no screen, by its status."""


async def send(request: web.Request, built: Answer) -> web.StreamResponse:
    headers = {"Content-Disposition": _name_file(built.file_name)} if built.file_name else {}
    if built.policy:
        headers["Content-Security-Policy"] = built.policy
    if isinstance(built.body, bytes):
        return web.Response(
            body=built.body, status=built.status, headers=headers, content_type=built.content_type, charset="utf-8"
        )
    headers = {**security.HEADERS, **headers, "Cache-Control": "no-store"}
    if isinstance(built.body, OpenFile):
        try:
            return await send_file(request, built.body.descriptor, {**headers, "Content-Type": built.content_type})
        finally:
            os.close(built.body.descriptor)
    answer = web.StreamResponse(headers=headers)
    answer.content_type, answer.charset = built.content_type, "utf-8"
    await answer.prepare(request)
    async for piece in built.body:
        await answer.write(piece)
    return answer


def _name_file(name: str) -> str:
    """What a browser keeps it as: any name (RFC 6266), and for old ones a plain one."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    whole = "" if plain == name else f"; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'), safe='')}"
    return f'attachment; filename="{plain}"{whole}'


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Raises `HTTPBadRequest` for a body that is no form, `HTTPRequestEntityTooLarge` for one of more than 2 MiB, and
    `Full` for one of too many fields."""
    try:
        return {name: read_field(value) for name, value in (await request.post()).items()}
    except web.HTTPRequestEntityTooLarge as error:
        if (error.text or "").startswith(_TOO_MANY_FIELDS):
            said = phrase("this form has more than {most} fields, and the console takes no more", most=MOST_FIELDS)
            raise Full(error.status, said) from None
        raise
    except (ValueError, LookupError):
        raise web.HTTPBadRequest from None


_TOO_MANY_FIELDS = "Maximum number of form fields"
"""aiohttp's own words: it has one error for both."""


def list_typed(posted: Mapping[str, str]) -> Mapping[str, str]:
    """What a reader has typed into a form, for who is to type it once more. The form of a job has a text, and fields
    (`f:name`) beside what they were (`was:name`): those that were changed are not in the text yet."""
    shown = {name: text for name, text in posted.items() if text and name != "do" and not name.startswith("was:")}
    if not posted.get("text"):
        return shown
    return {name: text for name, text in shown.items() if name == "text" or text != posted.get(f"was:{name[2:]}", text)}


def read_field(value: Any) -> str:
    """Browsers end lines with \\r\\n. A file is read as text; a form that asks for no file leaves it out."""
    if isinstance(value, web.FileField):
        value = value.file.read().decode("utf-8-sig", "replace")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def redirect(address: str) -> web.Response:
    return web.Response(status=303, headers={"Location": address})


def with_retry_after(answer: web.Response, seconds: int) -> web.Response:
    """The answer, which also tells a program when to come again."""
    answer.headers["Retry-After"] = str(seconds)
    return answer


def say_healthy(troubles: Sequence[Phrase] = ()) -> web.StreamResponse:
    """`troubles`: why something is not kept; none of them is mended by a restart, so the process is well."""
    return web.Response(text="\n".join(["ok", *map(str, troubles)]) + "\n")


def pack(request: web.Request, answer: web.StreamResponse) -> None:
    """Sends a page or data as gzip, to a browser that takes it. Nothing secret stands in a page, so its length tells
    nothing."""
    is_text = answer.content_type.startswith(("text/", "application/json", "application/yaml"))
    is_whole = isinstance(answer, web.Response) and "Content-Encoding" not in answer.headers
    if is_text and is_whole and (answer.content_length or 0) > _WORTH_PACKING and takes_gzip(request):
        answer.enable_compression(web.ContentCoding.gzip)


async def serve_static(request: web.Request) -> web.StreamResponse:
    """Files of `static` alone: the name is no path."""
    name = request.match_info["name"]
    path = STATIC / name
    if "/" in name or name.startswith(".") or not path.is_file():
        raise web.HTTPNotFound
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if not takes_gzip(request):
        return web.FileResponse(path, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return web.Response(body=_read_packed(path), headers=headers, content_type=mimetypes.guess_type(name)[0])


def takes_gzip(request: web.Request) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "")


@cache
def _read_packed(path: Path) -> bytes:
    return gzip.compress(without_comments(path.name, path.read_bytes()), 9, mtime=0)


def without_comments(name: str, text: bytes) -> bytes:
    """A script or style of ours without the lines and indents that are for people: a sixth of its weight. What others
    made is as they made it. Pure."""
    if not name.endswith((".js", ".css")) or ".min." in name:
        return text
    if name.endswith(".css"):
        text = re.sub(rb"/\*.*?\*/", b"", text, flags=re.DOTALL)
    lines = (line.strip() for line in text.splitlines())
    return b"".join(line + b"\n" for line in lines if line and not line.startswith(b"//"))
