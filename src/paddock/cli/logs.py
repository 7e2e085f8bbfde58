"""paddock logs"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddock.app.home import Home
from paddock.cli.errors import UserError
from paddock.cli.failure import find_kept_log
from paddock.cli.find import fetch_job, fetch_pods
from paddock.cli.follow import Follower, Gone
from paddock.cli.jobs_view import rank_name
from paddock.cli.log_lines import Lines, build_tail
from paddock.cli.screen import Screen
from paddock.cli.session import namespace_option, talk
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Rank
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of

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

    async def work(client: Client, place: Home) -> None:
        resource, manifest = await fetch_job(client, namespace, job)
        ranks = [each for each in KINDS[resource].read_job(manifest).ranks() if _chosen(each, role, index)]
        if not ranks:
            wanted = " ".join(filter(None, (role, "" if index is None else str(index))))
            known = ", ".join(map(str, KINDS[resource].read_job(manifest).ranks()[:8]))
            raise UserError(f"{job} has no rank {wanted!r}; it has {known}")
        if follow and not KINDS[resource].read_status(manifest).phase.terminal:
            await _follow(client, resource, manifest, role, index)
        else:
            await _print(client, place, manifest, ranks, tail)

    talk(work)


def _chosen(rank: Rank, role: str, index: int | None) -> bool:
    return (not role or rank.role == role) and (index is None or rank.index == index)


async def _follow(client: Client, resource: Resource, job: Manifest, role: str, index: int | None) -> None:
    with Screen() as screen:
        try:
            await Follower(client, resource, job, screen, lambda rank: _chosen(rank, role, index)).run()
        except Gone:
            screen.talk("the job was deleted")
        except asyncio.CancelledError:
            screen.talk(f"the job goes on; `paddock delete {name_of(job)}` ends it")
            raise


async def _print(client: Client, place: Home, job: Manifest, ranks: list[Rank], tail: int | None) -> None:
    pods = {rank_name(pod): pod for pod in await fetch_pods(client, job)}
    screen, width, found = Screen(), max(len(str(rank)) for rank in ranks), False
    for rank in ranks:
        text = await _fetch(client, place, job, pods.get(str(rank)), str(rank))
        if text is None:
            continue
        found = True
        lines = Lines()
        for line in _cut([*lines.feed(text), *lines.end()], tail):
            print(line) if len(ranks) == 1 else screen.rank_line(str(rank), width, line)
    if not found:
        screen.talk(f"{name_of(job)} has printed nothing yet")


def _cut(lines: list[str], tail: int | None) -> list[str]:
    return lines if tail is None else build_tail("\n".join(lines), tail) if tail else []


async def _fetch(client: Client, place: Home, job: Manifest, pod: Manifest | None, rank: str) -> bytes | None:
    """The log of a rank: of its pod, else what is kept of one that is gone."""
    if pod is not None:
        try:
            return b"".join([chunk async for chunk in client.stream_log(namespace_of(pod), name_of(pod))])
        except ApiError:
            pass  # not started yet, or gone this moment: what is kept of it, if anything
    kept: Path | None = find_kept_log(place, namespace_of(job), f"{name_of(job)}-{rank}")
    return kept.read_bytes() if kept else None
