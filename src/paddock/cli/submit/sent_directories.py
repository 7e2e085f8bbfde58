"""Sends the working directory of a job to a cluster, as a ConfigMap that the job owns.

The ConfigMap is created first, then the job, then the owner reference, so that garbage collection deletes both; if the
job is refused, the ConfigMap is deleted. The content of images is not known here, so a directory is sent only with
--workdir, or if the image is a known framework's without such a script (`app.submitted.directories` reads that) and
the current directory has it; the home directory only with --workdir. Files that look like secrets
(`cli.submit.secret_files`) are refused before anything is sent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.submitted.directories import look_in, plan_scripts, read_scripts
from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.directory_files import Found, find_files
from paddock.cli.submit.directory_map import (
    MOUNT,
    build_directory_map,
    explain_sending,
    find_own_directory,
    mount_directory_map,
    plan_entries,
)
from paddock.cli.submit.secret_files import explain_secrets, is_secret
from paddock.cli.submit.submission import create_all
from paddock.environments.defaults import build_defaults
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, name_of, namespace_of, uid_of, version_of
from paddock.preflight import Document
from paddock.submission.documents import Checked
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

_LONGEST_PREFIX = 200
Notify = Callable[[Phrase], None]


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory to send."""

    path: Path
    shown: str
    """As it is printed."""


def add_directory_maps(checked: Sequence[Checked], named: str | None, notify: Notify) -> list[Checked]:
    """The documents, with a ConfigMap before each job whose directory is sent. `named`: the value of --workdir. Raises
    `UserError`; sends nothing."""
    result: list[Checked] = []
    for each in checked:
        directory = choose_directory(each, named, notify) if each.is_job else None
        result += send_directory(each, directory, find_files(directory.path), notify) if directory else [each]
    return result


def choose_directory(each: Checked, named: str | None, notify: Notify) -> Directory | None:
    """The directory that goes with a job; None where none does. `named`: the value of --workdir. Raises `UserError`."""
    assert each.job is not None
    job = replace(each.job, annotations={})
    if named is not None:
        if own := find_own_directory(job):
            raise UserError(
                phrase(
                    "{job} starts in {own}, its container's workingDir, and --workdir would have it start in the sent "
                    "directory: remove one of the two",
                    job=each.label, own=own,
                )
            )  # fmt: skip
        return Directory(Path(named), named)
    here = Path.cwd()
    scripts = list(read_scripts(job, build_defaults(), local=False))
    # what an image of a cluster has is run from it: only a script that no image has is taken from here
    missing = [script.path for script in scripts if script.brought is False]
    taken, refusal = plan_scripts(scripts if missing else (), here, *look_in(here))
    if taken and refusal is None:
        if is_too_wide(here, Path("~").expanduser().resolve()):
            raise UserError(
                phrase(
                    "{script} is in no image, and {directory}, where it lies, is sent only where --workdir names it: "
                    "put the program into a directory of its own and call paddock there, or --workdir DIR",
                    script=missing[0], directory=str(here),
                )
            )  # fmt: skip
        return Directory(here, ".")
    for script in scripts:
        if (here / script.path).is_file():
            notify(
                phrase(
                    "{script} is expected in the image {image}; --workdir . sends the one that is here",
                    script=script.path, image=script.image,
                )
            )  # fmt: skip
    return None


def is_too_wide(directory: Path, home: Path) -> bool:
    """Whether it is the root, the home directory or a parent of it. Both paths are absolute and resolved. If `home` is
    the root, as in some containers, only the root is too wide."""
    return home.is_relative_to(directory)


def send_directory(each: Checked, directory: Directory, found: Found, notify: Notify) -> list[Checked]:
    """The documents of the ConfigMap and of the job that mounts it. Raises `UserError`."""
    entries, refusal = plan_entries(found, directory.shown)
    if refusal is not None:
        raise UserError(refusal)
    contents = {entry.path: _read(directory.path / entry.path) for entry in entries}
    secrets_found = [
        file.path for file in found.files if not file.negated_by_name and is_secret(file.path, contents[file.path])
    ]
    if secrets_found:
        raise UserError(explain_secrets(secrets_found, directory.shown))
    notify(explain_sending(found, directory.shown))
    prefix = (each.key.name or str(each.manifest["metadata"].get("generateName") or "job")).rstrip("-.")
    name = f"{prefix[:_LONGEST_PREFIX]}-workdir-{secrets.token_hex(3)}"
    config_map = build_directory_map(name, namespace_of(each.manifest), entries, contents)
    assert each.job is not None
    notify(phrase("the job starts in it, read-only, at {path} (ConfigMap {name})", path=MOUNT, name=name))
    mounted = each.with_manifest(mount_directory_map(each.manifest, each.job, name, entries))
    return [Checked(directory.shown, Document(config_map), config_map, CONFIG_MAPS), mounted]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            phrase("{path} cannot be read: {why}", path=str(path), why=explain_unreadable(error))
        ) from error


async def create_with_maps(
    api: Api,
    checked: Sequence[Checked],
    notify: Notify,
    *,
    update: bool = False,
    created: list[Manifest] | None = None,
) -> list[Manifest]:
    """`create_all`, then sets the job as owner of what was made for it: the ConfigMap of its directory, the Secret of
    its variables. Such an object without its job is deleted; `notify` gets a line if that fails. `created`: as of
    `create_all`."""
    created = [] if created is None else created
    pairs = [(one, _find_job(checked, place)) for place, one in enumerate(checked) if _is_sent(one)]
    try:
        await create_all(api, checked, update=update, created=created)
    except BaseException as error:  # also Ctrl-C: a ConfigMap without an owner is never garbage collected
        made = len(created)
        for made_for, job in pairs:
            if list(checked).index(made_for) >= made and isinstance(error, UserError):
                continue  # it was refused: what is there is another command's
            place = list(checked).index(job)
            there = created[place] if place < made else None
            asked = place < made or (place == made and not isinstance(error, UserError))
            await _own_or_delete(api, made_for, job, there, notify, asked=asked)
        raise
    for made_for, job in pairs:
        made_as, there = (created[list(checked).index(each)] for each in (made_for, job))
        await _set_owner(api, made_for, job, there, notify, version=version_of(made_as) if made_for.is_hidden else "")
    return created


def _is_sent(each: Checked) -> bool:
    return each.resource in (CONFIG_MAPS, SECRETS) and not each.document.places  # generated here


def _find_job(checked: Sequence[Checked], place: int) -> Checked:
    """The job for which the document at `place` was made: it follows, perhaps behind another such document."""
    return next(each for each in checked[place:] if each.is_job)


async def _own_or_delete(
    api: Api, made_for: Checked, job: Checked, there: Manifest | None, notify: Notify, *, asked: bool
) -> None:
    """After a failure. `there`: the created job. Without it the job may still exist, if its create request was sent
    (`asked`) and the response lost: then it keeps its ConfigMap. A job with generateName cannot be looked up."""
    namespace, name = made_for.key
    try:
        if there is None and asked and not job.key.name:
            notify(_explain_left(made_for, phrase("it is not known whether the job was created")))
            return
        there = there or await _fetch(api, job)
        if there is not None and name in json.dumps(there.get("spec")):
            await _set_owner(api, made_for, job, there, notify)
        else:
            await api.delete(made_for.resource, namespace, name)
    except NotFound:
        pass  # it was not created
    except ApiError as error:
        notify(_explain_left(made_for, error.message))


def _explain_left(made_for: Checked, why: Phrase | str) -> Phrase:
    return phrase(
        "the {kind} {name} in namespace {namespace} may be left behind ({why}): delete it if no job uses it",
        kind=made_for.resource.kind, name=made_for.key.name, namespace=made_for.key.namespace, why=why,
    )  # fmt: skip


async def _fetch(api: Api, job: Checked) -> Manifest | None:
    try:
        return await api.get(job.resource, *job.key) if job.key.name else None
    except NotFound:
        return None


async def _set_owner(
    api: Api, made_for: Checked, job: Checked, there: Manifest, notify: Notify, *, version: str = ""
) -> None:
    """Sets the job as owner, not as controller: the operator treats controlled objects as its own. `version`: that of
    the object as it was made; if another command has changed it since, its content is written again."""
    owner = {
        "apiVersion": job.resource.api_version,
        "kind": job.resource.kind,
        "name": name_of(there),
        "uid": uid_of(there),
    }
    meta = {"ownerReferences": [owner]}
    try:
        try:
            patch = {"metadata": {**meta, "resourceVersion": version} if version else meta}
            await api.patch(made_for.resource, *made_for.key, patch)
        except Conflict:
            await api.replace(
                made_for.resource, {**made_for.manifest, "metadata": {**made_for.manifest["metadata"], **meta}}
            )
    except ApiError as error:
        notify(
            phrase(
                "the {kind} {name} will not go with the job ({why}): delete it yourself then",
                kind=made_for.resource.kind, name=made_for.key.name, why=error.message,
            )
        )  # fmt: skip
