"""What a pod finds around it in its namespace: ConfigMaps, Secrets, Services, claims, other pods' names. In memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from paddock.kube.api import Api, Event
from paddock.kube.meta import (
    CLAIMS,
    CONFIG_MAPS,
    PODS,
    SECRETS,
    SERVICES,
    Manifest,
    Resource,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.node.container_env import Configs
from paddock.node.names import build_addresses, build_hosts, build_pod_line, build_service_lines

FOLLOWED = (CONFIG_MAPS, SECRETS, SERVICES, CLAIMS)
"""The resources that are followed beside pods."""


class Neighbours:
    """`changed(resource, namespace)` is called after each change, except of pods, which the kubelet hands in itself."""

    def __init__(self, changed: Callable[[Resource, str], None]) -> None:
        self._changed = changed
        self._found: dict[tuple[str, str], dict[str, Manifest]] = defaultdict(dict)
        self._lines: dict[str, dict[str, str]] = defaultdict(dict)

    async def follow(self, api: Api, resource: Resource, synced: asyncio.Event) -> None:
        """For ever; `synced` is set when all that was there is known."""
        async for event in api.follow(resource):
            if event.type == "SYNCED":
                synced.set()
            else:
                self.take(resource, event)
                self._changed(resource, namespace_of(event.object))

    def take(self, resource: Resource, event: Event) -> None:
        """Take in one change. A name that another object has by now is not taken away from it."""
        namespace, name = namespace_of(event.object), name_of(event.object)
        known = self._found[resource.plural, namespace]
        if event.type != "DELETED":
            known[name] = event.object
        elif name in known and uid_of(known[name]) == uid_of(event.object):
            del known[name]
        if resource is PODS:
            self._lines[namespace][name] = build_pod_line(known[name]) if name in known else ""
            if not self._lines[namespace][name]:
                del self._lines[namespace][name]

    def configs(self, namespace: str) -> Configs:
        found = (self._found[kind.plural, namespace] for kind in (CONFIG_MAPS, SECRETS, CLAIMS))
        return Configs(namespace, *found)

    def hosts(self, pod: Manifest) -> str:
        """The pod's hosts file; each pod's line in it was built when that pod got its address."""
        namespace = namespace_of(pod)
        pods, services = (self._found[kind.plural, namespace] for kind in (PODS, SERVICES))
        lines = self._lines[namespace].values()
        return build_hosts(pod, [*lines, *build_service_lines(services.values(), pods.values())])

    def addresses(self, pod: Manifest) -> dict[str, str]:
        """The names of the pod's group by address."""
        namespace = namespace_of(pod)
        pods, services = (self._found[kind.plural, namespace] for kind in (PODS, SERVICES))
        return build_addresses(pod, pods.values(), services.values())
