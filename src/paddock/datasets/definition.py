"""A Dataset object as a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.datasets.fetching import Request
from paddock.datasets.options import OPTIONS, Options, read_options
from paddock.datasets.sources import BadSource, Source, read_source
from paddock.kube.datasets import read_claim
from paddock.kube.meta import Key, is_deleting, key_of, metadata, uid_of
from paddock.words.phrases import phrase

DEFAULT_SIZE = "10Gi"
"""Of the claim on a cluster, where `spec.storage.size` says nothing."""
DEFAULT_ACCESS_MODES = ("ReadWriteMany",)


@dataclass(frozen=True, slots=True)
class Definition(Options):
    """A Dataset, with its options."""

    key: Key
    uid: str
    source: Source
    claim: str
    """What pods mount."""
    generation: int = 0
    """Of the spec that this is."""
    deleting: bool = False
    round: int = 0
    """Grows by one for each fetch anew."""


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
        round=int(spec.get("round") or 0),
        **_read_stored(spec),
    )


def _read_stored(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The options. An empty value, as a size of 0, is one that nobody gave."""
    parts = {name: part for name, part in spec.items() if isinstance(part, Mapping)}
    given = {name: {key: each for key, each in part.items() if each} for name, part in parts.items()}
    options = read_options(given)
    return {**options, "sha256": options["sha256"].lower()}


def check_options(source: Source, said: Mapping[str, object]) -> None:
    """`said`: the fields of `spec.source`. Raises `BadSource` for one that means nothing for the kind."""
    for each in OPTIONS.values():
        if each.is_of_source and said.get(each.key) and source.kind not in each.kinds:
            problem = phrase(
                "{field} means nothing for {uri}: it is for {schemes}",
                field=each.key, uri=source.shown, schemes=each.addresses,
            )  # fmt: skip
            raise BadSource(problem, each.key)
    if "@" in str(said.get("endpoint") or ""):
        problem = phrase('endpoint has an "@": a name and a password belong into a Secret (spec.source.secretName)')
        raise BadSource(problem, "endpoint")


def build_request(dataset: Definition, target: str, secret: Mapping[str, str]) -> Request:
    """What the child that fetches is told. `target`: the directory to fill; `secret`: values by key."""
    options = {name: getattr(dataset, name) for name, each in OPTIONS.items() if each.is_of_source and name != "secret"}
    return Request(uri=dataset.source.uri, target=target, secret=dict(secret), round=dataset.round, **options)
