"""Lookup of the dataset that a name on the command line refers to, and of those who use it."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import explain_near, fetch_all
from paddock.cli.cluster.places import ClusterChoice
from paddock.datasets.users import User, find_holding, find_users, read_pod
from paddock.jobs.apis.registry import KINDS
from paddock.kube.datasets import read_status
from paddock.kube.errors import NotFound
from paddock.kube.meta import DATASETS, PODS, Manifest, key_of, name_of, namespace_of
from paddock.kube.nearness import nearest
from paddock.views.datasets import read_use
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


async def fetch_holding(api: Api, dataset: Manifest) -> list[User]:
    """The jobs and pods for which it is in use."""
    namespace, status = namespace_of(dataset), read_status(dataset)
    jobs = starmap(read_use, await fetch_all(api, KINDS, namespace))
    pods = [read_pod(PODS, each) for each in (await api.list(PODS, namespace)).items]
    return find_holding(find_users([status], jobs, pods).get(key_of(dataset), ()))


def advise(place: ClusterChoice, namespace: str, verb: str, name: str = "") -> str:
    """A command about a dataset, which reaches the same cluster and namespace."""
    return f"paddock dataset {verb}{f' {name}' if name else ''}{place.flags.of(namespace)}"


def explain_no_datasets(place: ClusterChoice) -> Phrase:
    """Why a cluster that does not serve the kind has none, and what to do."""
    command = f"paddock manifests --datasets --image IMAGE | {place.flags.kubectl} apply -f -"
    return phrase("this cluster has no datasets; an administrator adds them: {command}", command=command)
