"""Lookup of the dataset that a name on the command line refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import explain_near
from paddock.cli.cluster.places import ClusterChoice
from paddock.kube.errors import NotFound
from paddock.kube.meta import DATASETS, Manifest, name_of
from paddock.kube.nearness import nearest
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_dataset(api: Api, place: ClusterChoice, namespace: str, name: str) -> Manifest:
    """Raises `UserError` with the nearest name if it does not exist, or if the cluster has no datasets."""
    try:
        return await api.get(DATASETS, namespace, name)
    except NotFound:
        pass
    try:
        known = [name_of(each) for each in (await api.list(DATASETS, namespace)).items]
    except NotFound:
        raise UserError(explain_no_datasets(place)) from None
    near = nearest(name, known)
    hint = explain_near(near) if near else phrase("; `{command}` lists them", command=advise(place, namespace, "list"))
    raise UserError(
        phrase(
            "there is no dataset {name} in namespace {namespace}{hint}",
            name=repr(name), namespace=namespace, hint=hint,
        )
    )  # fmt: skip


def advise(place: ClusterChoice, namespace: str, verb: str, name: str = "") -> str:
    """A command about a dataset, which reaches the same cluster and namespace."""
    return f"paddock dataset {verb}{f' {name}' if name else ''}{place.flags.of(namespace)}"


def explain_no_datasets(place: ClusterChoice) -> Phrase:
    """Why a cluster that does not serve the kind has none, and what to do."""
    command = f"paddock manifests --datasets --image IMAGE | {place.flags.kubectl} apply -f -"
    return phrase("this cluster has no datasets; an administrator adds them: {command}", command=command)
