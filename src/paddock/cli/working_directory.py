"""Scripts that no image brings: `train.py` beside the manifest's user, as the documents' examples have it.

A script by a relative path comes from the image or from nowhere (`jobs.scripts`). Where the image does not have it, the
directory that the command is called in may: then the job starts there, as its annotation says, and `jobs.pods` does the
rest. Where it is in neither, the job could only fail, so it is refused before it is submitted. An annotation that is
there already wins, and an image that nobody knows is not judged: the job will say itself why it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cli.errors import UserError
from paddock.cli.language import readers_language
from paddock.cli.submission import Checked
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.jobs.pods import build_pod, main_container
from paddock.jobs.scripts import find_script
from paddock.kube.meta import ENVIRONMENTS, Manifest, Resource, annotations_of

if TYPE_CHECKING:
    from paddock.kube.api import Api


@dataclass(frozen=True, slots=True)
class Script:
    """A script that a role starts. `brought`: its image has it; None where the image is unknown."""

    path: str
    image: str
    brought: bool | None


async def add_working_directories(
    api: Api, checked: Sequence[Checked], directory: Path, say: Callable[[Phrase], None], *, named: bool = False
) -> list[Checked]:
    """The same documents; jobs whose script is taken from `directory` name it, and all of them do where the user has
    `named` it. Raises `UserError` for one that is nowhere."""
    if named:
        return [_start_in(each, directory) if each.is_job else each for each in checked]
    if not any(each.is_job for each in checked):
        return list(checked)
    environments = (await api.list(ENVIRONMENTS)).items
    return [_place(each, environments, directory, say) if each.is_job else each for each in checked]


def _place(each: Checked, environments: Sequence[Manifest], directory: Path, say: Callable[[Phrase], None]) -> Checked:
    if WORKING_DIRECTORY_ANNOTATION in annotations_of(each.manifest):
        return each
    scripts = list(read_scripts(KINDS[each.resource].read_job(each.manifest), environments))
    missing, refusal = plan_scripts(scripts, directory, lambda path: (directory / path).is_file())
    if refusal is not None:
        raise UserError(f"{each.file}: {render(refusal, readers_language())}")
    if not missing:
        return each
    for path in missing:
        say(phrase("{script} is in no image: taken from {directory}", script=path, directory=str(directory)))
    return _start_in(each, directory)


def _start_in(each: Checked, directory: Path) -> Checked:
    annotations = {**annotations_of(each.manifest), WORKING_DIRECTORY_ANNOTATION: str(directory)}
    metadata = {**each.manifest["metadata"], "annotations": annotations}
    return replace(each, manifest={**each.manifest, "metadata": metadata})


def read_refusal(
    resource: Resource, manifest: Manifest, environments: Sequence[Manifest], directory: Path
) -> Phrase | None:
    """Why a job would be refused that is submitted from `directory`; None if each script has a place."""
    if WORKING_DIRECTORY_ANNOTATION in annotations_of(manifest):
        return None
    scripts = list(read_scripts(KINDS[resource].read_job(manifest), environments))
    return plan_scripts(scripts, directory, lambda path: (directory / path).is_file())[1]


def read_scripts(job: Job, environments: Iterable[Manifest]) -> Iterator[Script]:
    """The script of each role that starts one by a relative path, with what its image has of it."""
    from paddock.app.programs import read_content

    known = tuple(environments)
    for role in job.roles:
        pod = build_pod(job, Rank(role.name, 0), 0, None, Settings())
        containers = pod["spec"]["containers"]
        container = containers[main_container(job, containers)]
        image = str(container.get("image") or "")
        content = read_content(image, pod, known)
        if content is not None and not container.get("command"):
            container = {**container, "command": list(content.command)}
        if path := find_script(container):
            brought = None if content is None else content.files is not None and (content.files / path).is_file()
            yield Script(path, image, brought)


def plan_scripts(
    scripts: Sequence[Script], directory: Path, is_there: Callable[[str], bool]
) -> tuple[tuple[str, ...], Phrase | None]:
    """The scripts that are taken from `directory` for want of another place, and the refusal where that cannot be. All
    roles start in it then, so it must have what every one of them starts."""
    missing = tuple(script for script in scripts if script.brought is False)
    others = tuple(script for script in scripts if script.brought)
    for script in (*missing, *others) if missing else ():
        if directory == Path("/") or not is_there(script.path):
            return (), phrase(
                "{script} is not in the image {image} nor in {directory}: call paddock where it lies, or mount a "
                "volume that has it and name its place in workingDir",
                script=script.path,
                image=script.image,
                directory=str(directory),
            )
    return tuple(dict.fromkeys(script.path for script in missing)), None
