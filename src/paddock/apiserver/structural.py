"""The walk of an object along its structural schema: prunes what the schema does not know, fills in defaults, and finds
every wrong value at once.

Source: apiextensions' structural schemas (pruning, defaulting, nullable, int-or-string, embedded-resource).
What a schema says about one value is in `values`, what a whole object needs besides (names, metadata) in `validation`.
Not done: CEL rules (`x-kubernetes-validations`). A rule that must hold: reading its own output changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.apiserver import field_errors
from paddock.apiserver.values import TYPES, check_value, is_integer, is_number, type_error
from paddock.kube import schemas
from paddock.kube.errors import FieldCause

Schema = Mapping[str, Any]
_EMBEDDED = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
_OPEN: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_OPEN_WORDS = {"x-kubernetes-preserve-unknown-fields", "type", "nullable", "description"}


@dataclass
class Reading:
    """What one walk has found. `unknown` holds the paths of pruned fields and the names that were known beside them.

    `lenient` reads as Kubernetes' own kinds are decoded: null is as good as absent, and an amount may be a number.
    """

    lenient: bool = False
    causes: list[FieldCause] = field(default_factory=list)
    unknown: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def read(self, value: Any, schema: Schema, path: str = "") -> Any:
        """A copy of `value`, pruned and defaulted. Wrong values are kept as they are and listed in `causes`.

        What is read along a schema that says nothing is shared with `value`: a CRD's own schemas are 100 KB each.
        """
        if value is None:
            if not (schema.get("nullable") or _accepts_anything(schema)):
                self.causes.append(type_error(path, None, _type_name(schema)))
            return None
        if schema.keys() <= _OPEN_WORDS and _accepts_anything(schema) and _has_type(value, schema):
            return value
        found = len(self.causes)
        read = self._read_typed(value, schema, path)
        if len(self.causes) == found:
            self.causes += check_value(read, schema, path)
            self._check_junctors(read, schema, path)
        return read

    def _read_typed(self, value: Any, schema: Schema, path: str) -> Any:
        if schema.get("x-kubernetes-int-or-string"):
            return self._read_int_or_string(value, path)
        wanted = schema.get("type")
        if wanted == "object" or (wanted is None and isinstance(value, dict)):
            return self._read_object(value, schema, path)
        if wanted == "array" or (wanted is None and isinstance(value, list)):
            return self._read_array(value, schema, path)
        if wanted is None or TYPES[wanted](value):
            return int(value) if wanted == "integer" else value
        self.causes.append(type_error(path, value, wanted))
        return value

    def _read_int_or_string(self, value: Any, path: str) -> Any:
        if isinstance(value, str) or is_integer(value) or (self.lenient and is_number(value)):
            return value
        self.causes.append(type_error(path, value, "integer,string"))
        return value

    def _read_object(self, value: Any, schema: Schema, path: str) -> Any:
        if not isinstance(value, dict):
            self.causes.append(type_error(path, value, "object"))
            return value
        properties = schema.get("properties") or {}
        if schema.get("x-kubernetes-embedded-resource"):
            properties = _embedded(properties)
            self._require(value, ("apiVersion", "kind"), path)
        read = {}
        for name, item in value.items():
            kept, item_schema = self._schema_of(name, schema, properties, path)
            if kept and not self._is_absent(item, item_schema):
                read[name] = self.read(item, item_schema, f"{path}.{name}" if path else name)
        for name, property_schema in properties.items():
            if name not in read and "default" in property_schema:
                filled = copy.deepcopy(property_schema["default"])
                read[name] = self.read(filled, property_schema, f"{path}.{name}" if path else name)
        self._require(read, schema.get("required") or (), path)
        return read

    def _schema_of(self, name: str, schema: Schema, properties: Mapping[str, Schema], path: str) -> tuple[bool, Schema]:
        """Whether a field is kept, and along which schema it is read."""
        if name in properties:
            return True, properties[name]
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            return True, additional
        if additional is True or _accepts_anything(schema) or ("type" not in schema and not properties):
            return True, _OPEN
        self.unknown.append((f"{path}.{name}" if path else name, tuple(properties)))
        return False, _OPEN

    def _is_absent(self, value: Any, schema: Schema) -> bool:
        """Kubernetes prunes a null that the schema does not allow if a default can take its place."""
        if value is not None or _accepts_anything(schema) or (schema.get("nullable") and not self.lenient):
            return False
        return self.lenient or "default" in schema

    def _require(self, value: Mapping[str, Any], names: Any, path: str) -> None:
        for name in names:
            if name not in value:
                self.causes.append(field_errors.required(f"{path}.{name}" if path else name))

    def _read_array(self, value: Any, schema: Schema, path: str) -> Any:
        if not isinstance(value, list):
            self.causes.append(type_error(path, value, "array"))
            return value
        items = schema.get("items")
        items = items if isinstance(items, Mapping) else _OPEN
        return [self.read(item, items, f"{path}[{index}]") for index, item in enumerate(value)]

    def _check_junctors(self, value: Any, schema: Schema, path: str) -> None:
        for one in schema.get("allOf") or ():
            self.judge(value, one, path)
        for junctor, holds, detail in _JUNCTORS:
            if junctor in schema:
                valid = sum(not self._errors(value, one, path) for one in schema[junctor])
                if not holds(valid):
                    self.causes.append(field_errors.invalid(path, value, f"{path} in body {detail}"))
        if "not" in schema and not self._errors(value, schema["not"], path):
            detail = f"{path} in body must not validate the schema (not)"
            self.causes.append(field_errors.invalid(path, value, detail))

    def judge(self, value: Any, schema: Schema, path: str) -> None:
        """Checks a value along one more schema, which neither prunes nor fills in."""
        self.causes += self._errors(value, schema, path)

    def _errors(self, value: Any, schema: Schema, path: str) -> list[FieldCause]:
        """What a schema inside allOf, anyOf, oneOf or not finds: it judges, and neither prunes nor fills in."""
        judge = Reading(lenient=self.lenient)
        judge.read(value, schema, path)
        return judge.causes


_JUNCTORS: tuple[tuple[str, Callable[[int], bool], str], ...] = (
    ("anyOf", lambda valid: valid >= 1, "must validate at least one schema (anyOf)"),
    ("oneOf", lambda valid: valid == 1, "must validate one and only one schema (oneOf)"),
)


def _embedded(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {**_EMBEDDED, "metadata": schemas.definition("ObjectMeta"), **properties}


def _accepts_anything(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _has_type(value: Any, schema: Schema) -> bool:
    return "type" not in schema or TYPES[schema["type"]](value)


def _type_name(schema: Schema) -> str:
    return "integer,string" if schema.get("x-kubernetes-int-or-string") else str(schema.get("type", "object"))
