"""An API server whose every text is hostile: what a stranger's program, kubelet or API server may have written.

It has one object of each kind that the command line reads, and holds no schema: a server that is asked for by a context
may send anything, names included. `NAME` is the name of the object that can be asked for; a namespace `REFUSED` answers
every request with an error whose message is hostile too.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest
from support.answers import serve_answers

HOSTILE = (
    "\rover", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://evil\x1b\\link", "\x1b[2J", "\x1b[38;5;213m",
    "\x9b31m", "\x9d0;title\x9c", "\u202eright", "\u2066left\u200f", "\x7f", "\x00", "\x07", "\b\b", "\x85", "\u2028",
)  # fmt: skip
"""OSC 0, 52 and 8, CSI, CSI and OSC of eight bits with their ST, marks of direction, DEL, what prints over a line."""
EVIL = "evil" + "".join(HOSTILE)
NAME, REFUSED = "demo", "refused"
UID = "0a1b2c3d-0000-0000-0000-000000000000"
TIME = "2026-11-20T09:00:00Z"
JOB = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
PLURALS = ("pods", "events", "datasets", "environments", "nodes", "leases", *(each.plural for each in KINDS))
LOG = "\n".join([EVIL, "Traceback (most recent call last):", f"RuntimeError: {EVIL[EVIL.rindex(chr(13)) + 1 :]}", ""])
"""What each rank prints."""
FAILED = {"reason": "RankFailed", "args": {"ranks": ["worker-0"], "code": 1, "error": EVIL, "message": EVIL}}


def build_head(name: str, **more: Any) -> Manifest:
    return {
        "name": name, "namespace": "default", "uid": UID, "resourceVersion": "7", "creationTimestamp": TIME,
        "annotations": {"note": EVIL}, "managedFields": [{"manager": EVIL}], **more,
    }  # fmt: skip


def build_job(name: str = NAME) -> Manifest:
    container = {
        "name": "paddle", "image": EVIL, "command": ["python", EVIL], "env": [{"name": "A", "value": EVIL}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }  # fmt: skip
    condition = {"type": "Failed", "status": "True", "reason": EVIL, "message": EVIL, "lastTransitionTime": TIME}
    return {
        "apiVersion": JOB.api_version, "kind": JOB.kind, "metadata": build_head(name),
        "spec": {"worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}},
        "status": {
            "phase": "Failed", "mode": "Collective", "cause": FAILED, "problem": EVIL, "conditions": [condition],
            "startTime": TIME, "completionTime": TIME, "worker": {"failed": 1, "ready": "0/1"},
        },
    }  # fmt: skip


def build_pod() -> Manifest:
    labels = {
        "paddock.dev/job": NAME, "paddock.dev/role": "worker", "paddock.dev/index": "0", "paddock.dev/attempt": "0",
    }  # fmt: skip
    owner = {"apiVersion": JOB.api_version, "kind": JOB.kind, "name": NAME, "uid": UID, "controller": True}
    ended = {"exitCode": 1, "reason": EVIL, "message": EVIL, "startedAt": TIME, "finishedAt": TIME}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": build_head(f"{NAME}-worker-0", labels=labels, ownerReferences=[owner]),
        "spec": {"nodeName": EVIL, "containers": [{"name": "paddle", "image": EVIL}]},
        "status": {
            "phase": "Failed", "reason": EVIL, "message": EVIL, "podIP": EVIL, "startTime": TIME,
            "containerStatuses": [
                {"name": "paddle", "image": EVIL, "imageID": EVIL, "ready": False, "restartCount": 0,
                 "state": {"terminated": ended}},
            ],
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": EVIL, "message": EVIL}],
        },
    }  # fmt: skip


def build_event() -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": build_head("event"), "type": EVIL, "reason": EVIL,
        "message": EVIL, "lastTimestamp": TIME, "count": 2, "source": {"component": EVIL},
        "involvedObject": {"kind": JOB.kind, "name": NAME, "namespace": "default", "uid": UID},
    }  # fmt: skip


def build_dataset(name: str = NAME) -> Manifest:
    return {
        "apiVersion": "paddock.dev/v1alpha1", "kind": "Dataset", "metadata": build_head(name),
        "spec": {"source": {"uri": f"https://h/{EVIL}", "revision": EVIL}},
        "status": {"phase": "Failed", "message": EVIL, "revision": EVIL, "claim": EVIL, "retries": False},
    }  # fmt: skip


def build_environment(name: str = NAME) -> Manifest:
    return {
        "apiVersion": "paddock.dev/v1alpha1", "kind": "Environment", "metadata": build_head(name),
        "spec": {"images": [EVIL], "requirements": [EVIL], "python": EVIL},
        "status": {"phase": "Failed", "message": EVIL, "python": EVIL},
    }  # fmt: skip


def build_node() -> Manifest:
    size = {"cpu": "8", "memory": "16Gi", EVIL: "1"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": build_head(EVIL), "spec": {},
        "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def build_lease() -> Manifest:
    """That of an operator."""
    return {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": build_head("paddock-operator"),
        "spec": {"holderIdentity": EVIL, "renewTime": "2026-11-20T09:00:00.000000Z", "leaseDurationSeconds": 15},
    }  # fmt: skip


def build_objects(created: str) -> dict[str, list[Manifest]]:
    """The objects by the plural of their kind; the second of a kind has a name that no Kubernetes allows. `created`:
    the name of a further job; empty for none."""
    return {
        JOB.plural: [*map(build_job, (NAME, EVIL, created) if created else (NAME, EVIL))],
        "pods": [build_pod()],
        "events": [build_event()],
        "datasets": [build_dataset(), build_dataset(EVIL)],
        "environments": [build_environment(), build_environment(EVIL)],
        "nodes": [build_node()],
        "leases": [build_lease()],
    }


class Server:
    """Answers as a Kubernetes does, with little memory: of jobs it knows whether one was created, and all else is as it
    was."""

    def __init__(self) -> None:
        self._created = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if REFUSED in parts:
            return refuse(500, "InternalError")
        if len(parts) <= 3 and parts[0] == "apis":
            group = "/".join(parts[1:])
            served = [{"name": each.plural} for each in KINDS if each.api_version == group]
            return web.json_response({"resources": served})
        plural = next((part for part in parts if part in PLURALS), "")
        name = "/".join(parts[parts.index(plural) + 1 :]) if plural else parts[-1]
        if name.endswith("/log"):
            return web.Response(body=LOG.encode())
        if request.query.get("watch"):
            return await watch(request)
        objects = build_objects(self._created) if plural != JOB.plural or JOB.group in parts else {}
        if request.method == "POST":
            return self._create(objects.get(plural, []), await request.json())
        return self._find(objects.get(plural, []), name, request)

    def _create(self, there: list[Manifest], asked: Manifest) -> web.Response:
        if not there:
            return refuse(404, "NotFound")
        name = asked["metadata"]["name"]
        if asked["kind"] == JOB.kind:
            self._created = name
        return web.json_response(there[0] | {"metadata": there[0]["metadata"] | {"name": name}})

    def _find(self, there: list[Manifest], name: str, request: web.Request) -> web.Response:
        wanted = name or request.query.get("fieldSelector", "").removeprefix("metadata.name=")
        found = [each for each in there if wanted in ("", each["metadata"]["name"])]
        if request.method == "DELETE" and name == self._created:
            self._created = ""
        if name and (there or not name.endswith("s")):  # an unknown collection is an empty one
            return web.json_response(found[0]) if found else refuse(404, "NotFound")
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": found or there})


async def watch(request: web.Request) -> web.StreamResponse:
    """Nothing changes while somebody looks."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await asyncio.sleep(3600)  # until the client leaves
    return response


def refuse(code: int, reason: str) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": EVIL,
        "reason": reason,
        "code": code,
    }
    return web.json_response(status, status=code)


@contextmanager
def serve_foreign() -> Iterator[str]:
    """The URL of such a server, in a thread of its own."""
    ready, done = threading.Event(), asyncio.Event()
    found: list[str] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serve_answers(Server().answer, cancels=True) as url:
            found.append(url)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        ready.wait()
        yield found[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def write_kubeconfig(url: str) -> str:
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }  # fmt: skip
    return json.dumps(content)
