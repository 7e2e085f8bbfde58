"""The three patches of the Kubernetes API: merge (RFC 7386), JSON (RFC 6902) and strategic. Pure.

`apply_patch` is the entry point; it never changes its arguments. Strategic patches merge lists by key. Only Kubernetes'
own types define such keys (`MERGE_KEYS`), so callers must refuse a strategic patch of a custom resource.
Source of the rules: apimachinery, strategicpatch; of the keys: the patch tags of k8s.io/api.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeGuard

import jsonpatch
import msgspec

from paddock.kube.budget import Budget
from paddock.kube.calls import PatchKind
from paddock.kube.errors import BadRequest, Invalid, TooLarge
from paddock.kube.meta import Manifest

MERGE_KEYS: Mapping[tuple[str, ...], str] = {
    ("containers",): "name",
    ("initContainers",): "name",
    ("ephemeralContainers",): "name",
    ("volumes",): "name",
    ("spec", "imagePullSecrets"): "name",  # of a pod: those of a ServiceAccount are replaced as a whole
    ("resourceClaims",): "name",
    ("schedulingGates",): "name",
    ("hostAliases",): "ip",
    ("topologySpreadConstraints",): "topologyKey",
    ("env",): "name",
    ("volumeMounts",): "mountPath",
    ("volumeDevices",): "devicePath",
    ("containers", "ports"): "containerPort",
    ("initContainers", "ports"): "containerPort",
    ("ephemeralContainers", "ports"): "containerPort",
    ("spec", "ports"): "port",
    ("secrets",): "name",
    ("webhooks",): "name",
    ("metadata", "ownerReferences"): "uid",
    ("status", "conditions"): "type",
    ("status", "addresses"): "type",
    ("status", "podIPs"): "ip",
    ("status", "hostIPs"): "ip",
}
"""Merge keys of lists of objects, by the last steps of the list's path (without indices)."""

MERGED_SETS: frozenset[tuple[str, ...]] = frozenset({("metadata", "finalizers"), ("spec", "podCIDRs")})
"""Lists of plain values that merge as sets, by the end of their path. All other lists are replaced as a whole."""

MOST_OPERATIONS = 10_000
"""The most operations of one JSON patch (kube-apiserver's maxJSONPatchOperations)."""
MOST_COPIED_BYTES = 3 * 1024 * 1024
"""The most bytes of JSON that the `copy` operations of one JSON patch may add: 30 of them that each copy the whole
object would make it 2**30 times as large (kube-apiserver's JSONPatchMaxCopyBytes)."""

_SHOWN = 1_000
_REJECTED = "the server rejected our request due to an error in our request"
_DOING = {
    "add": "adding", "copy": "copying", "move": "moving", "remove": "removing", "replace": "replacing",
    "test": "testing",
}  # fmt: skip
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,8})", re.ASCII)
# The costs in steps (`kube.budget`): of an operation, of a byte that a copy adds, and of an item of the list that an
# operation changes: those behind its place move.
_OPERATION, _COPIED_BYTE, _MOVED_ITEM = 20, 1 / 8, 1 / 1000
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
_Path = tuple[str, ...]


def apply_patch(manifest: Mapping[str, Any], patch: Any, kind: PatchKind, budget: Budget | None = None) -> Manifest:
    """The object with the patch applied. As in Kubernetes: `BadRequest` if the body is not such a patch, `TooLarge` if
    it has too many operations, `Invalid` if it does not fit the object, or copies too much. `Exhausted` if it takes
    more steps than `budget` has."""
    try:
        return _apply(manifest, patch, kind, budget or Budget())
    except RecursionError:
        raise BadRequest(f"the {kind} patch nests too deeply") from None


def _apply(manifest: Mapping[str, Any], patch: Any, kind: PatchKind, budget: Budget) -> Manifest:
    if kind == "json":
        return _apply_json_patch(manifest, patch, budget)
    if not isinstance(patch, Mapping):
        error = Invalid if kind == "merge" else BadRequest
        raise error(f"a {kind} patch is an object: found {_name_type(patch)}")
    if kind == "merge":
        return merge_patch(manifest, patch)
    return strategic_patch(manifest, patch)


def merge_patch(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7386: null removes, objects merge, anything else replaces."""
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = deepcopy(value)
    return merged


def _apply_json_patch(manifest: Mapping[str, Any], patch: Any, budget: Budget) -> Manifest:
    if not isinstance(patch, Sequence) or isinstance(patch, str | bytes):
        raise BadRequest(f"a JSON patch is a list of operations: found {_name_type(patch)}")
    if len(patch) > MOST_OPERATIONS:
        raise TooLarge(f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}")
    for position, operation in enumerate(patch):
        if not isinstance(operation, Mapping):
            raise BadRequest(f"operation {position} of the JSON patch is {_name_type(operation)}, wanted an object")
    try:
        result: Any = _run_operations(deepcopy(dict(manifest)), patch, budget)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError, ValueError) as error:
        raise Invalid(f"the JSON patch does not fit the object: {error!s:.{_SHOWN}}") from None
    if not isinstance(result, dict):
        raise Invalid(f"the JSON patch leaves {_name_type(result)} in place of the object")
    return result


def _run_operations(document: Any, patch: Sequence[Mapping[str, Any]], budget: Budget) -> Any:
    """The document after the operations, which change it in place."""
    # One patch for each operation, as the size of what a copy adds is known only when its turn has come.
    operations = [jsonpatch.JsonPatch([operation]) for operation in patch]
    copied = 0
    for given, operation in zip(patch, operations, strict=True):
        budget.spend(_OPERATION + _length_of_list(document, given.get("path")) * _MOVED_ITEM)
        if given["op"] == "copy":
            size = _size_of_copy(document, given.get("from"))
            budget.spend(size * _COPIED_BYTE)
            copied += size
            if copied > MOST_COPIED_BYTES:
                raise Invalid(
                    f"Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the"
                    f" limit {MOST_COPIED_BYTES}"
                )
        try:
            document = operation.apply(document, in_place=True)
        except jsonpatch.JsonPatchTestFailed:
            raise Invalid(f"{_REJECTED}: {_explain_test(document, given)}") from None
        except (jsonpatch.JsonPatchConflict, jsonpatch.JsonPointerException):
            if not (why := _explain_misfit(document, given)):
                raise
            raise Invalid(f"{_REJECTED}: {why}") from None
    return document


def _explain_test(document: Any, operation: Mapping[str, Any]) -> str:
    path, wanted = operation["path"], json.dumps(operation.get("value"), ensure_ascii=False)
    if _find_misfit(document, path):
        return f"testing {path:.{_SHOWN}} failed: there is nothing"
    found = json.dumps(jsonpatch.JsonPointer(path).resolve(document), ensure_ascii=False)
    return f"testing {path:.{_SHOWN}} failed: found {found:.{_SHOWN}}, wanted {wanted:.{_SHOWN}}"


def _explain_misfit(document: Any, operation: Mapping[str, Any]) -> str:
    """Why an operation finds no place in the document; empty where it is something else."""
    doing, path = _DOING[operation["op"]], operation["path"]
    source = operation.get("from") if operation["op"] in ("copy", "move") else None
    try:
        why = "" if source is None else _find_misfit(document, source)
        why = why or _find_misfit(document, path, is_new=operation["op"] in ("add", "copy", "move"))
    except jsonpatch.JsonPointerException:  # one of them is no pointer
        return ""
    what = f"{path:.{_SHOWN}}" if source is None else f"{source:.{_SHOWN}} to {path:.{_SHOWN}}"
    return f"{doing} {what} failed: {why}" if why else ""


def _find_misfit(document: Any, path: str, *, is_new: bool = False) -> str:
    """What is at the first step of a path that leads nowhere; empty where all lead on. `is_new`: the last need not."""
    steps, found, at = jsonpatch.JsonPointer(path).parts, document, ""
    for place, step in enumerate(steps, 1):
        may_lack, before = is_new and place == len(steps), at
        at = jsonpatch.JsonPointer.from_parts(steps[:place]).path
        if isinstance(found, dict):
            if step not in found:
                return "" if may_lack else f"there is no {at:.{_SHOWN}}"
            found = found[step]
        elif isinstance(found, list):
            if may_lack and step in ("-", str(len(found))):
                return ""
            if not _INDEX.fullmatch(step) or int(step) >= len(found):
                return f"there is no {at:.{_SHOWN}}: the list has {len(found)} item{'' if len(found) == 1 else 's'}"
            found = found[int(step)]
        else:
            return f"found {json.dumps(found, ensure_ascii=False):.{_SHOWN}} at {before:.{_SHOWN}}"
    return ""


def _length_of_list(document: Any, path: Any) -> int:
    """The items of the list that an operation at `path` changes; 0 if there is none."""
    try:
        parent = jsonpatch.JsonPointer(path).to_last(document)[0]
    except (jsonpatch.JsonPointerException, TypeError):
        return 0
    return len(parent) if isinstance(parent, list) else 0


def _size_of_copy(document: Any, source: Any) -> int:
    """Bytes of JSON of the value that a copy adds; 0 if there is none: the operation itself says so."""
    try:
        return len(msgspec.json.encode(jsonpatch.JsonPointer(source).resolve(document)))
    except (jsonpatch.JsonPointerException, TypeError):
        return 0


def strategic_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    """A strategic merge patch on an object of a built-in kind."""
    return _merge_map(dict(target), patch, ())


def _merge_map(target: dict[str, Any], patch: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: deepcopy(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise BadRequest(f"unknown $patch directive {directive!r} at {_show(path)}: replace, delete or merge")
    merged = _retain(dict(target), patch, path)
    for key, value in patch.items():
        if key.startswith(_DIRECTIVES):
            continue
        merged_value = _merge_value(merged.get(key), value, (*path, key), patch)
        if merged_value is None:
            merged.pop(key, None)
        else:
            merged[key] = merged_value
    return _order_lists(_delete_primitives(merged, patch, path), target, patch, path)


def _retain(merged: dict[str, Any], patch: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    kept = patch.get("$retainKeys")
    if kept is None:
        return merged
    if not isinstance(kept, list):
        raise BadRequest(f"$retainKeys at {_show(path)} is {_name_type(kept)}, wanted a list of names")
    names = {name for name in kept if isinstance(name, str)}
    return {key: value for key, value in merged.items() if key in names}


def _merge_value(current: Any, value: Any, path: _Path, siblings: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return _merge_map(current if isinstance(current, dict) else {}, value, path)
    if isinstance(value, list):
        return _merge_list(current if isinstance(current, list) else [], value, path)
    return value


def _merge_list(current: list[Any], patch: list[Any], path: _Path) -> list[Any]:
    if path[-2:] in MERGED_SETS:
        known = set(map(_identity, current))
        new = {name: item for item in patch if (name := _identity(item)) not in known}
        return _put_in_order([*current, *new.values()], patch, current, _same)
    key = merge_key(path)
    if key is None:
        return [_strip_directives(item) for item in patch]
    if any(isinstance(item, Mapping) and item.get("$patch") == "replace" and len(item) == 1 for item in patch):
        return [dict(item) for item in _objects(patch, path) if item.get("$patch") != "replace"]
    merged = [item for item in current if isinstance(item, Mapping)]
    places: dict[Hashable, list[int]] = {}
    for place, item in enumerate(merged):
        places.setdefault(_identity(item.get(key)), []).append(place)
    wanted: list[Any] = []
    deleted: set[int] = set()
    for item in _objects(patch, path):
        if key not in item:
            raise BadRequest(f"an item of {_show(path)} has no {key}, by which the list is merged")
        name = _identity(item[key])
        if item.get("$patch") == "delete":
            deleted.update(places.pop(name, ()))
            continue
        wanted.append(item)
        if found := places.get(name):
            merged[found[0]] = _merge_map(dict(merged[found[0]]), item, path)
        else:
            places[name] = [len(merged)]
            merged.append(_merge_map({}, item, path))
    kept = [item for place, item in enumerate(merged) if place not in deleted]
    return _put_in_order(kept, wanted, current, lambda item: item.get(key))


def _identity(value: Any) -> Hashable:
    """The same for equal values. With it lists are merged in one walk, and not in one for each of their items."""
    if isinstance(value, dict | list):
        return ("JSON", json.dumps(value, sort_keys=True, default=str))
    return ("boolean", value) if isinstance(value, bool) else value


def merge_key(path: Sequence[str]) -> str | None:
    """The merge key of the list at `path`; None if the list is replaced as a whole."""
    return MERGE_KEYS.get(tuple(path[-2:])) or MERGE_KEYS.get(tuple(path[-1:]))


def _put_in_order(merged: list[Any], first: list[Any], live: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """`merged` with the items of `first` in this order, and the other items at their place among the live ones.

    As Kubernetes' mergeSortedSlice: a new item comes before the remaining live items.
    """
    order = _first_places(key(item) for item in first)
    before = _first_places(key(item) for item in live if _has_key(item, key))
    named = [(_identity(key(item)), item) for item in merged]
    ours = deque(sorted((pair for pair in named if pair[0] in order), key=lambda pair: order[pair[0]]))
    others = deque(pair for pair in named if pair[0] not in order)
    result: list[Any] = []
    while ours and others:
        left, right = before.get(others[0][0]), before.get(ours[0][0])
        found = left is not None and right is not None and left < right
        result.append((others if found else ours).popleft()[1])
    return [*result, *(item for _, item in ours), *(item for _, item in others)]


def _first_places(keys: Iterable[Any]) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for place, found in enumerate(keys):
        places.setdefault(_identity(found), place)
    return places


def _delete_primitives(merged: dict[str, Any], patch: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    prefix = "$deleteFromPrimitiveList/"
    for directive, values in patch.items():
        field = directive.removeprefix(prefix)
        if directive.startswith(prefix) and isinstance(merged.get(field), list):
            if not isinstance(values, list):
                raise BadRequest(f"{directive} at {_show(path)} is {_name_type(values)}, wanted a list")
            gone = set(map(_identity, values))
            merged[field] = [item for item in merged[field] if _identity(item) not in gone]
    return merged


def _order_lists(
    merged: dict[str, Any], target: Mapping[str, Any], patch: Mapping[str, Any], path: _Path
) -> dict[str, Any]:
    prefix = "$setElementOrder/"
    for directive, order in patch.items():
        field = directive.removeprefix(prefix)
        if not directive.startswith(prefix) or not isinstance(merged.get(field), list):
            continue
        if not isinstance(order, list):
            raise BadRequest(f"{directive} at {_show(path)} is {_name_type(order)}, wanted a list")
        live = target.get(field)
        name = merge_key((*path, field))
        key = _same if name is None else _by(name)
        merged[field] = _put_in_order(merged[field], order, live if isinstance(live, list) else [], key)
    return merged


def _by(name: str) -> Callable[[Any], Any]:
    return lambda item: item.get(name) if isinstance(item, Mapping) else item


def _same(item: Any) -> Any:
    return item


def _has_key(item: Any, key: Callable[[Any], Any]) -> bool:
    return key is _same or isinstance(item, Mapping)


def _objects(items: list[Any], path: _Path) -> list[Mapping[str, Any]]:
    def is_object(item: Any) -> TypeGuard[Mapping[str, Any]]:
        return isinstance(item, Mapping)

    for item in items:
        if not is_object(item):
            raise BadRequest(f"an item of {_show(path)} is {_name_type(item)}, wanted an object")
    return items


def _strip_directives(value: Any) -> Any:
    """`value` without directives: they have no meaning in a list that is replaced as a whole, and are not stored."""
    if isinstance(value, Mapping):
        return {key: _strip_directives(item) for key, item in value.items() if not key.startswith(_DIRECTIVES)}
    if isinstance(value, list):
        return [_strip_directives(item) for item in value]
    return value


def _show(path: _Path) -> str:
    return ".".join(path) or "the top of the patch"


def _name_type(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
