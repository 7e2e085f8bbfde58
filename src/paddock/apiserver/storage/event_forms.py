"""The two forms of an Event: core/v1, in which all are stored, and events.k8s.io/v1, which newer clients write. Pure.

Source: Kubernetes' pkg/apis/events/v1 conversion: the same fields, some with other names. What is there in one form is
there in the other, so nothing is lost on the way and back. Owners of fields (`managedFields`) stay as they were
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.kube.errors import BadRequest, FieldCause
from paddock.kube.meta import EVENTS, Manifest, Resource
from paddock.kube.selectors import read_fields
from paddock.kube.validation.names import check_qualified_name

NEW_EVENTS = Resource("events.k8s.io", "v1", "Event", "events")
_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}
_REQUIRED = ("eventTime", "reportingController", "reportingInstance", "action", "reason")
_UNSET = ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount", "deprecatedSource")
_TYPES = ("Normal", "Warning")
_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "note": 1024}
_LEAST_SERIES = 2


def convert(manifest: Manifest, version: str) -> Manifest:
    """The Event in the form of this apiVersion; unchanged in the form that it has."""
    if manifest.get("apiVersion") == version:
        return manifest
    names = _NEW_NAMES if version == NEW_EVENTS.api_version else _OLD_NAMES
    return {names.get(name, name): value for name, value in manifest.items()} | {"apiVersion": version}


def build_new_schema(schema: Mapping[str, Any]) -> Manifest:
    """The schema of events.k8s.io/v1, from that of core/v1."""
    properties = {_NEW_NAMES.get(name, name): one for name, one in schema["properties"].items()}
    return {**schema, "properties": properties, "required": ["metadata"]}


def translate_selector(fields: str) -> str:
    """A field selector of events.k8s.io as one of core/v1. Raises `BadRequest` for fields that only core has."""
    try:
        terms = read_fields(fields)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return ",".join(f"{_translate(path)}{'=' if equal else '!='}{value}" for path, equal, value in terms)


def _translate(path: str) -> str:
    head, dot, rest = path.partition(".")
    if head in _NEW_NAMES:
        new = f"{_NEW_NAMES[head]}{dot}{rest}"
        raise BadRequest(f"field label not supported: {path}; events of {NEW_EVENTS.group} have {new} in its place")
    return f"{_OLD_NAMES.get(head, head)}{dot}{rest}"


def check_new(event: Mapping[str, Any]) -> Iterator[FieldCause]:
    """What is wrong with a new Event of events.k8s.io: those of core/v1 may be anything (Kubernetes,
    ValidateEventCreate). The fields have the names that were sent, where Kubernetes tells those of core/v1."""
    for name in _REQUIRED:
        if not event.get(name):
            yield FieldCause(name, "Required value", "FieldValueRequired")
    if (controller := event.get("reportingController")) and any(check_qualified_name(controller)):
        yield _invalid("reportingController", "is no name such as example.org/operator")
    for name, most in _LONGEST.items():
        if len(event.get(name) or "") > most:
            yield _invalid(name, f"can have at most {most} characters")
    if event.get("type") not in _TYPES:
        yield _invalid("type", f"has invalid value: {event.get('type') or ''}")
    for name in _UNSET:
        if any(event[name].values()) if isinstance(event.get(name), Mapping) else event.get(name):
            yield _invalid(name, "needs to be unset")
    if (series := event.get("series")) is not None:
        if (series.get("count") or 0) < _LEAST_SERIES:
            yield _invalid("series.count", f"should be at least {_LEAST_SERIES}")
        if not series.get("lastObservedTime"):
            yield FieldCause("series.lastObservedTime", "Required value", "FieldValueRequired")


def _invalid(field: str, message: str) -> FieldCause:
    return FieldCause(field, f"Invalid value: {message}", "FieldValueInvalid")


def is_event(version: str, kind: Any) -> bool:
    return kind == "Event" and version in (EVENTS.api_version, NEW_EVENTS.api_version)
