"""A stand-in for download.pytorch.org: a proxy that connects that host, and no other, to an index on loopback, and the
certificate that uv trusts for it."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from environments.packages import Index
from paddock.environments.packages.torch import PYTORCH_INDEX
from paddock.webhook.certificates import make_certificate


@asynccontextmanager
async def serve_pytorch(directory: Path, index: Index) -> AsyncIterator[Mapping[str, str]]:
    """uv's variables. `index` serves /whl/ANY/NAME/ like /simple/NAME/."""
    made = make_certificate([PYTORCH_INDEX], datetime.fromtimestamp(time.time(), UTC))
    certificate, key = directory / "pytorch.crt", directory / "pytorch.key"
    certificate.write_text(made.pem)
    key.write_text(made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    port = int(index.url.split(":")[2].partition("/")[0])

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            asked = (await reader.readuntil(b"\r\n\r\n")).decode()
            if not asked.startswith(f"CONNECT {PYTORCH_INDEX}:443 "):
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
                await writer.drain()
                writer.close()
                return
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            await writer.start_tls(context)
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(certificate), "UV_PYTHON_DOWNLOADS": "never"}
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, ssl.SSLError):
        writer.close()
