"""The API of a bundle: what the server answered when it was made. Nothing can be written, and nothing follows."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast

from paddock.app.bundles.contents import Answer, Bundle, LogEntry
from paddock.kube.api import Event, PodApi
from paddock.kube.calls import Call, Get, List, Listing, T
from paddock.kube.errors import ApiError, MethodNotAllowed, NotFound, read_status
from paddock.kube.meta import PODS, Manifest, Resource, name_of, namespace_of, uid_of

_NO_QUERY: Mapping[str, str] = {}


class BundleClient(PodApi):
    """Raises `ApiError`s only: those that the server gave, and `NotFound` for what a bundle has not."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, List):
            return cast("T", self._list(call))
        if isinstance(call, Get):
            return cast("T", self._get(call.resource, call.namespace, call.name))
        raise MethodNotAllowed("a bundle is a copy: nothing in it can be changed")

    def _list(self, call: List) -> Listing:
        answer = self._answer(call.resource)
        if answer.code:
            raise _error(answer.code, answer.reason, answer.message)
        items = [each for each in answer.items if not call.namespace or namespace_of(each) == call.namespace]
        return Listing([_complete(call.resource, each) for each in items], "1")

    def _get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        answer = self._answer(resource)
        for each in answer.items:
            if name_of(each) == name and namespace_of(each) == namespace:
                return _complete(resource, each)
        message = f'{resource.qualified} "{name}" not found'
        raise _error(answer.absent.get(f"{namespace}/{name}", 404), "", message)

    def _answer(self, resource: Resource) -> Answer:
        answer = self._bundle.find(resource)
        if answer is None:
            raise NotFound(f"{resource.qualified} were not asked for when the bundle was made")
        return answer

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise MethodNotAllowed("a bundle is a copy: nothing in it changes")

    async def fetch(self, path: str, query: Mapping[str, str] = _NO_QUERY, *, accept: str = "application/json") -> Any:
        if path not in self._bundle.documents:
            raise NotFound(f"{path} has no stacks here")  # as a server that takes none: `client.pod_stacks`
        return copy.deepcopy(self._bundle.documents[path])

    async def stream_log(
        self,
        namespace: str,
        pod: str,
        *,
        container: str = "",
        follow: bool = False,
        tail: int | None = None,
        since: float | None = None,
        since_time: str = "",
        timestamps: bool = False,
        previous: bool = False,
        leave_out: Callable[[int], None] = lambda _: None,
    ) -> AsyncGenerator[bytes, None]:
        """The log of the container that trains, whatever `container` says."""
        entry = None if previous else self._find_log(namespace, pod)
        if entry is None:
            raise NotFound(f'the bundle has no log of the pod "{pod}"')
        first, last = self._bundle.read_log(entry)
        if entry.stamped and not timestamps:
            first, last = map(_without_times, (first, last))
        if tail is not None:
            yield _cut(last or first, tail)
            return
        yield first
        if entry.left_out is not None:
            leave_out(entry.left_out)
            yield last

    def _find_log(self, namespace: str, pod: str) -> LogEntry | None:
        head = self._bundle.head
        if namespace != head.job.namespace:
            return None
        answer = self._bundle.find(PODS)
        uid = next((uid_of(each) for each in answer.items if name_of(each) == pod), "") if answer else ""
        found = [each for each in head.logs if each.pod == pod and (not each.pod_uid or each.pod_uid == uid)]
        return max(found, key=lambda each: (each.stamped, each.attempt, each.modified), default=None)


def _complete(resource: Resource, item: Manifest) -> Manifest:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **copy.deepcopy(item)}


def _error(code: int, reason: str, message: str) -> ApiError:
    return read_status(code, {"reason": reason, "message": message})


def _without_times(text: bytes) -> bytes:
    return b"\n".join(line.partition(b" ")[2] for line in text.split(b"\n"))


def _cut(text: bytes, tail: int) -> bytes:
    return b"".join(text.splitlines(keepends=True)[-tail:]) if tail > 0 else b""
