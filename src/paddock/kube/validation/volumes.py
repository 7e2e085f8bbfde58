"""The rules of a pod's volumes: host paths, and the file paths of ConfigMaps, Secrets and the downward API.

Source: Kubernetes' pkg/apis/core/validation (KeyToPath, validateLocalNonReservedPath). A node relies on this: no file
of a volume lies outside of it. The rules of mounts are in `pods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddock.kube.validation.field_errors import Code, FieldError, Path

HOST_PATH_TYPES = (
    *("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
)
_SOURCES = ("configMap", "secret", "downwardAPI")


def check_volumes(volumes: Iterable[Mapping[str, Any]], path: Path) -> Iterator[FieldError]:
    """The errors of each volume's files. The caller has checked the types."""
    for index, volume in enumerate(volumes):
        yield from _check_host_path(volume.get("hostPath"), (*path, index, "hostPath"))
        yield from _check_sources(volume, (*path, index))
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            inside = (*path, index, "projected", "sources", place)
            yield from _check_sources(source, inside)
            for kind in ("serviceAccountToken", "clusterTrustBundle"):
                if (file := source.get(kind)) is not None:
                    yield from _check_file(file["path"], (*inside, kind, "path"))


def _check_host_path(source: Mapping[str, Any] | None, path: Path) -> Iterator[FieldError]:
    if source is None:
        return
    if not source["path"]:
        yield FieldError(Code.REQUIRED, (*path, "path"))
    elif ".." in source["path"].split("/"):
        yield FieldError(Code.LEAVES_VOLUME, (*path, "path"), source["path"])
    if (kind := source.get("type") or "") not in HOST_PATH_TYPES:
        yield FieldError(Code.NOT_SUPPORTED, (*path, "type"), kind, {"allowed": HOST_PATH_TYPES})


def _check_sources(source: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for kind in _SOURCES:
        for index, item in enumerate((source.get(kind) or {}).get("items") or ()):
            where = (*path, kind, "items", index)
            if item.get("key") == "":
                yield FieldError(Code.REQUIRED, (*where, "key"))
            yield from _check_file(item["path"], (*where, "path"))


def _check_file(file: str, path: Path) -> Iterator[FieldError]:
    if not file:
        yield FieldError(Code.REQUIRED, path)
    elif file.startswith("/"):
        yield FieldError(Code.NOT_RELATIVE, path, file)
    elif ".." in file.split("/"):
        yield FieldError(Code.LEAVES_VOLUME, path, file)
    elif file.startswith(".."):
        # The node uses such names for its own entries in the volume.
        yield FieldError(Code.RESERVED_PREFIX, path, file)
