"""paddock logs"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_job, fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import Place
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.follow import Follower, JobDeleted
from paddock.cli.follow.rank_log import cut, fetch_log
from paddock.cli.follow.ranks import Selection, choose_ranks
from paddock.cli.output.language import readers_language
from paddock.cli.output.log_lines import Lines
from paddock.cli.output.screen import Screen
from paddock.cli.verb import Verb
from paddock.jobs.model import CleanPods, Rank
from paddock.jobs.objects.pods import read_pod
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.jobs.views.manager import explain_manager
from paddock.jobs.views.pods import rank_name
from paddock.jobs.views.stored import StoredJob
from paddock.kube.meta import Manifest

if TYPE_CHECKING:
    from paddock.client.client import Client


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
        stored = await fetch_job(client, namespace, job, place.flags)
        read, pods = stored.job, await fetch_pods(client, stored)
        ranks = read.ranks() if read else read_ranks(pods)
        ended = stored.status.phase.terminal
        if not pods and (manager := explain_manager(stored.manifest)):
            raise UserError(phrase("{job} has no pods here: it is {manager}", job=stored.key.name, manager=manager))
        if read is None and (not ranks or (follow and not ended)):
            where = place.flags.of(stored.key.namespace)
            raise UserError(explain_invalid(stored.key.name, where, bool(ranks)))
        which = choose_ranks(job, ranks, role, index, tail)
        if not follow or ended:
            keeps = read is not None and read.policies.clean_pods is CleanPods.NEVER
            return await _print(client, place, stored, which, pods, ended=ended, keeps=keeps)
        await _follow(client, place, stored, which)
        return 0

    try:
        return run_with_client(work)
    except KeyboardInterrupt:  # `_follow` has printed that the job goes on
        return 130


def read_ranks(pods: Sequence[Manifest]) -> tuple[Rank, ...]:
    """The ranks in the labels of the pods, sorted."""
    ranks = {read.rank for read in map(read_pod, pods) if read}
    return tuple(sorted(ranks, key=lambda rank: (rank.role, rank.index)))


def explain_invalid(name: str, options: str, printed: bool) -> Phrase:
    """Why a job with an invalid manifest cannot be printed or followed."""
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
    """Why no log of `ranks` was found. `pods`: ranks that have a pod; `gone`: no pod will be created and no log file is
    kept; `keeps`: cleanPodPolicy is Never. Pure."""
    if not gone or any(str(rank) in pods for rank in ranks):
        return phrase("{job} has printed nothing yet", job=name)
    missing = phrase("the pods of {job} are gone, and their logs with them", job=name)
    if len(ranks) == 1:
        missing = phrase("the pod of {rank} of {job} is gone, and its log with it", rank=str(ranks[0]), job=name)
    if keeps:
        return missing
    return phrase("{missing}: runPolicy.cleanPodPolicy (cleanPodPolicy) Never keeps pods", missing=missing)


async def _follow(client: Client, place: Place, job: StoredJob, which: Selection) -> None:
    with Screen(language=readers_language()) as screen:
        follower = Follower(client, place, job, screen, which.shows, tail=which.tail, raw=which.raw)
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(place.attend(client, job, screen.notify))
        try:
            await asyncio.wait([following, watching], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                raise Failed(watching.result())
            following.result()
        except JobDeleted:
            raise Failed(phrase("the job was deleted")) from None
        except asyncio.CancelledError:  # Ctrl-C
            delete = f"paddock delete {job.key.name}{place.flags.of(job.key.namespace)}"
            screen.notify(phrase("the job goes on; `{command}` ends it", command=delete))
            raise
        finally:
            following.cancel()
            watching.cancel()
            await asyncio.gather(following, watching, return_exceptions=True)


async def _print(
    client: Client,
    place: Place,
    job: StoredJob,
    which: Selection,
    there: Sequence[Manifest],
    *,
    ended: bool,
    keeps: bool,
) -> int:
    """The exit code: 1 if the log of a rank cannot be read."""
    pods = {rank_name(pod): pod for pod in there}
    screen = Screen(language=readers_language())
    width, found = max(len(str(rank)) for rank in which.ranks), False
    unreadable: list[Phrase | str] = []

    def note(said: Phrase | str) -> None:
        unreadable.append(said)
        screen.notify(said)

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
        screen.notify(explain_silence(job.key.name, which.ranks, pods, gone=gone, keeps=keeps))
    return 0
