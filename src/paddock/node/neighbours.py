"""What a pod finds around it in its namespace: ConfigMaps, Secrets, Services, and the names of other pods. In memory.

The kubelet feeds it with what it follows; nothing here asks anybody.
"""

from __future__ import annotations

from collections import defaultdict

from paddock.kube.api import Event
from paddock.kube.meta import CONFIG_MAPS, PODS, SECRETS, SERVICES, Manifest, Resource, name_of, namespace_of, uid_of
from paddock.node.container_env import Configs
from paddock.node.names import build_addresses, build_hosts, build_namespace_hosts

FOLLOWED = (CONFIG_MAPS, SECRETS, SERVICES)
"""The resources that are followed beside pods."""


class Neighbours:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, Manifest]] = defaultdict(dict)
        self._hosts: dict[str, str] = {}

    def apply(self, resource: Resource, event: Event) -> None:
        """Take in one change."""
        namespace, name = namespace_of(event.object), name_of(event.object)
        known = self._found[resource.plural, namespace]
        if event.type != "DELETED":
            known[name] = event.object
        elif name in known and uid_of(known[name]) == uid_of(event.object):
            del known[name]
        if resource in (PODS, SERVICES):
            self._hosts.pop(namespace, None)

    def configs(self, namespace: str) -> Configs:
        config_maps, secrets = (self._found[kind.plural, namespace] for kind in (CONFIG_MAPS, SECRETS))
        return Configs(namespace, config_maps, secrets)

    def hosts(self, pod: Manifest) -> str:
        """The pod's hosts file. What all pods of a namespace share is built once for each change."""
        namespace = namespace_of(pod)
        if namespace not in self._hosts:
            pods, services = (self._found[kind.plural, namespace] for kind in (PODS, SERVICES))
            self._hosts[namespace] = build_namespace_hosts(pods.values(), services.values())
        return build_hosts(pod, self._hosts[namespace])

    def addresses(self, pod: Manifest) -> dict[str, str]:
        """The names of the pod's group by address."""
        namespace = namespace_of(pod)
        pods, services = (self._found[kind.plural, namespace] for kind in (PODS, SERVICES))
        return build_addresses(pod, pods.values(), services.values())
