"""Custom kinds: validates a CustomResourceDefinition and builds the kinds to serve for it.

Source: apiextensions.k8s.io/v1. Left out: conversion by webhook (all versions share one shape), selectable fields.
CEL rules are read here and asked by `objects.cel_runner`. Schemas must be structural (`schema.schema_rules`);
`kube.validation.structural` reads objects by them. The status of a CRD is set in `objects.builtin_strategies`; the
built-in kinds are in `built_ins`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.cel_rules import find_rules
from paddock.apiserver.schema.json_path import read_path
from paddock.apiserver.schema.resource import AGE, Column, ServedResource
from paddock.apiserver.schema.schema_rules import explain_schema
from paddock.kube import schemas
from paddock.kube.budget import Budget
from paddock.kube.errors import FieldCause
from paddock.kube.meta import Manifest, Resource, name_of
from paddock.kube.validation.names import DNS_LABEL, DNS_SUBDOMAIN
from paddock.kube.validation.structural import Reading

MOST_COLUMNS = 100
"""Of one version: a list as a Table has them for each of its objects."""
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")


_MOST_CHECKED = 256
_checked: set[bytes] = set()
"""Digests of CRDs without errors: the check of a large one takes seconds, and need not be made again once it is stored,
nor by another server of this process."""


def read_crd(crd: Manifest) -> tuple[ServedResource, ...]:
    """The kinds to serve for a CRD, one per served version. `Invalid` lists its errors."""
    if digest_crd(crd) not in _checked:
        if causes := explain_crd(crd):
            raise field_errors.invalid_object(
                "CustomResourceDefinition.apiextensions.k8s.io", "CustomResourceDefinition", name_of(crd), causes
            )
        remember_checked(crd)
    return tuple(_read_version(crd, version) for version in crd["spec"]["versions"] if version["served"])


def remember_checked(crd: Mapping[str, Any]) -> None:
    """This CRD has no errors."""
    if len(_checked) >= _MOST_CHECKED:
        _checked.clear()
    _checked.add(digest_crd(crd))


def digest_crd(crd: Mapping[str, Any]) -> bytes:
    """A hash of what `explain_crd` reads."""
    return hashlib.sha256(msgspec.json.encode([name_of(crd), crd.get("spec")])).digest()


def _read_version(crd: Manifest, version: Mapping[str, Any]) -> ServedResource:
    spec = crd["spec"]
    names = build_names(spec["names"])
    subresources = version.get("subresources") or {}
    return ServedResource(
        resource=Resource(
            spec["group"], version["name"], names["kind"], names["plural"], namespaced=spec["scope"] == "Namespaced"
        ),
        singular=names["singular"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(name for name in ("status", "scale") if subresources.get(name) is not None),
        schema=version["schema"]["openAPIV3Schema"],
        rules=find_rules(version["schema"]["openAPIV3Schema"]),
        columns=_read_columns(version.get("additionalPrinterColumns") or ()),
        custom=True,
        storage=version["storage"],
        scale=subresources.get("scale"),
        list_kind=names["listKind"],
    )


def _read_columns(columns: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns of a CRD version; the age if it defines none."""
    read = tuple(
        Column(
            name=column["name"],
            type=column["type"],
            path=column["jsonPath"],
            priority=column.get("priority", 0),
            format=column.get("format", ""),
            description=column.get("description", ""),
        )
        for column in columns
    )
    return read or (AGE,)


def build_names(names: Mapping[str, Any]) -> Manifest:
    """`spec.names` with defaults for the optional names."""
    return {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}


def explain_crd(crd: Mapping[str, Any], budget: Budget | None = None) -> list[FieldCause]:
    """The errors of a CRD, at most `MOST_CAUSES`; empty if it can be served. Raises `Exhausted`."""
    return list(islice(_explain_crd(crd, budget or Budget()), field_errors.MOST_CAUSES))


def _explain_crd(crd: Mapping[str, Any], budget: Budget) -> Iterator[FieldCause]:
    reading = Reading(lenient=True, budget=budget)
    read = reading.read(dict(crd), schemas.definition("CustomResourceDefinition"))
    if reading.errors:
        yield from field_errors.explain(reading.errors)
    elif not isinstance(read.get("spec"), Mapping):
        yield field_errors.required("spec")
    else:
        yield from _explain_names(read)
        yield from _explain_versions(read["spec"]["versions"], budget)


def _explain_names(crd: Mapping[str, Any]) -> Iterator[FieldCause]:
    spec, names = crd["spec"], crd["spec"]["names"]
    expected = f"{names['plural']}.{spec['group']}"
    if name_of(crd) != expected:
        detail = f'must be spec.names.plural+"."+spec.group (here "{expected}")'
        yield field_errors.invalid("metadata.name", name_of(crd), detail)
    yield from field_errors.explain(DNS_SUBDOMAIN.check(spec["group"], ("spec", "group")))
    if "." not in spec["group"]:
        yield field_errors.invalid("spec.group", spec["group"], "should be a domain with at least one dot")
    if spec["scope"] not in ("Cluster", "Namespaced"):
        yield field_errors.not_supported("spec.scope", spec["scope"], ("Cluster", "Namespaced"))
    for field in ("plural", "kind"):
        # A kind has capitals, so Kubernetes checks it in lower case; the message shows it as it was written.
        for error in DNS_LABEL.check(names[field].lower(), ("spec", "names", field)):
            yield field_errors.explain_error(replace(error, value=names[field]))


def _explain_versions(versions: Sequence[Mapping[str, Any]], budget: Budget) -> Iterator[FieldCause]:
    stored = [version["name"] for version in versions if version["storage"]]
    if len(stored) != 1:
        detail = "must have exactly one version marked as storage version"
        yield field_errors.invalid("spec.versions", stored, detail)
    seen: set[str] = set()
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if version["name"] in seen:
            yield field_errors.duplicate(f"{path}.name", version["name"])
        seen.add(version["name"])
        yield from field_errors.explain(DNS_LABEL.check(version["name"], (path, "name")))
        yield from _explain_root(version, f"{path}.schema.openAPIV3Schema", budget)
        yield from _explain_columns(version, path)


def _explain_columns(version: Mapping[str, Any], path: str) -> Iterator[FieldCause]:
    columns = version.get("additionalPrinterColumns") or ()
    if len(columns) > MOST_COLUMNS:
        yield field_errors.too_many(f"{path}.additionalPrinterColumns", len(columns), MOST_COLUMNS)
    for index, column in enumerate(columns[:MOST_COLUMNS]):
        if column["type"] not in _COLUMN_TYPES:
            yield field_errors.not_supported(
                f"{path}.additionalPrinterColumns[{index}].type", column["type"], _COLUMN_TYPES
            )
        try:
            read_path(column["jsonPath"])
        except ValueError as error:
            yield field_errors.invalid(
                f"{path}.additionalPrinterColumns[{index}].jsonPath", column["jsonPath"], str(error)
            )


def _explain_root(version: Mapping[str, Any], path: str, budget: Budget) -> Iterator[FieldCause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        yield field_errors.required(path, "schemas are required")
    elif schema.get("type") != "object":
        yield field_errors.invalid(f"{path}.type", schema.get("type"), "must be object at the root")
    else:
        yield from explain_schema(schema, path, budget)
