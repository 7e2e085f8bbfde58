"""The rules of a pod's volumes: host paths, and the file paths of ConfigMaps, Secrets and the downward API.

Source: Kubernetes' pkg/apis/core/validation (KeyToPath, validateLocalNonReservedPath). A node relies on this: no file
of a volume lies outside of it. The rules of mounts are in `pods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddock.kube.validation.downward import check_file_sources, check_mode
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
        yield from _check_projected(volume.get("projected") or {}, (*path, index, "projected"))


def _check_projected(projected: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    yield from check_mode(projected.get("defaultMode"), (*path, "defaultMode"))
    taken: set[str] = set()
    for place, source in enumerate(projected.get("sources") or ()):
        inside = (*path, "sources", place)
        yield from _check_sources(source, inside)
        files = [str(item["path"]) for kind in _SOURCES for item in (source.get(kind) or {}).get("items") or ()]
        for kind in ("serviceAccountToken", "clusterTrustBundle"):
            if (file := source.get(kind)) is not None:
                yield from _check_file(file["path"], (*inside, kind, "path"))
                files.append(str(file["path"]))
        for name in files:
            if name and name in taken:
                yield FieldError(Code.CONFLICTING_FILE, inside, name)
            taken.add(name)


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
        yield from check_mode((source.get(kind) or {}).get("defaultMode"), (*path, kind, "defaultMode"))
        for index, item in enumerate((source.get(kind) or {}).get("items") or ()):
            where = (*path, kind, "items", index)
            yield from check_mode(item.get("mode"), (*where, "mode"))
            if kind == "downwardAPI":
                yield from check_file_sources(item, where)
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
