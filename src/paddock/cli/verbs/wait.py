"""paddock wait"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from paddock.app.history import History, read_cause
from paddock.app.home import may_answer
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.lookup import NoJob, fetch_job
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.follow.doubt import fetch_read
from paddock.cli.follow.kept_runs import find_kept
from paddock.cli.output.display import build_doubt, build_end
from paddock.cli.output.language import readers_language
from paddock.cli.output.periods import read_seconds
from paddock.cli.output.run_rows import explain_end
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import Phase
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import metadata, uid_of
from paddock.kube.times import format_duration, read_time
from paddock.views.commands import choose_word
from paddock.views.followed import FollowedJob, read_view_code
from paddock.views.phases import CANCELLED, is_cancelled, say_state, show_phase
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="wait", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option(
    "--timeout", type=read_seconds, metavar="TIME", help="Wait no longer than this: 60, 10m. The job goes on."
)
@click.option(
    "--for",
    "condition",
    type=click.Choice(["completed", "running"]),
    default="completed",
    show_default=True,
    help="running: until all its ranks run.",
)
@namespace_option
def command(job: str, timeout: float | None, condition: str, namespace: str) -> int:
    """Wait until a job has ended, print how, and exit as it.

    \b
    paddock wait resnet && ./evaluate.sh
    paddock wait resnet --timeout 10m

    Exit code: 0 completed; 1 failed, completed but for a rank that failed, or though its launcher said that a process
    failed (as `paddock run`), deleted, suspended, or not ended in time (as kubectl wait). A job that has ended before,
    or that the history alone has, is answered at once. Ctrl-C ends the wait, not the job.
    """
    place = choose_place()
    if place.home is not None and not may_answer(place.home):
        code = answer_from_history(place, namespace, job)
        if code is not None:
            return code
    return run_with_client(lambda client, place: wait_for(client, place, namespace, job, timeout, condition))


def answer_from_history(place: ClusterChoice, namespace: str, word: str) -> int | None:
    """Prints the end of the last run that is kept, and returns the exit code; None if that is not known."""
    runs = find_kept(History(place.home), namespace, word) if place.home is not None else []
    if not runs or not runs[-1].over:
        return None
    code = read_exit_code(runs[-1].outcome, read_cause(runs[-1].cause))
    stdout().print(
        explain_end(runs[-1], readers_language()), style="red" if code and runs[-1].outcome != CANCELLED else ""
    )
    return code


async def wait_for(
    client: Client, place: ClusterChoice, namespace: str, word: str, limit: float | None, condition: str
) -> int:
    """The exit code. The history answers for a job that the cluster has not: of one that was just created it may have
    the run before alone."""
    try:
        stored = await fetch_job(client, namespace, word, place.flags)
    except NoJob:
        code = answer_from_history(place, namespace, word)
        if code is None:
            raise
        return code
    waiting = asyncio.create_task(_wait(client, place, stored, condition, choose_word(stored, word)))
    watching = asyncio.create_task(place.attend(client, stored, _notify))
    try:
        await asyncio.wait([waiting, watching], return_when=asyncio.FIRST_COMPLETED, timeout=limit)
        if waiting.done():
            return waiting.result()
        if watching.done():
            raise Failed(watching.result())
        command = f"paddock describe {choose_word(stored, word)}{place.flags.of(stored.key.namespace)}"
        raise Failed(
            phrase(
                "{job} has not ended in {time} (--timeout); it goes on: `{command}`",
                job=stored.key.name, time=format_duration(limit or 0), command=command,
            )
        )  # fmt: skip
    finally:
        for task in (waiting, watching):
            task.cancel()
        await asyncio.gather(waiting, watching, return_exceptions=True)


async def _wait(client: Client, place: ClusterChoice, job: StoredJob, condition: str, named: str) -> int:
    """`named`: the job as commands name it."""
    said: Phrase | None = None
    async for event in client.follow(job.resource, job.key.namespace, fields=f"metadata.name={job.key.name}"):
        if event.type == "SYNCED" or uid_of(event.object) != job.uid:
            continue
        if event.type == "DELETED":
            raise Failed(phrase("the job was deleted"))
        now = read_stored(job.resource, event.object)
        if (code := read_end(now, condition)) is not None:
            read = await fetch_read(client, place, now)
            code = code if read is None else read_view_code(read)
            is_red = code and not is_cancelled(now.status.phase, now.status.cause)
            stdout().print(explain_reached(now, readers_language(), read), style="red" if is_red else "")
            for doubt in build_doubt(read) if read is not None else ():
                _notify(doubt)
            return code
        phase = now.shown_status.phase
        if phase is Phase.INVALID or (phase is Phase.SUSPENDED and now.is_given_up):
            raise Failed(explain_stuck(now, readers_language()))
        if phase is Phase.SUSPENDED and said is None:
            said = explain_rest(now, f"paddock resume {named}{place.flags.of(job.key.namespace)}")
            _notify(said)
    raise AssertionError("a watch ends by an error alone")


def read_end(job: StoredJob, condition: str) -> int | None:
    """The exit code of the wait; None while it goes on. Pure."""
    phase = job.status.phase
    if phase.terminal:
        return read_exit_code(phase, job.status.cause)
    return 0 if condition == "running" and phase is Phase.RUNNING else None


def explain_reached(job: StoredJob, language: str, read: FollowedJob | None = None) -> str:
    """`demo: Completed in 31 s: worker 2/2 succeeded.` `read`: with what its logs say. Pure."""
    created = read_time(metadata(job.manifest).get("creationTimestamp")) or time.time()
    if not job.status.phase.terminal or job.job is None:
        return render(
            phrase("{job}: {why}", job=job.key.name, why=say_state(show_phase(job.status), language)), language
        )
    view = replace(read or FollowedJob(job.job, job.status, created), submitted=created, ended=job.status.finished)
    return render(phrase("{job}: {why}", job=job.key.name, why=build_end(view, language)), language)


def explain_rest(job: StoredJob, resume: str) -> Phrase:
    """Of a suspended job; `resume`: the command that lets it go on. What waits for Kueue's queue is not resumed by
    hand. Pure."""
    cause = job.status.cause
    if cause is not None and cause.reason == "WaitingForQueue":
        return phrase("{job} is suspended: it ends only when it is resumed", job=job.key.name)
    return phrase("{job} is suspended: it ends only when it is resumed, as `{command}` does",
                  job=job.key.name, command=resume)  # fmt: skip


def explain_stuck(job: StoredJob, language: str) -> Phrase:
    """Why the job will not end by itself. Pure."""
    status = job.shown_status
    why = explain(status.cause, language) if status.cause else str(status.phase)
    return phrase("{job} does not go on by itself: {why}", job=job.key.name, why=why)


def _notify(said: Phrase | str) -> None:
    stderr().print(render(said, readers_language()))
