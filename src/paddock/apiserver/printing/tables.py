"""Renders objects as a meta.k8s.io/v1 Table, on the server as Kubernetes does, for `kubectl get`.

Columns come from `printers` (built-in kinds that need more than paths) or from the kind's `Column`s (built-in or from
its CRD). The name is always first. Ages are relative to `now`, so a Table must not be cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.apiserver.printing.cells import UNKNOWN, format_age
from paddock.apiserver.printing.printers import PRINTERS
from paddock.apiserver.schema.brief import brief_json, brief_text
from paddock.apiserver.schema.json_path import find
from paddock.apiserver.schema.resource import Column, ServedResource
from paddock.kube.meta import Manifest, metadata, name_of
from paddock.kube.times import Moment

_MOST_CHARACTERS = 1_024
"""Of one cell. A column may show a part of the object, and a kind may have a hundred of them."""
_NAME = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}


def build_table(
    served: ServedResource,
    objects: Sequence[Manifest],
    resource_version: str,
    now: Moment,
    *,
    include: str = "Metadata",
) -> Manifest:
    """`include` is what each row contains beside its cells: "Metadata", "Object" or "None" (includeObject=)."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": resource_version},
        "columnDefinitions": build_columns(served),
        "rows": [build_row(served, obj, now, include) for obj in objects],
    }


def build_columns(served: ServedResource) -> list[Manifest]:
    """The columnDefinitions of a Table."""
    printer = PRINTERS.get((served.resource.group, served.resource.kind)) if not served.custom else None
    if printer is not None:
        rest = [
            {"name": name, "type": kind, "format": "", "description": "", "priority": priority}
            for name, kind, priority in printer.columns
        ]
    else:
        rest = [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in served.columns
        ]
    return [_NAME, *rest]


def build_row(served: ServedResource, obj: Manifest, now: Moment, include: str) -> Manifest:
    """The row of one object."""
    try:
        cells = _build_cells(served, obj, now)
    except (TypeError, ValueError, LookupError, AttributeError):
        # An object of a store that was damaged may have any shape. The other rows must be shown.
        cells = [UNKNOWN] * (len(build_columns(served)) - 1)
    row: Manifest = {"cells": [name_of(obj), *cells]}
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = build_partial(obj)
    return row


def build_partial(obj: Mapping[str, Any]) -> Manifest:
    """The object's metadata only, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata(obj)}


def _build_cells(served: ServedResource, obj: Manifest, now: Moment) -> list[Any]:
    printer = PRINTERS.get((served.resource.group, served.resource.kind)) if not served.custom else None
    if printer is not None:
        return printer.cells(obj, now)
    return [_build_cell(column, obj, now) for column in served.columns]


def _build_cell(column: Column, obj: Mapping[str, Any], now: Moment) -> Any:
    """The cell of a `Column`; None if the path finds nothing or a value of another type."""
    found = [value for value in find(column.path, obj) if value is not None]
    if not found:
        return UNKNOWN if column.path == ".metadata.creationTimestamp" and column.type == "date" else None
    first = found[0]
    if column.type == "date":
        return format_age(str(first), now)
    if column.type == "string":
        return brief_text(" ".join(_text(value) for value in found[:_MOST_CHARACTERS]), _MOST_CHARACTERS)
    if column.type == "boolean":
        return first if isinstance(first, bool) else None
    if isinstance(first, bool) or not isinstance(first, int | float):
        return None
    return int(first) if column.type == "integer" else float(first)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else brief_json(value, _MOST_CHARACTERS)
