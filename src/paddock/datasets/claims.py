"""The claim of a Dataset on a cluster: what is asked of the cluster's storage, and why it is not there yet. Pure.

The claim belongs to its Dataset, so Kubernetes collects it with the Dataset. A claim of the same name that somebody
else made is never filled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.datasets.definition import DEFAULT_ACCESS_MODES, DEFAULT_SIZE, Definition
from paddock.datasets.labels import build_labels
from paddock.datasets.volumes import owner_of
from paddock.kube.meta import CLAIMS, DATASETS, Manifest, controller_of, is_controlled_by, is_deleting, name_of
from paddock.kube.nearness import nearest
from paddock.words.phrases import phrase

_WAITS_FOR_A_POD = "WaitForFirstConsumer"
"""The reason of the event on a claim whose storage class chooses the volume by the node of the first pod."""


def build_claim(dataset: Definition) -> Manifest:
    """The PersistentVolumeClaim; an empty class is left out, so that the cluster's default applies."""
    chosen = {"storageClassName": dataset.storage_class} if dataset.storage_class else {}
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "name": dataset.claim,
            "namespace": dataset.key.namespace,
            "labels": build_labels(dataset.key.name),
            "ownerReferences": [owner_of(dataset)],
        },
        "spec": {
            "accessModes": list(dataset.access_modes or DEFAULT_ACCESS_MODES),
            **chosen,
            "resources": {"requests": {"storage": dataset.size or DEFAULT_SIZE}},
        },
    }


def is_bound(claim: Mapping[str, Any]) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def is_lost(claim: Mapping[str, Any]) -> bool:
    """Whether its volume was removed while the claim was bound: what was in it is gone."""
    return bool((claim.get("status") or {}).get("phase") == "Lost")


def waits_for_a_pod(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a claim is bound only when a pod mounts it."""
    return any(event.get("reason") == _WAITS_FOR_A_POD for event in events)


def explain_lost(claim: Mapping[str, Any]) -> str:
    """What to do about a claim whose volume is gone; empty if it is not."""
    if not is_lost(claim):
        return ""
    said = phrase(
        "the volume of the claim {name} is gone, and its files with it: delete the claim", name=name_of(claim)
    )
    return str(said)


def explain_foreign(dataset: Definition, claim: Mapping[str, Any]) -> str:
    """Why a claim of this name cannot be filled; empty if it is the Dataset's own."""
    if is_controlled_by(claim, dataset.uid):
        return ""
    said = phrase(
        "the claim {name} is there and was not made for this dataset, so nothing is written into it: mount it as it "
        "is, by the source claim://{name}, or give the dataset another name",
        name=name_of(claim),
    )
    return str(said)


def explain_leaving(dataset: Definition, claim: Mapping[str, Any]) -> str:
    """Why a claim of this name must go before a new one can be made; empty if it need not."""
    owner = controller_of(claim) or {}
    of_an_earlier = owner.get("kind") == DATASETS.kind and owner.get("uid") != dataset.uid
    if is_deleting(claim):
        return str(phrase("the claim {name} is being removed; it goes when no pod mounts it", name=name_of(claim)))
    if not of_an_earlier:
        return ""
    return str(phrase("the claim {name} of an earlier dataset is about to be removed", name=name_of(claim)))


def explain_pending(claim: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str:
    """Why a claim is not bound, in the words of its last event; empty if it is bound, or waits for a pod."""
    if is_bound(claim) or waits_for_a_pod(events):
        return ""
    said = next((str(event.get("message") or "") for event in reversed(events)), "")
    wanted = str((claim.get("spec") or {}).get("storageClassName") or "")
    waits = phrase("the claim {name} has no volume yet", name=name_of(claim))
    if wanted:
        waits = phrase("the claim {name} has no volume of class {storage} yet", name=name_of(claim), storage=wanted)
    return f"{waits}: {said}" if said else str(waits)


def explain_missing(dataset: Definition, names: Iterable[str]) -> str:
    """Says that there is no claim for the source `claim://NAME`."""
    wanted, known = dataset.source.place, sorted(names)
    where = {"name": wanted, "namespace": dataset.key.namespace}
    if near := nearest(wanted, known):
        said = phrase('there is no claim "{name}" in namespace {namespace}: did you mean "{near}"?', **where, near=near)
    elif not known:
        said = phrase('there is no claim "{name}" in namespace {namespace}, and no other', **where)
    elif len(known) == 1:
        said = phrase('there is no claim "{name}" in namespace {namespace}; there is {names}', **where, names=known[0])
    else:
        some = ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")
        said = phrase('there is no claim "{name}" in namespace {namespace}; there are {names}', **where, names=some)
    return str(said)
