"""Reads the body of a request as an object of a kind: prunes, sets defaults, validates; reports all errors at once.

`kube.validation.structural` walks along the schema, `kube.validation.metadata` has the rules of metadata, `defaults`
and `rules` those of built-in kinds. Callers rely on this: reading is idempotent, and whatever the JSON is, only
`BadRequest` and `Invalid` are raised, and by policies `Forbidden`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from paddock.apiserver.admission.defaults import fill_defaults
from paddock.apiserver.admission.rules import check_rules
from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube import schemas
from paddock.kube.budget import Budget
from paddock.kube.errors import BadRequest, FieldCause
from paddock.kube.meta import Manifest, Resource
from paddock.kube.nearness import nearest
from paddock.kube.validation.field_errors import FieldError
from paddock.kube.validation.metadata import check_metadata
from paddock.kube.validation.structural import Reading
from paddock.kube.validation.values import type_of

DEPTH_LIMIT = 100
"""The most levels of nesting. Kubernetes' kinds need less than 20; the walk is recursive, so a few kilobytes of
brackets would exhaust the stack."""

_HINTS = 10
_TYPE_META = ("apiVersion", "kind", "metadata")
_SUBRESOURCE_KINDS = {
    "binding": Resource("", "v1", "Binding", "bindings"),
    "scale": Resource("autoscaling", "v1", "Scale", "scales"),
}


@dataclass(frozen=True, slots=True)
class Admission:
    """What the policies of its namespace do to a new object. Both raise `Forbidden`."""

    change: Callable[[Manifest, Budget], None]
    """In place, before it is validated: quantities may be wrong. Raises `Exhausted`, too."""
    check: Callable[[Manifest], None]
    """Once it is valid."""


def read_object(
    served: ServedResource, manifest: Any, *, strict: bool, subresource: str = "", budget: Budget | None = None,
    admission: Admission | None = None,
) -> tuple[Manifest, tuple[str, ...]]:  # fmt: skip
    """The object to store, and warnings (`unknown field "spec.typo"`) about pruned fields.

    `strict` is fieldValidation=Strict: unknown fields are refused. With `subresource` "binding" or "scale" the manifest
    is of the subresource's own kind; with "status" it is a whole object with a new status. `admission`: of a new one.
    `BadRequest`: not an object of this kind, or unknown fields. `Invalid`: wrong values. `Forbidden`: as of
    `Admission`. `Exhausted`: it takes more steps than `budget` has.
    """
    budget = budget or Budget()
    if subresource in _SUBRESOURCE_KINDS:
        resource = _SUBRESOURCE_KINDS[subresource]
        served = ServedResource(resource, resource.kind.lower(), schema=schemas.definition(resource.kind))
    _check_shape(served.resource, manifest)
    reading = Reading(lenient=not served.custom, budget=budget)
    read = _read_parts(served, manifest, reading)
    warnings = tuple(map(_name_unknown, reading.unknown))
    if strict and reading.unknown:
        raise _strict_error(served.resource, reading.unknown)
    errors = reading.errors[: field_errors.MOST_CAUSES]
    causes = [*field_errors.explain(errors), *_finish(served, read, reading.errors, subresource, budget, admission)]
    if causes:
        raise field_errors.build_invalid(served, str(read["metadata"].get("name") or ""), causes)
    if admission is not None:
        admission.check(read)
    return read, warnings


def _check_shape(resource: Resource, manifest: Any) -> None:
    """`BadRequest` if this is not an object of that kind."""
    if not isinstance(manifest, dict):
        raise BadRequest(f"the body must be a JSON object, a {resource.kind}; found {type_of(manifest)}")
    _check_depth(resource, manifest)
    for name in ("apiVersion", "kind"):
        if not isinstance(manifest.get(name) or "", str):
            raise BadRequest(f"{name} must be a string; found {type_of(manifest[name])}")
    kind, version = manifest.get("kind") or resource.kind, manifest.get("apiVersion") or resource.api_version
    if kind != resource.kind:
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f'the kind in the data ("{kind}") does not match the expected kind ("{resource.kind}")'
        )
    if version != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if not isinstance(manifest.get("metadata") or {}, dict):
        raise BadRequest(f"metadata must be an object; found {type_of(manifest['metadata'])}")


def _check_depth(resource: Resource, manifest: Mapping[str, Any]) -> None:
    level: list[Any] = [manifest]
    for _ in range(DEPTH_LIMIT):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise BadRequest(f"the {resource.kind} nests deeper than {DEPTH_LIMIT} levels, which no {resource.kind} needs")


def _read_parts(served: ServedResource, manifest: Mapping[str, Any], reading: Reading) -> Manifest:
    """The object, read along the schema. apiVersion, kind and metadata have Kubernetes' schema, not the CRD's."""
    resource = served.resource
    metadata = Reading(lenient=True, budget=reading.budget)
    read_metadata = metadata.read(manifest.get("metadata") or {}, schemas.definition("ObjectMeta"), ("metadata",))
    if not resource.namespaced:
        read_metadata.pop("namespace", None)
    reading.unknown += metadata.unknown
    reading.errors += metadata.errors
    rest = {name: value for name, value in manifest.items() if name not in _TYPE_META}
    read = reading.read(rest, _without_type_meta(served.schema or {}))
    of_metadata = ((served.schema or {}).get("properties") or {}).get("metadata") if served.custom else None
    if of_metadata and not metadata.errors:
        reading.validate(read_metadata, of_metadata, ("metadata",))
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": read_metadata, **read}


def _without_type_meta(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without apiVersion, kind and metadata."""
    properties = {name: one for name, one in (schema.get("properties") or {}).items() if name not in _TYPE_META}
    required = [name for name in schema.get("required") or () if name not in _TYPE_META]
    return {**schema, "properties": properties, "required": required}


def _finish(
    served: ServedResource, read: Manifest, found: Sequence[FieldError], subresource: str, budget: Budget,
    admission: Admission | None,
) -> list[FieldCause]:  # fmt: skip
    """Sets defaults, and returns the errors of metadata and rules; skips what wrong types (`found`) make unreadable."""
    resource = served.resource
    # A Scale or Binding may have no name: the request's path names it.
    if subresource in _SUBRESOURCE_KINDS:
        return []
    causes: list[FieldCause] = []
    if not any(error.path[:1] == ("metadata",) for error in found):
        errors = check_metadata(resource.group, resource.kind, resource.namespaced, read["metadata"])
        causes += field_errors.explain(islice(errors, field_errors.MOST_CAUSES))
    if served.custom or found:
        return causes
    fill_defaults(resource.group, resource.kind, read)
    if admission is not None:
        admission.change(read, budget)
    # A spec that older rules accepted must not block writes of the status.
    if subresource != "status":
        causes += check_rules(resource.group, resource.kind, read, budget)
    return causes


def _strict_error(resource: Resource, unknown: Sequence[FieldError]) -> BadRequest:
    """Kubernetes' message; each field is followed by the nearest name that exists, if there is one."""
    told = [
        f'{_name_unknown(error)} (did you mean "{near}"?)'
        if number < _HINTS and (near := _nearest(error))
        else _name_unknown(error)
        for number, error in enumerate(unknown[: field_errors.MOST_CAUSES])
    ]
    return BadRequest(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        f"strict decoding error: {', '.join(told)}",
        kind=resource.kind,
    )


def _name_unknown(error: FieldError) -> str:
    return f'unknown field "{field_errors.format_path(error.path)}"'


def _nearest(error: FieldError) -> str:
    near = nearest(str(error.path[-1]), error.args["known"])
    return field_errors.format_path((*error.path[:-1], near)) if near else ""
