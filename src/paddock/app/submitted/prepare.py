"""What a job becomes on this machine between its text and the first write: without the devices that no node has, in the
working directory of its scripts, with what its environments' files say and with the code that it begins with.

`cli.submit.checks` takes these steps between checks of its own, as a command has options and a directory that it is
called in; `prepare` takes them for a text of the console, which has neither.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.programs import explain_images
from paddock.app.submitted.directories import annotate, fetch_working_directories, read_scripts
from paddock.app.submitted.lacking import plan_lacking
from paddock.app.submitted.recorded_code import read_code_of
from paddock.environments.defaults import build_defaults
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.kube.code_annotation import CODE_ANNOTATION, write_code
from paddock.kube.meta import ENVIRONMENTS, NODES
from paddock.kube.quantities import format_quantity
from paddock.submission.devices import read_devices, without_devices
from paddock.submission.documents import Checked
from paddock.submission.prepared import Prepared, Unplaced
from paddock.submission.requirements import record_requirements
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def prepare(api: Api, checked: Sequence[Checked], creates: bool) -> Prepared:
    """The documents as `paddock run FILE` sends them, where the text names its directories itself; their code is read
    only where they are created then. Raises `ApiError`; writes nothing."""
    kept, told = await leave_out_lacking(api, checked)
    placed = await fetch_working_directories(api, kept, None)
    refused = tuple(Unplaced(each, why) for each, why in placed if why is not None)
    recorded = [await record_code(each) if creates else each for each, _ in placed]
    environments = (await api.list(ENVIRONMENTS)).items if any(each.is_job for each in recorded) else []
    known = [*environments, *(each.manifest for each in recorded if each.resource == ENVIRONMENTS)]
    told += [said for each in recorded if each.job for said in explain_images(each.job, known).defaults]
    return Prepared(
        tuple(record_requirements(each, environments) for each in recorded), refused, tuple(dict.fromkeys(told))
    )


async def prepare_for_cluster(_api: Api, checked: Sequence[Checked], _creates: bool) -> Prepared:
    """The documents as they are: a cluster has no directory of a reader's machine. What is told is what nobody here
    knows: whether an image has a script that a job starts."""
    scripts = [each for one in checked if one.job for each in read_scripts(one.job, build_defaults(), local=False)]
    told = [
        phrase(
            "{script} is not in the image {image} as it was published, and a console sends no files: the command line "
            "does, with --workdir and the directory where it lies",
            script=each.path, image=each.image,
        )
        if each.brought is False
        else phrase("whether the image {image} has {script} is not known here", image=each.image, script=each.path)
        for each in scripts
        if not each.brought
    ]  # fmt: skip
    return Prepared(tuple(checked), told=tuple(dict.fromkeys(told)))


async def leave_out_lacking(api: Api, checked: Sequence[Checked]) -> tuple[list[Checked], list[Phrase]]:
    """The documents without devices that no node of this machine has, and what is told of each. Raises `ApiError`."""
    asked = read_devices(each.job for each in checked if each.job)
    nodes = (await api.list(NODES)).items if asked else []
    kept: list[Checked] = []
    told: list[Phrase] = []
    for each in checked:
        lacking = plan_lacking(each, nodes, time.time()) if each.job and asked else ()
        kept.append(without_devices(each, lacking) if lacking else each)
        told += [
            phrase(
                "the job asks for {amount} {device} and this machine has none: training on the CPU "
                "(--without {device})",
                amount=format_quantity(asked[name]), device=name,
            )
            for name in lacking
        ]  # fmt: skip
    return kept, told


async def record_code(each: Checked) -> Checked:
    """A job with the code that it begins with, for `paddock history`; what names no directory stays as it is."""
    directory = each.job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "") if each.job else ""
    code = write_code(await asyncio.to_thread(read_code_of, Path(directory))) if directory else ""
    return annotate(each, CODE_ANNOTATION, code) if code else each
