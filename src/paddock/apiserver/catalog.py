"""What there is to look at: the kinds that are served and the objects that are stored, one, or a page of them.

The kinds follow the CRDs as they are committed, and the watches of a kind that is served no more end in the same turn.
What changes objects is in `objects`, which builds on this. The rule a reader must not break: nothing here writes.
"""

from __future__ import annotations

from paddock.apiserver.pages import Page, build_token, read_token
from paddock.apiserver.records import Change, Stored, in_version, storage_key
from paddock.apiserver.resources import Registry, read_kinds
from paddock.apiserver.served import ServedResource
from paddock.apiserver.store import Store
from paddock.apiserver.watches import Hub, Selection
from paddock.kube.errors import Expired, NotFound
from paddock.kube.meta import CRDS, Resource

_CRDS = storage_key(CRDS)


class Catalog:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.hub = Hub()
        self.registry = Registry()
        self._built_ins = self.registry
        self._storage: dict[str, ServedResource] = {}
        self._kinds: dict[tuple[str, int], tuple[ServedResource, ...]] = {}
        self._read_crds()
        store.listen(self._committed)

    def _committed(self, changes: list[Change]) -> None:
        before = self.registry
        if any(change.resource == _CRDS for change in changes):
            self._read_crds()
        self.hub.publish(changes)
        for resource in before.lost_in(self.registry) if before is not self.registry else ():
            # Followers in this process wait for the kind to come back, as `kube.api` has it.
            self.hub.end(storage_key(resource))

    def _read_crds(self) -> None:
        """Each version of a CRD is read once: a large schema takes as long as hundreds of other writes."""
        stored = {(each.uid, each.rv): each for each in self.store.select(_CRDS)}
        known = self._kinds
        self._kinds = {key: known[key] if key in known else read_kinds(each.manifest()) for key, each in stored.items()}
        custom = [kind for kinds in self._kinds.values() for kind in kinds]
        self.registry = self._built_ins.with_kinds(custom) if custom else self._built_ins
        self._storage = {storage_key(served.resource): served for served in self.registry.all() if served.storage}

    def served(self, resource: Resource) -> ServedResource:
        """`NotFound` in the API's words for a kind that is not served."""
        found = self.registry.find(resource.group, resource.version, resource.plural)
        if found is None:
            raise NotFound(f"the server could not find the requested resource: {resource.path()} is not served here")
        return found

    def stored_as(self, key: str) -> ServedResource | None:
        """The kind that is stored under a storage key, in the version it is stored in."""
        return self._storage.get(key)

    def get(self, served: ServedResource, namespace: str, name: str) -> bytes:
        stored = self._need(served, namespace, name)
        return in_version(stored.body, stored.version, served.resource.api_version)

    def _need(self, served: ServedResource, namespace: str, name: str) -> Stored:
        stored = self.store.get(storage_key(served.resource), namespace if served.resource.namespaced else "", name)
        if stored is None:
            raise not_found(served.resource, name)
        return stored

    def page(self, served: ServedResource, selection: Selection, *, limit: int = 0, token: str = "") -> Page:
        """The objects of a selection in the order of their keys. A later page carries the revision of the first: a
        watch from there misses nothing."""
        key = storage_key(served.resource)
        revision, after = read_token(token) if token else (self.store.revision, None)
        if revision < self.store.changelog.compacted:
            raise Expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new"
                " list without the continue parameter"
            )
        items: list[Stored] = []
        for stored in self.store.select(key, selection.namespace, name=selection.name, after=after):
            if selection.narrow and not selection.matches(stored.manifest()):
                continue
            if limit and len(items) == limit:
                last = items[-1]
                remaining = (
                    None
                    if selection.narrow
                    else self.store.count(key, selection.namespace, (last.namespace, last.name))
                )
                return Page(items, revision, build_token(revision, last), remaining)
            items.append(stored)
        return Page(items, revision)


def not_found(resource: Resource, name: str) -> NotFound:
    return NotFound(f'{resource.qualified} "{name}" not found', kind=resource.plural, name=name)
