"""A Dataset object as a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.datasets.sources import Source, check_options, read_source
from paddock.kube.datasets import read_claim
from paddock.kube.meta import Key, is_deleting, key_of, metadata, uid_of

DEFAULT_SIZE = "10Gi"
"""Of the claim on a cluster, where `spec.storage.size` says nothing."""


@dataclass(frozen=True, slots=True)
class Storage:
    """`spec.storage`: the claim that is made on a cluster. Empty: the cluster's default."""

    size: str = DEFAULT_SIZE
    storage_class: str = ""
    access_modes: tuple[str, ...] = ("ReadWriteMany",)


@dataclass(frozen=True, slots=True)
class Definition:
    """`spec` of a Dataset; the fields are described in `datasets.crd`. `round` grows by one for each fetch anew."""

    key: Key
    uid: str
    source: Source
    claim: str
    generation: int = 0
    deleting: bool = False
    sha256: str = ""
    revision: str = ""
    endpoint: str = ""
    region: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    secret_name: str = ""
    round: int = 0
    storage: Storage = Storage()


def read_definition(manifest: Mapping[str, Any]) -> Definition:
    """The definition of a stored Dataset, which the API validated against the schema. Raises `BadSource`."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    source: Mapping[str, Any] = spec.get("source") or {}
    address = read_source(str(source.get("uri") or ""))
    check_options(address, source)
    return Definition(
        key=key_of(manifest),
        uid=uid_of(manifest),
        source=address,
        claim=read_claim(manifest),
        generation=int(metadata(manifest).get("generation") or 0),
        deleting=is_deleting(manifest),
        sha256=str(source.get("sha256") or "").lower(),
        revision=str(source.get("revision") or ""),
        endpoint=str(source.get("endpoint") or ""),
        region=str(source.get("region") or ""),
        include=tuple(source.get("include") or ()),
        exclude=tuple(source.get("exclude") or ()),
        secret_name=str(source.get("secretName") or ""),
        round=int(spec.get("round") or 0),
        storage=_read_storage(spec.get("storage") or {}),
    )


def _read_storage(storage: Mapping[str, Any]) -> Storage:
    usual = Storage()
    return Storage(
        size=str(storage.get("size") or usual.size),
        storage_class=str(storage.get("storageClassName") or ""),
        access_modes=tuple(storage.get("accessModes") or usual.access_modes),
    )
