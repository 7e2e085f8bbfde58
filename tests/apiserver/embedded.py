"""Helpers: sample objects, an HTTPS client, and waiting for a condition with a deadline."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp
from multidict import MultiMapping

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.api import Event
from paddock.kube.meta import Manifest, Resource, owner_reference

WIDGETS = Resource("example.org", "v1", "Widget", "widgets")


def widget_crd(**version: Any) -> Manifest:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer", "default": 3}, "replicas": {"type": "integer"}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                    **version,
                }
            ],
        },
    }  # fmt: skip


def widget(name: str = "w", **spec: Any) -> Manifest:
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def pod(name: str = "p", **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }  # fmt: skip


def config_map(name: str = "c", owners: tuple[Manifest, ...] = (), **metadata: Any) -> Manifest:
    references = {
        "ownerReferences": [owner_reference(owner) | {"controller": i == 0} for i, owner in enumerate(owners)]
    }
    meta = {"name": name, **metadata, **(references if owners else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def is_gone(api: LocalApi, resource: Resource, name: str, namespace: str = "default") -> bool:
    found = await api.list(resource, namespace if resource.namespaced else "", fields=f"metadata.name={name}")
    return not found.items


class Follower:
    """Reads the events of one `follow`, one at a time."""

    def __init__(self, api: LocalApi, *args: Any, **kwargs: Any) -> None:
        self._events = api.follow(*args, **kwargs)

    async def next(self) -> Event:
        return await asyncio.wait_for(anext(self._events), 60)

    async def until_synced(self) -> list[str]:
        names = []
        while (event := await self.next()).type != "SYNCED":
            names.append(event.object["metadata"]["name"])
        return names

    async def close(self) -> None:
        await self._events.aclose()  # type: ignore[attr-defined]


class Http:
    """A plain HTTPS client of a server, with its token and its certificate authority."""

    def __init__(self, server: Server) -> None:
        context = ssl.create_default_context(cafile=str(server.certificate_authority))
        self.server = server
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0))

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> tuple[int, Any, MultiMapping[str]]:
        sent = {"Authorization": f"Bearer {self.server.token}", **(headers or {})}
        async with self.session.request(method, self.server.url + path, json=body, data=data, headers=sent) as answer:
            text = await answer.read()
            is_json = answer.content_type == "application/json"
            return answer.status, (await answer.json() if is_json else text), answer.headers

    def stream(self, path: str, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.server.token}", **headers}
        return self.session.get(self.server.url + path, headers=sent)
