"""The files of a run, copied into a directory: from a cluster, and from the directory that the laptop keeps."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.app.claimed.conversation import Conversation
from paddock.app.claimed.fetching import Fetch, Fetched
from paddock.app.claimed.files import MOST_FILES, ClaimedRun, Listing, show_path
from paddock.app.claimed.target import NotOurs, Target
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.follow.cluster_outputs import ClusterOutputs
from paddock.cli.output.language import readers_language
from paddock.cli.output.screen import Screen
from paddock.kube.errors import Unavailable
from paddock.kube.quantities import format_bytes
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase, render

MOST_FETCHED = 1_000_000
"""Files of a run that are fetched; of more it is said."""
_MOST_CUTS = 3
"""Connections that may be lost one after the other without a byte between them."""
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """A run in a claim, with its files."""

    run: ClaimedRun | None
    runs: Sequence[ClaimedRun]
    below: str
    listing: Listing


async def find_files(outputs: ClusterOutputs, conversation: Conversation, most: int = MOST_FILES) -> Found:
    """Raises what `ClusterOutputs` raises."""
    run, runs, below = await outputs.choose(conversation)
    return Found(run, runs, below, await conversation.list_files(below, most))


def open_target(place: Path, job: str, run: str) -> Target:
    """Raises `UserError` for a directory with something else in it, `Failed` for one that cannot be made."""
    target = Target(place)
    try:
        target.open(job, run)
    except NotOurs as other:
        said = phrase("{directory} is not empty: name another directory, which is made", directory=str(place))
        if other.run:
            said = phrase("{directory} has the files of another run ({run}): name another directory, which is made",
                          directory=str(place), run=Foreign(other.run))  # fmt: skip
        raise UserError(said) from None
    except OSError as error:
        raise Failed(_explain_unwritable(place, error)) from None
    return target


async def fetch_run(outputs: ClusterOutputs, place: Path) -> tuple[Found, Fetched]:
    """All files of the run that is asked for, in `place`. A connection that is lost is opened again. Raises what
    `ClusterOutputs` raises; `Failed` where the disk takes no more."""
    found: Found | None = None
    fetch: Fetch | None = None
    cuts = received = 0
    with Screen(language=readers_language()) as screen:
        while found is None or fetch is None or not fetch.is_done:
            try:
                async with outputs.talk() as conversation:
                    if found is None:
                        found = await find_files(outputs, conversation, MOST_FETCHED)
                    if fetch is None:
                        target = open_target(place, outputs.name, found.below or outputs.run_uid)
                        fetch = Fetch(found.listing.files, found.below, target, lambda now: _show(screen, now))
                    while not fetch.is_done:
                        await fetch.run(conversation)
            except Unavailable as lost:
                now = fetch.fetched.received if fetch is not None else 0
                cuts, received = (cuts + 1 if now == received else 0), now
                if cuts == _MOST_CUTS:
                    raise Failed(_explain_lost(outputs, place, lost)) from None
                screen.notify(phrase("the connection was lost, or nothing comes from it: it is opened again"))
                await asyncio.sleep(_PAUSE_SECONDS)
            except OSError as error:
                raise Failed(_explain_unwritable(place, error)) from None
    return found, fetch.fetched


def copy_run(path: Path, files: Sequence[str], place: Path, job: str, run: str) -> tuple[Fetched, Listing]:
    """The same of a run that the laptop keeps. `files`: relative to `path`."""
    from paddock.app.claimed.copying import copy_files

    target = open_target(place, job, run)
    with Screen(language=readers_language()) as screen:
        try:
            fetched, others = copy_files(path, files, target, lambda now: _show(screen, now))
            return fetched, Listing([], others)
        except OSError as error:
            raise Failed(_explain_unwritable(place, error)) from None


def _show(screen: Screen, now: Fetched) -> None:
    said = phrase("{done} of {all}", done=format_bytes(now.bytes), all=format_bytes(now.wanted))
    screen.status(render(said, screen.language))


def _explain_unwritable(place: Path, error: OSError) -> Phrase:
    return phrase("nothing more can be written into {directory}: {why}", directory=str(place),
                  why=explain_unreadable(error))  # fmt: skip


def _explain_lost(outputs: ClusterOutputs, place: Path, lost: Unavailable) -> Phrase:
    return phrase(
        "nothing came over {count} connections in a row ({why}); what came before is kept: `{command}` goes on",
        count=_MOST_CUTS, why=Foreign(lost.message), command=f"{outputs.advise()} --to {shlex.quote(str(place))}",
    )  # fmt: skip


def explain_fetched(fetched: Fetched, listing: Listing) -> list[Phrase]:
    """What is told beside the number of files and their size."""
    said = list[Phrase]()
    if fetched.there:
        said.append(counted("{count} file was here already", "{count} files were here already", count=fetched.there))
    if fetched.changed:
        said.append(
            counted(
                "{files} has changed since it was listed: it is here as it was when it was read",
                "{files} have changed since they were listed: they are here as they were when they were read",
                count=len(fetched.changed), files=Names(tuple(map(show_path, fetched.changed)), most=8),
            )
        )  # fmt: skip
    said += [*explain_left_out(listing, MOST_FETCHED), *fetched.problems]
    if fetched.failed > len(fetched.problems):
        more = fetched.failed - len(fetched.problems)
        said.append(counted("{count} more file did not come", "{count} more files did not come", count=more))
    return said


def explain_left_out(listing: Listing, most: int) -> list[Phrase]:
    said = []
    if listing.others:
        said.append(
            counted(
                "{count} link or device is left out", "{count} links and devices are left out", count=listing.others
            )
        )
    if listing.more:
        said.append(phrase("there are more than {count} files, and the others are left out", count=most))
    return said
