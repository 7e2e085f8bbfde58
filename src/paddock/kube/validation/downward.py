"""The rules of what a container may be told of its pod: fieldRef and resourceFieldRef, in `env` and in volumes.

Source: Kubernetes' pkg/apis/core/validation (validateObjectFieldSelector, validateContainerResourceFieldSelector,
validateDownwardAPIVolumeFile). Values of a wrong type are ignored: `preflight` calls these rules with raw manifests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.kube.downward import SUBSCRIPT
from paddock.kube.quantities import read_quantity
from paddock.kube.validation.field_errors import Code, FieldError, Path
from paddock.kube.validation.names import check_qualified_name

_IN_BOTH = ("metadata.name", "metadata.namespace", "metadata.uid")
ENV_FIELDS = (
    *_IN_BOTH,
    *("spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
"""What `env` can be told, besides one label or annotation (`metadata.labels['KEY']`)."""
VOLUME_FIELDS = (*_IN_BOTH, "metadata.labels", "metadata.annotations")
"""What a file of a volume can be told, besides one label or annotation."""
RESOURCES = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
SUBSCRIPTS = ("metadata.labels['KEY']", "metadata.annotations['KEY']")
"""The forms of one label or annotation."""
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
MODES = (0, 0o777)


def check_env_sources(source: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """The fieldRef or resourceFieldRef of a valueFrom."""
    if isinstance(reference := source.get("fieldRef"), Mapping):
        yield from _check_field(reference, (*path, "fieldRef"), ENV_FIELDS)
    if isinstance(reference := source.get("resourceFieldRef"), Mapping):
        yield from _check_resource(reference, (*path, "resourceFieldRef"))


def check_file_sources(item: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """The fieldRef or resourceFieldRef of a file of a downwardAPI volume: exactly one of them."""
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if isinstance(field, Mapping):
        if resource is not None:
            yield FieldError(Code.FIELD_AND_RESOURCE, path, "resource")
        yield from _check_field(field, (*path, "fieldRef"), VOLUME_FIELDS)
    elif isinstance(resource, Mapping):
        where = (*path, "resourceFieldRef")
        if not resource.get("containerName"):
            yield FieldError(Code.REQUIRED, (*where, "containerName"))
        yield from _check_resource(resource, where)
    elif field is None and resource is None:
        yield FieldError(Code.REQUIRED, path)


def check_mode(mode: Any, path: Path) -> Iterator[FieldError]:
    """The permissions of a file."""
    low, high = MODES
    if isinstance(mode, int) and not low <= mode <= high:
        yield FieldError(Code.INVALID_MODE, path, mode)


def _check_field(reference: Mapping[str, Any], path: Path, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    found, where = reference.get("fieldPath"), (*path, "fieldPath")
    if not found:
        yield FieldError(Code.REQUIRED, where)
    elif isinstance(found, str):
        if match := SUBSCRIPT.fullmatch(found):
            yield from check_qualified_name(match[2].lower() if match[1] == "annotations" else match[2], where)
        elif found not in allowed:
            yield FieldError(Code.NOT_SUPPORTED, where, found, {"allowed": allowed})


def _check_resource(reference: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    found, where = reference.get("resource"), (*path, "resource")
    if not found:
        yield FieldError(Code.REQUIRED, where)
    elif isinstance(found, str):
        if found not in RESOURCES and not found.startswith(_HUGE_PAGES):
            yield FieldError(Code.NOT_SUPPORTED, where, found, {"allowed": RESOURCES})
        else:
            yield from _check_divisor(reference.get("divisor"), found.partition(".")[2], (*path, "divisor"))


def _check_divisor(divisor: Any, resource: str, path: Path) -> Iterator[FieldError]:
    if divisor is None or isinstance(divisor, bool) or not isinstance(divisor, str | int | float):
        return
    try:
        amount = read_quantity(divisor)
    except ValueError:
        yield FieldError(Code.INVALID_QUANTITY, path, divisor)
        return
    allowed = _CPU_DIVISORS if resource == "cpu" else _BYTE_DIVISORS
    if amount and amount not in map(read_quantity, allowed):
        yield FieldError(Code.INVALID_DIVISOR, path, divisor, {"resource": resource, "allowed": ", ".join(allowed)})
