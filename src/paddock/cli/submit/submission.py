"""Checked documents -> objects in the cluster. If one is refused, nothing is created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import Failed, UserError
from paddock.kube import meta
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import Manifest
from paddock.submission.devices import read_asked, refuse_unasked, without_devices
from paddock.submission.documents import Checked
from paddock.submission.merging import merge
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


def drop_devices(checked: Sequence[Checked], devices: Iterable[str]) -> list[Checked]:
    """The documents without requests for `devices`; an annotation of each job keeps the original requests. Raises
    `UserError` for one that no job asks for: a misspelt name would leave the request in place."""
    wanted = tuple(devices)
    for device in wanted:
        if refusal := refuse_unasked(device, read_asked(each.job for each in checked if each.job)):
            raise UserError(refusal)
    return [without_devices(each, wanted) for each in checked]


async def create_all(
    api: Api, checked: Sequence[Checked], *, update: bool = False, created: list[Manifest] | None = None
) -> list[Manifest]:
    """Creates in the order of the documents. A refusal after an accepted dry run is a race; then `created` holds the
    objects that exist."""
    created = [] if created is None else created
    for place, each in enumerate(checked):
        try:
            created.append(await _create(api, checked[place:], update=update))
        except ApiError as error:
            # What stands in no file goes with the job, or is deleted without it (`sent_directories`).
            shown = (made for made, other in zip(created, checked, strict=False) if other.document.places)
            done = ", ".join(f"{meta.key_of(made)}" for made in shown)
            said = phrase("{option}: {problem}", option=each.file, problem=_explain_late(checked[place:], error))
            if done:
                said = phrase("{said}; created before it: {names}", said=said, names=done)
            raise (Failed if error.code >= 500 else UserError)(said) from error
    return created


def _explain_late(ahead: Sequence[Checked], error: ApiError) -> Phrase | str:
    """What a request was refused for that a dry run had accepted. `ahead`: its document, and those behind it."""
    if not isinstance(error, AlreadyExists | Conflict) or not (ahead[0].is_job or ahead[0].is_hidden):
        return error.message
    return phrase(
        "another command submits {object} at this moment: `paddock get` shows it",
        object=next(each.label for each in ahead if each.is_job),
    )


async def _create(api: Api, ahead: Sequence[Checked], *, update: bool) -> Manifest:
    """Creates the first of `ahead`: a document, and those behind it. With `update`, what is there is merged with what
    stands in a file, and hidden values are replaced."""
    each = ahead[0]
    if update and each.is_merged:
        return await merge(api, each)
    try:
        return await api.create(each.resource, each.manifest, strict=True)
    except AlreadyExists:
        if not update or not each.is_hidden:
            raise
        try:
            return await _replace(api, ahead)
        except NotFound:  # it went with the job that owned it, in between
            return await api.create(each.resource, each.manifest, strict=True)


async def _replace(api: Api, ahead: Sequence[Checked]) -> Manifest:
    """Hidden values of a job that another command has just created are not overwritten: the Secret must be as it was
    before its job was looked for, and there must be none."""
    each = ahead[0]
    version = meta.version_of(await api.get(each.resource, *each.key))
    for job in (other for other in ahead if other.is_job and other.key.name):
        with suppress(NotFound):
            await api.get(job.resource, *job.key)
            raise AlreadyExists(f"{job.label} is there")
    metadata = {**each.manifest["metadata"], "resourceVersion": version}
    return await api.replace(each.resource, {**each.manifest, "metadata": metadata})
