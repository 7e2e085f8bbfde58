"""The caches of the operator, as one view of the children of all jobs (`observe.View`), and which ports are held.

What is kept is cut to what a plan reads: the data of ConfigMaps and the fields of managers are none of our business,
and on a fleet they would be most of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from paddock.client.cache import Cache
from paddock.kube.api import Api
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Key, Manifest, Resource, controller_of
from paddock.operator.observe import read_held_port

_OWNER, _PORT = "owner", "port"
Heard = Callable[[Resource, Manifest], None]


class Views:
    """`on_change` hears of every child and job that came, changed or went."""

    def __init__(self, api: Api, jobs: Iterable[Resource], pod_groups: Resource | None, on_change: Heard) -> None:
        self.required = (PODS, SERVICES, CONFIG_MAPS)
        self.optional = (*jobs, *([pod_groups] if pod_groups else []))
        self.caches: dict[Resource, Cache] = {
            resource: _build_cache(api, resource, on_change) for resource in (*self.required, *self.optional)
        }

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return self.caches[resource].get(key)

    def owned(self, resource: Resource, uid: str) -> list[Manifest]:
        return self.caches[resource].find(_OWNER, uid)

    def assume(self, resource: Resource, manifest: Manifest) -> None:
        if resource in self.caches:
            self.caches[resource].assume(manifest)

    def assume_deleting(self, resource: Resource, key: Key, uid: str, time: str) -> None:
        if resource in self.caches:
            self.caches[resource].assume_deleting(key, uid, time)

    def held_ports(self, *, but: str) -> frozenset[int]:
        """First ports of the blocks that unfinished pods of jobs hold, `but` those of the job with this UID."""
        return frozenset(
            int(port) for port, pods in self.caches[PODS].values(_PORT) if any(_owner_of(pod) != but for pod in pods)
        )


def _build_cache(api: Api, resource: Resource, on_change: Heard) -> Cache:
    indexes = {_OWNER: _owners}
    if resource == PODS:
        indexes[_PORT] = _ports
    return Cache(
        api,
        resource,
        on_change=lambda manifest: on_change(resource, manifest),
        indexes=indexes,
        trim=_keep_metadata if resource in (SERVICES, CONFIG_MAPS) else _drop_managers,
    )


def _owner_of(manifest: Mapping[str, Any]) -> str:
    return str((controller_of(manifest) or {}).get("uid") or "")


def _owners(manifest: Manifest) -> list[str]:
    owner = _owner_of(manifest)
    return [owner] if owner else []


def _ports(manifest: Manifest) -> list[str]:
    port = read_held_port(manifest)
    return [] if port is None else [str(port)]


def _drop_managers(manifest: Manifest) -> Manifest:
    manifest["metadata"].pop("managedFields", None)
    return manifest


def _keep_metadata(manifest: Manifest) -> Manifest:
    return {name: manifest[name] for name in ("apiVersion", "kind", "metadata")}
