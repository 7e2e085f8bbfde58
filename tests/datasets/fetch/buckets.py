"""A bucket for tests: moto's S3 on 127.0.0.1, and a wire in front of it that counts, slows and cuts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import boto3  # type: ignore[import-untyped]
from moto.server import ThreadedMotoServer

from datasets.fetch.web import find_speed

KEYS = {"accessKeyID": "ann", "secretAccessKey": "hush"}
CHUNK = 16 << 10


@dataclass
class Bucket:
    endpoint: str
    client: Any

    def put(self, **objects: bytes) -> None:
        self.put_all(objects)

    def put_all(self, objects: dict[str, bytes]) -> None:
        for key, data in objects.items():
            self.client.put_object(Bucket="words", Key=key, Body=data)

    def put_in_pieces(self, key: str, data: bytes, size: int = 5 << 20) -> None:
        """Its ETag is no MD5 then."""
        upload = self.client.create_multipart_upload(Bucket="words", Key=key)["UploadId"]
        parts = []
        for number, offset in enumerate(range(0, len(data), size), start=1):
            one = {"Bucket": "words", "Key": key, "PartNumber": number, "UploadId": upload}
            tag = self.client.upload_part(**one, Body=data[offset : offset + size])["ETag"]
            parts.append({"PartNumber": number, "ETag": tag})
        self.client.complete_multipart_upload(
            Bucket="words", Key=key, UploadId=upload, MultipartUpload={"Parts": parts}
        )


@contextmanager
def open_server() -> Iterator[str]:
    """Moto's server; its endpoint."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def open_bucket(endpoint: str) -> Iterator[Bucket]:
    """A bucket "words", which is empty."""
    options = {"aws_access_key_id": "ann", "aws_secret_access_key": "hush", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=endpoint, **options)
    client.create_bucket(Bucket="words")
    try:
        yield Bucket(endpoint, client)
    finally:
        for each in client.get_paginator("list_objects_v2").paginate(Bucket="words"):
            for found in each.get("Contents", []):
                client.delete_object(Bucket="words", Key=found["Key"])
        client.delete_bucket(Bucket="words")
        client.close()


@dataclass
class Wire:
    """Carries bytes to `endpoint`. `speed`: bytes per second of all connections together, 0 for no limit; after
    `trickles_after` bytes a hundredth of it. `cuts`: a connection is cut after so many bytes to the client, one for
    each."""

    endpoint: str
    speed: float = 0.0
    trickles_after: int = 0
    cuts: list[int] = field(default_factory=list)
    sent: int = 0
    port: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.endpoint)
        inner_reader, inner_writer = await asyncio.open_connection(parts.hostname, parts.port)
        there = asyncio.ensure_future(_pump(reader, inner_writer))
        try:
            await self._send(inner_reader, writer)
        finally:
            there.cancel()
            for each in (writer, inner_writer):
                each.close()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count, cut = 0, None
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                if len(data) == CHUNK and cut is None and self.cuts:
                    cut = self.cuts.pop(0)
                if cut is not None and count >= cut:
                    return
                async with self._turn:
                    writer.write(data)
                    await writer.drain()
                    count += len(data)
                    self.sent += len(data)
                    if self.speed:
                        await asyncio.sleep(len(data) / find_speed(self))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def open_wire(wire: Wire) -> AsyncIterator[Wire]:
    running: set[asyncio.Task[None]] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        with suppress(asyncio.CancelledError):
            await wire.carry(reader, writer)
        running.discard(task)

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
