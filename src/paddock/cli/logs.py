"""paddock logs"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
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
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CleanPods, Job, Rank
from paddock.jobs.phrases import Phrase, phrase
from paddock.jobs.pods import read_pod
from paddock.jobs.problems import InvalidJob
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


@click.command(name="logs", cls=Verb)
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
        read, pods = read_valid(resource, manifest), await fetch_pods(client, manifest)
        ranks = read.ranks() if read else read_ranks(pods)
        ended = KINDS[resource].read_status(manifest).phase.terminal
        if read is None and (not ranks or (follow and not ended)):
            raise UserError(explain_invalid(name_of(manifest), in_namespace(manifest, place.flags), bool(ranks)))
        which = choose_ranks(job, ranks, role, index, tail)
        if not follow or ended:
            keeps = read is not None and read.policies.clean_pods is CleanPods.NEVER
            return await _print(client, place, manifest, which, pods, ended=ended, keeps=keeps)
        await _follow(client, place, resource, manifest, which)
        return 0

    try:
        return talk(work)
    except KeyboardInterrupt:  # said already: the job goes on
        return 130


def read_valid(resource: Resource, manifest: Manifest) -> Job | None:
    """None for a job that the operator cannot read, which Kubernetes takes all the same (`kubectl create`, `patch`)."""
    try:
        return KINDS[resource].read_job(manifest)
    except InvalidJob:
        return None


def read_ranks(pods: Sequence[Manifest]) -> tuple[Rank, ...]:
    """The ranks that there are, as the pods' labels say."""
    ranks = {read.rank for read in map(read_pod, pods) if read}
    return tuple(sorted(ranks, key=lambda rank: (rank.role, rank.index)))


def explain_invalid(name: str, options: str, printed: bool) -> Phrase:
    """Why there is nothing to print, or to follow, of a job whose manifest is wrong."""
    command = f"paddock explain {name}{options}"
    if not printed:
        return phrase("{job} has no pods: its manifest is wrong; `{command}` says where", job=name, command=command)
    return phrase(
        "{job} cannot be followed: its manifest is wrong (`{command}` says where); without -f its pods' output so far "
        "is printed",
        job=name,
        command=command,
    )


def explain_silence(name: str, ranks: Sequence[Rank], pods: Collection[str], *, gone: bool, keeps: bool) -> Phrase:
    """Why nothing was printed of `ranks`; `pods` names the ranks that have one, `gone` says that none will come and
    that no log was kept elsewhere, `keeps` that cleanPodPolicy is Never. Pure."""
    if not gone or any(str(rank) in pods for rank in ranks):
        return phrase("{job} has printed nothing yet", job=name)
    missing = phrase("the pods of {job} are gone, and their logs with them", job=name)
    if len(ranks) == 1:
        missing = phrase("the pod of {rank} of {job} is gone, and its log with it", rank=str(ranks[0]), job=name)
    if keeps:
        return missing
    return phrase("{missing}: runPolicy.cleanPodPolicy (cleanPodPolicy) Never keeps pods", missing=missing)


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


async def _print(
    client: Client, place: Place, job: Manifest, which: Which, there: Sequence[Manifest], *, ended: bool, keeps: bool
) -> int:
    """The exit code: 1 where the log of a rank cannot be read."""
    pods = {rank_name(pod): pod for pod in there}
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
    if not found:
        gone = ended and place.home is None
        screen.talk(explain_silence(name_of(job), which.ranks, pods, gone=gone, keeps=keeps))
    return 0
