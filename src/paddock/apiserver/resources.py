"""Which kinds are served: the built-in ones and those of the stored CRDs, as one immutable registry.

A CRD that is added, changed or removed makes a new `Registry`; who holds the old one sees the old world whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from paddock.apiserver.built_ins import BUILT_INS
from paddock.apiserver.custom import read_crd
from paddock.apiserver.served import Column, ServedResource
from paddock.kube.errors import Invalid
from paddock.kube.meta import Manifest, Resource

__all__ = ["BUILT_INS", "Column", "Registry", "ServedResource", "read_crd"]


class Registry:
    """All that is served. `Registry()` serves the built-in kinds."""

    def __init__(self, served: Iterable[ServedResource] = BUILT_INS) -> None:
        self._served: dict[tuple[str, str, str], ServedResource] = {}
        for kind in served:
            resource = kind.resource
            self._served.setdefault((resource.group, resource.version, resource.plural), kind)

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._served.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """By the kind of a manifest or of an ownerReference."""
        return next((served for served in self.group_version(group, version) if served.resource.kind == kind), None)

    def all(self) -> tuple[ServedResource, ...]:
        return tuple(self._served.values())

    def group_version(self, group: str, version: str) -> tuple[ServedResource, ...]:
        return tuple(s for s in self.all() if (s.resource.group, s.resource.version) == (group, version))

    def versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred one first (v1 before v1beta1 before v1alpha1)."""
        found = {served.resource.version for served in self.all() if served.resource.group == group}
        return tuple(sorted(found, key=_version_order))

    def groups(self) -> tuple[str, ...]:
        """The groups in the order of their registration; the legacy group is the empty name."""
        return tuple(dict.fromkeys(served.resource.group for served in self.all()))

    def lost_in(self, later: Registry) -> list[Resource]:
        """What this registry serves and a later one does not."""
        return [self._served[key].resource for key in self._served.keys() - later._served.keys()]

    def with_kinds(self, custom: Iterable[ServedResource]) -> Registry:
        """The built-in kinds of this registry, and `custom` in place of any custom ones before. A built-in kind cannot
        be replaced."""
        return Registry([*(served for served in self.all() if not served.custom), *custom])


def read_kinds(*crds: Manifest) -> tuple[ServedResource, ...]:
    """What stored CRDs serve. One that is not valid serves nothing and harms no other."""
    kinds: list[ServedResource] = []
    for crd in crds:
        try:
            kinds += read_crd(crd)
        except Invalid:
            continue
    return tuple(kinds)


def _version_order(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order: stable, beta, alpha, each from high to low; anything else behind, by name."""
    major, stage, minor = _split_version(version)
    rank = {"": 0, "beta": 1, "alpha": 2}.get(stage, 3)
    return (rank, -major, -minor, version)


def _split_version(version: str) -> tuple[int, str, int]:
    digits = version[1:] if version.startswith("v") else ""
    for stage in ("beta", "alpha"):
        major, found, minor = digits.partition(stage)
        if found and major.isdecimal() and minor.isdecimal():
            return int(major), stage, int(minor)
    return (int(digits), "", 0) if digits.isdecimal() else (0, "other", 0)
