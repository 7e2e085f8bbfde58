"""What somebody says of a new Dataset -> its manifest, or its problems. For the command line and the console. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from paddock.datasets.options import OPTIONS, Options
from paddock.datasets.sources import BadSource, Kind, Source, hide, read_source
from paddock.kube.datasets import CLAIM_PREFIX
from paddock.kube.meta import DATASETS, Manifest
from paddock.kube.quantities import read_quantity
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.words.phrases import Foreign, Phrase, phrase

MOST_NAME = 253 - len(CLAIM_PREFIX)
ACCESS_MODES = ("ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Asked(Options):
    """A Dataset as typed."""

    name: str
    uri: str = field(repr=False)
    """It may hold a password, so it is never printed."""


def find_problems(asked: Asked) -> list[tuple[str, Phrase]]:
    """(field, sentence) of each problem; the fields are those of `Asked`."""
    return [
        *_check_name(asked.name),
        *_check_source(asked),
        *_check_secret(asked.secret),
        *_check_size(asked.size),
        *_check_access_modes(asked.access_modes),
    ]


def find_unreachable(address: str) -> Phrase | None:
    """What is wrong with an address on a cluster, whose pods see no directory of this machine; None also for one that
    is wrong anywhere."""
    try:
        if read_source(address).kind is not Kind.DIRECTORY:
            return None
    except BadSource:
        return None
    uri = hide(address)
    return phrase("{uri} is a directory of this machine: pods of a cluster cannot mount it", uri=uri)


def build_manifest(asked: Asked, namespace: str) -> Manifest:
    """The manifest of a Dataset that has no problems."""
    parts: dict[str, dict[str, Any]] = {"source": {"uri": asked.uri}, "storage": {}}
    for name, each in OPTIONS.items():
        if value := getattr(asked, name):
            parts["source" if each.is_of_source else "storage"][each.key] = list(value) if each.is_list else value
    if asked.sha256:
        parts["source"]["sha256"] = asked.sha256.lower()
    return {
        "apiVersion": DATASETS.api_version,
        "kind": DATASETS.kind,
        "metadata": {"name": asked.name, "namespace": namespace},
        "spec": {name: part for name, part in parts.items() if part},
    }


def _check_name(name: str) -> Iterator[tuple[str, Phrase]]:
    if not DNS_SUBDOMAIN.matches(name):
        yield (
            "name",
            phrase(
                "{name} is not a valid name for a dataset: small letters, digits, '-' and '.'; a letter or digit at "
                "both ends",
                name=repr(name),
            ),
        )
    elif len(name) > MOST_NAME:
        yield "name", phrase("the name has {count} characters; {most} are allowed", count=len(name), most=MOST_NAME)


def _check_source(asked: Asked) -> Iterator[tuple[str, Phrase]]:
    try:
        yield from _check_fit(asked, read_source(asked.uri))
    except BadSource as error:
        yield "uri", phrase("the address: {said}", said=Foreign(str(error)))
    if asked.sha256 and not _SHA256.fullmatch(asked.sha256):
        yield (
            "sha256",
            phrase(
                "a SHA-256 checksum has 64 hexadecimal digits, and {found} were found: `sha256sum FILE` prints it",
                found=len(asked.sha256),
            ),
        )
    if asked.endpoint and not re.match(r"https?://[^\s/]+", asked.endpoint):
        found = repr(hide(asked.endpoint))
        yield "endpoint", phrase("found {found}: an endpoint begins with https:// or http://", found=found)
    elif "@" in asked.endpoint:
        yield "endpoint", phrase('an endpoint has no "@": a name and a password belong into a Secret')


def _check_fit(asked: Asked, source: Source) -> Iterator[tuple[str, Phrase]]:
    """What is said must mean something for this kind of source: ignored silently, a checksum would protect nothing."""
    for name, each in OPTIONS.items():
        if getattr(asked, name) and source.kind not in each.kinds:
            yield (
                name,
                phrase(
                    "{option} means nothing for {uri}: it is for {where}",
                    option=name, uri=source.shown, where=each.addresses,
                ),
            )  # fmt: skip


def _check_size(size: str) -> Iterator[tuple[str, Phrase]]:
    if not size:
        return
    try:
        if read_quantity(size) <= 0:
            raise ValueError
    except ValueError:
        yield "size", phrase("{found} is no size: write 50Gi", found=repr(size))


def _check_secret(name: str) -> Iterator[tuple[str, Phrase]]:
    if name and not DNS_SUBDOMAIN.matches(name):
        yield "secret", phrase("{found} is not a valid name for a Secret", found=repr(name))


def _check_access_modes(modes: tuple[str, ...]) -> Iterator[tuple[str, Phrase]]:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield (
                "access_modes",
                phrase("{found} is no access mode: write {allowed}", found=repr(mode), allowed=ACCESS_MODES),
            )
