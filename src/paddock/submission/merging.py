"""What stands beside a job in its file is merged into what is there, as `kubectl apply` does it.

A merge patch, which every Kubernetes takes for every kind: what the file says holds, what it said the last time and
says no more is removed, and what a server or others have added stays (the volume of a claim, the address of a Service).
What the file said the last time is read where kubectl keeps it, so that both can be used by turns. A ConfigMap and a
Secret have no such annotation: it would be too long, or show what is secret. All their content is the file's, where it
has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from paddock.kube.api import Api
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, annotations_of, metadata
from paddock.submission.documents import Checked

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTENT = ("data", "binaryData")
_SAYS_CONTENT = (*_CONTENT, "stringData")


async def merge(api: Api, each: Checked, *, dry_run: bool = False) -> Manifest:
    """Creates the object, or merges the document into it. Raises `ApiError`."""
    wanted = each.manifest if _is_content(each) else _with_record(each.manifest)
    try:
        there = await api.get(each.resource, *each.key)
    except (NotFound, Forbidden):  # who may not read a Secret may still create one
        return await api.create(each.resource, wanted, strict=True, dry_run=dry_run)
    said = read_content(there, wanted) if _is_content(each) else _read_record(there)
    return await api.patch(each.resource, *each.key, build_merge(said, wanted), strict=True, dry_run=dry_run)


def read_content(there: Manifest, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content that is the file's; none where it has none itself, and leaves it to others: an operator, a `kubectl
    create`."""
    has_own = any(name in wanted for name in _SAYS_CONTENT)
    return {name: there[name] for name in _CONTENT if has_own and there.get(name)}


def build_merge(said: Mapping[str, Any], wanted: Mapping[str, Any]) -> Manifest:
    """The merge patch (RFC 7386) that sets what is wanted, and removes what was said before and is not wanted."""
    gone = dict.fromkeys(said.keys() - wanted.keys())
    inner = {
        name: build_merge(said.get(name) or {}, value)
        if isinstance(value, Mapping) and isinstance(said.get(name) or {}, Mapping)
        else value
        for name, value in wanted.items()
    }
    return {**gone, **inner}


def _is_content(each: Checked) -> bool:
    return each.resource in (CONFIG_MAPS, SECRETS)


def _with_record(manifest: Manifest) -> Manifest:
    annotations: Any = annotations_of(manifest)
    if not isinstance(annotations, Mapping):  # the server says what is wrong with them
        return manifest
    written = _with_annotations(manifest, annotations)
    record = msgspec.json.encode(written, order="deterministic").decode() + "\n"  # as kubectl writes it
    return _with_annotations(manifest, {**annotations, LAST_APPLIED: record})


def _with_annotations(manifest: Manifest, annotations: Mapping[str, str]) -> Manifest:
    return {**manifest, "metadata": {**metadata(manifest), "annotations": annotations}}


def _read_record(there: Manifest) -> Mapping[str, Any]:
    """What the file said the last time; empty where nobody has applied it, or the annotation is no object."""
    try:
        return msgspec.json.decode(annotations_of(there).get(LAST_APPLIED) or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, TypeError):
        return {}
