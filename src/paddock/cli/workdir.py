"""The directory that a job's programs start in, and whatever else depends on where the job goes: one seam for the verbs
that submit.

On the local cluster the directory is named and used where it lies (`cli.working_directory`); to a cluster it is sent
(`cli.sent_directories`), and what only the local cluster can do is told first (`cli.cluster_limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster_limits import find_notices, find_refusals
from paddock.cli.errors import UserError
from paddock.cli.language import readers_language
from paddock.cli.places import Place
from paddock.cli.sent_directories import add_directory_maps
from paddock.cli.submission import Checked
from paddock.cli.working_directory import add_working_directories
from paddock.jobs.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.kube.api import Api

Say = Callable[[Phrase], None]

workdir_option = click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False),
    default=None,
    metavar="DIR",
    help="Start the programs in this directory. To a cluster it is sent: at most 900 KiB, without hidden files and "
    "what .gitignore names.",
)


def refuse_impossible(place: Place, checked: Sequence[Checked], say: Say) -> None:
    """Raises `UserError` with all that the place cannot do; what it does otherwise is said. Nothing has been sent."""
    if place.home is not None:
        return
    language = readers_language()
    if refusals := find_refusals(checked):
        last = phrase("nothing was submitted")
        raise UserError("\n".join(render(each, language) for each in (*refusals, last)))
    for each in find_notices(checked):
        say(each)


async def place_directories(
    api: Api, place: Place, checked: Sequence[Checked], named: str | None, say: Say
) -> list[Checked]:
    """The documents with the directories that their jobs start in. Raises `UserError`."""
    if place.home is None:
        return add_directory_maps(checked, named, say)
    directory = Path.cwd() if named is None else Path(named).resolve()
    return await add_working_directories(api, checked, directory, say, named=named is not None)
