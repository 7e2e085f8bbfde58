"""Schemas of Kubernetes' own kinds: OpenAPI definitions, and self-contained ones for CRDs.

The data is generated (`tools/generate_schemas.py`) and read on first use, not at import. Never change a returned
schema: definitions share their parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"


@cache
def definitions() -> Mapping[str, Schema]:
    """All definitions by full name (`io.k8s.api.core.v1.Pod`), with `$ref`s to each other."""
    import gzip
    from importlib.resources import files

    data = files("paddock.kube").joinpath("data/schemas.json.gz").read_bytes()
    loaded: dict[str, Schema] = json.loads(gzip.decompress(data))
    return loaded


@cache
def full_name(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` for `Pod`; a full name is returned unchanged. `KeyError` if there is none."""
    if name in definitions():
        return name
    for candidate in definitions():
        if candidate.rsplit(".", 1)[1] == name:
            return candidate
    raise KeyError(f"no Kubernetes schema is called {name!r}")


@cache
def definition(name: str) -> Schema:
    """The structural schema of a kind or of a part (`"PodTemplateSpec"`), with every reference resolved.

    Parts are shared, so it is small in memory; as JSON a PodTemplateSpec is about 50 KB.
    """
    inlined: Schema = _inline(definitions()[full_name(name)])
    return inlined


def _inline(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return [_inline(item) for item in schema] if isinstance(schema, list) else schema
    if "$ref" in schema:
        return definition(schema["$ref"].removeprefix(_REFERENCE))
    return {key: _inline(value) for key, value in schema.items()}


def closure(*names: str) -> dict[str, Schema]:
    """The definitions of `names` and all definitions that they refer to, by full name, for an OpenAPI document."""
    wanted = [full_name(name) for name in names]
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = definitions()[name]
            wanted += _references(found[name])
    return dict(sorted(found.items()))


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(_REFERENCE)
        for value in schema.values():
            yield from _references(value)
