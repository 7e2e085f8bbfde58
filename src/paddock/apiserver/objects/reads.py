"""Reads: the served kinds, and the stored objects, one or a page of them.

The registry follows the committed CRDs; the watches of a kind that is no longer served end in the same turn of the
loop. Rule: nothing here writes; `writes` builds on this.
"""

from __future__ import annotations

from paddock.apiserver.kinds.registry import Registry, read_kinds
from paddock.apiserver.objects.pages import Page, build_token, read_token
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Hub, Selection
from paddock.apiserver.storage.records import Change, Stored, in_version, storage_key
from paddock.apiserver.storage.store import Store
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
        # The kinds come first: a watcher that hears of a new CRD finds its kind served.
        if any(change.resource == _CRDS for change in changes):
            self._read_crds()
        self.hub.publish(changes)
        for resource in before.removed_in(self.registry) if before is not self.registry else ():
            # This ends external watches only: in-process followers wait for the kind to return, as `kube.api` demands.
            self.hub.end(storage_key(resource))

    def _read_crds(self) -> None:
        """Reads the CRDs that have changed, and builds the registry."""
        stored = {(each.uid, each.rv): each for each in self.store.select(_CRDS)}
        # Each version of a CRD is read only once: a large schema costs as much as hundreds of writes.
        known = self._kinds
        self._kinds = {key: known[key] if key in known else read_kinds(each.manifest()) for key, each in stored.items()}
        custom = [kind for kinds in self._kinds.values() for kind in kinds]
        self.registry = self._built_ins.with_kinds(custom) if custom else self._built_ins
        self._storage = {storage_key(served.resource): served for served in self.registry.all() if served.storage}

    def served(self, resource: Resource) -> ServedResource:
        """The served kind of a resource. Raises `NotFound`, in the API's words."""
        found = self.registry.find(resource.group, resource.version, resource.plural)
        if found is None:
            raise NotFound(f"the server could not find the requested resource: {resource.path()} is not served here")
        return found

    def stored_as(self, key: str) -> ServedResource | None:
        """The kind of a storage key, in its storage version."""
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
        """The selected objects, ordered by key. Later pages carry the revision of the first page."""
        key = storage_key(served.resource)
        revision, after = read_token(token) if token else (self.store.revision, None)
        # A watch from the first page's revision must miss nothing, so the changelog must still reach back to it.
        if revision < self.store.changelog.compacted:
            raise Expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new"
                " list without the continue parameter"
            )
        items: list[Stored] = []
        for stored in self.store.select(key, selection.namespace, name=selection.name, after=after):
            if selection.narrow and not selection.matches(stored.manifest()):
                continue
            # Checked when one more object is found, so a full last page gets no continue token.
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
