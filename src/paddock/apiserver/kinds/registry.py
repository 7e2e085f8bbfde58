"""The registry of served kinds, built-in and from stored CRDs. Immutable.

Each change of a CRD creates a new `Registry`; a holder of the old one keeps a consistent snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable

from paddock.apiserver.kinds.built_ins import BUILT_INS
from paddock.apiserver.kinds.custom import read_crd
from paddock.apiserver.schema.resource import Column, ServedResource
from paddock.kube.errors import Invalid
from paddock.kube.meta import Manifest, Resource

__all__ = ["BUILT_INS", "Column", "Registry", "ServedResource", "read_crd"]


class Registry:
    """All served kinds. `Registry()` has the built-in ones only."""

    def __init__(self, served: Iterable[ServedResource] = BUILT_INS) -> None:
        self._served: dict[tuple[str, str, str], ServedResource] = {}
        for kind in served:
            resource = kind.resource
            # The first one stays: built-in kinds come first, so a CRD cannot replace them.
            self._served.setdefault((resource.group, resource.version, resource.plural), kind)

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._served.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """The kind named by a manifest or an ownerReference."""
        return next((served for served in self.group_version(group, version) if served.resource.kind == kind), None)

    def all(self) -> tuple[ServedResource, ...]:
        return tuple(self._served.values())

    def group_version(self, group: str, version: str) -> tuple[ServedResource, ...]:
        return tuple(s for s in self.all() if (s.resource.group, s.resource.version) == (group, version))

    def versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred version first (v1, v1beta1, v1alpha1)."""
        found = {served.resource.version for served in self.all() if served.resource.group == group}
        return order_versions(found)

    def groups(self) -> tuple[str, ...]:
        """The groups: those of built-in kinds in order of registration, of which the core group is the empty name, then
        those of custom kinds by name, as in Kubernetes. kubectl takes the first group that has a name."""
        own = [served.resource.group for served in self.all() if not served.custom]
        custom = sorted(served.resource.group for served in self.all() if served.custom)
        return tuple(dict.fromkeys((*own, *custom)))

    def removed_in(self, later: Registry) -> list[Resource]:
        """The resources of this registry that a later one does not have."""
        return [self._served[key].resource for key in self._served.keys() - later._served.keys()]

    def with_kinds(self, custom: Iterable[ServedResource]) -> Registry:
        """A registry with the built-in and computed kinds of this one, and `custom` as its other custom kinds. The
        first cannot be replaced."""
        return Registry([*(served for served in self.all() if served.computed or not served.custom), *custom])


def read_kinds(crd: Manifest) -> tuple[ServedResource, ...]:
    """The kinds of a stored CRD; none of an invalid one."""
    try:
        return read_crd(crd)
    except Invalid:
        return ()


def order_versions(versions: Iterable[str]) -> tuple[str, ...]:
    """The preferred one first (v1, v1beta1, v1alpha1)."""
    return tuple(sorted(versions, key=_version_order))


def _version_order(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order: stable, beta, alpha, each from high to low; any other name last, by name."""
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
