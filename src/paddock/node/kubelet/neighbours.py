"""The objects of its namespace that a pod depends on: ConfigMaps, Secrets, Services, claims, other pods.

They are kept in memory, and watches keep them up to date, a moment late. So a start reads the ConfigMaps and Secrets of
its pod from the API (`read_configs`): one may have been deleted and made again under its name, as by two jobs of one
name, and a program must never get the former one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change, Mirror
from paddock.kube.api import Api, Event
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, CONFIG_MAPS, SECRETS, SERVICES, Manifest, Resource, namespace_of
from paddock.node.runtime.container_env import Configs, MakeToken
from paddock.node.runtime.hosts import build_addresses, build_hosts, build_pod_line, build_service_lines
from paddock.node.runtime.references import find_references

_log = logging.getLogger(__name__)


class _Pod(NamedTuple):
    """`line`: its line in hosts files. Built once: every start of a pod in its namespace needs it."""

    manifest: Manifest
    line: str


class Neighbours:
    """Caches of these objects. `on_change(resource, namespace)` is called after each change that `informers` see. The
    kubelet passes pods in (`take_pod`), as it knows its own writes before the watch does."""

    def __init__(
        self, api: Api, on_change: Callable[[Resource, str], None], make_token: MakeToken | None = None
    ) -> None:
        def follow(resource: Resource) -> Informer[Manifest]:
            def note(change: Change[Manifest]) -> None:
                on_change(resource, change.key.namespace)

            return Informer(api, resource, lambda manifest: manifest, note)

        self._api, self._make_token = api, make_token
        self._config_maps, self._secrets = follow(CONFIG_MAPS), follow(SECRETS)
        self._services, self._claims = follow(SERVICES), follow(CLAIMS)
        self.informers = (self._config_maps, self._secrets, self._services, self._claims)
        self._pods = Mirror(lambda pod: _Pod(pod, build_pod_line(pod)))

    def take_pod(self, event: Event) -> None:
        change = self._pods.take(event)
        if change.problem is not None:
            _log.warning("pod %s has no names for other pods: %s", change.key, change.problem)

    def configs(self, namespace: str) -> Configs:
        """The objects as the watches know them: for what is not decisive."""
        found = (self._config_maps, self._secrets, self._claims)
        config_maps, secrets, claims = (informer.mirror.inside(namespace) for informer in found)
        return Configs(namespace, config_maps, secrets, claims)

    async def read_configs(self, pod: Manifest) -> Configs:
        """As the API has them now, for a start of one of the pod's containers.

        One that no watch knows of, and that has to be there, is taken for missing: `on_change` tells of it.
        """
        namespace = namespace_of(pod)
        live: dict[str, dict[str, Manifest]] = {"configmap": {}, "secret": {}}
        for kind, name, optional in sorted(find_references(pod)):
            informer = self._config_maps if kind == "configmap" else self._secrets
            if optional or name in informer.mirror.inside(namespace):
                with suppress(NotFound):
                    live[kind][name] = await self._api.get(informer.resource, namespace, name)
        claims = self._claims.mirror.inside(namespace)
        return Configs(namespace, live["configmap"], live["secret"], claims, self._make_token)

    def hosts(self, pod: Manifest) -> str:
        """The pod's hosts file."""
        namespace = namespace_of(pod)
        pods, services = self._pods.inside(namespace).values(), self._services.mirror.inside(namespace).values()
        lines = [each.line for each in pods if each.line]
        return build_hosts(pod, [*lines, *build_service_lines(services, (each.manifest for each in pods))])

    def addresses(self, pod: Manifest) -> dict[str, str]:
        """The addresses of the pod's group by name; empty if not assigned yet."""
        namespace = namespace_of(pod)
        pods = [each.manifest for each in self._pods.inside(namespace).values()]
        return build_addresses(pod, pods, self._services.mirror.inside(namespace).values())
