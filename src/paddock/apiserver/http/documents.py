"""GET of version, probes, discovery and OpenAPI.

The pure modules `discovery` and `openapi` build the documents; they are cached until a CRD changes what is served.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from paddock.apiserver.http.protobuf import encode_field
from paddock.apiserver.http.requests import read_accept
from paddock.apiserver.kinds import discovery, openapi, openapi_v2
from paddock.apiserver.kinds.registry import Registry
from paddock.apiserver.objects.writes import Objects
from paddock.kube.errors import NotFound

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_Build = Callable[[Registry], Any]


class Documents:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._registry = objects.registry
        self._built: dict[str, tuple[bytes, str]] = {}
        """By what they are of, and not by a path: one document has paths without number (`//`)."""

    async def find(self, request: web.Request) -> web.Response | None:
        """The document at the request's path, or None if the path is an object's or unknown."""
        parts = [part for part in request.path.split("/") if part]
        match parts:
            case ["livez" | "readyz" | "healthz", *_]:
                self._objects.store.db  # noqa: B018 - raises when the store is closed
                return web.Response(text="ok")
            case ["version"]:
                return await self._answer(request, "/version", lambda _: discovery.build_version())
            case ["api" | "apis" as root]:
                return await self._roots(request, root)
            case ["api", version] | ["apis", "", version]:
                return await self._resources(request, "", version)
            case ["apis", group]:
                build: _Build = lambda served: discovery.build_group(served, group)  # noqa: E731
                return await self._answer(request, f"group {group}", build)
            case ["apis", group, version]:
                return await self._resources(request, group, version)
            case ["openapi", "v3"]:
                return await self._answer(request, "/openapi/v3", openapi.build_index)
            case ["openapi", "v3", "api", version]:
                return await self._openapi(request, "", version)
            case ["openapi", "v3", "apis", group, version]:
                return await self._openapi(request, group, version)
            case ["openapi", "v2"]:
                return await self._openapi_v2(request)
        return None

    async def _roots(self, request: web.Request, root: str) -> web.Response:
        core = root == "api"
        # The aggregated form takes kubectl 2 requests in place of about 40 (measured with 1.32 and 1.36).
        # kubectl 1.20 and the Python clients know the other form only.
        if read_accept(request.headers.get("Accept", ""), request.query).shape == "APIGroupDiscoveryList":
            build: _Build = lambda registry: discovery.build_aggregated(registry, core)  # noqa: E731
            return await self._answer(request, f"/{root} aggregated", build, AGGREGATED)
        if core:
            return await self._answer(request, "/api", lambda _: discovery.build_core_versions())
        return await self._answer(request, "/apis", discovery.build_group_list)

    async def _resources(self, request: web.Request, group: str, version: str) -> web.Response:
        build: _Build = lambda registry: discovery.build_resource_list(registry, group, version)  # noqa: E731
        return await self._answer(request, f"resources {group}/{version}", build)

    async def _openapi(self, request: web.Request, group: str, version: str) -> web.Response:
        build: _Build = lambda registry: openapi.build_document(registry, group, version) or None  # noqa: E731
        return await self._answer(request, f"openapi {group}/{version}", build)

    async def _openapi_v2(self, request: web.Request) -> web.Response:
        # kubectl before 1.28 needs this document, and reads it as Protobuf only.
        if openapi_v2.MEDIA_TYPE in request.headers.get("Accept", ""):
            build: _Build = lambda registry: openapi_v2.build_protobuf(registry, encode_field)  # noqa: E731
            return await self._answer(request, "openapi v2 protobuf", build, openapi_v2.CONTENT_TYPE)
        return await self._answer(request, "openapi v2", openapi_v2.build_document)

    async def _answer(
        self, request: web.Request, key: str, build: _Build, content_type: str = "application/json"
    ) -> web.Response:
        registry = self._objects.registry
        # Each change of a CRD creates a new registry, so its identity tells whether the documents are still valid.
        if self._registry is not registry:
            self._registry = registry
            self._built.clear()
        found = self._built.get(key)
        if found is None:
            # A document of OpenAPI has all schemas of its kinds, which clients may have sent.
            work = partial(_build_bytes, build, registry)
            found = await self._objects.worker.run_beside(work) if key.startswith(("/openapi", "openapi")) else work()
            if found is None:
                raise NotFound(f"the server could not find the requested resource: {request.path} is not served here")
            if self._registry is registry:
                self._built[key] = found
        body, tag = found
        headers = {"ETag": tag, "Vary": "Accept", "Content-Type": content_type, "Cache-Control": "no-cache, private"}
        # Clients keep these documents on disk, and only ask whether they have changed.
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers)


def _build_bytes(build: _Build, registry: Registry) -> tuple[bytes, str] | None:
    """The document and its ETag; None if there is none."""
    built = build(registry)
    if built is None:
        return None
    body = built if isinstance(built, bytes) else msgspec.json.encode(built)
    return body, f'"{hashlib.sha256(body).hexdigest().upper()}"'
