"""Who owns which field of an object: `metadata.managedFields` of server-side apply. Pure.

A field is a path of parts as `fieldsV1` writes them: `f:spec`, `k:{"name":"main"}` (an item of a list that is a map by
keys), `v:"x"` (an item of a list that is a set). Scalars, empty values and what is replaced as a whole are fields; so
is each item of a list with keys. Fields are tracked from the first apply of an object on: what was there before belongs
to `before-first-apply` (Kubernetes 1.18). Source: structured-merge-diff v4, apimachinery's managedfields.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from paddock.kube.budget import Budget
from paddock.kube.errors import BadRequest, Conflict, FieldCause
from paddock.kube.meta import Manifest
from paddock.kube.patches import MERGED_SETS, merge_key

Path = tuple[str, ...]
Fields = frozenset[Path]
BEFORE = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEYS: Mapping[Path, tuple[str, ...]] = {
    ("containers", "ports"): ("containerPort", "protocol"),
    ("initContainers", "ports"): ("containerPort", "protocol"),
    ("ephemeralContainers", "ports"): ("containerPort", "protocol"),
    ("spec", "ports"): ("port", "protocol"),
}
"""Where apply has other keys than a strategic patch (`x-kubernetes-list-map-keys` of Kubernetes' own types)."""
_DEFAULTS = {"protocol": "TCP"}
_ATOMIC = frozenset({
    "nodeSelector", "selector", "labelSelector", "matchLabels", "configMapKeyRef", "secretKeyRef", "fieldRef",
    "resourceFieldRef", "nodeSelectorTerms", "roleRef", "claimRef", "secretRef", "target",
})  # fmt: skip
"""Objects of Kubernetes' own types that are replaced as a whole (`x-kubernetes-map-type: atomic`)."""
_NOT_OWNED = frozenset({"apiVersion", "kind"})
_OF_SERVER = frozenset({
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink",
    "deletionGracePeriodSeconds", "managedFields", "generateName",
})  # fmt: skip
_GONE = object()
_ITEM = object()
"""The value of an item of a list with keys, whose fields are fields of their own."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the lists and maps of a kind are merged. `schema`: of a custom kind, empty of a built-in one."""

    custom: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    steps: Path = ()
    """The names of the way here, without items of lists."""
    has_status: bool = True
    """Whether the status is written by itself alone."""

    def status_of(self, manager: Manager) -> bool | None:
        """Which part of an object a manager writes, as in `read_fields`."""
        return manager.subresource == "status" if self.has_status else None

    def enter(self, name: str) -> Shape:
        """A field of an object."""
        schema: Any = (self.schema.get("properties") or {}).get(name) or self.schema.get("additionalProperties")
        # metadata is the same of every kind
        custom = self.custom and not (len(self.steps) == 0 and name == "metadata")
        return Shape(custom, schema if isinstance(schema, Mapping) else {}, (*self.steps, name))

    def item(self) -> Shape:
        """An item of a list."""
        items = self.schema.get("items")
        return replace(self, schema=items if isinstance(items, Mapping) else {})

    @property
    def is_atomic(self) -> bool:
        """Whether an object here is replaced as a whole."""
        if self.custom:
            return self.schema.get("x-kubernetes-map-type") == "atomic"
        return bool(self.steps) and self.steps[-1] in _ATOMIC

    @property
    def list_keys(self) -> tuple[str, ...] | Literal["set"] | None:
        """The keys of a list's items; None of a list that is replaced as a whole."""
        if self.custom:
            kind = self.schema.get("x-kubernetes-list-type")
            keys = tuple(map(str, self.schema.get("x-kubernetes-list-map-keys") or ()))
            return "set" if kind == "set" else keys or None if kind == "map" else None
        if self.steps[-2:] in MERGED_SETS:
            return "set"
        if self.steps == ("imagePullSecrets",):
            return None  # those of a ServiceAccount, where a strategic patch does merge them
        if (known := _KEYS.get(self.steps[-2:])) is not None:
            return known
        key = merge_key(self.steps)
        return (key,) if key else None

    def name_item(self, item: Any) -> str | None:
        """The part of a path of an item; None of one without its keys, in a list that is replaced as a whole."""
        keys = self.list_keys
        if keys == "set":
            return None if isinstance(item, Mapping | list) else f"v:{_write(item)}"
        if keys is None or not isinstance(item, Mapping):
            return None
        found = {key: item.get(key, _DEFAULTS.get(key)) for key in keys}
        return None if None in found.values() else f"k:{_write(found)}"


def _write(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_fields(
    manifest: Mapping[str, Any], shape: Shape, *, status: bool | None = None, unique: bool = False, budget: Budget
) -> dict[Path, Any]:
    """The fields of an object with their values. `status`: of the status alone (True), of all else (False). `unique`:
    raises `BadRequest` for two items of one key, of which nobody could say which one is meant."""
    found: dict[Path, Any] = {}
    for name, value in manifest.items():
        if name in _NOT_OWNED or (status is not None and (name == "status") is not status):
            continue
        if name == "metadata" and isinstance(value, Mapping):
            if status:
                continue
            value = {key: each for key, each in value.items() if key not in _OF_SERVER}
            if not value:
                continue
        for path, each in _walk(value, (f"f:{name}",), shape.enter(name), budget):
            if unique and path in found:
                raise BadRequest(f"{show_path(path[:-1])}: duplicate entries for key {show_path(path[-1:])}")
            found[path] = each
    return found


_LEVEL = 1 / 16
"""Steps of a level above a value, through which it is handed up: depth and number of values are both a user's."""


def _walk(value: Any, path: Path, shape: Shape, budget: Budget) -> Iterator[tuple[Path, Any]]:
    budget.spend(1 + len(path) * _LEVEL)
    if isinstance(value, Mapping) and value and not shape.is_atomic:
        for name, each in value.items():
            yield from _walk(each, (*path, f"f:{name}"), shape.enter(name), budget)
        return
    if value == [] and not shape.custom:
        return  # Go does not write an empty list, so nobody owns one
    names = [shape.name_item(each) for each in value] if isinstance(value, list) and value else [None]
    if None in names:
        yield path, value
        return
    for name, each in zip(names, value, strict=True):
        assert name is not None
        if name.startswith("v:"):
            yield (*path, name), each
            continue
        yield (*path, name), _ITEM
        for key, inner in each.items():
            yield from _walk(inner, (*path, name, f"f:{key}"), shape.item().enter(key), budget)


# managedFields


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes, and how."""

    name: str
    operation: Literal["Apply", "Update"] = "Update"
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one manager, and when they last changed."""

    fields: Fields
    time: str
    api_version: str


Owners = Mapping[Manager, Owned]


def read_owners(manifest: Mapping[str, Any]) -> dict[Manager, Owned]:
    """The `managedFields` of a stored object."""
    found = {}
    for entry in (manifest.get("metadata") or {}).get("managedFields") or ():
        manager = Manager(str(entry.get("manager")), entry.get("operation"), str(entry.get("subresource") or ""))
        fields = frozenset(_read_trie(entry.get("fieldsV1") or {}, ()))
        found[manager] = Owned(fields, str(entry.get("time")), str(entry.get("apiVersion")))
    return found


def _read_trie(trie: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for part, inner in trie.items():
        if part == ".":
            yield path
        elif inner:
            yield from _read_trie(inner, (*path, part))
        else:
            yield (*path, part)


def write_owners(owners: Owners) -> list[Manifest]:
    """The `managedFields`: those who apply first, then by time and name, as Kubernetes orders them."""
    order = sorted(owners, key=lambda each: (each.operation != "Apply", owners[each].time, each.name, each.subresource))
    return [_write_entry(each, owners[each]) for each in order if owners[each].fields]


def _write_entry(manager: Manager, owned: Owned) -> Manifest:
    entry: Manifest = {
        "manager": manager.name, "operation": manager.operation, "apiVersion": owned.api_version, "time": owned.time,
        "fieldsType": "FieldsV1", "fieldsV1": _close(_build_trie(owned.fields)),
    }  # fmt: skip
    return entry | ({"subresource": manager.subresource} if manager.subresource else {})


def _build_trie(fields: Iterable[Path]) -> dict[str, Any]:
    """Each field has an entry `.` for itself."""
    trie: Manifest = {}
    for path in sorted(fields):
        place = trie
        for part in path:
            place = place.setdefault(part, {})
        place["."] = {}
    return trie


def _close(trie: Mapping[str, Any]) -> Manifest:
    """A field without others below it has no entry for itself."""
    return {} if trie.keys() == {"."} else {part: _close(inner) for part, inner in trie.items()}


# Updates


def track_update(
    before: Mapping[str, Any], after: Manifest, manager: Manager, shape: Shape, *, now: str, budget: Budget
) -> Manifest:
    """`after` with its managedFields, written by anything but an apply. Objects that nobody has applied have none."""
    owners = read_owners(before)
    if not owners:
        return after
    old, new = (read_fields(each, shape, budget=budget) for each in (before, after))
    changed = frozenset(path for path, value in new.items() if path not in old or old[path] != value)
    gone = frozenset(old.keys() - new.keys())
    kept = {
        each: replace(owned, fields=owned.fields - gone - (changed if each != manager else frozenset()))
        for each, owned in owners.items()
    }
    if changed:
        own = kept.get(manager, Owned(frozenset(), now, str(after.get("apiVersion"))))
        fields = own.fields | changed
        # Its time tells when the set of its fields has changed.
        kept[manager] = own if fields == own.fields else replace(own, fields=fields, time=now)
    return with_owners(after, kept)


def with_owners(manifest: Manifest, owners: Owners) -> Manifest:
    entries = write_owners(owners)
    meta = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return manifest | {"metadata": meta | ({"managedFields": entries} if entries else {})}


# Apply


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply makes of an object: the object to check and store, and who owns its fields afterwards."""

    manifest: Manifest
    owners: Owners


def apply(
    live: Mapping[str, Any], wanted: Manifest, manager: Manager, shape: Shape, *, force: bool, now: str, budget: Budget
) -> Applied:
    """Merges what `manager` wants into the live object (empty: there is none), and takes away what it wanted before and
    nobody else owns. Raises `Conflict`, which names each field and its owner, unless `force` takes them; `BadRequest`
    for what nests too deeply."""
    try:
        return _apply(live, wanted, manager, shape, force=force, now=now, budget=budget)
    except RecursionError:
        raise BadRequest("the object nests too deeply") from None


def _apply(
    live: Mapping[str, Any], wanted: Manifest, manager: Manager, shape: Shape, *, force: bool, now: str, budget: Budget
) -> Applied:
    owners, wanted = read_owners(live), _drop_nulls(wanted)
    if live and not owners:
        owners = _find_former(live, shape, now, budget)
    fields = read_fields(wanted, shape, status=shape.status_of(manager), unique=True, budget=budget)
    present = read_fields(live, shape, budget=budget)
    lost = frozenset(_find_lost(fields, present))
    contested = {path: other for other, owned in owners.items() if other != manager for path in lost & owned.fields}
    if contested and not force:
        raise explain_conflicts(contested, owners)
    taken = frozenset(contested)
    kept = {other: replace(owned, fields=owned.fields - taken) for other, owned in owners.items() if other != manager}
    others = frozenset(path for owned in kept.values() for path in owned.fields)
    before = owners.get(manager)
    dropped = (before.fields if before is not None else frozenset()) - fields.keys()
    held = find_above((*others, *fields))
    gone = [path for path in dropped if path not in held and not _is_key(path)]
    merged = _merge(dict(live), wanted, shape, budget)
    if gone:
        merged = _prune(merged, _build_trie(gone), shape, (), held)
    left = read_fields(merged, shape, budget=budget).keys()
    kept = {other: replace(owned, fields=owned.fields & left) for other, owned in kept.items()}
    own = Owned(frozenset(fields), now, str(wanted.get("apiVersion")))
    if before is not None and before.fields == own.fields:
        own = before
    return Applied(merged, {**kept, manager: own})


def _find_lost(wanted: Mapping[Path, Any], present: Mapping[Path, Any]) -> Iterator[Path]:
    """The fields whose values an apply takes away: those that it wants to be others, and those in whose place it wants
    an object or a list."""
    above = find_above(wanted)
    for path, value in present.items():
        if value is _ITEM:
            continue
        if path in wanted:
            if not _is_same(value, wanted[path]):
                yield path
        elif path in above and value not in ({}, []):
            yield path
    # What is not there may be owned nevertheless: a null, or what the kind's rules have taken away.
    yield from (
        path for path, value in wanted.items()
        if path not in present and value is not _ITEM and not _is_same(None, value)
    )  # fmt: skip


def _is_key(path: Path) -> bool:
    """Whether it is a key of an item: that goes with the item, and never alone."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in json.loads(path[-2][2:])


def _find_former(live: Mapping[str, Any], shape: Shape, now: str, budget: Budget) -> dict[Manager, Owned]:
    """Who owns the fields of an object that nobody has applied: what `kubectl apply` has applied by itself belongs to
    kubectl, whose server-side apply then goes on with it (as kubectl migrates it on a real server)."""
    version, fields = str(live.get("apiVersion")), frozenset(read_fields(live, shape, budget=budget))
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        last = json.loads(annotations.get(LAST_APPLIED, "{}"))
        applied = frozenset(read_fields(last, shape, budget=budget)) if isinstance(last, dict) else frozenset()
    except (ValueError, TypeError):
        applied = frozenset()
    kubectls = fields & applied
    owners = {Manager(BEFORE): Owned(fields - kubectls, now, version)}
    return owners | ({Manager("kubectl", "Apply"): Owned(kubectls, now, version)} if kubectls else {})


def find_above(fields: Iterable[Path]) -> set[Path]:
    """These fields, and the objects and items in which they are: they stay with them."""
    found: set[Path] = set()
    for path in fields:
        found.add(path)
        for size in range(len(path) - 1, 0, -1):
            above = path[:size]
            if above in found:  # and what that is in
                break
            found.add(above)
    return found


def _is_same(live: Any, wanted: Any) -> bool:
    """What is empty may not be stored."""
    return bool(live == wanted) or (live is None and wanted in ({}, []))


def _drop_nulls(manifest: Manifest) -> Manifest:
    """What is null is not wanted."""
    return {
        name: _drop_nulls(each) if isinstance(each, dict) else each
        for name, each in manifest.items()
        if each is not None
    }


def explain_conflicts(contested: Mapping[Path, Manager], owners: Owners) -> Conflict:
    """As kube-apiserver says it, which kubectl prints with what can be done."""
    by_manager: dict[Manager, list[str]] = {}
    for path, other in contested.items():
        by_manager.setdefault(other, []).append(show_path(path))
    causes, told = [], []
    for other in sorted(by_manager, key=lambda each: each.name):
        version = owners[other].api_version
        using = f' with subresource "{other.subresource}"' if other.subresource else ""
        when = f" at {owners[other].time}" if other.operation == "Update" else ""
        name = f'"{other.name}"{using} using {version}{when}'
        paths = sorted(by_manager[other])
        causes += [FieldCause(path, f"conflict with {name}", "FieldManagerConflict") for path in paths]
        told.append(f"conflicts with {name}:\n" + "\n".join(f"- {path}" for path in paths))
    count = len(causes)
    if count == 1:
        text = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        text = f"Apply failed with {count} conflicts: " + "\n".join(told)
    return Conflict(text, causes=causes)


def show_path(path: Path) -> str:
    """`.spec.containers[name="main"].image`"""
    shown = ""
    for part in path:
        kind, _, value = part.partition(":")
        if kind == "f":
            shown += f".{value}"
        elif kind == "v":
            shown += f"[={value}]"
        else:
            shown += "[" + ",".join(f"{key}={_write(each)}" for key, each in json.loads(value).items()) + "]"
    return shown


def _merge(live: dict[str, Any], wanted: Mapping[str, Any], shape: Shape, budget: Budget) -> dict[str, Any]:
    merged = dict(live)
    for name, value in wanted.items():
        merged[name] = _merge_value(merged.get(name), value, shape.enter(name), budget)
    return merged


def _merge_value(live: Any, wanted: Any, shape: Shape, budget: Budget) -> Any:
    budget.spend(1)
    if isinstance(wanted, Mapping):
        if shape.is_atomic or not isinstance(live, Mapping):
            live = {}
        return _merge(dict(live), wanted, shape, budget)
    if not isinstance(wanted, list) or not isinstance(live, list):
        return wanted
    ours, theirs = ([shape.name_item(each) for each in items] for items in (wanted, live))
    if not wanted and shape.list_keys is not None:
        return live  # nothing is wanted of it, and others may want what is there
    if not wanted or None in ours or None in theirs or shape.list_keys is None:
        return wanted
    places = {name: place for place, name in enumerate(theirs)}
    merged = list(live)
    for name, item in zip(ours, wanted, strict=True):
        if name in places:
            merged[places[name]] = _merge_item(merged[places[name]], item, shape, budget)
        else:
            places[name] = len(merged)
            merged.append(item)
    return _put_in_order(merged, ours, shape)


def _merge_item(live: Any, wanted: Any, shape: Shape, budget: Budget) -> Any:
    if not isinstance(live, Mapping) or not isinstance(wanted, Mapping):
        return wanted
    return _merge(dict(live), wanted, shape.item(), budget)


def _put_in_order(merged: list[Any], ours: Sequence[str | None], shape: Shape) -> list[Any]:
    """The items that are wanted in their order, at the places that they have; the others stay where they are. Of two
    live items of one key, which who creates an object may write, the last one is it."""
    names = [shape.name_item(each) for each in merged]
    by_name = dict(zip(names, merged, strict=True))
    mine = set(ours)
    wanted = iter([by_name[name] for name in ours])
    ordered, told = [], set[str | None]()
    for name, item in zip(names, merged, strict=True):
        if name not in mine:
            ordered.append(item)
        elif name not in told:
            ordered.append(next(wanted))
        told.add(name)
    return ordered


def _prune(value: Any, gone: Mapping[str, Any], shape: Shape, path: Path, held: Container[Path]) -> Any:
    """A copy without the fields of a trie, and without the objects and lists that are empty then and not `held`. In one
    walk: the number of fields is the user's."""
    if isinstance(value, list):
        kept_items = (_prune_item(item, gone, shape, path, held) for item in value)
        return [each for each in kept_items if each is not _GONE]
    if not isinstance(value, Mapping):
        return value
    kept = dict(value)
    for part, inner in gone.items():
        name, here = part.removeprefix("f:"), (*path, part)
        if part == "." or name not in kept:
            continue
        pruned = _GONE if "." in inner else _prune(kept[name], inner, shape.enter(name), here, held)
        if pruned is _GONE or (pruned in ({}, []) and here not in held):
            del kept[name]
        else:
            kept[name] = pruned
    return kept


def _prune_item(item: Any, gone: Mapping[str, Any], shape: Shape, path: Path, held: Container[Path]) -> Any:
    name = shape.name_item(item)
    inner = gone.get(name) if name is not None else None
    if name is None or inner is None:
        return item
    return _GONE if "." in inner else _prune(item, inner, shape.item(), (*path, name), held)
