"""Nulls of a job's spec, as an API server of its kind reads them: `env:` with nothing behind it is as good as absent.

Source: apiextensions' PruneNonNullableNullsWithoutDefaults: a null goes wherever the schema has the field and is not
`nullable`, values of maps included; an item of a list stays, and is refused (`kube.validation.structural` does the same
in the server). A map's value is its user's own, so what is left out there is told. Metadata is decoded otherwise: a
null label is an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from paddock.kube.meta import Manifest
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told

Schema: TypeAlias = Mapping[str, Any]


def without_nulls(manifest: Mapping[str, Any], schema: Schema) -> Manifest:
    """A manifest whose spec has no nulls but those of lists, and of what the schema does not know."""
    result = dict(manifest)
    inner = _schema_of("spec", schema)
    if inner is not None and "spec" in result:
        result["spec"] = _prune(result["spec"], inner)
        if result["spec"] is None:
            del result["spec"]
    return result


def check_nulls(value: Any, schema: Schema, path: str = "") -> Iterator[Problem]:
    """A warning for each null among the values of a map, whose name the user has chosen: a label, a resource, a role.
    `schema`: of `value`, which is at `path`."""
    if isinstance(value, Mapping):
        names = schema.get("properties") or {}
        for key, item in value.items():
            inner = _schema_of(key, schema)
            if inner is None:
                continue
            if item is None and key not in names:
                said = phrase("has no value, so Kubernetes leaves it out: write one, or remove the line")
                yield told(join_path(path, key), said, severity="warning", about_key=True)
            yield from check_nulls(item, inner, join_path(path, key))
    elif isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from check_nulls(item, items, join_path(path, index))


def _prune(value: Any, schema: Schema) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _schema_of(key, schema) for key in value}
        return {
            key: item if (one := inner[key]) is None else _prune(item, one)
            for key, item in value.items()
            if not (item is None and (one := inner[key]) is not None and not one.get("nullable"))
        }
    if isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        return [_prune(item, items) for item in value]
    return value


def _schema_of(key: str, schema: Schema) -> Schema | None:
    """Of a field, or of a map's value; None if the schema says nothing of it."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    return properties.get(key, others if isinstance(others, Mapping) else None)
