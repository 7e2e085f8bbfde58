"""The rules of every object's metadata: name, namespace, labels, annotations, finalizers, owner references.

Source: apimachinery, api/validation (ValidateObjectMeta).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.kube.validation import names
from paddock.kube.validation.field_errors import Code, FieldError, Path

_ANNOTATIONS_LIMIT = 256 * 1024
_RBAC = "rbac.authorization.k8s.io"
_NAME_RULES: Mapping[tuple[str, str], Callable[[str, Path], Iterator[FieldError]]] = {
    ("", "Namespace"): names.DNS_LABEL.check,
    ("", "Service"): names.DNS1035_LABEL.check,
    **{
        (_RBAC, kind): names.check_path_segment for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    },
}


def check_metadata(group: str, kind: str, namespaced: bool, metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of `metadata`, whose types the caller has checked. Either name or generateName is required."""
    check = _NAME_RULES.get((group, kind), names.DNS_SUBDOMAIN.check)
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not name and not prefix:
        yield FieldError(Code.NAME_REQUIRED, ("metadata", "name"))
    if name:
        yield from check(name, ("metadata", "name"))
    if prefix:
        # RBAC's names may hold dashes anywhere, and are not masked.
        masked = prefix if check is names.check_path_segment else _mask_trailing_dash(prefix)
        for error in check(masked, ("metadata", "generateName")):
            yield replace(error, value=prefix)
    if namespaced and (namespace := metadata.get("namespace")):
        yield from names.DNS_LABEL.check(namespace, ("metadata", "namespace"))
    yield from names.check_labels(metadata.get("labels") or {}, ("metadata", "labels"))
    yield from _check_annotations(metadata.get("annotations") or {})
    yield from _check_finalizers(metadata.get("finalizers") or ())
    yield from _check_owners(metadata.get("ownerReferences") or ())


def _mask_trailing_dash(prefix: str) -> str:
    """The server appends five characters, so a prefix may end with a dash (maskTrailingDash)."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _check_finalizers(finalizers: Sequence[str]) -> Iterator[FieldError]:
    for index, finalizer in enumerate(finalizers):
        yield from names.check_qualified_name(finalizer, ("metadata", "finalizers", index))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield FieldError(Code.TWO_PROPAGATIONS, ("metadata", "finalizers"), list(finalizers))


def _check_owners(owners: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    """ValidateOwnerReferences."""
    first = ""
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = ("metadata", "ownerReferences", index, field)
                yield FieldError(Code.EMPTY_OWNER_FIELD, path, owner.get(field, ""))
        if owner.get("controller"):
            name = f"{owner.get('kind')}/{owner.get('name')}"
            if first:
                args = {"first": first, "second": name}
                yield FieldError(Code.SECOND_CONTROLLER, ("metadata", "ownerReferences"), owners, args)
            first = first or name


def _check_annotations(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for key in annotations:
        # Kubernetes validates annotation keys in lower case, so their prefix may have capitals.
        for error in names.check_qualified_name(key.lower(), ("metadata", "annotations")):
            yield replace(error, value=key)
    if sum(_count_bytes(key) + _count_bytes(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield FieldError(Code.TOO_LONG, ("metadata", "annotations"), args={"most": _ANNOTATIONS_LIMIT})


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
