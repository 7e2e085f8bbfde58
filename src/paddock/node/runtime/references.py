"""The ConfigMaps and Secrets that a pod names: in `env`, `envFrom`, and volumes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from paddock.kube.meta import Manifest


class Reference(NamedTuple):
    """`kind`: `configmap` or `secret`, as in `container_env.Configs`."""

    kind: str
    name: str
    optional: bool


_FIELDS = {
    "configMapRef": "configmap",
    "configMapKeyRef": "configmap",
    "configMap": "configmap",
    "secretRef": "secret",
    "secretKeyRef": "secret",
    "secret": "secret",
}


def find_references(pod: Manifest) -> frozenset[Reference]:
    """The references of all containers and volumes."""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    places: list[Mapping[str, Any]] = [
        *(source for container in containers for source in container.get("envFrom") or ()),
        *(entry.get("valueFrom") or {} for container in containers for entry in container.get("env") or ()),
    ]
    for volume in spec.get("volumes") or ():
        places += [volume, *((volume.get("projected") or {}).get("sources") or ())]
    return frozenset(reference for place in places for reference in _read(place))


def _read(place: Mapping[str, Any]) -> Iterator[Reference]:
    for field, kind in _FIELDS.items():
        source = place.get(field)
        # The field of a Secret's name is `secretName` in a volume.
        if source is not None and (name := source.get("name") or source.get("secretName")):
            yield Reference(kind, str(name), bool(source.get("optional")))
