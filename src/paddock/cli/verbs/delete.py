"""paddock delete"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.deletion import delete_job
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.questions import ask
from paddock.cli.output.streams import print_notice
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.views.commands import printed_name
from paddock.views.phases import say_state, show_phase
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs are to be deleted."""

    names: tuple[str, ...] = ()
    finished: bool = False
    """Those that have ended."""
    selector: str = ""
    """Those with these labels, as kubectl writes them."""

    @property
    def chooses(self) -> bool:
        """Whether the command finds the jobs, so that the user is asked."""
        return self.finished or bool(self.selector)


@click.command(name="delete", cls=Verb)
@click.argument("names", nargs=-1, metavar="[JOB]...", shell_complete=complete_jobs)
@click.option("--finished", is_flag=True, help="All jobs of the namespace that have ended.")
@click.option("-l", "--selector", default="", metavar="LABELS", help="All jobs with these labels: a=b,c!=d.")
@click.option("--yes", is_flag=True, help="Do not ask before jobs of --finished or -l are deleted.")
@click.option("--now", is_flag=True, help="Do not wait for the ranks to end by themselves: kill them.")
@click.option("--wait/--no-wait", default=True, help="Wait until the job and its pods are gone.", show_default=True)
@namespace_option
def command(
    names: tuple[str, ...], finished: bool, selector: str, yes: bool, now: bool, wait: bool, namespace: str
) -> None:
    """End a job and remove it, with its pods. Its outputs are kept, and on the local cluster its logs (`paddock
    history`).

    \b
    paddock delete resnet
    paddock delete resnet mnist --now
    paddock delete --finished
    paddock delete -l team=vision --finished --yes

    --finished and -l list the jobs and ask first. Where a job is not gone after the grace period of its pods, what
    holds it is said, and the exit code is 1.
    """
    wanted = Wanted(names, finished, selector)
    refuse_unclear(wanted)

    async def work(client: Client, place: ClusterChoice) -> None:
        if wanted.chooses:
            found = await _choose(client, wanted, namespace)
            if not found:
                print_notice(localized(explain_none(wanted, namespace)))
                return
            _ask(found, yes=yes)
        else:
            found = [await fetch_present(client, place, namespace, name) for name in dict.fromkeys(names)]
        await _delete(client, place, found, now=now, wait=wait)

    run_with_client(work)


def refuse_unclear(wanted: Wanted) -> None:
    """Raises `UserError` where nothing says which jobs, or two things do. Pure."""
    if wanted.names and wanted.chooses:
        raise UserError(phrase("names of jobs stand beside --finished or -l, which choose jobs: leave one of them out"))
    if not wanted.names and not wanted.chooses:
        raise UserError(
            phrase("which jobs? Name them, or choose those that have ended by --finished, or by labels with -l LABELS")
        )


def explain_none(wanted: Wanted, namespace: str) -> Phrase:
    """Pure."""
    if wanted.finished and wanted.selector:
        return phrase("nothing was deleted: no job with labels {selector} in namespace {namespace} has ended",
                      selector=wanted.selector, namespace=namespace)  # fmt: skip
    if wanted.finished:
        return phrase("nothing was deleted: no job in namespace {namespace} has ended", namespace=namespace)
    return phrase("nothing was deleted: no job in namespace {namespace} has the labels {selector}",
                  namespace=namespace, selector=wanted.selector)  # fmt: skip


async def _choose(client: Client, wanted: Wanted, namespace: str) -> list[StoredJob]:
    found = await fetch_all(client, KINDS, namespace, wanted.selector)
    return choose_jobs([read_stored(resource, manifest) for resource, manifest in found], finished=wanted.finished)


def choose_jobs(found: Sequence[StoredJob], *, finished: bool) -> list[StoredJob]:
    """By name; with `finished` those in a final phase. Pure."""
    chosen = [job for job in found if job.status.phase.terminal or not finished]
    return sorted(chosen, key=lambda job: (job.key.name, job.resource.kind))


def list_jobs(found: Sequence[StoredJob], language: str = "en") -> list[str]:
    """`paddlejob/resnet   Failed`. Pure."""
    names = [printed_name(job.resource, job.key.name) for job in found]
    width = max(map(len, names), default=0)
    states = [say_state(show_phase(job.shown_status) or "Pending", language) for job in found]
    return [f"{name.ljust(width)}   {state}" for name, state in zip(names, states, strict=True)]


def _ask(found: Sequence[StoredJob], *, yes: bool) -> None:
    """Raises `UserError` where nobody can answer, `Failed` where the answer is no."""
    for line in list_jobs(found, readers_language()):
        stderr().print(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError(
            counted(
                "nothing was deleted: {count} job would be, and nobody can be asked here; --yes deletes it",
                "nothing was deleted: {count} jobs would be, and nobody can be asked here; --yes deletes them",
                count=len(found),
            )
        )
    question = counted("delete this job?", "delete these {count} jobs?", count=len(found))
    if not ask(question):
        raise Failed(phrase("nothing was deleted"))


async def _delete(client: Client, place: ClusterChoice, found: Sequence[StoredJob], *, now: bool, wait: bool) -> None:
    """Deletes them, and waits for one after the other: one that is held keeps none of the others. Raises `Failed` in
    the end if one of them is not gone."""
    late: list[Phrase] = []
    for job in found if wait and len(found) > 1 else ():
        await delete_job(client, job, now=now, wait=False)
    for job in found:
        held = await delete_job(client, job, now=now, wait=wait, notify=_notify, flags=place.flags)
        if held is None:
            stdout().print(localized(phrase("{object} deleted", object=printed_name(job.resource, job.key.name))))
        else:
            late.append(held)
    for said in late[:-1]:
        _notify(said)
    if late:
        raise Failed(late[-1])


def _notify(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
