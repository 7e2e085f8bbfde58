"""A server of exec, attach and port-forward for tests of a client: it speaks the channels of Kubernetes, and runs what
a test gives it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import CLOSE, ERROR, RESIZE, STDIN, STDOUT, Ended, build_end
from support.answers import serve_answers

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"


@dataclass
class Streamed:
    """One session, as its server sees it."""

    request: web.Request
    socket: web.WebSocketResponse
    stdin: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    """What has come; None at its end."""
    sizes: asyncio.Queue[tuple[int, int]] = field(default_factory=asyncio.Queue)
    messages: list[bytes] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        return self.request.query.getall("command", [])

    async def print(self, text: bytes | str, channel: int = STDOUT) -> None:
        await self.socket.send_bytes(bytes([channel]) + (text.encode() if isinstance(text, str) else text))

    async def end(self, code: int = 0, message: str = "") -> None:
        await self.print(json.dumps(build_end(Ended(code, message))), ERROR)

    async def receive(self) -> None:
        async for message in self.socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            self.messages.append(message.data)
            channel, data = message.data[0], message.data[1:]
            if channel == STDIN:
                self.stdin.put_nowait(data)
            elif channel == CLOSE and data == bytes([STDIN]):
                self.stdin.put_nowait(None)
            elif channel == RESIZE:
                size: dict[str, Any] = json.loads(data)
                self.sizes.put_nowait((size["Width"], size["Height"]))
        self.stdin.put_nowait(None)


Program = Callable[[Streamed], Awaitable[None]]


def stream(program: Program, *protocols: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that opens a WebSocket and runs `program`, which may end it. `protocols`: by default the newest."""

    async def handle(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=protocols or (V5,))
        await socket.prepare(request)
        streamed = Streamed(request, socket)
        receiving = asyncio.create_task(streamed.receive())
        running = asyncio.ensure_future(program(streamed))
        try:
            # A client that goes ends the program.
            await asyncio.wait([running, receiving], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
        finally:
            running.cancel()
            await socket.close()
            receiving.cancel()
            await asyncio.gather(running, receiving, return_exceptions=True)
        return socket

    return handle


class SmallCluster:
    """Jobs and pods whose statuses are a test's own, and programs in them: what `paddock exec` and its like ask of an
    API server. `pods` may be changed while it serves; who watches hears of it."""

    def __init__(self, *objects: Manifest) -> None:
        self.objects = list(objects)
        self.program: Program = _end_at_once
        self.protocols: tuple[str, ...] = ()
        self.seen: list[web.Request] = []
        """The requests of streams."""
        self.refuses: web.Response | None = None
        """What they are answered with."""
        self._changes: list[Manifest] = []
        self._changed = asyncio.Condition()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if len(parts) == 3 and parts[0] == "apis":
            served = [{"name": each.plural} for each in KINDS if each.api_version == "/".join(parts[1:])]
            return web.json_response({"resources": served})
        if parts[-1] in ("exec", "attach", "portforward"):
            self.seen.append(request)
            return self.refuses or await stream(self.program, *self.protocols)(request)
        version = "/".join(parts[1 : parts.index("namespaces")])
        plural, *name = parts[parts.index("namespaces") + 2 :]
        found = [each for each in self.objects if (each["apiVersion"], f"{each['kind'].lower()}s") == (version, plural)]
        wanted = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
        found = [each for each in found if wanted in ("", each["metadata"]["name"])]
        if name:
            found = [each for each in found if each["metadata"]["name"] == name[0]]
            return web.json_response(found[0]) if found else refuse(404, "NotFound", f'{plural} "{name[0]}" not found')
        if request.query.get("watch"):
            return await self._watch(request, plural, wanted)
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": found})

    async def change(self, changed: Manifest) -> None:
        """In the server's thread."""
        name = changed["metadata"]["name"]
        changed["metadata"]["resourceVersion"] = str(8 + len(self._changes))
        self.objects = [changed if each["metadata"]["name"] == name else each for each in self.objects]
        async with self._changed:
            self._changes.append(changed)
            self._changed.notify_all()

    async def _watch(self, request: web.Request, plural: str, name: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        told = 0  # every watch begins at the list of the beginning
        while True:
            async with self._changed:
                while len(self._changes) == told:
                    await self._changed.wait()
            for each in self._changes[told:]:
                if f"{each['kind'].lower()}s" == plural and name in ("", each["metadata"]["name"]):
                    await response.write(json.dumps({"type": "MODIFIED", "object": each}).encode() + b"\n")
            told = len(self._changes)


async def _end_at_once(run: Streamed) -> None:
    await run.end()


def refuse(code: int, reason: str, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "reason": reason, "message": message, "code": code}, status=code)


@contextmanager
def serve_in_thread(cluster: SmallCluster) -> Iterator[tuple[str, asyncio.AbstractEventLoop]]:
    """Its URL, and the loop of its thread."""
    ready, done, found = threading.Event(), asyncio.Event(), list[str]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serve_answers(cluster.answer, cancels=True) as url:
            found.append(url)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        ready.wait()
        yield found[0], loop
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


RESOURCE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
_TIME = "2026-11-20T09:00:00Z"


def build_small_job(name: str, *, workers: int = 1, **status: Any) -> Manifest:
    container = {"name": "paddle", "image": "busybox", "command": ["true"]}
    return {
        "apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}", "creationTimestamp": _TIME},
        "spec": {"worker": {"replicas": workers, "template": {"spec": {"containers": [container]}}}},
        "status": {"phase": "Running", "mode": "Collective", **status},
    }  # fmt: skip


def build_small_pod(job: str, index: int, state: str = "running", **container: Any) -> Manifest:
    """A pod of one container; `state`: running, waiting or terminated."""
    labels = {
        "paddock.dev/job": job, "paddock.dev/role": "worker", "paddock.dev/index": str(index),
        "paddock.dev/attempt": "0",
    }  # fmt: skip
    owner = {
        "apiVersion": RESOURCE.api_version,
        "kind": RESOURCE.kind,
        "name": job,
        "uid": f"u-{job}",
        "controller": True,
    }
    states: Manifest = {
        "running": {"startedAt": _TIME}, "waiting": {"reason": "ImagePullBackOff"},
        "terminated": {"exitCode": 3, "finishedAt": _TIME},
    }  # fmt: skip
    phase = {"running": "Running", "waiting": "Pending", "terminated": "Failed"}[state]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{job}-worker-{index}", "namespace": "default", "uid": f"u-{job}-{index}", "labels": labels,
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"nodeName": "a", "restartPolicy": "Never", "containers": [{"name": "paddle", **container}]},
        "status": {
            "phase": phase, "podIP": "10.0.0.1",
            "containerStatuses": [{"name": "paddle", "ready": state == "running", "state": {state: states[state]}}],
        },
    }  # fmt: skip
