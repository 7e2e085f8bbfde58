"""What the buttons of a dataset's page do: fetch it again, remove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddock.console.addresses import DATASET, address_of_dataset
from paddock.console.page_context import Action, Missing, PageContext, Redirect
from paddock.datasets.changes import build_rerun
from paddock.datasets.users import User, find_users, read_pod
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Conflict, Forbidden, NotFound
from paddock.kube.meta import DATASETS, PODS, Manifest, Resource
from paddock.views.datasets import (
    DatasetRow,
    explain_absence,
    explain_in_use,
    read_dataset_row,
    read_use,
)
from paddock.words.phrases import Phrase, phrase


async def rerun(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    """Asks for the round after the one that the reader has looked at: what is asked for already is not asked for
    twice."""
    row = await _fetch(page)
    if posted.get("round", "") == str(row.round):
        await page.api.patch(DATASETS, *row.key, build_rerun(row.round))
    return Redirect(address_of_dataset(*row.key))


async def delete(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    """Its name is typed, as what was fetched goes with it; by the UID that the reader has looked at."""
    row = await _fetch(page)
    if posted.get("name", "").strip() != row.key.name:
        return phrase("nothing was deleted: type {name}, the name of the dataset, to delete it", name=row.key.name)
    if why := explain_in_use(await _fetch_users(page, row)):
        return phrase("dataset {name} was not deleted: {why}", name=row.key.name, why=why)
    try:
        await page.api.delete(DATASETS, *row.key, uid=posted.get("uid", "") or row.uid)
    except NotFound:
        pass
    except Conflict:
        return phrase(
            "nothing was deleted: this is another dataset of the same name, made while you looked at the first"
        )
    return Redirect("/datasets")


async def _fetch(page: PageContext) -> DatasetRow:
    """The dataset that the address names, as it is now. Raises `Missing`, `ApiError`."""
    namespace, name = page.path["namespace"], page.path["name"]
    try:
        return read_dataset_row(DATASETS, await page.api.get(DATASETS, namespace, name))
    except NotFound:
        raise Missing(explain_absence(name, namespace)) from None


async def _fetch_users(page: PageContext, row: DatasetRow) -> Sequence[User]:
    """Of what is served and what the reader may see: a finalizer keeps it while any other pod mounts it."""
    listed = {kind: await _list(page, kind, row.key.namespace) for kind in (*KINDS, PODS)}
    pods = [read_pod(PODS, each) for each in listed.pop(PODS)]
    jobs = [read_use(kind, each) for kind, manifests in listed.items() for each in manifests]
    return find_users([row.status], jobs, pods).get(row.key, ())


async def _list(page: PageContext, resource: Resource, namespace: str) -> Sequence[Manifest]:
    try:
        return (await page.api.list(resource, namespace)).items
    except (NotFound, Forbidden):
        return ()


ACTIONS = (Action("rerun", f"{DATASET}/rerun", rerun), Action("delete", f"{DATASET}/delete", delete))
