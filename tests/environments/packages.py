"""A package index on loopback and generated wheels, for a real uv without network."""

from __future__ import annotations

import asyncio
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from paddock.environments.builder import Builder
from paddock.environments.uv import find_uv


def make_wheel(
    name: str,
    version: str,
    source: str = "",
    tag: str = "py3-none-any",
    filler: int = 0,
    files: Mapping[str, bytes] | None = None,
    requires: Sequence[str] = (),
) -> tuple[str, bytes]:
    """File name and bytes of a wheel with one module and one script. `filler`: the number of incompressible bytes to
    add; `files` are put beside the module."""
    info = f"{name}-{version}.dist-info"
    texts = {
        f"{name}.py": source or f"version = {version!r}\n\n\ndef main():\n    print(version)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    more = files or {}
    texts[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*texts, *more, f"{info}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        for path, content in [*texts.items(), *more.items()]:
            wheel.writestr(path, content)
        if filler:
            wheel.writestr(f"{name}_data.bin", os.urandom(filler))
    return f"{name}-{version}-{tag}.whl", buffer.getvalue()


class Index:
    """A package index (PEP 503 over HTTP). While `hold` is set, downloads of wheels stop half-way; `stalled` is set
    when one does.

    The next `failing` requests get 503; `asked` counts all requests, and `asked_by` says
    what they were. `pythons`: file name -> archive of an interpreter.
    """

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.pythons: dict[str, bytes] = {}
        self.downloads = 0
        self.asked = 0
        self.asked_by: list[str] = []
        self.failing = 0
        self.hold = False
        self.stalled = asyncio.Event()
        self.url = ""

    def add(self, name: str, version: str = "1.0", **settings: object) -> None:
        file, content = make_wheel(name, version, **settings)  # type: ignore[arg-type]
        self.wheels[file] = content

    async def start(self) -> None:
        application = web.Application(middlewares=[self._fail])
        application.router.add_get("/simple/{name}/", self._page)
        application.router.add_get("/whl/{build}/{name}/", self._page)
        application.router.add_get("/files/{file}", self._file)
        application.router.add_get("/pythons/{build}/{file}", self._python)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/simple"

    async def stop(self) -> None:
        await self._runner.cleanup()

    @web.middleware
    async def _fail(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked += 1
        self.asked_by.append(f"{request.method} {request.path} ({request.headers.get('User-Agent', '')})")
        if self.failing:
            self.failing -= 1
            raise web.HTTPServiceUnavailable
        return await handler(request)

    async def _python(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=self.pythons[request.match_info["file"]])

    async def _page(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        plain = name.replace("-", "_")
        links = [f'<a href="/files/{file}">{file}</a>' for file in self.wheels if file.startswith(f"{plain}-")]
        if not links:
            raise web.HTTPNotFound
        return web.Response(text=f"<html><body>{''.join(links)}</body></html>", content_type="text/html")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        content = self.wheels[request.match_info["file"]]
        if request.method == "HEAD" or not self.hold or "Range" in request.headers:
            self.downloads += request.method == "GET"
            return web.Response(body=content)
        response = web.StreamResponse(headers={"Content-Length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        self.stalled.set()
        while self.hold:  # noqa: ASYNC110 - a test's server, which is cancelled with its client
            await asyncio.sleep(0.05)
        await response.write(content[len(content) // 2 :])
        return response


async def run(*command: str | Path, **variables: str) -> str:
    """A program's standard output. The program must succeed."""
    child = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, **variables}
    )
    output, _ = await child.communicate()
    assert child.returncode == 0, output
    return output.decode()


def make_environ(directory: Path, index: str, **more: str) -> Mapping[str, str]:
    """uv's environment variables: of the machine's own settings, only PATH."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(directory / "home"),
        "UV_CACHE_DIR": str(directory / "uv-cache"),
        "UV_DEFAULT_INDEX": index,
        "UV_HTTP_RETRIES": "0",
        "NO_PROXY": "127.0.0.1",
        **more,
    }


def make_builder(directory: Path, index: str, **more: str) -> Builder:
    environ = make_environ(directory, index, **more)
    return Builder(directory / "cache" / "environments", environ, find_uv(), home=directory / "home")
