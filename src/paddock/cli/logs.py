"""paddock logs"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from paddock.app.home import Home
from paddock.cli.errors import Failed, UserError
from paddock.cli.find import fetch_job, fetch_pods, in_namespace
from paddock.cli.follow import Follower, Gone
from paddock.cli.jobs_view import rank_name
from paddock.cli.log_lines import Lines
from paddock.cli.rank_log import cut, fetch_log
from paddock.cli.screen import Screen
from paddock.cli.session import keep_up, namespace_option, talk
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Rank
from paddock.kube.meta import Manifest, Resource, name_of

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="logs")
@click.argument("job", metavar="JOB")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--role", default="", metavar="ROLE", help="Of this role alone: worker, ps.")
@click.option("--rank", "index", type=int, default=None, metavar="N", help="Of this rank alone: 0.")
@click.option("--tail", type=click.IntRange(0), default=None, metavar="LINES", help="Only the last lines of each rank.")
@namespace_option
def command(job: str, follow: bool, role: str, index: int | None, tail: int | None, namespace: str) -> None:
    """What the ranks of a job print, each line with its rank; of one rank alone, just as it was printed.

    \b
    paddock logs resnet -f
    paddock logs resnet --role worker --rank 0
    """

    def shows(rank: Rank) -> bool:
        return (not role or rank.role == role) and (index is None or rank.index == index)

    async def work(client: Client, place: Home) -> None:
        resource, manifest = await fetch_job(client, namespace, job)
        ranks = [each for each in KINDS[resource].read_job(manifest).ranks() if shows(each)]
        if not ranks:
            wanted = " ".join(filter(None, (role, "" if index is None else str(index))))
            known = ", ".join(map(str, KINDS[resource].read_job(manifest).ranks()[:8]))
            raise UserError(f"{job} has no rank {wanted!r}; it has {known}")
        if follow and not KINDS[resource].read_status(manifest).phase.terminal:
            await _follow(Follower(client, place, resource, manifest, Screen(), shows, tail=tail), place)
        else:
            await _print(client, place, manifest, ranks, tail)

    talk(work)


def _chosen(rank: Rank, role: str, index: int | None) -> bool:
    return (not role or rank.role == role) and (index is None or rank.index == index)


async def _follow(client: Client, place: Home, resource: Resource, job: Manifest, role: str, index: int | None) -> None:
    with Screen() as screen:
        follower = Follower(client, place, resource, job, screen, lambda rank: _chosen(rank, role, index))
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(keep_up(place, screen.talk))
        try:
            await asyncio.wait([following, watching], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                raise Failed(watching.result())
            following.result()
        except Gone:
            raise Failed("the job was deleted") from None
        except asyncio.CancelledError:
            screen.talk(f"the job goes on; `paddock delete {name_of(job)}{in_namespace(job)}` ends it")
            raise
        finally:
            following.cancel()
            watching.cancel()
            await asyncio.gather(following, watching, return_exceptions=True)


async def _print(client: Client, place: Home, job: Manifest, ranks: list[Rank], tail: int | None) -> None:
    pods = {rank_name(pod): pod for pod in await fetch_pods(client, job)}
    screen, width, found = Screen(), max(len(str(rank)) for rank in ranks), False
    for rank in ranks:
        text = await fetch_log(client, place, job, str(rank), pods.get(str(rank)))
        if text is None:
            continue
        found = True
        lines = Lines()
        shown = cut([*lines.feed(text), *lines.end()], tail)
        if len(ranks) > 1:
            screen.rank_lines(str(rank), width, shown)
        elif shown:
            print("\n".join(shown))
    if not found:
        screen.talk(f"{name_of(job)} has printed nothing yet")
