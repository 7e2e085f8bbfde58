"""One run of a Python call: `cli.followed_run.Run`, with a notebook's screen and errors that Python code can catch."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp  # noqa: F401 - whole, before `client.sessions` imports it in a way for the command line alone

from paddock.app.written_metrics import read_run
from paddock.cli.cluster.errors import Failed, UserError, explain_error
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice, Local, build_cluster
from paddock.cli.cluster.session import connect, home
from paddock.cli.follow.rank_log import fetch_log
from paddock.cli.followed_run import Run
from paddock.cli.output.language import readers_language
from paddock.cli.output.screen import Screen
from paddock.cli.output.terminal import PlainConsole
from paddock.cli.submit.script.documents import read_documents
from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.submit.workdir import refuse_impossible
from paddock.jobs.model import Job
from paddock.kube.errors import NotFound
from paddock.sdk.errors import JobFailed, PaddockError
from paddock.sdk.result import Result, build_result
from paddock.sdk.threads import Interrupts, run_apart
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase, render

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Request:
    """What a Python call asks for."""

    file: str | None
    """A manifest; None for a command."""
    words: tuple[str, ...]
    """The command, or the arguments for the manifest's program."""
    options: ScriptOptions
    timeout: float | None = None
    """Seconds after which the job is suspended."""
    detach: bool = False
    """Come back as soon as the job is submitted."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended."""

    code: int
    """The exit code of the command line."""
    result: Result | None
    """None if nothing was submitted."""


@contextmanager
def explained() -> Iterator[None]:
    """Errors of the user and of the cluster become `PaddockError`, with the sentence of the command line. A bug stays
    what it is, with its traceback."""
    try:
        yield
    except PaddockError:
        raise
    except Exception as error:
        known = explain_error(error)
        if known is None:
            raise
        raise PaddockError(known.message) from None


def choose_place(context: str | None, kubeconfig: str | os.PathLike[str] | None) -> tuple[ClusterChoice, str]:
    """The cluster, and its default namespace. PADDOCK_CONTEXT counts, as on the command line. Raises `ConfigError`."""
    context = context or os.environ.get("PADDOCK_CONTEXT") or None
    file = os.fspath(kubeconfig) if kubeconfig is not None else None
    if context is None and file is None:
        return Local(home()), "default"
    from paddock.client.kubeconfig import read_config

    cluster = build_cluster(read_config(file, context), context, file)
    return cluster, cluster.flags.namespace


def run_request(place: ClusterChoice, request: Request, interrupts: Interrupts) -> Ended:
    """Runs a job from the files to its end, in a thread without an event loop. Raises what `explained` explains."""
    options = request.options
    screen = open_screen()
    documents = read_documents(request.file, request.words, options, place, screen.notify)
    refuse_impossible(place, documents.checked, screen.notify)
    place.start()
    with screen:
        run = Run(
            place, screen, lambda _: True, request.timeout, options.workdir,
            typed=request.file is None, detach=request.detach, listen=interrupts.listen,
        )  # fmt: skip
        code = asyncio.run(run.run(documents, ()))
    job = run.job
    if job is None:
        return Ended(code, None)
    end = run.read_end(code) if run.view else None
    outputs = place.find_outputs(job)
    directory = place.find_directory(job)
    written = read_run(directory, run.view.job.ranks(), run.view.status.attempt) if directory and run.view else {}
    progress = {rank: each.progress for rank, each in written.items() if each.progress is not None}
    return Ended(code, build_result(job, run.view, end, outputs, lambda rank: read_log(place, job, rank), progress))


def open_screen() -> Screen:
    """All on `sys.stdout`, in one order: a notebook shows standard error apart, in red.

    A cell gets plain text, which is stored and copied. rich would draw HTML there, and a live line for a terminal, as
    ipykernel puts FORCE_COLOR into the environment."""
    replaced = sys.stdout is not sys.__stdout__
    console = PlainConsole(
        file=sys.stdout, highlight=False, markup=False, soft_wrap=True, force_jupyter=False,
        force_terminal=False if replaced else None,
    )  # fmt: skip
    return Screen(console, console, language=readers_language(), goes_on=True)


def finish(ended: Ended, *, check: bool) -> Result:
    """The result. Raises `JobFailed` if `check`, and KeyboardInterrupt for a job that was interrupted."""
    if ended.code == INTERRUPTED or ended.result is None:
        raise KeyboardInterrupt
    result = ended.result
    if ended.code and check:
        raise JobFailed(_explain_failed(result), result)
    return result


def _explain_failed(result: Result) -> str:
    job = f"{result.namespace}/{result.name}"
    why: Phrase | str = result.cause or phrase("no cause is recorded")
    return render(phrase("{job}: {why}", job=job, why=why), readers_language())


def read_log(place: ClusterChoice, job: StoredJob, rank: str) -> str:
    """All that a rank of `job` has printed so far. Raises `PaddockError`."""
    with explained():
        place.start()
        return run_apart(lambda: asyncio.run(_fetch_text(place, job, rank)), lambda: None)


def find_first(job: Job) -> str:
    """The first rank that trains: worker-0, or a PyTorchJob's master-0; empty for a job without one. Pure."""
    trains = {role.name for role in job.roles if role.trains}
    return next((str(rank) for rank in job.ranks() if rank.role in trains), "")


async def _fetch_text(place: ClusterChoice, job: StoredJob, wanted: str) -> str:
    ranks = [str(each) for each in job.job.ranks()] if job.job else []
    rank = wanted or (find_first(job.job) if job.job else "")
    if rank not in ranks:
        raise UserError(
            phrase("{job} has no rank {wanted}; it has {known}", job=job.key.name, wanted=rank,
                   known=", ".join(ranks[:8]) or phrase("none"))
        )  # fmt: skip
    problems: list[Phrase | str] = []
    async with connect(place) as client:
        try:
            there = read_stored(job.resource, await client.get(job.resource, *job.key))
        except NotFound:
            there = None
        if there is not None and there.uid != job.uid:
            raise Failed(phrase("another job has the name {name} now: `paddock logs {name}` prints its log",
                                name=job.key.name))  # fmt: skip
        pods = {rank_name(pod): pod for pod in await fetch_pods(client, job)} if there else {}
        log = await fetch_log(client, place, job, rank, pods.get(rank), problems.append)
    if log is None:
        raise Failed(*problems or [phrase("the pod of {rank} of {job} is gone, and its log with it", rank=rank,
                                          job=job.key.name)])  # fmt: skip
    return log.decode("utf-8", "replace")
