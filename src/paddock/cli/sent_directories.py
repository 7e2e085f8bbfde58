"""The working directory of a job goes to a cluster as a ConfigMap, which then belongs to the job.

The ConfigMap comes first, the job second, and last the job becomes its owner, so that it goes with the job; where the
job is refused, it is removed again. On a cluster nobody here knows what an image holds: a directory is sent where the
user says so (--workdir), or where the image is one of the known frameworks' that has no such script (`cli.
working_directory` reads that), and the directory of the command has it; the home directory only where it is named.
What looks like a secret (`cli.secret_files`) is refused before anything is sent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cli.directory_files import find_files
from paddock.cli.directory_map import (
    MOUNT,
    build_directory_map,
    explain_sending,
    find_own_directory,
    mount_directory_map,
    plan_entries,
)
from paddock.cli.errors import UserError
from paddock.cli.secret_files import explain_secrets, is_secret
from paddock.cli.submission import Checked, create_all
from paddock.cli.working_directory import plan_scripts, read_scripts
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.phrases import Phrase, phrase
from paddock.jobs.preflight import Document
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import CONFIG_MAPS, Manifest, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.kube.api import Api

_LONGEST_PREFIX = 200
Say = Callable[[Phrase], None]


@dataclass(frozen=True, slots=True)
class Directory:
    """What is sent and how it was named on the command line."""

    path: Path
    shown: str


def add_directory_maps(checked: Sequence[Checked], named: str | None, say: Say) -> list[Checked]:
    """The same documents, with a ConfigMap before each job whose directory is sent. `named`: by --workdir. Raises
    `UserError`; nothing is sent here."""
    result: list[Checked] = []
    for each in checked:
        directory = _choose(each, named, say) if each.is_job else None
        result += _pack(each, directory, say) if directory else [each]
    return result


def _choose(each: Checked, named: str | None, say: Say) -> Directory | None:
    job = replace(KINDS[each.resource].read_job(each.manifest), annotations={})
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
    scripts = list(read_scripts(job, build_defaults()))
    missing, refusal = plan_scripts(scripts, here, lambda path: (here / path).is_file())
    if missing and refusal is None:
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
        if script.brought is None and (here / script.path).is_file():
            say(
                phrase(
                    "{script} is expected in the image {image}; --workdir . sends the one that is here",
                    script=script.path, image=script.image,
                )
            )  # fmt: skip
    return None


def is_too_wide(directory: Path, home: Path) -> bool:
    """The root, the home directory and what holds it: nobody means to send all of that. Both paths are absolute, with
    no links. Where `home` is the root, as in some containers, what lies below is a directory like others."""
    return home.is_relative_to(directory)


def _pack(each: Checked, directory: Directory, say: Say) -> list[Checked]:
    """The ConfigMap's document and the job's."""
    found = find_files(directory.path)
    entries, refusal = plan_entries(found, directory.shown)
    if refusal is not None:
        raise UserError(refusal)
    contents = {entry.path: _read(directory.path / entry.path) for entry in entries}
    unmeant = [file.path for file in found.files if not file.meant and is_secret(file.path, contents[file.path])]
    if unmeant:
        raise UserError(explain_secrets(unmeant, directory.shown))
    say(explain_sending(found, directory.shown))
    prefix = (each.key.name or str(each.manifest["metadata"].get("generateName") or "job")).rstrip("-.")
    name = f"{prefix[:_LONGEST_PREFIX]}-workdir-{secrets.token_hex(3)}"
    config_map = build_directory_map(name, namespace_of(each.manifest), entries, contents)
    job = KINDS[each.resource].read_job(each.manifest)
    say(phrase("the job starts in it, read-only, at {path} (ConfigMap {name})", path=MOUNT, name=name))
    mounted = replace(each, manifest=mount_directory_map(each.manifest, job, name, entries))
    return [Checked(directory.shown, Document(config_map), config_map, CONFIG_MAPS), mounted]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(phrase("{path} cannot be read: {why}", path=str(path), why=error.strerror or "")) from error


async def create_with_maps(api: Api, checked: Sequence[Checked], say: Say, *, update: bool = False) -> list[Manifest]:
    """`create_all`, after which each sent directory belongs to its job; without its job none is left behind, or else
    it is said."""
    created: list[Manifest] = []
    pairs = [(one, job) for one, job in pairwise(checked) if _is_sent(one)]
    try:
        await create_all(api, checked, update=update, created=created)
    except BaseException as error:
        made = len(created)
        for config_map, job in pairs:
            place = list(checked).index(job)
            there = created[place] if place < made else None
            asked = place < made or (place == made and not isinstance(error, UserError))
            await _settle(api, config_map, job, there, say, asked=asked)
        raise
    for config_map, job in pairs:
        await _own(api, config_map.manifest, job, created[list(checked).index(job)], say)
    return created


def _is_sent(each: Checked) -> bool:
    return each.resource == CONFIG_MAPS and not each.document.places  # from no text


async def _settle(
    api: Api, config_map: Checked, job: Checked, there: Manifest | None, say: Say, *, asked: bool
) -> None:
    """After a failure. `there`: the job as it was created; without it, one that was `asked` for and not refused may be
    there after all, as its answer was lost: then it keeps its directory, which would else be gone under its pods. One
    whose name the server makes up cannot be looked for."""
    namespace, name = config_map.key
    try:
        if there is None and asked and not job.key.name:
            say(_explain_left(name, namespace, phrase("it is not known whether the job was created")))
            return
        there = there or await _fetch(api, job)
        if there is not None and name in json.dumps(there.get("spec")):
            await _own(api, config_map.manifest, job, there, say)
        else:
            await api.delete(CONFIG_MAPS, namespace, name)
    except NotFound:
        pass  # it was not created either
    except ApiError as error:
        say(_explain_left(name, namespace, error.message))


def _explain_left(name: str, namespace: str, why: Phrase | str) -> Phrase:
    return phrase(
        "the ConfigMap {name} in namespace {namespace} may be left behind ({why}): delete it if no job uses it",
        name=name, namespace=namespace, why=why,
    )  # fmt: skip


async def _fetch(api: Api, job: Checked) -> Manifest | None:
    try:
        return await api.get(job.resource, *job.key) if job.key.name else None
    except NotFound:
        return None


async def _own(api: Api, config_map: Manifest, job: Checked, there: Manifest, say: Say) -> None:
    """Not as its controller: that would say that the operator made it."""
    owner = {
        "apiVersion": job.resource.api_version,
        "kind": job.resource.kind,
        "name": name_of(there),
        "uid": uid_of(there),
    }
    namespace, name = namespace_of(config_map), name_of(config_map)
    try:
        await api.patch(CONFIG_MAPS, namespace, name, {"metadata": {"ownerReferences": [owner]}})
    except ApiError as error:
        say(
            phrase(
                "the ConfigMap {name} will not go with the job ({why}): delete it yourself then",
                name=name, why=error.message,
            )
        )  # fmt: skip
