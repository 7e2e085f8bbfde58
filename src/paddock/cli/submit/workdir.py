"""Working directories of jobs, and the checks that depend on the cluster: used by `run` and `submit`.

On the local cluster a directory is used in place (`app.submitted.directories`); to a remote one it is sent
(`cli.submit.sent_directories`), after the check for parts that only the local cluster supports
(`submission.local_only`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddock.app.submitted.directories import explain_unfound, fetch_working_directories
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.submit.checks import find_place_refusals
from paddock.cli.submit.sent_directories import add_directory_maps
from paddock.submission.documents import Checked
from paddock.submission.local_only import find_notices
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

Notify = Callable[[Phrase], None]

workdir_option = click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False),
    default=None,
    metavar="DIR",
    help="Start the programs in this directory. To a cluster it is sent: without hidden files and what .gitignore "
    "names, more than 900 KiB by a claim.",
)


def refuse_impossible(place: ClusterChoice, checked: Sequence[Checked], notify: Notify) -> None:
    """Raises `UserError` with all that the place does not support; notifies of differences. Sends nothing."""
    refusals = find_place_refusals(checked, is_local=place.home is not None)
    if refusals:
        raise UserError(*(each.shown for each in refusals), phrase("nothing was submitted"))
    if place.home is not None:
        return
    for each in find_notices(checked):
        notify(each)


async def place_directories(
    api: Api, place: ClusterChoice, checked: Sequence[Checked], named: str | None, notify: Notify
) -> list[Checked]:
    """The documents, with the working directories of their jobs. Raises `UserError`."""
    if place.home is None:
        return add_directory_maps(checked, named, notify)
    directory = Path.cwd() if named is None else Path(named).resolve()
    return await add_working_directories(api, checked, directory, named=named is not None)


async def add_working_directories(
    api: Api, checked: Sequence[Checked], directory: Path, *, named: bool = False
) -> list[Checked]:
    """The documents, with `directory` in the annotation of jobs that start a script from it, or of all jobs if the user
    has `named` it. Raises `UserError` for a script that is found nowhere."""
    placed = []
    for each, refusal in await fetch_working_directories(api, checked, directory, named=named):
        if refusal is not None:
            raise UserError(explain_unfound(each, refusal))
        placed.append(each)
    return placed
