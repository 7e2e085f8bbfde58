"""What the buttons of a dataset's page do: fetch it again, remove it."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.addresses import DATASET, address_of_dataset
from paddock.console.page_context import Action, Missing, PageContext, Redirect
from paddock.datasets.users import User, find_users
from paddock.jobs.apis.registry import KINDS
from paddock.kube.datasets import mounts_claim
from paddock.kube.errors import Conflict, Forbidden, NotFound
from paddock.kube.meta import DATASETS, PODS, Manifest, name_of
from paddock.views.datasets import (
    DatasetRow,
    explain_absence,
    explain_in_use,
    read_dataset_row,
    read_use,
)
from paddock.words.phrases import Names, Phrase, phrase


async def rerun(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    """By the round that the reader has looked at: what is asked for already is not asked for twice."""
    row = await _fetch(page)
    if posted.get("round", "") == str(row.round):
        await page.api.patch(DATASETS, *row.key, {"spec": {"round": row.round + 1}})
    return Redirect(address_of_dataset(*row.key))


async def delete(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    """Its name is typed, as what was fetched goes with it; by the UID that the reader has looked at."""
    row = await _fetch(page)
    if posted.get("name", "").strip() != row.key.name:
        return phrase("nothing was deleted: type {name}, the name of the dataset, to delete it", name=row.key.name)
    users = find_users([row.status], await _fetch_uses(page, row.key.namespace), ()).get(row.key, [])
    if why := explain_in_use(users):
        return phrase("dataset {name} was not deleted: {why}", name=row.key.name, why=why)
    if pods := [name_of(each) for each in await _fetch_pods(page, row)]:
        return phrase(
            "dataset {name} was not deleted: it is mounted by pod {pods}", name=row.key.name, pods=Names(tuple(pods))
        )
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


async def _fetch_uses(page: PageContext, namespace: str) -> list[User]:
    """Of kinds that are served and that the reader may see: a finalizer keeps it while anything else mounts it."""
    found = []
    for kind in KINDS:
        try:
            listed = await page.api.list(kind, namespace)
        except (NotFound, Forbidden):
            continue
        found += [read_use(kind, each) for each in listed.items]
    return found


async def _fetch_pods(page: PageContext, row: DatasetRow) -> list[Manifest]:
    """Those that mount it and have not ended, of any job and of none; for who may not see pods, none."""
    try:
        listed = await page.api.list(PODS, row.key.namespace)
    except (NotFound, Forbidden):
        return []
    return [each for each in listed.items if mounts_claim(each, row.status.claim)]


ACTIONS = (Action("rerun", f"{DATASET}/rerun", rerun), Action("delete", f"{DATASET}/delete", delete))
