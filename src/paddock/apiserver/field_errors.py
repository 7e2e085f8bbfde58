"""Wrong fields, in Kubernetes' words: one function for each kind of field error, and the sentence that joins them.

Source: apimachinery, util/validation/field (the form `field: reason: detail`) and api/errors.NewInvalid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from paddock.apiserver.served import ServedResource
from paddock.kube.errors import FieldCause, Invalid

_SHOWN = 200


def show(value: Any) -> str:
    """A value as a message quotes it: JSON, cut where it is long, as a message is read by people."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = str(type(value).__name__)
    text = '"null"' if value is None else text
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def required(path: str, detail: str = "") -> FieldCause:
    return FieldCause(path, f"Required value: {detail}" if detail else "Required value", "FieldValueRequired")


def invalid(path: str, value: Any, detail: str) -> FieldCause:
    return FieldCause(path, f"Invalid value: {show(value)}: {detail}", "FieldValueInvalid")


def wrong_type(path: str, value: Any, detail: str) -> FieldCause:
    return FieldCause(path, f"Invalid value: {show(value)}: {detail}", "FieldValueTypeInvalid")


def not_supported(path: str, value: Any, allowed: Iterable[Any]) -> FieldCause:
    names = ", ".join(show(one) for one in allowed)
    return FieldCause(path, f"Unsupported value: {show(value)}: supported values: {names}", "FieldValueNotSupported")


def duplicate(path: str, value: Any) -> FieldCause:
    return FieldCause(path, f"Duplicate value: {show(value)}", "FieldValueDuplicate")


def missing(path: str, value: Any) -> FieldCause:
    """A name that refers to nothing."""
    return FieldCause(path, f"Not found: {show(value)}", "FieldValueNotFound")


def forbidden(path: str, detail: str) -> FieldCause:
    return FieldCause(path, f"Forbidden: {detail}", "FieldValueForbidden")


def too_long(path: str, limit: int) -> FieldCause:
    return FieldCause(path, f"Too long: may not be more than {limit} bytes", "FieldValueTooLong")


def too_many(path: str, found: int, limit: int) -> FieldCause:
    return FieldCause(path, f"Too many: {found}: must have at most {limit} items", "FieldValueTooMany")


def build_invalid(served: ServedResource, name: str, causes: Sequence[FieldCause]) -> Invalid:
    """The 422 that names every wrong field of an object."""
    return invalid_object(served.qualified_kind, served.resource.kind, name, causes)


def invalid_object(qualified_kind: str, kind: str, name: str, causes: Sequence[FieldCause]) -> Invalid:
    sentences = [f"{cause.field or '<root>'}: {cause.message}" for cause in causes]
    joined = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    return Invalid(f'{qualified_kind} "{name}" is invalid: {joined}', causes=causes, kind=kind, name=name)
