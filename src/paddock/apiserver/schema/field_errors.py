"""Field errors in Kubernetes' words: one function for each type of error, and the message that joins them.

`kube.validation` finds the broken rules; `explain` turns its codes into words. Rules that only the server has (of CRDs,
Services, Secrets) call the functions below it.
Source: apimachinery, util/validation/field (the form `field: reason: detail`) and api/errors.NewInvalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from paddock.apiserver.schema.brief import brief_json, brief_text
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.errors import FieldCause, Invalid
from paddock.kube.validation.field_errors import Code, FieldError, Key, Path
from paddock.kube.validation.names import RULES

MOST_CAUSES = 100
"""Wrong fields that one answer names. Kubernetes names all, which are as many as the object has values."""
_SHOWN = 200
_SHOWN_STEP = 200
_SHOWN_PATH = 1_000
SHOWN_DETAIL = 2_000
_SHOWN_ALLOWED = 50
_ALPHANUMERIC_ENDS = "and must start and end with an alphanumeric character"
_NAME_RULES: Mapping[Code, tuple[str, tuple[str, ...]]] = {
    Code.INVALID_DNS_LABEL: (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " + _ALPHANUMERIC_ENDS,
        ("my-name", "123-abc"),
    ),
    Code.INVALID_DNS_SUBDOMAIN: (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        + _ALPHANUMERIC_ENDS,
        ("example.com",),
    ),
    Code.INVALID_DNS1035_LABEL: (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character",
        ("my-name", "abc-123"),
    ),
    Code.INVALID_LABEL_VALUE: (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        + _ALPHANUMERIC_ENDS,
        ("MyValue", "my_value", "12345"),
    ),
    Code.INVALID_LABEL_KEY: (
        "name part must consist of alphanumeric characters, '-', '_' or '.', " + _ALPHANUMERIC_ENDS,
        ("MyName", "my.name", "123-abc"),
    ),
    Code.INVALID_ENV_NAME: (
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
        "and must not start with a digit",
        ("my.env-name", "MY_ENV.NAME", "MyEnvName1"),
    ),
    Code.INVALID_CONFIG_KEY: (
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        ("key.name", "KEY_NAME", "key-name"),
    ),
}
"""For each rule of names: what a name must be, and examples."""

_DETAILS: Mapping[Code, str] = {
    Code.NAME_TOO_LONG: "must be no more than {most} characters",
    Code.EMPTY_PREFIX: "prefix part must be non-empty",
    Code.RESERVED_CONFIG_KEY: "must not be '{value}'",
    Code.RESERVED_PREFIX: "must not start with '..'",
    Code.RESERVED_PATH_SEGMENT: "may not be '{value}'",
    Code.INVALID_PATH_SEGMENT: "may not contain '{sign}'",
    Code.EMPTY_OWNER_FIELD: "{field} must not be empty",
    Code.SECOND_CONTROLLER: (
        'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
    ),
    Code.TWO_PROPAGATIONS: "finalizer orphan and foregroundDeletion cannot be both set",
    Code.NEGATIVE: "must be greater than or equal to 0",
    Code.OUT_OF_RANGE: "must be between {low} and {high}, inclusive",
    Code.NOT_UNIQUE: "must be unique",
    Code.NUL_CHARACTER: "must not contain a NUL character: no program can be given one",
    Code.NOT_RELATIVE: "must be a relative path",
    Code.LEAVES_VOLUME: "must not contain '..'",
    Code.INVALID_SUB_PATH: "must be a relative path without '..'",
    Code.VALUE_AND_SOURCE: "may not be specified when `value` is not empty",
    Code.NOT_ONE_SOURCE: "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
    Code.FIELD_AND_RESOURCE: "fieldRef and resourceFieldRef can not be specified simultaneously",
    Code.INVALID_MODE: "must be a number between 0 and 0777 (octal), both inclusive",
    Code.CONFLICTING_FILE: "conflicting duplicate paths",
    Code.INVALID_DIVISOR: "only divisor's values {allowed} are supported with the {resource} resource",
    Code.INVALID_QUANTITY: "must be a quantity, such as 500m, 2 or 1Gi",
    Code.ABOVE_LIMIT: "must be less than or equal to {resource} limit of {limit}",
    Code.NO_HANDLER: "must specify a handler type",
    Code.SECOND_HANDLER: "may not specify more than 1 handler type",
    Code.NOT_OF_INIT: "may not be set for init containers without restartPolicy=Always",
    Code.NOT_OF_READINESS: "must not be set for readinessProbes",
    Code.NOT_ONE: "must be 1",
    Code.NOT_POSITIVE: "must be greater than 0",
    Code.SLEEP_TOO_LONG: "must be non-negative integer less than terminationGracePeriodSeconds ({most})",
    Code.TOO_SHORT: "{path} in body should be at least {least} chars long",
    Code.NO_MATCH: "{path} in body should match '{pattern}'",
    Code.OUT_OF_FORMAT: "{path} in body must be of type {format}",
    Code.TOO_SMALL: "{path} in body should be greater than or equal to {bound}",
    Code.TOO_LARGE: "{path} in body should be less than or equal to {bound}",
    Code.NOT_ABOVE: "{path} in body should be greater than {bound}",
    Code.NOT_BELOW: "{path} in body should be less than {bound}",
    Code.NO_MULTIPLE: "{path} in body should be a multiple of {step}",
    Code.TOO_FEW: "{path} in body should have at least {least} {of}",
    Code.MATCHES_NONE: "{path} in body must validate at least one schema (anyOf)",
    Code.MATCHES_NOT_ONE: "{path} in body must validate one and only one schema (oneOf)",
    Code.MATCHES_NOT: "{path} in body must not validate the schema (not)",
}
"""The detail after `Invalid value: ...: `."""


def explain(errors: Iterable[FieldError]) -> Iterator[FieldCause]:
    return map(explain_error, errors)


def explain_error(error: FieldError) -> FieldCause:
    path = format_path(error.path)
    match error.code:
        case Code.NAME_REQUIRED:
            return required(path, "name or generateName is required")
        case Code.REQUIRED:
            return required(path)
        case Code.NO_HANDLER:
            return required(path, _explain_detail(error))
        case Code.SECOND_HANDLER | Code.NOT_OF_INIT:
            return forbidden(path, _explain_detail(error))
        case Code.DUPLICATE:
            return duplicate(path, error.value)
        case Code.NOT_FOUND:
            return missing(path, error.value)
        case Code.NOT_IN_ENUM:
            return not_supported(path, error.value, error.args["allowed"])
        case Code.NOT_SUPPORTED:
            return not_supported(path, error.value, sorted(error.args["allowed"]))
        case Code.WRONG_TYPE | Code.NUMBER_TOO_LARGE:
            detail = '{path} in body must be of type {wanted}: "{found}"'
            return wrong_type(path, error.value, detail.format(path=path, **error.args))
        case Code.NO_TIME:
            return wrong_type(path, error.value, f'{path} in body must be of type date-time: "{error.value}"')
        case Code.TOO_MANY:
            return too_many(path, error.value, error.args["most"])
        case Code.TOO_LONG:
            return too_long(path, error.args["most"])
        case _:
            return invalid(path, error.value, _explain_detail(error))


def _explain_detail(error: FieldError) -> str:
    part = f"{error.args['part']} part " if "part" in error.args else ""
    if error.code in _NAME_RULES:
        sentence, examples = _NAME_RULES[error.code]
        shown = " or ".join(f"'{example}', " for example in examples).replace(",  or", ",  or")
        return f"{part}{sentence} (e.g. {shown}regex used for validation is '{RULES[error.code].pattern}')"
    places = {
        "path": format_path(error.path),
        "value": error.value,
        "field": error.path[-1] if error.path else "",
        **error.args,
    }
    return part + brief_text(_DETAILS[error.code].format_map(places), SHOWN_DETAIL)


def format_path(path: Path) -> str:
    """`spec.containers[0].resources.limits[cpu]`"""
    text = ""
    for step in path:
        name = f"{step:.{_SHOWN_STEP}}" if isinstance(step, str) else str(step)
        text += f"[{name}]" if isinstance(step, int | Key) else f".{name}"
    return brief_text(text.removeprefix("."), _SHOWN_PATH)


def show(value: Any) -> str:
    """A value as a message quotes it: JSON, cut after 200 characters."""
    return '"null"' if value is None else brief_json(value, _SHOWN, spaces=True)


def required(path: str, detail: str = "") -> FieldCause:
    return FieldCause(path, f"Required value: {detail}" if detail else "Required value", "FieldValueRequired")


def invalid(path: str, value: Any, detail: str) -> FieldCause:
    return FieldCause(path, f"Invalid value: {show(value)}: {detail}", "FieldValueInvalid")


def wrong_type(path: str, value: Any, detail: str) -> FieldCause:
    return FieldCause(path, f"Invalid value: {show(value)}: {detail}", "FieldValueTypeInvalid")


def not_supported(path: str, value: Any, allowed: Iterable[Any]) -> FieldCause:
    names = ", ".join(show(one) for one in islice(allowed, _SHOWN_ALLOWED))
    return FieldCause(path, f"Unsupported value: {show(value)}: supported values: {names}", "FieldValueNotSupported")


def duplicate(path: str, value: Any) -> FieldCause:
    return FieldCause(path, f"Duplicate value: {show(value)}", "FieldValueDuplicate")


def missing(path: str, value: Any) -> FieldCause:
    """A reference to a name that does not exist."""
    return FieldCause(path, f"Not found: {show(value)}", "FieldValueNotFound")


def forbidden(path: str, detail: str) -> FieldCause:
    return FieldCause(path, f"Forbidden: {detail}", "FieldValueForbidden")


def too_long(path: str, limit: int) -> FieldCause:
    return FieldCause(path, f"Too long: may not be more than {limit} bytes", "FieldValueTooLong")


def too_many(path: str, found: int, limit: int) -> FieldCause:
    return FieldCause(path, f"Too many: {found}: must have at most {limit} items", "FieldValueTooMany")


def invalid_options(kind: str, *causes: FieldCause) -> Invalid:
    """The 422 of a query or a body that says how something is to be done: `CreateOptions`."""
    return invalid_object(f"{kind}.meta.k8s.io", kind, "", causes)


def build_invalid(served: ServedResource, name: str, causes: Sequence[FieldCause]) -> Invalid:
    """The 422 that names every wrong field of an object."""
    return invalid_object(served.qualified_kind, served.resource.kind, name, causes)


def invalid_object(qualified_kind: str, kind: str, name: str, causes: Sequence[FieldCause]) -> Invalid:
    shown = causes[:MOST_CAUSES]
    sentences = [f"{cause.field or '<root>'}: {cause.message}" for cause in shown]
    joined = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    name = brief_text(name, _SHOWN_PATH)
    group = qualified_kind.removeprefix(kind).removeprefix(".")
    return Invalid(f'{qualified_kind} "{name}" is invalid: {joined}', causes=shown, kind=kind, name=name, group=group)
