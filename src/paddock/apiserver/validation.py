"""Reads what a client sent as an object of a kind: pruned, defaulted and checked, or refused with every reason at once.

The walk along the schema is in `structural`, Kubernetes' own defaults and rules in `defaults` and `rules`, names in
`names`. The rule that callers rely on: reading what was read before changes nothing, and nothing but `BadRequest` and
`Invalid` is ever raised, whatever JSON comes in.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.apiserver import field_errors
from paddock.apiserver.defaults import fill_defaults
from paddock.apiserver.names import check_metadata
from paddock.apiserver.rules import check_rules
from paddock.apiserver.served import ServedResource
from paddock.apiserver.structural import Reading
from paddock.apiserver.values import type_of
from paddock.kube import schemas
from paddock.kube.errors import BadRequest, FieldCause
from paddock.kube.meta import Manifest, Resource

DEPTH_LIMIT = 100
"""How deep an object may nest. Kubernetes' kinds stay under 20; without a limit a few kilobytes of brackets end us."""

_TYPE_META = ("apiVersion", "kind", "metadata")
_SUBRESOURCE_KINDS = {
    "binding": Resource("", "v1", "Binding", "bindings"),
    "scale": Resource("autoscaling", "v1", "Scale", "scales"),
}


def read_object(
    served: ServedResource, manifest: Any, *, strict: bool, subresource: str = ""
) -> tuple[Manifest, tuple[str, ...]]:
    """The object as it is stored, and warnings (`unknown field "spec.typo"`) about what was pruned.

    `strict` is fieldValidation=Strict: unknown fields are refused. With `subresource` "binding" or "scale" the manifest
    is of that subresource's own kind; with "status" it is a whole object whose status is new: its spec was judged
    before, and is not judged by the rules of today. `BadRequest`: no such object at all, or unknown fields. `Invalid`:
    wrong values.
    """
    if subresource in _SUBRESOURCE_KINDS:
        resource = _SUBRESOURCE_KINDS[subresource]
        served = ServedResource(resource, resource.kind.lower(), schema=schemas.definition(resource.kind))
    _check_shape(served.resource, manifest)
    reading = Reading(lenient=not served.custom)
    read = _read_parts(served, manifest, reading)
    warnings = tuple(f'unknown field "{path}"' for path, _ in reading.unknown)
    if strict and reading.unknown:
        raise _strict_error(served.resource, reading.unknown)
    causes = [*reading.causes, *_finish(served, read, reading.causes, subresource)]
    if causes:
        raise field_errors.build_invalid(served, str(read["metadata"].get("name") or ""), causes)
    return read, warnings


def _check_shape(resource: Resource, manifest: Any) -> None:
    """Whether this is an object of that kind at all."""
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
    """apiVersion, kind and metadata are the same in every object, whatever a CRD's schema says of them."""
    resource = served.resource
    metadata = Reading(lenient=True)
    read_metadata = metadata.read(manifest.get("metadata") or {}, schemas.definition("ObjectMeta"), "metadata")
    if not resource.namespaced:
        read_metadata.pop("namespace", None)
    reading.unknown += metadata.unknown
    reading.causes += metadata.causes
    rest = {name: value for name, value in manifest.items() if name not in _TYPE_META}
    read = reading.read(rest, _without_type_meta(served.schema or {}))
    of_metadata = ((served.schema or {}).get("properties") or {}).get("metadata") if served.custom else None
    if of_metadata and not metadata.causes:
        reading.judge(read_metadata, of_metadata, "metadata")
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": read_metadata, **read}


def _without_type_meta(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of all but apiVersion, kind and metadata."""
    properties = {name: one for name, one in (schema.get("properties") or {}).items() if name not in _TYPE_META}
    required = [name for name in schema.get("required") or () if name not in _TYPE_META]
    return {**schema, "properties": properties, "required": required}


def _finish(served: ServedResource, read: Manifest, found: Sequence[FieldCause], subresource: str) -> list[FieldCause]:
    """Names, defaults and rules, as far as the types that were `found` wrong allow to look.

    A Scale or Binding is named by the request, if it is not by itself.
    """
    resource = served.resource
    if subresource in _SUBRESOURCE_KINDS:
        return []
    causes: list[FieldCause] = []
    if not any(cause.field.startswith("metadata") for cause in found):
        causes += check_metadata(resource.group, resource.kind, resource.namespaced, read["metadata"])
    if served.custom or found:
        return causes
    fill_defaults(resource.group, resource.kind, read)
    if subresource != "status":
        causes += check_rules(resource.group, resource.kind, read)
    return causes


def _strict_error(resource: Resource, unknown: Sequence[tuple[str, tuple[str, ...]]]) -> BadRequest:
    """Kubernetes' sentence; behind it, where a name is close to one that exists, that name."""
    listed = ", ".join(f'unknown field "{path}"' for path, _ in unknown)
    near = [f'"{name}"' for path, known in unknown if (name := _nearest(path, known))]
    hint = f" (did you mean {', '.join(near)}?)" if near else ""
    return BadRequest(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        f"strict decoding error: {listed}{hint}",
        kind=resource.kind,
    )


def _nearest(path: str, known: Sequence[str]) -> str:
    parent, dot, name = path.rpartition(".")
    found = difflib.get_close_matches(name, known, n=1)
    return f"{parent}{dot}{found[0]}" if found else ""
