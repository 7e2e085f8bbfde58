"""What must hold in the volumes of a pod: the files that ConfigMaps, Secrets and the pod's own fields are put into.

Source: Kubernetes' pkg/apis/core/validation (KeyToPath, validateLocalNonReservedPath). The rule that the node relies
on: no file of a volume lies outside of it. Mounts are checked in `rules`, with the containers they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddock.apiserver import field_errors
from paddock.kube.errors import FieldCause

_SOURCES = ("configMap", "secret", "downwardAPI")


def check_volumes(volumes: Iterable[Mapping[str, Any]], path: str) -> Iterator[FieldCause]:
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        yield from _check_sources(volume, where)
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            inside = f"{where}.projected.sources[{place}]"
            yield from _check_sources(source, inside)
            for kind in ("serviceAccountToken", "clusterTrustBundle"):
                if (file := source.get(kind)) is not None:
                    yield from _check_file(file["path"], f"{inside}.{kind}.path")


def _check_sources(source: Mapping[str, Any], path: str) -> Iterator[FieldCause]:
    for kind in _SOURCES:
        for index, item in enumerate((source.get(kind) or {}).get("items") or ()):
            where = f"{path}.{kind}.items[{index}]"
            if item.get("key") == "":
                yield field_errors.required(f"{where}.key")
            yield from _check_file(item["path"], f"{where}.path")


def _check_file(file: str, path: str) -> Iterator[FieldCause]:
    if not file:
        yield field_errors.required(path)
    elif file.startswith("/"):
        yield field_errors.invalid(path, file, "must be a relative path")
    elif ".." in file.split("/"):
        yield field_errors.invalid(path, file, "must not contain '..'")
    elif file.startswith(".."):
        # A node writes its own entries under such names.
        yield field_errors.invalid(path, file, "must not start with '..'")
