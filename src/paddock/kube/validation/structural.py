"""Reads a value along its structural schema: prunes unknown fields, sets defaults, and finds all wrong values at once.

Source: apiextensions' structural schemas (pruning, defaulting, nullable, int-or-string, embedded-resource).
`values` has the rules of a single value, `metadata` those of an object's metadata. CEL rules
(`x-kubernetes-validations`) are asked by the server that has the object. Invariant: reading is idempotent.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paddock.kube import schemas
from paddock.kube.budget import Budget
from paddock.kube.validation.field_errors import Code, FieldError, Path
from paddock.kube.validation.values import TYPES, check_value, is_integer, is_number, type_error

Schema = Mapping[str, Any]
_EMBEDDED = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
_OPEN: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_ZEROS: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}}
_OPEN_KEYWORDS = {"x-kubernetes-preserve-unknown-fields", "type", "nullable", "description"}
_PLAIN_KEYWORDS = {"type", "nullable", "description"}
_PLAIN_TYPES: Mapping[str, type] = {"string": str, "boolean": bool}
"""With no other keyword, these ask nothing of a value but its type: most values of a pod are such."""
CHECKED_KEYWORDS = frozenset(
    {"enum", "maxLength", "minLength", "pattern", "format", "minimum", "maximum", "multipleOf", "maxItems", "minItems",
     "x-kubernetes-list-type", "maxProperties", "minProperties", "allOf", "anyOf", "oneOf", "not"}
)  # fmt: skip
"""At which `check_value` and the junctors look; without one of them every value of the right type is right."""
MOST_ERRORS = 1_000
"""Of one walk, and as many unknown fields: 3 MB of wrong values would be 3 GB of errors."""

# The costs of a walk in steps (`kube.budget`): of a value; of a name in a schema, each time that it is looked at; of
# one more schema for a value; of a default, which each item of a long list gets.
_VALUE, _NAME, _JUNCTION, _DEFAULT = 2, 1 / 10, 10, 10


@dataclass
class Reading:
    """One walk and its errors."""

    lenient: bool = False
    """As Kubernetes decodes its own kinds: a quantity may be any number, a null in a map or a list is a zero value."""
    errors: list[FieldError] = field(default_factory=list)
    unknown: list[FieldError] = field(default_factory=list)
    """An error for each pruned field, with the names of the known fields."""
    budget: Budget = field(default_factory=Budget)
    """Of a walk over a schema that somebody sent, as its size multiplies that of the value."""

    def read(self, value: Any, schema: Schema, path: Path = ()) -> Any:
        """A copy of `value`, pruned and defaulted. Wrong values are kept, and listed in `errors`. Raises `Exhausted`.

        Parts whose schema says nothing are shared with `value`: a CRD's own schemas are 100 KB each.
        """
        self.budget.spend(_VALUE)
        if len(self.errors) >= MOST_ERRORS:
            return value
        if value is None:
            if not (schema.get("nullable") or _accepts_anything(schema)):
                self.errors.append(type_error(path, None, _type_name(schema)))
            return None
        if schema.keys() <= _PLAIN_KEYWORDS and type(value) is _PLAIN_TYPES.get(schema.get("type", "")):
            return value
        if schema.keys() <= _OPEN_KEYWORDS and _accepts_anything(schema) and _has_type(value, schema):
            return value
        found = len(self.errors)
        read = self._read_typed(value, schema, path)
        if len(self.errors) == found and not CHECKED_KEYWORDS.isdisjoint(schema):
            self.errors += check_value(read, schema, path, self.budget)
            self._check_junctors(read, schema, path)
        return read

    def _read_typed(self, value: Any, schema: Schema, path: Path) -> Any:
        if schema.get("x-kubernetes-int-or-string"):
            return self._read_int_or_string(value, path)
        wanted = schema.get("type")
        if wanted == "object" or (wanted is None and isinstance(value, dict)):
            return self._read_object(value, schema, path)
        if wanted == "array" or (wanted is None and isinstance(value, list)):
            return self._read_array(value, schema, path)
        if wanted is None or TYPES[wanted](value):
            return int(value) if wanted == "integer" else value
        self.errors.append(type_error(path, value, wanted))
        return value

    def _read_int_or_string(self, value: Any, path: Path) -> Any:
        if isinstance(value, str) or is_integer(value) or (self.lenient and is_number(value)):
            return value
        self.errors.append(type_error(path, value, "integer,string"))
        return value

    def _read_object(self, value: Any, schema: Schema, path: Path) -> Any:
        if not isinstance(value, dict):
            self.errors.append(type_error(path, value, "object"))
            return value
        properties = schema.get("properties") or {}
        required = schema.get("required") or ()
        self.budget.spend((len(properties) + len(required)) * _NAME)
        if schema.get("x-kubernetes-embedded-resource"):
            properties = _embedded(properties)
            self._require(value, ("apiVersion", "kind"), properties, path)
        read = {}
        for name, item in value.items():
            kept, item_schema = True, properties.get(name)
            if item_schema is None or item is None:
                kept, item_schema = self._schema_of(name, schema, properties, path)
                if item is None and self.lenient and name not in properties:
                    item = _zero(item_schema)
                kept = kept and not self._is_absent(item, item_schema)
            if kept:
                read[name] = self.read(item, item_schema, (*path, name))
        for name in [each for each, its in properties.items() if "default" in its and each not in read]:
            property_schema = properties[name]
            self.budget.spend(_DEFAULT + _weigh(property_schema["default"]))
            filled = copy.deepcopy(property_schema["default"])
            read[name] = self.read(filled, property_schema, (*path, name))
        if required:
            self._require(read, required, properties, path)
        return read

    def _schema_of(
        self, name: str, schema: Schema, properties: Mapping[str, Schema], path: Path
    ) -> tuple[bool, Schema]:
        """Whether the field is kept, and its schema."""
        if name in properties:
            return True, properties[name]
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            return True, additional
        if additional is True or _accepts_anything(schema) or ("type" not in schema and not properties):
            return True, _OPEN
        if len(self.unknown) < MOST_ERRORS:
            self.unknown.append(FieldError(Code.UNKNOWN_FIELD, (*path, name), name, {"known": properties.keys()}))
        return False, _OPEN

    def _is_absent(self, value: Any, schema: Schema) -> bool:
        """Whether a null counts as absent. Of a custom kind it does wherever the schema has the field and is not
        `nullable` (apiextensions' PruneNonNullableNullsWithoutDefaults, before defaults are set)."""
        if value is not None or schema is _OPEN:
            return False
        return not _accepts_anything(schema) if self.lenient else not schema.get("nullable")

    def _require(self, value: Mapping[str, Any], names: Any, properties: Mapping[str, Schema], path: Path) -> None:
        for name in names:
            if len(self.errors) >= MOST_ERRORS:
                return
            if name not in value:
                wanted = (properties.get(name) or {}).get("type", "")
                self.errors.append(FieldError(Code.REQUIRED, (*path, name), None, {"type": wanted}))

    def _read_array(self, value: Any, schema: Schema, path: Path) -> Any:
        if not isinstance(value, list):
            self.errors.append(type_error(path, value, "array"))
            return value
        items = schema.get("items")
        items = items if isinstance(items, Mapping) else _OPEN
        if self.lenient:
            value = [_zero(items) if item is None else item for item in value]
        return [self.read(item, items, (*path, index)) for index, item in enumerate(value)]

    def _check_junctors(self, value: Any, schema: Schema, path: Path) -> None:
        for one in schema.get("allOf") or ():
            self.validate(value, one, path)
        for junctor, holds, code in _JUNCTORS:
            if junctor in schema:
                valid = sum(not self._errors(value, one, path) for one in schema[junctor])
                if not holds(valid):
                    self.errors.append(FieldError(code, path, value))
        if "not" in schema and not self._errors(value, schema["not"], path):
            self.errors.append(FieldError(Code.MATCHES_NOT, path, value))

    def validate(self, value: Any, schema: Schema, path: Path) -> None:
        """Validates a value against one more schema, without pruning and defaults."""
        if len(self.errors) < MOST_ERRORS:
            self.errors += self._errors(value, schema, path)

    def _errors(self, value: Any, schema: Schema, path: Path) -> list[FieldError]:
        """The errors by a schema that only validates, as those inside allOf, anyOf, oneOf and not."""
        self.budget.spend(_JUNCTION)
        reading = Reading(lenient=self.lenient, budget=self.budget)
        reading.read(value, schema, path)
        return reading.errors


_JUNCTORS: tuple[tuple[str, Callable[[int], bool], Code], ...] = (
    ("anyOf", lambda valid: valid >= 1, Code.MATCHES_NONE),
    ("oneOf", lambda valid: valid == 1, Code.MATCHES_NOT_ONE),
)


def _zero(schema: Schema) -> Any:
    """What Go decodes from a null in a map or a list; None for a type whose zero value is null again."""
    if schema.get("x-kubernetes-int-or-string"):
        return "0"
    return copy.copy(_ZEROS.get(schema.get("type", "")))


def _weigh(default: Any) -> float:
    """The steps of copying it: by its bytes of JSON."""
    if isinstance(default, dict | list):
        return len(msgspec.json.encode(default)) / 2
    return len(default) / 16 if isinstance(default, str) else 0


def _embedded(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {**_EMBEDDED, "metadata": schemas.definition("ObjectMeta"), **properties}


def _accepts_anything(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _has_type(value: Any, schema: Schema) -> bool:
    return "type" not in schema or TYPES[schema["type"]](value)


def _type_name(schema: Schema) -> str:
    return "integer,string" if schema.get("x-kubernetes-int-or-string") else str(schema.get("type", "object"))
