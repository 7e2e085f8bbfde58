"""Handlers of object requests: each turns an HTTP request into a call of `Objects` and back, and decides nothing.

`requests` parses requests, `formats` encodes responses, `streams` serves watches and logs. Errors are raised as
`ApiError`s; `server` turns them into a Status.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from paddock.apiserver.access.attributes import Attributes
from paddock.apiserver.access.rights import KEYS
from paddock.apiserver.access.token_requests import read_token_request
from paddock.apiserver.access.users import User
from paddock.apiserver.http.answers import add_warnings, answer_json
from paddock.apiserver.http.bodies import BODY_LIMIT, Body, expected_size, receive_body
from paddock.apiserver.http.formats import render_object, render_page
from paddock.apiserver.http.pod_logs import PodLogs
from paddock.apiserver.http.pod_stacks import StackTaker
from paddock.apiserver.http.requests import (
    PATCH_TYPES,
    Target,
    check_list_options,
    check_patch_options,
    is_protobuf,
    read_accept,
    read_body,
    read_delete,
    read_eviction,
    read_flag,
    read_log_options,
    read_number,
    read_path,
    read_ports,
    read_revision,
    read_stream_request,
    read_watch,
    read_write_options,
    weigh_body,
)
from paddock.apiserver.http.room import Room
from paddock.apiserver.http.streams import FREE_BYTES, Watch, serve_list, serve_log, weigh
from paddock.apiserver.kinds.refused import explain_refused, find_listed
from paddock.apiserver.objects import builtin_strategies, reviews
from paddock.apiserver.objects.access import Access
from paddock.apiserver.objects.pages import Ending, Page
from paddock.apiserver.objects.strategy import build_evicted, build_success
from paddock.apiserver.objects.worker import SMALL_BYTES
from paddock.apiserver.objects.writes import Answer, Objects, WriteOptions
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Selection, select
from paddock.apiserver.storage.records import storage_key
from paddock.apiserver.streaming.server import PodStreaming
from paddock.kube.errors import (
    BadRequest,
    Expired,
    FieldCause,
    MethodNotAllowed,
    NotFound,
    Timeout,
    UnsupportedMediaType,
)
from paddock.kube.meta import PODS, Key, Manifest
from paddock.kube.unhonoured import explain_idle, find_unhonoured
from paddock.words.unhonoured import explain_unhonoured

_ARRIVING_BYTES = 10 * BODY_LIMIT
_DECODED_BYTES = 2 * BODY_LIMIT
_SENDING_BYTES = 10 * BODY_LIMIT

USER = web.RequestKey("user", User)
"""Who asks; not set on the paths that are open to everybody."""
_Handler = Callable[[web.Request, Target, ServedResource], Awaitable[web.StreamResponse]]


class Handlers:
    def __init__(
        self,
        objects: Objects,
        access: Access,
        logs: PodLogs | None,
        stacks: StackTaker | None = None,
        streaming: PodStreaming | None = None,
    ) -> None:
        self._objects = objects
        self._access = access
        self._logs = logs
        self._stacks = stacks
        self._streaming = streaming
        self._bodies: dict[int, bytes] = {}
        self._listing = Room(_SENDING_BYTES)
        self._watching = Room(_SENDING_BYTES)
        self._arriving = Room(_ARRIVING_BYTES)
        self._decoded = Room(_DECODED_BYTES)
        self._collection: Mapping[str, _Handler] = {
            "GET": self._list, "POST": self._create, "DELETE": self._delete_collection,
        }  # fmt: skip
        self._one_by_one = {method: handler for method, handler in self._collection.items() if method != "DELETE"}
        self._one: Mapping[str, _Handler] = {
            "GET": self._get, "PUT": self._replace, "PATCH": self._patch, "DELETE": self._delete,
        }  # fmt: skip
        self._subresources: Mapping[str, Mapping[str, _Handler]] = {
            "status": {"GET": self._get, "PUT": self._replace, "PATCH": self._patch},
            "scale": {"GET": self._get_scale, "PUT": self._replace_scale, "PATCH": self._patch_scale},
            "binding": {"POST": self._bind},
            "token": {"POST": self._make_token},
            "eviction": {"POST": self._evict},
            "log": {"GET": self._log},
            "stacks": {"GET": self._take_stacks},
            "exec": {"GET": self._exec, "POST": self._exec},
            "attach": {"GET": self._attach, "POST": self._attach},
            "portforward": {"GET": self._forward, "POST": self._forward},
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._dispatch(request)
        finally:
            self._bodies.pop(id(request), None)

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        target = read_path(request.path)
        if target is None:
            raise NotFound(f"the server could not find the requested resource: {request.path} is not served here")
        # Reviews are answered and never stored, so the registry does not list them.
        if (
            reviews.is_review(target.group, target.version, target.plural, target.namespace)
            and request.method == "POST"
            and not target.name
        ):
            body = (await self._body(request)).value
            review = reviews.build_review(
                self._access, request[USER], target.group, target.plural, target.namespace, body
            )
            return answer_json(msgspec.json.encode(review), 201)
        served = self._objects.registry.find(target.group, target.version, target.plural)
        if served is None:
            return await self._answer_unserved(request, target)
        handler = self._methods(target, served).get(request.method)
        if handler is None:
            raise MethodNotAllowed(f"{request.method} is not allowed on {request.path}")
        size = expected_size(request)
        # The body of a GET is not read, and its watch may last for half an hour.
        if size <= SMALL_BYTES or request.method == "GET":
            return await handler(request, target, served)
        # What waits for its turn, and what is decoded, which takes twenty times the memory.
        async with self._arriving.take(size):
            await self._read(request)
            async with self._decoded.take(size):
                return await handler(request, target, served)

    async def _answer_unserved(self, request: web.Request, target: Target) -> web.StreamResponse:
        """A list of a kind of Kubernetes that is not served is empty. Raises `NotFound` for all other requests, and for
        kinds that nobody knows."""
        registry = self._objects.registry
        said = explain_refused(registry, target.group, target.version, target.plural)
        listed = find_listed(registry, target.group, target.version, target.plural)
        if listed is not None and _is_list(request, target, listed):
            answer = await self._list(request, target, listed)
            add_warnings(answer, (said,))
            return answer
        words = said or f"{request.path} is not served here"
        raise NotFound(f"the server could not find the requested resource: {words}", kind=target.plural if said else "")

    async def _read(self, request: web.Request) -> bytes:
        """The body. It is read once, and kept as long as the request is handled."""
        # `request.read` would keep it until the connection's next request, which may not come for an hour.
        key = id(request)
        if key not in self._bodies:
            self._bodies[key] = await receive_body(request)
        return self._bodies[key]

    def _methods(self, target: Target, served: ServedResource) -> Mapping[str, _Handler]:
        # First: a right in a namespace is none on an object of the cluster, nor on a part of one.
        if target.namespace and not served.resource.namespaced:
            raise NotFound(f"the server could not find the requested resource: {target.plural} has no namespaces")
        if target.name and served.resource.namespaced and not target.namespace:
            raise NotFound(f"the server could not find the requested resource: {target.plural} are in a namespace")
        if target.subresource:
            return self._list_subresource_methods(target, served)
        if served.computed:
            return {"GET": self._compute}
        if target.name:
            return self._one
        return self._collection if "deletecollection" in served.verbs else self._one_by_one

    def _list_subresource_methods(self, target: Target, served: ServedResource) -> Mapping[str, _Handler]:
        if (served.resource, target.subresource) == (PODS, "ephemeralcontainers"):
            raise _refuse_debugging(target)
        if target.subresource not in served.subresources:
            raise NotFound(
                f"the server could not find the requested resource: {target.plural} has no {target.subresource} here"
            )
        return self._subresources.get(target.subresource, {})

    async def _body(self, request: web.Request, options: WriteOptions | None = None) -> Body:
        """The body, its size, and a warning for each duplicate field. Strict validation refuses duplicates."""
        checked = options is not None and options.validation != "Ignore"
        raw, media = await self._read(request), request.headers.get("Content-Type")
        # Kubernetes ignores this header, and reports that such a body is no JSON.
        if (encoding := request.headers.get("Content-Encoding", "identity").strip().lower()) != "identity":
            raise BadRequest(f"the body is encoded ({encoding:.50}), which is not read here: send it as it is")
        work = partial(read_body, raw, media, duplicates=checked)
        body, duplicates = await self._objects.worker.run(work, weigh_body(raw, media))
        # kubectl checks no fields itself where the server offers `fieldValidation`, so the server must refuse them.
        if duplicates and options is not None and options.validation == "Strict":
            raise BadRequest(f"strict decoding error: {', '.join(duplicates)}")
        return Body(body, duplicates, len(raw))

    # Reads

    async def _get(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        # Who may read a part may not watch the whole by it (`requests.read_attributes`).
        if not target.subresource and read_flag(request.query, "watch"):
            return await self._watch(request, target, served)
        wanted = read_accept(request.headers.get("Accept", ""), request.query)
        read_revision(request.query)  # any state is the present one, but only of a revision
        body = self._objects.get(served, target.namespace, target.name)
        return answer_json(render_object(served, body, wanted, self._objects.clock()))

    async def _list(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        query = request.query
        if read_flag(query, "watch"):
            return await self._watch(request, target, served)
        wanted = read_accept(request.headers.get("Accept", ""), query)
        selection = self._selection(request, target, served)
        token = query.get("continue", "")
        check_list_options(query)
        # A continue token carries the revision of the first page.
        if not token:
            self._check_revision(query)
        read = partial(self._objects.pieces, served, selection, limit=read_number(query, "limit") or 0, token=token)
        first = next(read())
        if first.ending is not None and weigh(first) <= FREE_BYTES:
            return answer_json(render_page(served, Page(first.items, first.ending), wanted, self._objects.clock()))
        del first
        return await serve_list(request, served, self._listing, read, wanted, self._objects.clock)

    async def _compute(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        if read_flag(request.query, "watch"):
            raise MethodNotAllowed(f"{request.path} is computed when it is asked for, and cannot be watched")
        return await (self._get if target.name else self._list)(request, target, served)

    def _check_revision(self, query: Mapping[str, str]) -> None:
        """Only the current state can be listed: a future or an exact past revision is refused."""
        revision, present = read_revision(query), self._objects.store.revision
        self._check_not_future(revision)
        if query.get("resourceVersionMatch") == "Exact" and 0 < revision < present:
            raise Expired(f"The resourceVersion for the provided list is too old: {revision}, current: {present}")

    def _check_not_future(self, revision: int) -> None:
        """Refuses a revision that was not issued yet."""
        present = self._objects.store.revision
        # Such a revision is of another cluster at this address, so the client must list again.
        # Kubernetes refuses it for lists only and lets a watch wait.
        if revision > present:
            sentence = f"Too large resource version: {revision}, current: {present}"
            raise Timeout(sentence, causes=[FieldCause("", sentence, "ResourceVersionTooLarge")], retry_after=1)

    def _selection(self, request: web.Request, target: Target, served: ServedResource) -> Selection:
        query = request.query
        fields = query.get("fieldSelector", "")
        if target.name:
            # Kubernetes serves a watch of one object as a watch of its collection, selected by name.
            fields = f"metadata.name={target.name}" + (f",{fields}" if fields else "")
        return select(served.resource, target.namespace, labels=query.get("labelSelector", ""), fields=fields)

    async def _watch(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        wanted = read_accept(request.headers.get("Accept", ""), request.query)
        options = read_watch(request.query)
        self._check_not_future(options.revision)
        selection = self._selection(request, target, served)
        watch = Watch(self._objects, served, selection, options, wanted, self._watching)
        return await watch.serve(request)

    async def _log(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        pod = msgspec.json.decode(self._objects.get(served, target.namespace, target.name))
        options = read_log_options(request.query, pod, self._objects.clock())
        if self._logs is None:
            raise NotFound(f"no node keeps the log of pod {target.name}: this API server runs without one")
        if not (pod.get("spec") or {}).get("nodeName"):
            raise BadRequest(f"pod {target.name} does not have a host assigned")
        return await serve_log(request, self._logs, pod, options)

    async def _take_stacks(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        pod = msgspec.json.decode(self._objects.get(served, target.namespace, target.name))
        if self._stacks is None:
            raise NotFound(f"no node takes the stacks of pod {target.name}: this API server runs without one")
        return answer_json(msgspec.json.encode(await self._stacks.take(pod)))

    # Streams

    async def _exec(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        pod, streaming = self._find_host(target, served)
        return await streaming.exec(request, pod, read_stream_request(request.query, pod, command=True))

    async def _attach(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        pod, streaming = self._find_host(target, served)
        return await streaming.attach(request, pod, read_stream_request(request.query, pod, command=False))

    async def _forward(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        pod, streaming = self._find_host(target, served)
        return await streaming.forward(request, pod, read_ports(request.query))

    def _find_host(self, target: Target, served: ServedResource) -> tuple[Manifest, PodStreaming]:
        """The pod, and who lets clients into it. Refused of one without a node."""
        pod = msgspec.json.decode(self._objects.get(served, target.namespace, target.name))
        if self._streaming is None:
            raise NotFound(f"no node runs pod {target.name}: this API server runs without one")
        if not (pod.get("spec") or {}).get("nodeName"):
            raise BadRequest(f"pod {target.name} does not have a host assigned")
        return pod, self._streaming

    # Writes

    async def _create(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        if served.resource.namespaced and not target.namespace:
            raise MethodNotAllowed(f"POST is not allowed on {request.path}: {target.plural} are created in a namespace")
        options = self._write_options(request, served)
        body = await self._body(request, options)
        answer = await self._objects.create(
            served, body.value, namespace=target.namespace, options=options, size=body.size
        )
        return await self._answer_write(request, target, served, answer, body.warnings)

    async def _replace(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        options = self._write_options(request, served)
        if target.subresource == "status" and is_protobuf(request.headers.get("Content-Type")):
            raise UnsupportedMediaType("a status is not read in Protobuf by this server: send application/json")
        body = await self._body(request, options)
        answer = await self._objects.replace(
            served,
            body.value,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            options=options,
            size=body.size,
        )
        return await self._answer_write(request, target, served, answer, body.warnings)

    async def _patch(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        options = self._write_options(request, served)
        kind = self._patch_kind(request)
        check_patch_options(request.query, applies=kind == "apply")
        body = await self._body(request, options)
        place: Any = {"namespace": target.namespace, "name": target.name, "subresource": target.subresource}
        place |= {"options": options, "size": body.size}
        if kind == "apply":
            check = partial(self._check_creation, request[USER], target)
            place |= {"options": replace(options, force=read_flag(request.query, "force"), check_creation=check)}
            answer = await self._objects.apply(served, body.value, **place)
        else:
            answer = await self._objects.patch(served, body.value, kind, **place)  # type: ignore[arg-type]
        return await self._answer_write(request, target, served, answer, body.warnings)

    def _patch_kind(self, request: web.Request) -> str:
        media = request.headers.get("Content-Type", "").split(";")[0].strip().lower()
        if media not in PATCH_TYPES:
            raise UnsupportedMediaType(
                f"the body of the request was in an unknown format, {media or 'without Content-Type'} -"
                f" accepted media types include: {', '.join(PATCH_TYPES)}"
            )
        return PATCH_TYPES[media]

    async def _delete(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        delete, dry_run = read_delete(request.query, await self._delete_body(request))
        options = WriteOptions(dry_run=dry_run)
        answer = await self._objects.delete(
            served, namespace=target.namespace, name=target.name, delete=delete, options=options
        )
        return self._answer(request, served, answer)

    async def _delete_collection(
        self, request: web.Request, target: Target, served: ServedResource
    ) -> web.StreamResponse:
        delete, dry_run = read_delete(request.query, await self._delete_body(request))
        deleted = await self._objects.delete_collection(
            served, self._selection(request, target, served), delete=delete, options=WriteOptions(dry_run=dry_run)
        )
        if deleted is None:
            return answer_json(build_success())
        wanted = read_accept(request.headers.get("Accept", ""), request.query)
        page = Page(deleted, Ending(self._objects.store.revision))
        return answer_json(render_page(served, page, wanted, self._objects.clock()))

    async def _delete_body(self, request: web.Request) -> Any:
        if not await self._read(request):
            return None
        return (await self._body(request)).value

    async def _bind(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        options = read_write_options(request.query)
        body = await self._body(request, options)
        answer = await self._objects.bind(
            served, body.value, namespace=target.namespace, name=target.name, options=options
        )
        return self._answer(request, served, answer)

    async def _evict(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        """Deletes the pod: there are no budgets of disruption here that could forbid it (policy/v1). As in Kubernetes
        since 1.26, the pod first has the condition that says why."""
        body = (await self._body(request)).value
        delete, dry_run = read_delete(request.query, read_eviction(body, target.name))
        if not dry_run:
            # The condition makes a new version, so it is this write that finds another one.
            patch = build_evicted(delete.uid, delete.resource_version, self._objects.clock())
            await self._objects.patch(
                served, patch, "strategic", namespace=target.namespace, name=target.name, subresource="status"
            )
            delete = replace(delete, resource_version="")
        await self._objects.delete(
            served, namespace=target.namespace, name=target.name, delete=delete, options=WriteOptions(dry_run=dry_run)
        )
        return answer_json(build_success(code=201), 201)

    async def _make_token(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        wish = read_token_request((await self._body(request)).value)
        answer = self._access.make_token(Key(target.namespace, target.name), wish)
        return answer_json(msgspec.json.encode(answer), 201)

    def _write_options(self, request: web.Request, served: ServedResource) -> WriteOptions:
        options = read_write_options(request.query, request.headers.get("User-Agent", ""), method=request.method)
        if storage_key(served.resource) not in KEYS or request[USER].may_everything:
            return options
        check = partial(self._access.check_grant, request[USER], served.resource.plural)
        return replace(options, check=check)

    def _check_creation(self, user: User, target: Target) -> None:
        """Who applies what does not exist creates it, and needs that right too. Raises `Forbidden`."""
        self._access.check(user, Attributes("create", target.group, target.plural, "", target.namespace, target.name))

    # Scale

    async def _get_scale(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        manifest = msgspec.json.decode(self._objects.get(served, target.namespace, target.name))
        return answer_json(msgspec.json.encode(builtin_strategies.read_scale(served, manifest)))

    async def _replace_scale(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        body = await self._body(request)
        return await self._rescale(request, target, served, lambda _: body.value)

    async def _patch_scale(self, request: web.Request, target: Target, served: ServedResource) -> web.StreamResponse:
        kind = self._patch_kind(request)
        body = await self._body(request)
        patch_kind: Any = "merge" if kind == "apply" else kind
        return await self._rescale(
            request, target, served, lambda scale: builtin_strategies.patch_scale(scale, body.value, patch_kind)
        )

    async def _rescale(
        self, request: web.Request, target: Target, served: ServedResource, change: Callable[[Manifest], Any]
    ) -> web.StreamResponse:
        answer = await self._objects.scale(
            served, change, namespace=target.namespace, name=target.name, options=self._write_options(request, served)
        )
        idle = explain_idle(served.resource)
        return answer_json(answer.body, warnings=((idle,) if idle else ()) + answer.warnings)

    async def _answer_write(
        self, request: web.Request, target: Target, served: ServedResource, answer: Answer, warnings: tuple[str, ...]
    ) -> web.Response:
        """Adds a warning for each field that has no effect here, except for writes of a subresource."""
        if not target.subresource and (not served.custom or b'"template"' in answer.body):
            work = partial(_explain_unhonoured, served, answer.body)
            warnings += await self._objects.worker.run(work, len(answer.body))
        return self._answer(request, served, answer, warnings)

    def _answer(
        self, request: web.Request, served: ServedResource, answer: Answer, warnings: tuple[str, ...] = ()
    ) -> web.Response:
        wanted = read_accept(request.headers.get("Accept", ""), request.query)
        body = render_object(served, answer.body, wanted, self._objects.clock())
        return answer_json(body, 201 if answer.created else 200, (*warnings, *answer.warnings))


def _is_list(request: web.Request, target: Target, served: ServedResource) -> bool:
    """Whether it asks for a list that the kind has, and not for a watch: nothing will ever come of that."""
    whole = not target.name and (served.resource.namespaced or not target.namespace)
    return request.method == "GET" and whole and not read_flag(request.query, "watch")


def _refuse_debugging(target: Target) -> MethodNotAllowed:
    # kubectl's code for "not found" here reads a field of `details` without asking whether there are any.
    return MethodNotAllowed(
        f"no container can be added to pod {target.name}: its programs run on this machine without images of their own,"
        f" so what you would debug with is here already. Type `kubectl exec -n {target.namespace} -it {target.name}"
        f" -- sh` for a shell beside its program; if it is a job's, `paddock shell -n {target.namespace} {target.name}`"
        f" for one, or `paddock exec -n {target.namespace} {target.name} -- ps -ef` for a command"
    )


def _explain_unhonoured(served: ServedResource, body: bytes) -> tuple[str, ...]:
    if idle := explain_idle(served.resource):
        return (idle,)
    uid = os.getuid()
    found = find_unhonoured(served.resource, msgspec.json.decode(body), uid)
    return tuple(str(explain_unhonoured(each, uid)) for each in found)
