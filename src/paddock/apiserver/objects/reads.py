"""Reads: the served kinds, and the stored objects, one or a page of them.

The registry follows the committed CRDs; the watches of a kind that is no longer served end in the same turn of the
loop. Rule: nothing here writes; `writes` builds on this.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.apiserver.kinds.registry import Registry, read_kinds
from paddock.apiserver.objects.computed import COMPUTED, Computed, Usages
from paddock.apiserver.objects.pages import Ending, Page, Piece, build_token, read_token
from paddock.apiserver.objects.worker import Worker
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Hub, Selection
from paddock.apiserver.storage.records import Change, Stored, in_version, storage_key
from paddock.apiserver.storage.store import Store
from paddock.kube.errors import Expired, NotFound
from paddock.kube.meta import CRDS, Resource

PIECE_OBJECTS = 500
PIECE_BYTES = 1024 * 1024
"""How much of a list is read in one go: the loop serves other requests before the next piece."""
_CRDS = storage_key(CRDS)
_COMPUTED = frozenset(storage_key(served.resource) for served in COMPUTED)


class Catalog:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.hub = Hub()
        self.worker = Worker()
        self.registry = Registry()
        self._built_ins = self.registry
        self._computed: Computed | None = None
        self._storage: dict[str, ServedResource] = {}
        self._kinds: dict[tuple[str, int], tuple[ServedResource, ...]] = {}
        self._read_crds()
        store.listen(self._committed)

    def compute(self, usages: Usages) -> None:
        """Serves metrics.k8s.io of what is measured."""
        self._computed = Computed(usages, self._select)
        self._built_ins = Registry((*self._built_ins.all(), *COMPUTED))
        self._read_crds()

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
        # Each version of a CRD is read only once: a large schema costs as much as hundreds of writes.
        known = self._kinds
        stored = self.store.versions(_CRDS)
        self._kinds = {key: known[key] if key in known else self._read_kinds(key[0]) for key in stored}
        custom = [kind for kinds in self._kinds.values() for kind in kinds]
        self.registry = self._built_ins.with_kinds(custom) if custom else self._built_ins
        self._storage = {storage_key(served.resource): served for served in self.registry.all() if served.storage}

    def _read_kinds(self, uid: str) -> tuple[ServedResource, ...]:
        stored = self.store.find(uid)
        crd = stored.manifest() if stored is not None else {}
        return read_kinds(crd)

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
        key, within = storage_key(served.resource), namespace if served.resource.namespaced else ""
        if served.computed:
            stored = next(self._select(key, within, name, None), None)
        else:
            stored = self.store.get(key, within, name)
        if stored is None:
            raise not_found(served.resource, name)
        return stored

    def page(self, served: ServedResource, selection: Selection, *, limit: int = 0, token: str = "") -> Page:
        """The selected objects, ordered by key, read in one go: for callers in this process."""
        pieces = list(self.pieces(served, selection, limit=limit, token=token))
        ending = pieces[-1].ending
        assert ending is not None
        return Page([stored for piece in pieces for stored in piece.items], ending)

    def pieces(
        self, served: ServedResource, selection: Selection, *, limit: int = 0, token: str = ""
    ) -> Iterator[Piece]:
        """The selected objects, ordered by key, in pieces that are read when they are asked for. Later pages carry the
        revision of the first page, and later pieces that of the first piece."""
        revision, after = read_token(token) if token else (self.store.revision, None)
        # A watch from the first page's revision must miss nothing, so the changelog must still reach back to it.
        if revision < self.store.changelog.compacted:
            raise Expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new"
                " list without the continue parameter"
            )
        return self._pieces(storage_key(served.resource), selection, limit, revision, after)

    def _pieces(
        self, key: str, selection: Selection, limit: int, revision: int, after: tuple[str, str] | None
    ) -> Iterator[Piece]:
        left, last = limit, after
        while True:
            items, scanned, more = self._scan(key, selection, left if limit else None, after)
            # One more object than the limit shows that there is another page.
            if limit and len(items) > left:
                items.pop()
                last = key_of(items[-1]) if items else last
                remaining = None
                if not selection.narrow and key not in _COMPUTED:
                    remaining = self.store.count(key, selection.namespace, last or ("", ""))
                yield Piece(items, Ending(revision, build_token(revision, last or ("", "")), remaining))
                return
            if not more:
                yield Piece(items, Ending(revision))
                return
            yield Piece(items, last=scanned)
            left, after, last = left - len(items), scanned, key_of(items[-1]) if items else last

    def _select(self, key: str, namespace: str, name: str, after: tuple[str, str] | None) -> Iterator[Stored]:
        if self._computed is not None and key in _COMPUTED:
            return self._computed.select(key, namespace, name, after)
        return self.store.select(key, namespace, name=name, after=after)

    def _scan(
        self, key: str, selection: Selection, left: int | None, after: tuple[str, str] | None
    ) -> tuple[list[Stored], tuple[str, str] | None, bool]:
        """The next selected objects, at most one more than `left`; the last key that was looked at, and whether there
        are others behind it."""
        items: list[Stored] = []
        read = size = 0
        for stored in self._select(key, selection.namespace, selection.name, after):
            if read >= PIECE_OBJECTS or size >= PIECE_BYTES:
                return items, after, True
            read, size, after = read + 1, size + len(stored.body), key_of(stored)
            if not selection.narrow or selection.matches(stored.manifest()):
                items.append(stored)
                if left is not None and len(items) > left:
                    break
        return items, after, False


def key_of(stored: Stored) -> tuple[str, str]:
    return stored.namespace, stored.name


def not_found(resource: Resource, name: str) -> NotFound:
    said = f'{resource.qualified} "{name}" not found'
    return NotFound(said, kind=resource.plural, name=name, group=resource.group)
