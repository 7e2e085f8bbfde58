"""Checked documents -> objects in the cluster. If one is refused, nothing is created."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.kinds import name_for_kubectl
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.language import localized, readers_language
from paddock.kube import meta
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import NODES, Manifest
from paddock.submission.devices import read_asked, read_offered, refuse_unasked, without_devices
from paddock.submission.documents import Checked
from paddock.submission.missing_secrets import explain_missing, find_missing_secrets, read_brought
from paddock.views.flags import LOCAL, Flags
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_devices(api: Api) -> set[str]:
    """The devices that at least one node of the cluster has."""
    return read_offered((await api.list(NODES)).items)


def drop_devices(checked: Sequence[Checked], devices: Iterable[str]) -> list[Checked]:
    """The documents without requests for `devices`; an annotation of each job keeps the original requests. Raises
    `UserError` for one that no job asks for: a misspelt name would leave the request in place."""
    wanted = tuple(devices)
    for device in wanted:
        if refusal := refuse_unasked(device, read_asked(each.job for each in checked if each.job)):
            raise UserError(refusal)
    return [without_devices(each, wanted) for each in checked]


async def check_with_server(
    api: Api,
    checked: Sequence[Checked],
    *,
    update: bool = False,
    replaced: Collection[Checked] = (),
    flags: Flags = LOCAL,
) -> None:
    """Sends every document as a dry run (dryRun=All, strict) before any is created. Raises `UserError`.

    `update`: an existing object that is no job is accepted, as `create_all` replaces it. `replaced`: jobs that take the
    place of an existing one, which is deleted later: a server looks for the name last.
    """
    wrong: list[str] = []
    for each in sorted(checked, key=lambda each: not each.document.places):  # generated documents last
        if wrong and not each.document.places:
            break
        try:
            await api.create(each.resource, each.manifest, strict=True, dry_run=True)
        except AlreadyExists:
            if (each.is_job or not update) and not any(each is other for other in replaced):
                said = phrase(
                    "{file}: {object} exists already: `{command}` removes it",
                    file=each.file, object=each.label, command=_deletion(each, flags),
                )  # fmt: skip
                wrong.append(localized(said))
        except (Forbidden, Unauthorized):  # about the user, not the document; `explained_refusals` explains it
            raise
        except ApiError as error:
            if error.code >= 500:
                raise
            wrong.append(f"{each.file}:{each.document.line}: {explain_refused(each, error, flags)}")
    if wrong:
        raise UserError(*wrong, phrase("nothing was submitted"))


def explain_refused(each: Checked, error: ApiError, flags: Flags) -> str:
    """The server's message; for a missing namespace or kind what to do."""
    if not isinstance(error, NotFound):
        return error.message
    language = readers_language()
    if error.kind == "namespaces" and error.name:
        said = phrase(
            "there is no namespace {name}: `{command}` makes it, -n names another",
            name=error.name, command=f"{flags.kubectl} create namespace {error.name}",
        )  # fmt: skip
        return render(said, language)
    if error.name:
        return error.message
    if each.is_job:
        name = each.resource.qualified
        said = phrase(
            "the cluster serves no {kind} of {version}: `{command}` installs the kind, and the operator takes it with "
            "--kinds={name}",
            kind=each.resource.kind, version=each.resource.api_version, name=name,
            command=f"paddock manifests crd --kinds {name} | {flags.kubectl} apply -f -",
        )  # fmt: skip
        return render(said, language)
    said = phrase(
        "the cluster serves no {kind} of {version}: leave it out, or have it installed (`{command}` shows what there "
        "is)",
        kind=each.resource.kind, version=each.resource.api_version, command=f"{flags.kubectl} api-resources",
    )  # fmt: skip
    return render(said, language)


def _deletion(each: Checked, flags: Flags) -> str:
    where = flags.of(each.key.namespace)
    if each.is_job:
        return f"paddock delete {each.key.name}{where}"
    namespace = where.removeprefix(flags.options)
    return f"{flags.kubectl} delete {name_for_kubectl(each.resource)} {each.key.name}{namespace}"


async def create_all(
    api: Api, checked: Sequence[Checked], *, update: bool = False, created: list[Manifest] | None = None
) -> list[Manifest]:
    """Creates in the order of the documents. A refusal after an accepted dry run is a race; then `created` holds the
    objects that exist."""
    created = [] if created is None else created
    for place, each in enumerate(checked):
        try:
            created.append(await _create(api, checked[place:], update=update and not each.is_job))
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
    """Creates the first of `ahead`: a document, and those behind it."""
    each = ahead[0]
    try:
        return await api.create(each.resource, each.manifest, strict=True)
    except AlreadyExists:
        if not update:
            raise
        try:
            return await _replace(api, ahead)
        except NotFound:  # it went with the job that owned it, in between
            return await api.create(each.resource, each.manifest, strict=True)


async def _replace(api: Api, ahead: Sequence[Checked]) -> Manifest:
    """Hidden values of a job that another command has just created are not overwritten: the Secret must be as it was
    before its job was looked for, and there must be none."""
    each = ahead[0]
    if not each.is_hidden:
        return await api.replace(each.resource, each.manifest)
    version = meta.version_of(await api.get(each.resource, *each.key))
    for job in (other for other in ahead if other.is_job and other.key.name):
        with suppress(NotFound):
            await api.get(job.resource, *job.key)
            raise AlreadyExists(f"{job.label} is there")
    metadata = {**each.manifest["metadata"], "resourceVersion": version}
    return await api.replace(each.resource, {**each.manifest, "metadata": metadata})


async def refuse_missing_secrets(
    api: Api, place: ClusterChoice, checked: Sequence[Checked], replaced: Iterable[StoredJob]
) -> None:
    """Raises `UserError` for each Secret that neither the documents nor the namespace has. `replaced`: jobs that
    will be deleted, with what they own. Reads only."""
    jobs = [each.job for each in checked if each.job]
    if place.home is None or not jobs:
        return
    missing = await find_missing_secrets(api, jobs, read_brought(checked), {job.uid for job in replaced})
    said = [
        phrase("{option}: {problem}", option=f"{each.job.resource.kind} {each.job.key}", problem=explain_missing(each))
        for each in missing
    ]
    if said:
        raise UserError(*said, phrase("nothing was submitted"))
