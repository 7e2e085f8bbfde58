"""What LimitRanges and PriorityClasses do to new objects: an index of both, which follows each commit.

So a new pod costs no read of the store. The rules are in `kube.limit_ranges` and `admission.priorities`; what
counts towards a quota is looked at in the write itself (`objects.quotas`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from paddock.apiserver.admission.priorities import check_default, explain_unknown, set_priority
from paddock.apiserver.admission.validation import Admission
from paddock.apiserver.storage.records import Change, Stored, storage_key
from paddock.apiserver.storage.store import Store
from paddock.kube.budget import Budget
from paddock.kube.limit_ranges import (
    LimitRange,
    check_growth,
    check_limits,
    count_steps,
    fill_limits,
    read_limit_range,
)
from paddock.kube.meta import CLAIMS, LIMIT_RANGES, PODS, PRIORITY_CLASSES, Manifest, Resource
from paddock.kube.priority_classes import PriorityClass, read_class

_RANGES, _CLASSES = storage_key(LIMIT_RANGES), storage_key(PRIORITY_CLASSES)


class Policies:
    """Of one store, which is open."""

    def __init__(self, store: Store) -> None:
        self._ranges: dict[str, dict[str, LimitRange]] = {}
        """By namespace and name."""
        self._classes: Mapping[str, PriorityClass] = MappingProxyType({})
        """By name. Replaced and never changed, as an admission may run beside the loop."""
        for key in (_RANGES, _CLASSES):
            for stored in store.select(key):
                self._put(stored, stored.manifest())
        store.listen(self._committed)

    def _committed(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.resource not in (_RANGES, _CLASSES):
                continue
            if change.type != "DELETED":
                self._put(change, change.object)
            elif change.resource == _CLASSES:
                self._classes = {name: each for name, each in self._classes.items() if name != change.name}
            else:
                here = self._ranges.get(change.namespace, {})
                here.pop(change.name, None)
                if not here:
                    self._ranges.pop(change.namespace, None)

    def _put(self, stored: Stored | Change, manifest: Manifest) -> None:
        if stored.resource == _CLASSES:
            self._classes = {**self._classes, stored.name: read_class(manifest)}
        else:
            self._ranges.setdefault(stored.namespace, {})[stored.name] = read_limit_range(manifest)

    def find_admission(self, resource: Resource, namespace: str) -> Admission | None:
        """What is done to a new object of this kind; None if nothing is."""
        if resource not in (PODS, CLAIMS):
            return None
        here = self._ranges.get(namespace, {})
        ranges, classes = [here[name] for name in sorted(here)], self._classes

        def change(manifest: Manifest, budget: Budget) -> None:
            if resource == PODS and manifest.get("spec") is not None:
                set_priority(manifest, classes)
                budget.spend(count_steps(manifest["spec"], ranges))
                fill_limits(manifest, ranges)

        return Admission(change, lambda manifest: check_limits(resource, manifest, ranges))

    def warn(self, resource: Resource, manifest: Manifest) -> tuple[str, ...]:
        """What a client is told of a new object that was taken."""
        return explain_unknown(manifest, self._classes) if resource == PODS else ()

    def check(self, resource: Resource, manifest: Manifest, previous: Stored | None) -> None:
        """Raises `Forbidden` of a PriorityClass that would be a second default, and of a claim that would outgrow its
        bounds. `previous`: what it was, if it is not new."""
        if resource == PRIORITY_CLASSES:
            check_default(manifest, self._classes)
        elif resource == CLAIMS and previous is not None and (here := self._ranges.get(previous.namespace)):
            check_growth(manifest, previous.manifest(), [here[name] for name in sorted(here)])
