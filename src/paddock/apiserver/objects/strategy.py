"""The semantics of create, update and delete in the Kubernetes API. Pure.

Each function takes the stored and the incoming object and returns the object to store. UIDs, names and the time are
arguments. `builtin_strategies` has the special rules of pods, namespaces and CRDs; `writes` runs the transaction. Rule:
the client never sets uid, creationTimestamp, generation, deletionTimestamp or resourceVersion of the stored object.
Source: apimachinery and apiserver, registry/rest (BeforeCreate, BeforeUpdate, BeforeDelete).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.calls import Propagation
from paddock.kube.errors import BadRequest, Conflict, FieldCause, Invalid
from paddock.kube.meta import (
    NAMESPACES,
    NODES,
    Manifest,
    Resource,
    is_deleting,
    metadata,
    name_of,
    uid_of,
    version_of,
)
from paddock.kube.times import Moment, format_time

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """meta/v1 DeleteOptions: preconditions, grace period in seconds (pods), propagation to dependents."""

    uid: str = ""
    resource_version: str = ""
    grace: int | None = None
    propagation: Propagation | None = None


def build_evicted(uid: str, resource_version: str, now: Moment) -> Manifest:
    """A strategic patch of the status of a pod that is evicted, with the preconditions of its deletion. Source:
    Kubernetes, pkg/registry/core/pod/storage/eviction.go."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    told = {**condition, "message": "Eviction API: evicting", "lastTransitionTime": format_time(now)}
    wanted = {"uid": uid, "resourceVersion": resource_version}
    return {"metadata": {name: each for name, each in wanted.items() if each}, "status": {"conditions": [told]}}


def check_identity(served: ServedResource, manifest: Any, namespace: str, name: str = "") -> Manifest:
    """A copy of the manifest with apiVersion, kind and namespace filled in. Raises `BadRequest` if they contradict the
    URL. `name` is the name on the URL, if any."""
    resource = served.resource
    if not isinstance(manifest, Mapping):
        raise BadRequest(f"the body is not a {resource.kind}: found {type(manifest).__name__}, wanted an object")
    _check_type(served, manifest)
    meta = manifest.get("metadata")
    if meta is not None and not isinstance(meta, Mapping):
        raise BadRequest(f"metadata of the {resource.kind} is not an object")
    meta = dict(meta or {})
    if resource.namespaced:
        if namespace and meta.get("namespace") not in (None, "", namespace):
            raise BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request:"
                f" {meta['namespace']!r} and {namespace!r}"
            )
        meta["namespace"] = namespace or meta.get("namespace") or ""
        if not meta["namespace"]:
            raise BadRequest(f"an empty namespace may not be set when a {resource.kind} is written")
    else:
        meta.pop("namespace", None)
    if name and meta.get("name") not in (None, "", name):
        raise BadRequest(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
    if name:
        meta["name"] = name
    # Who owns a field is what the server saw (`field_owners`), so what a client says of it is not kept.
    meta.pop("managedFields", None)
    return {**manifest, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}


def check_replacement(served: ServedResource, manifest: Mapping[str, Any], name: str) -> None:
    """What a replace says more than a patch: whose name, and of a custom kind of which version."""
    meta = metadata(manifest)
    if not meta.get("name"):
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if served.custom and not meta.get("resourceVersion"):
        resource = served.resource
        cause = FieldCause("metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update")
        raise Invalid(
            f'{resource.qualified} "{name}" is invalid: {cause.field}: {cause.message}',
            causes=[cause], kind=resource.plural, name=name, group=resource.group,
        )  # fmt: skip


def check_apply(served: ServedResource, manifest: Any) -> None:
    """What an apply says more than a create."""
    resource = served.resource
    if not isinstance(manifest, Mapping):
        return  # `check_identity` refuses it
    if metadata(manifest).get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    if manifest.get("apiVersion") != resource.api_version:
        raise BadRequest(
            f"Incorrect version specified in apply patch. Specified patch version: {manifest.get('apiVersion') or ''},"
            f" expected: {resource.api_version}"
        )


def uid_mismatch(resource: Resource, name: str, uid: str) -> Conflict:
    """Of an apply that would create an object whose uid it names."""
    return Conflict(
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": uid mismatch: the provided object specified'
        f" uid {uid}, and no existing object was found",
        kind=resource.plural, name=name, group=resource.group,
    )  # fmt: skip


def _check_type(served: ServedResource, manifest: Mapping[str, Any]) -> None:
    resource = served.resource
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    # Kubernetes takes a built-in kind from the path if the body does not name it, but never a custom kind.
    if served.custom and not (api_version and kind):
        missing = "Kind" if not kind else "apiVersion"
        raise BadRequest(
            f"Object '{missing}' is missing: wanted apiVersion {resource.api_version}, kind {resource.kind}"
        )
    if (api_version or resource.api_version) != resource.api_version or (kind or resource.kind) != resource.kind:
        raise BadRequest(
            f"{kind or resource.kind} in version {api_version or resource.api_version!r} cannot be handled as a"
            f" {resource.kind} in version {resource.api_version!r}"
        )


def build_new(served: ServedResource, manifest: Manifest, *, uid: str, name: str, now: float) -> Manifest:
    """The new object to store. `name` may be a generated one."""
    meta = {key: value for key, value in manifest["metadata"].items() if key not in _SERVER_OWNED}
    meta.pop("resourceVersion", None)
    meta |= {"name": name, "uid": uid, "creationTimestamp": format_time(now)}
    if has_generation(served, manifest):
        meta["generation"] = 1
    return without_status(served, {**manifest, "metadata": _drop_empty(meta)})


def without_status(served: ServedResource, manifest: Manifest) -> Manifest:
    """A new object of a kind with the subresource has none yet."""
    # As in Kubernetes, a kubelet creates its Node with a status.
    if "status" not in served.subresources or served.resource == NODES:
        return manifest
    return {key: value for key, value in manifest.items() if key != "status"}


def has_generation(served: ServedResource, manifest: Mapping[str, Any]) -> bool:
    return served.custom or ("status" in served.subresources and "spec" in manifest)


def build_updated(served: ServedResource, current: Manifest, incoming: Manifest, subresource: str = "") -> Manifest:
    """The object after a PUT or a patch; equal to `current` if nothing changes."""
    check_preconditions(served.resource, current, incoming)
    if subresource == "status":
        updated = {**current}
        updated.pop("status", None)
        return updated | ({"status": incoming["status"]} if "status" in incoming else {})
    updated = {**incoming, "metadata": _update_metadata(served, current, incoming)}
    if "status" in served.subresources:
        updated.pop("status", None)
        if "status" in current:
            updated["status"] = current["status"]
    if "generation" in metadata(current) and _spec_differs(served, current, updated):
        updated["metadata"]["generation"] = current["metadata"]["generation"] + 1
    return updated


def check_preconditions(resource: Resource, current: Manifest, incoming: Mapping[str, Any]) -> None:
    """Optimistic concurrency: a given resourceVersion or uid must match the stored one, else `Conflict`."""
    if version_of(incoming) not in ("", version_of(current)):
        raise version_conflict(resource, name_of(current))
    if uid_of(incoming) not in ("", uid_of(current)):
        raise Conflict(
            f'Operation cannot be fulfilled on {resource.qualified} "{name_of(current)}": Precondition failed:'
            f" UID in precondition: {uid_of(incoming)}, UID in object meta: {uid_of(current)}",
            kind=resource.plural, name=name_of(current), group=resource.group,
        )  # fmt: skip


def version_conflict(resource: Resource, name: str) -> Conflict:
    return Conflict(
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified;'
        " please apply your changes to the latest version and try again",
        kind=resource.plural,
        name=name,
        group=resource.group,
    )


def _update_metadata(served: ServedResource, current: Manifest, incoming: Manifest) -> Manifest:
    old = metadata(current)
    meta = {key: value for key, value in incoming["metadata"].items() if key not in _SERVER_OWNED}
    meta |= {key: old[key] for key in ("name", "namespace", "resourceVersion", *_SERVER_OWNED) if key in old}
    added = set(meta.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if is_deleting(current) and added:
        sentence = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers {sorted(added)}"
        )
        raise invalid(
            served,
            name_of(current),
            [FieldCause("metadata.finalizers", f"Forbidden: {sentence}", "FieldValueForbidden")],
        )
    return _drop_empty(meta)


def _drop_empty(meta: Manifest) -> Manifest:
    """Metadata without empty maps, lists and strings, as Go omits them: removing the last label removes `labels`."""
    return {key: value for key, value in meta.items() if value not in ({}, [], "", None)}


def _spec_differs(served: ServedResource, current: Manifest, updated: Manifest) -> bool:
    ignored = {"metadata", "apiVersion", "kind"} | ({"status"} if "status" in served.subresources else set())
    # A custom kind may have fields beside spec, and Kubernetes counts changes of all of them.
    if not served.custom:
        return bool(current.get("spec") != updated.get("spec"))
    keys = (set(current) | set(updated)) - ignored
    return any(current.get(key) != updated.get(key) for key in keys)


def invalid(served: ServedResource, name: str, causes: Sequence[FieldCause]) -> Invalid:
    """`Pod "x" is invalid: spec: Forbidden: …`, one part for each cause."""
    parts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
    return Invalid(
        f'{served.qualified_kind} "{name}" is invalid: {text}', causes=causes, kind=served.resource.kind, name=name,
        group=served.resource.group,
    )  # fmt: skip


def is_removable(manifest: Manifest) -> bool:
    """Whether an object being deleted has no finalizer and no grace period left."""
    meta = metadata(manifest)
    return (
        is_deleting(manifest)
        and not meta.get("finalizers")
        and not (_is_namespace(manifest) and manifest["spec"].get("finalizers"))
        and not meta.get("deletionGracePeriodSeconds")
    )


def _is_namespace(manifest: Manifest) -> bool:
    """Whether it is a Namespace with a spec, whose finalizers hold it too; a custom kind may have that name."""
    kind = (manifest.get("apiVersion"), manifest.get("kind"))
    return kind == (NAMESPACES.api_version, NAMESPACES.kind) and isinstance(manifest.get("spec"), Mapping)


def plan_deletion(
    served: ServedResource, current: Manifest, options: DeleteOptions, *, grace: int, now: float
) -> Manifest | None:
    """The object marked for deletion, or None to remove it at once. `grace` (seconds) is `grace_period` of the kind.

    Equal to `current` if it is already being deleted and this request adds nothing. Propagation finalizers are added
    only if the client asks; the garbage collector removes them (`garbage`).
    """
    _check_delete_preconditions(served.resource, current, options)
    meta = dict(metadata(current))
    finalizers = _propagate(list(meta.get("finalizers") or ()), options.propagation)
    held = bool(finalizers) or bool(_is_namespace(current) and current["spec"].get("finalizers"))
    if grace == 0 and not held:
        return None
    if not is_deleting(current):
        meta |= {"deletionTimestamp": format_time(now + grace), "deletionGracePeriodSeconds": grace}
        # Kubernetes counts the deletion as a change of the wanted state, so controllers see a new generation.
        if "generation" in meta:
            meta["generation"] += 1
    # A second delete may only shorten the grace period, as in Kubernetes (BeforeDelete).
    elif grace < (meta.get("deletionGracePeriodSeconds") or 0):
        meta |= {"deletionTimestamp": format_time(now + grace), "deletionGracePeriodSeconds": grace}
    meta["finalizers"] = finalizers
    marked = {**current, "metadata": _drop_empty(meta)}
    if _is_namespace(current):
        marked["status"] = {**(current.get("status") or {}), "phase": "Terminating"}
    return marked


def _propagate(finalizers: list[str], propagation: Propagation | None) -> list[str]:
    if propagation is None:
        return finalizers
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
    kept = [finalizer for finalizer in finalizers if finalizer not in (FOREGROUND, ORPHAN)]
    return [*kept, wanted] if wanted else kept


def _check_delete_preconditions(resource: Resource, current: Manifest, options: DeleteOptions) -> None:
    name = name_of(current)
    for what, wanted, found in (
        ("UID", options.uid, uid_of(current)),
        ("ResourceVersion", options.resource_version, version_of(current)),
    ):
        if wanted and wanted != found:
            raise Conflict(
                f'Operation cannot be fulfilled on {resource.qualified} "{name}": Precondition failed:'
                f" {what} in precondition: {wanted}, {what} in object meta: {found}",
                kind=resource.plural,
                name=name,
                group=resource.group,
            )


def build_success(resource: Resource | None = None, name: str = "", uid: str = "", *, code: int = 0) -> bytes:
    """The Status of a write that succeeded; of a deletion with the object that is gone. `code`: of what was created."""
    status: Manifest = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if code:
        status["code"] = code
    if resource is not None:
        group = {"group": resource.group} if resource.group else {}
        status["details"] = {"name": name, **group, "kind": resource.plural, "uid": uid}
    return msgspec.json.encode(status)
