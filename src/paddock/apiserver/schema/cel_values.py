"""Values as a CEL rule of Kubernetes has them, made from JSON along a schema. Pure.

Fields get the names that CEL can say, texts that are times become times, numbers of type `number` become doubles; of
metadata there are the two names, and what a schema does not declare has a name that no rule can say. Lists that are
sets or maps have no order in Kubernetes: a reading puts them in one of three, and tells whether it met any
(`objects.cel_child` asks a rule in each where it matters).
Source: Kubernetes, "validation rules" (escaping, types); apiserver, pkg/cel (escaping.go) and common (values.go).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

Order = Literal["given", "sorted", "reversed"]
Times = Callable[[str, str], Any]
"""The value of a text of the format `date`, `date-time` or `duration`."""

_NAMEABLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_RESERVED = frozenset(
    ["as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while"]
)  # fmt: skip
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[./-]")
_OFFSET = re.compile(r"T.*[+-]\d\d:?\d\d$", re.I)
_HIDDEN = "\0"
_META_NAMES = ("name", "generateName")
_TIMES = ("date", "date-time", "datetime", "duration")


class Unreadable(Exception):
    """A value that CEL cannot be given."""


def escape(name: str) -> str | None:
    """The name of a field in CEL; None if it has none."""
    if not _NAMEABLE.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)


class ValueReading:
    """Reads values in one order of their sets."""

    def __init__(self, times: Times, order: Order = "given") -> None:
        self.met_unordered = False
        """Whether it met a list without order that has two items or more."""
        self.met_offset = False
        """Whether it met a time with an offset from UTC."""
        self._times, self._order = times, order

    def read(self, value: Any, schema: Mapping[str, Any], *, root: bool = False) -> Any:
        """Raises `Unreadable`."""
        if value is None or schema.get("x-kubernetes-int-or-string"):
            return value
        match schema.get("type"):
            case "object" if isinstance(value, Mapping):
                return self._read_object(value, schema, root)
            case "array" if isinstance(value, list):
                return self._read_list(value, schema)
            case "number" if isinstance(value, int | float):
                return float(value)
            case "integer" if isinstance(value, float) and value.is_integer():
                return int(value)
            case "string" if isinstance(value, str):
                return self._read_text(value, str(schema.get("format") or ""))
        return value

    def _read_text(self, text: str, format: str) -> Any:
        if format == "byte":
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as error:
                raise Unreadable("a value of format byte that is not base64") from error
        if format not in _TIMES:
            return text
        self.met_offset |= bool(_OFFSET.search(text))
        return self._times(format, text)

    def _read_object(self, value: Mapping[str, Any], schema: Mapping[str, Any], root: bool) -> dict[str, Any]:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(others, Mapping) and not properties:
            if _is_unknown(others):
                return {_HIDDEN + name: one for name, one in value.items()}
            return {name: self.read(one, others) for name, one in value.items()}
        read: dict[str, Any] = {}
        whole = (root or bool(schema.get("x-kubernetes-embedded-resource"))) and not _declares_identity(properties)
        for name, one in value.items():
            inner = properties.get(name) if isinstance(properties, Mapping) else None
            if whole and name in ("apiVersion", "kind", "metadata"):
                read[name] = _read_identity(name, one)
            elif not isinstance(inner, Mapping) or _is_unknown(inner):
                # No rule can name it, and it makes two objects differ.
                read[_HIDDEN + name] = one
            # A null of a field that may be null is as no field at all, as in Kubernetes.
            elif one is not None:
                self._add(read, name, self.read(one, inner))
        return read

    def _add(self, read: dict[str, Any], name: str, value: Any) -> None:
        escaped = escape(name)
        if escaped is not None:
            read[escaped] = value
            # Newer servers take `self.`a-b`` and `self.namespace`, too.
            if not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
                read[name] = value

    def _read_list(self, value: list[Any], schema: Mapping[str, Any]) -> list[Any]:
        items = schema.get("items")
        read = [self.read(one, items) if isinstance(items, Mapping) else one for one in value]
        if schema.get("x-kubernetes-list-type") in ("set", "map") and len(read) > 1:
            self.met_unordered = True
            if self._order != "given":
                read.sort(key=_sort_key, reverse=self._order == "reversed")
        return read


def _declares_identity(properties: Any) -> bool:
    """Whether a schema says itself what `metadata` has; else it is given the two names (WithTypeAndObjectMeta)."""
    if not isinstance(properties, Mapping) or not isinstance(properties.get("metadata"), Mapping):
        return False
    return bool(properties["metadata"].get("properties")) and {"apiVersion", "kind"} <= set(properties)


def _read_identity(name: str, value: Any) -> Any:
    if name != "metadata" or not isinstance(value, Mapping):
        return value
    return {key: value[key] for key in _META_NAMES if value.get(key)}


def _is_unknown(schema: Mapping[str, Any]) -> bool:
    """Whether CEL does not see values of this schema."""
    for _ in range(100):
        inner = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
        if not isinstance(inner, Mapping) or schema.get("properties"):
            break
        schema = inner
    return not schema.get("type") and not schema.get("x-kubernetes-int-or-string")


def _sort_key(value: Any) -> str:
    if isinstance(value, dict):
        return repr([(key, _sort_key(value[key])) for key in sorted(value)])
    return repr([_sort_key(one) for one in value]) if isinstance(value, list) else f"{type(value).__name__} {value!s}"
