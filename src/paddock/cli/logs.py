"""paddock logs"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from paddock.cli.context_options import namespace_option
from paddock.cli.errors import Failed, UserError
from paddock.cli.find import fetch_job, fetch_pods, in_namespace
from paddock.cli.follow import Follower, Gone
from paddock.cli.jobs_view import rank_name
from paddock.cli.language import readers_language
from paddock.cli.log_lines import Lines
from paddock.cli.names import complete_jobs
from paddock.cli.places import Place
from paddock.cli.rank_log import cut, fetch_log
from paddock.cli.screen import Screen
from paddock.cli.session import talk
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Rank
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.meta import Manifest, Resource, name_of

if TYPE_CHECKING:
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Which:
    """What of a job's output is wanted."""

    ranks: tuple[Rank, ...]
    tail: int | None

    @property
    def raw(self) -> bool:
        """Of one rank alone the lines stand as they were printed, without its name."""
        return len(self.ranks) == 1

    def shows(self, rank: Rank) -> bool:
        return rank in self.ranks


def choose_ranks(job: str, ranks: Sequence[Rank], role: str, index: int | None, tail: int | None) -> Which:
    """The ranks that --role and --rank leave. Raises `UserError` where they leave none."""
    chosen = tuple(rank for rank in ranks if role in ("", rank.role) and index in (None, rank.index))
    if not chosen:
        wanted = "-".join(filter(None, (role, "" if index is None else str(index))))
        known = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        raise UserError(f"{job} has no rank {wanted}; it has {known or 'none'}")
    return Which(chosen, tail)


@click.command(name="logs")
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--role", default="", metavar="ROLE", help="Of this role alone: worker, ps.")
@click.option("--rank", "index", type=int, default=None, metavar="N", help="Of this rank alone: 0.")
@click.option("--tail", type=click.IntRange(0), default=None, metavar="LINES", help="Only the last lines of each rank.")
@namespace_option
def command(job: str, follow: bool, role: str, index: int | None, tail: int | None, namespace: str) -> int:
    """Print what the ranks of a job print, each line with its rank; of one rank alone just as it was printed.

    \b
    paddock logs resnet -f
    paddock logs resnet --role worker --rank 0
    """

    async def work(client: Client, place: Place) -> int:
        resource, manifest = await fetch_job(client, namespace, job, place.flags)
        api = KINDS[resource]
        which = choose_ranks(job, api.read_job(manifest).ranks(), role, index, tail)
        ended = api.read_status(manifest).phase.terminal
        if not follow or ended:
            return await _print(client, place, manifest, which, ended=ended)
        await _follow(client, place, resource, manifest, which)
        return 0

    try:
        return talk(work)
    except KeyboardInterrupt:  # said already: the job goes on
        return 130


async def _follow(client: Client, place: Place, resource: Resource, job: Manifest, which: Which) -> None:
    with Screen(language=readers_language()) as screen:
        follower = Follower(client, place, resource, job, screen, which.shows, tail=which.tail, raw=which.raw)
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(place.attend(client, resource, job, screen.talk))
        try:
            await asyncio.wait([following, watching], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                raise Failed(watching.result())
            following.result()
        except Gone:
            raise Failed("the job was deleted") from None
        except asyncio.CancelledError:  # Ctrl-C
            delete = f"paddock delete {name_of(job)}{in_namespace(job, place.flags)}"
            screen.talk(phrase("the job goes on; `{command}` ends it", command=delete))
            raise
        finally:
            following.cancel()
            watching.cancel()
            await asyncio.gather(following, watching, return_exceptions=True)


async def _print(client: Client, place: Place, job: Manifest, which: Which, *, ended: bool) -> int:
    """The exit code: 1 where the log of a rank cannot be read."""
    pods = {rank_name(pod): pod for pod in await fetch_pods(client, job)}
    screen = Screen(language=readers_language())
    width, found = max(len(str(rank)) for rank in which.ranks), False
    unreadable: list[Phrase | str] = []

    def note(said: Phrase | str) -> None:
        unreadable.append(said)
        screen.talk(said)

    for rank in which.ranks:
        text = await fetch_log(client, place, job, str(rank), pods.get(str(rank)), note)
        if text is None:
            continue
        found = True
        lines = Lines()
        shown = cut([*lines.feed(text), *lines.end()], which.tail)
        screen.rank_lines("" if which.raw else str(rank), width, shown)
    if unreadable:
        return 1
    if not found and place.home is None and not pods and ended:
        screen.talk(
            phrase(
                "the pods of {job} are gone, and their logs with them: runPolicy.cleanPodPolicy (cleanPodPolicy) Never "
                "keeps them",
                job=name_of(job),
            )
        )
    elif not found:
        screen.talk(phrase("{job} has printed nothing yet", job=name_of(job)))
    return 0
