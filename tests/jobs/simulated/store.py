"""The API server of the simulation: objects with UIDs, versions, conflicts, and a log that watches read.

Every write is told to `audit`, which judges it; by whom it came and when it was asked for is in `Write`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.kube.api import Event
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.meta import (
    PODS,
    Key,
    Manifest,
    Resource,
    controller_of,
    is_deleting,
    key_of,
    metadata,
    uid_of,
    version_of,
)
from paddock.kube.patches import merge_patch
from paddock.kube.times import format_time

_GRACE = 30


@dataclass(frozen=True, slots=True)
class Write:
    """What an operator asked for and got. `issued`: the `Store.records` at the time when it asked. `blind`: its
    watch of pods was behind, so that it could not know better. `read_since`: when it first read the clock of the
    server, and `asked`: when it sent this, on the loop's own clock. `sure`: its watches told everything, and nothing
    that it asked for had to wait at that moment, so that it has decided on what there is. `group`: the PodGroup of the
    job's name that was there, if its operator has to do with any."""

    verb: str
    resource: Resource
    before: Manifest | None
    after: Manifest | None
    issued: int
    blind: bool = False
    read_since: float = 0.0
    asked: float = 0.0
    sure: bool = False
    group: Manifest | None = None


class Store:
    """`clock` in seconds since the epoch, which may be set; `steady` goes on. `records` grows with every decisive
    change of what is recorded, so that a write from before it is known."""

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float]) -> None:
        self.clock, self.steady = clock, steady
        self.objects: dict[tuple[Resource, Key], Manifest] = {}
        self.logs: dict[Resource, list[Event]] = defaultdict(list)
        self.records = 0
        self.gone: dict[str, float] = {}
        """When objects went, by UID, on the steady clock."""
        self.made: dict[str, float] = {}
        """When they came."""
        self.orphaned: dict[str, float] = {}
        """When they lost their controller."""
        self.audit: Callable[[Write], None] = lambda write: None
        self.tell: Callable[[Resource], None] = lambda resource: None
        self._version = 0
        self._serial = 0

    def all(self, resource: Resource) -> list[Manifest]:
        return [manifest for (kind, _), manifest in self.objects.items() if kind == resource]

    def find(self, resource: Resource, key: Key) -> Manifest | None:
        return self.objects.get((resource, key))

    def get(self, resource: Resource, key: Key) -> Manifest:
        found = self.find(resource, key)
        if found is None:
            raise NotFound(f"{resource.plural} {key} not found")
        return found

    def create(self, resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
        key = key_of(manifest)
        if (resource, key) in self.objects:
            raise AlreadyExists(f"{resource.plural} {key} already exists")
        self._serial += 1
        begun = {"creationTimestamp": format_time(self.clock()), "generation": 1}
        made = {**metadata(manifest), "uid": f"{key.name}#{self._serial}", **begun}
        self.made[made["uid"]] = self.steady()
        return self._put("ADDED", resource, {**manifest, "metadata": made})

    def change(self, resource: Resource, key: Key, patch: Manifest, *, guard: str = "", uid: str = "") -> Manifest:
        """A merge patch, of the status too. `Conflict` where the version or the UID is another by now."""
        there = self.get(resource, key)
        if (guard and guard != version_of(there)) or (uid and uid != uid_of(there)):
            raise Conflict(f"{resource.plural} {key} has been modified")
        changed = merge_patch(there, patch)
        if changed == there:
            return there
        if changed.get("spec") != there.get("spec"):
            changed["metadata"] = {**changed["metadata"], "generation": there["metadata"]["generation"] + 1}
        if controller_of(there) is not None and controller_of(changed) is None:
            self.orphaned[uid_of(there)] = self.steady()
        return self._put("MODIFIED", resource, changed)

    def touch(self, resource: Resource, key: Key) -> Manifest:
        """The same object with a later version."""
        return self._put("MODIFIED", resource, self.get(resource, key))

    def delete(self, resource: Resource, key: Key, uid: str = "", grace: int | None = None) -> None:
        """A pod on a node goes when its programs have, unless it is forced; everything else goes at once."""
        there = self.get(resource, key)
        if uid and uid != uid_of(there):
            raise Conflict(f"{resource.plural} {key} is another one by now")
        if resource == PODS and there.get("spec", {}).get("nodeName") and grace != 0:
            if not is_deleting(there):
                self.mark_deleting(resource, key)
        else:
            self.remove(resource, key)

    def mark_deleting(self, resource: Resource, key: Key) -> None:
        """`deletionTimestamp` is when it should be gone, its grace included."""
        metadata = {"deletionTimestamp": format_time(self.clock() + _GRACE), "deletionGracePeriodSeconds": _GRACE}
        self.change(resource, key, {"metadata": metadata})

    def remove(self, resource: Resource, key: Key) -> None:
        gone = self.objects.pop((resource, key), None)
        if gone is not None:
            self.gone[uid_of(gone)] = self.steady()
            # As in Kubernetes, a deletion has a version of its own: an operator knows its own writes by theirs.
            self._log("DELETED", resource, self._with_version(gone))

    def _put(self, kind: Any, resource: Resource, manifest: Manifest) -> Manifest:
        stored = self._with_version(manifest)
        self.objects[resource, key_of(stored)] = stored
        self._log(kind, resource, stored)
        return stored

    def _with_version(self, manifest: Manifest) -> Manifest:
        return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self._version + 1)}}

    def _log(self, kind: Any, resource: Resource, manifest: Manifest) -> None:
        self._version += 1
        self.logs[resource].append(Event(kind, manifest))
        self.tell(resource)
