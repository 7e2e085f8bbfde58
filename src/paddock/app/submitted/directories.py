"""Scripts that a job starts by a relative path: `train.py` in the current directory, as in PaddlePaddle's examples.

On a laptop the user's file always wins: if the current directory has the script, or else the directory of the manifest,
an annotation makes the job start there (`jobs.objects.pods`), also where the image stands for a program of ours
(`launches.containers`). That program is used only where nothing else is there. A script that is in none would fail, so
the job is refused before it is submitted. An existing annotation wins, and its directory must be there, as must any
workingDir where nothing is mounted. Images that are unknown, with no default Environment in their place, are not
judged: the job's cause will say why it waits. `cli.submit.programs` says what runs.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.app.submitted.nearby import find_nearby
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod, main_container
from paddock.kube.environments import PATH_ANNOTATION
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of
from paddock.launches.containers import find_script
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


@dataclass(frozen=True, slots=True)
class Script:
    """A script that a role starts."""

    path: str
    """Relative, as the command names it."""
    image: str
    """Of its container."""
    brought: bool | None
    """Whether the image has it; None if the image is unknown."""
    is_default: bool = False
    """Whether a default Environment, which has no script, is taken in place of the image."""


def explain_unfound(each: Checked, refusal: Phrase) -> Phrase:
    """The refusal with the file of the job."""
    return phrase("{option}: {problem}", option=each.file, problem=refusal)


async def fetch_working_directories(
    api: Api, checked: Sequence[Checked], directory: Path | None, *, named: bool = False
) -> list[tuple[Checked, Phrase | None]]:
    """The documents, each with why a script of it is found nowhere, or None. `directory` is in the annotation of jobs
    that start a script from it, or of all jobs if the user has `named` it; None where nobody is in a directory, as in a
    browser."""
    if not any(each.is_job for each in checked):
        return [(each, None) for each in checked]
    environments = (await api.list(ENVIRONMENTS)).items
    return [_place(each, environments, directory, named=named) if each.is_job else (each, None) for each in checked]


def _place(
    each: Checked, environments: Sequence[Manifest], directory: Path | None, *, named: bool
) -> tuple[Checked, Phrase | None]:
    assert each.job is not None
    if absent := find_absent_directory(each.job, lambda path: os.path.isdir(path)):  # noqa: PTH112 - no OSError
        return each, absent
    scripts = list(read_scripts(each.job, environments))
    own = annotations_of(each.manifest).get(WORKING_DIRECTORY_ANNOTATION)
    if own is not None and not named:
        return each, _refuse_own(scripts, own)
    if directory is None:
        return each, _refuse_without(scripts)
    if named:
        scripts = [replace(script, brought=False) for script in scripts]
    taken, refusal = plan_scripts(scripts, directory, *look_in(directory))
    if not (taken or named):  # else what lies beside the manifest
        beside = (directory / each.file).parent
        if plan_scripts(scripts, beside, *look_in(beside))[0]:
            return _start_in(each, beside.resolve()), None
    return (_start_in(each, directory) if refusal is None and (taken or named) else each), refusal


def find_absent_directory(job: Job, is_there: Callable[[str], bool]) -> Phrase | None:
    """Why containers cannot start in the workingDir that a template names: the node finds nothing there, as no volume
    is mounted at it."""
    for role in job.roles:
        for container in role.template["spec"]["containers"]:
            path = str(container.get("workingDir") or "")
            if path.startswith("/") and not _is_mounted(container, path) and not is_there(path):
                return phrase(
                    "{role} starts in {directory} (workingDir), which is not on this machine, and no volume is mounted "
                    "there: name a directory that is there",
                    role=role.name, directory=path,
                )  # fmt: skip
    return None


def _is_mounted(container: Mapping[str, Any], path: str) -> bool:
    mounts = (posixpath.normpath(str(each.get("mountPath"))) for each in container.get("volumeMounts") or ())
    return any(f"{posixpath.normpath(path)}/".startswith(f"{each.rstrip('/')}/") for each in mounts)


def _refuse_own(scripts: Sequence[Script], directory: str) -> Phrase | None:
    """Of the directory that the job's annotation names, in which all roles start."""
    if not directory.startswith("/"):
        return phrase(
            "the working directory {directory} does not begin with /: write the whole path", directory=directory
        )
    if not os.path.isdir(directory):  # noqa: PTH112 - no OSError
        return phrase(
            "the working directory {directory} is not on this machine: name one that is there", directory=directory
        )
    for script in (each for each in scripts if not os.path.isfile(f"{directory}/{each.path}")):  # noqa: PTH113
        near = find_nearby(Path(directory), script.path)
        if near:
            return phrase(
                "{script} is not in the working directory {directory}, but in {near}: name that one",
                script=script.path, directory=directory, near=os.path.realpath(near),
            )  # fmt: skip
        return phrase(
            "{script} is not in the working directory {directory}: name the directory where it lies",
            script=script.path, directory=directory,
        )  # fmt: skip
    return None


def _refuse_without(scripts: Sequence[Script]) -> Phrase | None:
    """Of a job for which nobody has named a directory."""
    for script in (each for each in scripts if each.brought is False):
        if script.is_default:
            return phrase(
                "{script} is nowhere: the job has no working directory, and the files of image {image} are not on this "
                "machine; name the directory where it lies",
                script=script.path, image=script.image,
            )  # fmt: skip
        return phrase(
            "{script} is nowhere: the job has no working directory, and it is not in the image {image}; name the "
            "directory where it lies",
            script=script.path, image=script.image,
        )  # fmt: skip
    return None


def with_path(each: Checked, path: str) -> Checked:
    """A job with PATH of the shell that submits it, unless it names one: the cluster was started by another shell. An
    empty one, and one that is no text in UTF-8, is left out."""
    is_text = path == path.encode(errors="replace").decode()
    if not each.is_job or not path or not is_text or PATH_ANNOTATION in annotations_of(each.manifest):
        return each
    return annotate(each, PATH_ANNOTATION, path)


def _start_in(each: Checked, directory: Path) -> Checked:
    return annotate(each, WORKING_DIRECTORY_ANNOTATION, str(directory))


def annotate(each: Checked, name: str, value: str) -> Checked:
    """The document with an annotation more."""
    annotations = {**annotations_of(each.manifest), name: value}
    metadata = {**each.manifest["metadata"], "annotations": annotations}
    return each.with_manifest({**each.manifest, "metadata": metadata})


def look_in(directory: Path) -> tuple[Callable[[str], bool], Callable[[str], str]]:
    """Whether a script is in `directory`, and which directory near it has one: what `plan_scripts` asks."""
    return (lambda path: (directory / path).is_file()), partial(find_nearby, directory)


def read_scripts(job: Job, environments: Iterable[Manifest], *, local: bool = True) -> Iterator[Script]:
    """The scripts that roles start by a relative path, and whether their images have them. `local`: a command whose
    image is unknown runs in a default Environment, which has no script; on a cluster it may have any."""
    from paddock.app.programs import read_content

    known = tuple(environments)
    for role in job.roles:
        pod = build_pod(job, Rank(role.name, 0), 0, None, Settings(substitutes=True, environments=local))
        containers = pod["spec"]["containers"]
        container = containers[main_container(job, containers)]
        image = str(container.get("image") or "")
        content = read_content(container, pod, known)
        if content is not None and not container.get("command"):
            container = {**container, "command": list(content.command)}
        if path := find_script(container):
            brought = None if content is None else content.files is not None and (content.files / path).is_file()
            yield Script(path, image, brought, is_default=content is not None and content.is_default)


def plan_scripts(
    scripts: Sequence[Script], directory: Path, is_there: Callable[[str], bool], find_near: Callable[[str], str]
) -> tuple[tuple[str, ...], Phrase | None]:
    """The scripts that are taken from `directory`: those that are there, whatever the image has; and the error if that
    is impossible. All roles then start in it, so it must have the scripts of all roles. `find_near`: the directory near
    it that has a script, or nothing."""
    root = directory == Path("/")
    here = tuple(dict.fromkeys(each.path for each in scripts if not root and is_there(each.path)))
    for script in (each for each in scripts if each.brought is False and each.path not in here):
        return (), _refuse(script, directory, find_near(script.path))
    for script in (each for each in scripts if here and each.brought and each.path not in here):
        return (), phrase(
            "{script} of {directory} is run, and all roles start there: {other}, which the image {image} has, must be "
            "there too",
            script=here[0], directory=str(directory), other=script.path, image=script.image,
        )  # fmt: skip
    return here, None


def _refuse(script: Script, directory: Path, near: str) -> Phrase:
    if script.is_default:
        return _refuse_unpulled(script, directory, near)
    if near:
        return phrase(
            "{script} is not in the image {image} nor in {directory}, but in {near}: `--workdir {near}` starts it "
            "there",
            script=script.path, image=script.image, directory=str(directory), near=shlex.quote(near),
        )  # fmt: skip
    return phrase(
        "{script} is not in the image {image} nor in {directory}: call paddock where it lies, or mount a "
        "volume that has it and name its place in workingDir",
        script=script.path, image=script.image, directory=str(directory),
    )  # fmt: skip


def _refuse_unpulled(script: Script, directory: Path, near: str) -> Phrase:
    """Of an image that may have the script."""
    if near:
        return phrase(
            "{script} is not in {directory}, but in {near}: `--workdir {near}` starts it there",
            script=script.path, directory=str(directory), near=shlex.quote(near),
        )  # fmt: skip
    if Path(script.path).is_absolute():
        return phrase(
            "there is no file {script} on this machine, and the files of image {image} are not here, either: mount a "
            "volume that has it, as a hostPath for one",
            script=script.path, image=script.image,
        )  # fmt: skip
    return phrase(
        "{script} is not in {directory}, and the files of image {image} are not on this machine: call paddock where "
        "the script lies, or mount a volume that has it and name its place in workingDir",
        script=script.path, directory=str(directory), image=script.image,
    )  # fmt: skip
