"""paddock logs"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from paddock.app.history import History
from paddock.app.home import is_up
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.console_option import console_option
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, connect, run_with_client
from paddock.cli.cluster.session import run as run_to_end
from paddock.cli.follow.copied_logs import name_console, print_copied
from paddock.cli.follow.doubt import fetch_read
from paddock.cli.follow.follow import Follower, JobDeleted
from paddock.cli.follow.kept_runs import Which, find_kept
from paddock.cli.follow.named_pods import fetch_named
from paddock.cli.follow.print_logs import Request, explain_unmatched, name_one_rank, print_fetched, print_kept
from paddock.cli.follow.ranks import Ranges, RanksType, Selection, choose_ranks
from paddock.cli.follow.wanted_lines import FilteredScreen, PatternType, Wanted
from paddock.cli.output.display import build_end
from paddock.cli.output.language import readers_language
from paddock.cli.output.periods import read_seconds
from paddock.cli.verb import Verb
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.labels import ATTEMPT_LABEL
from paddock.jobs.model import CleanPods, Phase, Rank
from paddock.jobs.objects.pods import read_pod
from paddock.jobs.program_ranks import number_ranks
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, labels_of, metadata
from paddock.kube.times import read_time
from paddock.views.followed import read_view_code
from paddock.views.manager import explain_manager
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import NOTHING, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="logs", cls=Verb)
@click.argument("job", metavar="JOB|POD", shell_complete=complete_jobs)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended, and exit as it: 0 or 1.")
@click.option("--run", "run", type=click.IntRange(1), metavar="N", help="Of this run (`paddock history JOB`).")
@click.option("--attempt", type=click.IntRange(0), metavar="N", help="Of this attempt, counted from 0.")
@click.option("--previous", is_flag=True, help="Of the attempt before, or of the run before if there was one alone.")
@click.option("--role", default="", metavar="ROLE", help="Of this role alone: worker, ps.")
@click.option("--rank", "ranks", type=RanksType(), metavar="N,N-N", help="Of the pods of these ranks alone: 0,3-5.")
@click.option("-c", "--container", default="", metavar="NAME", help="Of this container (default: the one that trains).")
@click.option("--tail", type=click.IntRange(0), metavar="LINES", help="Only the last lines of each rank.")
@click.option(
    "--since",
    type=read_seconds,
    metavar="TIME",
    help="Only what was printed in this time until now: 10m. On a laptop it is known to half a second.",
)
@click.option("--first-error", is_flag=True, help="The first error of the rank that failed, and the lines around it.")
@click.option("--include", type=PatternType(), multiple=True, metavar="RE", help="Only lines that match.")
@click.option("--exclude", type=PatternType(), multiple=True, metavar="RE", help="No lines that match.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: an object a line.")
@click.option("--raw", is_flag=True, help="Print all lines, those of launchers and libraries too.")
@console_option
@namespace_option
def command(
    job: str,
    follow: bool,
    run: int | None,
    attempt: int | None,
    previous: bool,
    role: str,
    ranks: Ranges | None,
    container: str,
    tail: int | None,
    since: float | None,
    first_error: bool,
    include: tuple[re.Pattern[str], ...],
    exclude: tuple[re.Pattern[str], ...],
    output: str,
    raw: bool,
    namespace: str,
) -> int:
    """Print what the ranks of a job print, each line with its rank; of one rank alone just as it was printed.

    \b
    paddock logs resnet -f
    paddock logs resnet --role worker --rank 0,3-5
    paddock logs resnet --run 3 --first-error
    paddock logs resnet-worker-0 --previous
    paddock logs resnet --container metrics

    --rank N is the pod in which the program's RANK N runs; behind --role it counts the pods of that role. A pod may be
    named, too: --rank worker-0.

    The local cluster keeps what each run and each attempt printed, also when the job is gone or run again: for 7
    days or up to 1 GiB (`paddock up --keep-logs 30d,20GiB` sets both). A Kubernetes keeps the log of a pod as long
    as the pod; after that, what `paddock console` has copied of it on this machine is printed, or what the cluster's
    console keeps, if it was started with --keep.
    """
    which = Which(role, ranks, run, attempt, previous, since, container)
    request = Request(which, Wanted(include, exclude, tail, first_error), follow, output == "json", raw)
    refuse_combinations(request)
    place = choose_place()
    if place.home is None and run is not None:
        from paddock.cli.follow.fetched_runs import print_fetched_runs  # late: few clusters keep runs

        code = run_to_end(print_fetched_runs(place, namespace, job, request))
        if code is None:
            raise UserError(phrase("no run of {job} is kept in namespace {namespace}{hint}",
                                   job=repr(job), namespace=namespace, hint=NOTHING))  # fmt: skip
        return code
    if place.home is not None:
        current = _find_current(place, namespace, job) if is_up(place.home) else ""
        code = print_kept(History(place.home), namespace, job, request, current)
        if code is not None:
            return code

    async def work(client: Client, place: ClusterChoice) -> int:
        return await _print_of_cluster(client, place, namespace, job, request)

    try:
        return run_with_client(work)
    except KeyboardInterrupt:  # `_follow` has printed that the job goes on
        return 130


def _find_current(place: ClusterChoice, namespace: str, word: str) -> str:
    """The UID of the job that the cluster has now; empty if it has none, or does not answer."""

    async def look() -> str:
        async with connect(place) as client:
            return (await _fetch_job(client, place, namespace, word, Which()))[0].uid

    try:
        return run_to_end(look())
    except (UserError, ApiError):
        return ""


def refuse_combinations(request: Request) -> None:
    """Raises `UserError` for options that exclude each other. Pure."""
    which, wanted = request.which, request.wanted
    excluding = {
        ("--attempt", "--previous"): which.attempt is not None and which.previous,
        ("--follow", "--first-error"): request.follow and wanted.first_error,
        ("--follow", "--since"): request.follow and which.since is not None,
        ("--first-error", "--tail"): wanted.first_error and wanted.tail is not None,
    }
    for (one, other), both in excluding.items():
        if both:
            raise UserError(phrase("{one} and {other} exclude each other: leave one of them out", one=one, other=other))


async def _print_of_cluster(client: Client, place: ClusterChoice, namespace: str, word: str, request: Request) -> int:
    try:
        stored, which = await _fetch_job(client, place, namespace, word, request.which)
    except UserError:
        if place.home is None and (code := await _print_kept_elsewhere(place, namespace, word, request)) is not None:
            return code
        raise
    read, pods = stored.job, await fetch_pods(client, stored)
    if which.attempt is not None:
        pods = [pod for pod in pods if labels_of(pod).get(ATTEMPT_LABEL, "0") == str(which.attempt)]
    ranks = read.ranks() if read else read_ranks(pods)
    ended = stored.status.phase.terminal
    if not pods and (manager := explain_manager(stored.manifest)):
        raise UserError(phrase("{job} has no pods here: it is {manager}", job=stored.key.name, manager=manager))
    if read is None and (not ranks or (request.follow and not ended)):
        where = place.flags.of(stored.key.namespace)
        raise UserError(explain_invalid(stored.key.name, where, bool(ranks)))
    numbering = number_ranks(read) if read else None
    chosen = choose_ranks(word, ranks, which.role, which.ranks, request.wanted.tail, numbering)
    of_pods = {rank_name(pod) for pod in pods}
    if place.home is None and not any(str(rank) in of_pods for rank in chosen.ranks):
        code = await _print_kept_elsewhere(place, namespace, word, request, stored.uid)
        if code is not None:
            return code
    if which.container:
        from paddock.cli.follow.one_rank import name_container  # late, as few ask for another container

        for pod in (each for each in pods if rank_name(each) in set(map(str, chosen.ranks))):
            name_container(pod, rank_name(pod), which.container)
    if request.follow and not ended and not request.is_of_the_past:
        return await _follow(client, place, stored, chosen, request)
    printer = await print_fetched(client, place, stored, chosen, pods, request)
    if printer.failed:
        return 1
    if not printer.printed and printer.read:
        printer.screen.notify(explain_unmatched(stored.key.name, request))
        if request.wanted.first_error and stored.status.phase is Phase.FAILED and stored.status.cause:
            printer.screen.notify(explain(stored.status.cause, printer.screen.language))
    elif not printer.printed:
        keeps = read is not None and read.policies.clean_pods is CleanPods.NEVER
        console = name_console(place) if ended and place.home is None else ""
        printer.screen.notify(explain_silence(stored.key.name, chosen.ranks, of_pods, console=console, keeps=keeps))
    if not (request.follow and ended):
        return 0
    whole = await fetch_read(client, place, stored)
    return read_exit_code(stored.status.phase, stored.status.cause) if whole is None else read_view_code(whole)


async def _print_kept_elsewhere(
    place: ClusterChoice, namespace: str, word: str, request: Request, current: str = ""
) -> int | None:
    """What is kept of pods that are gone: copied on this machine, or by the cluster's console. None where neither is,
    or where it cannot be read."""
    code = print_copied(place, namespace, word, request, current)
    if code is not None:
        return code
    from paddock.cli.follow.fetched_runs import print_fetched_runs  # late: few clusters keep runs
    from paddock.cli.follow.keepers import NoToken

    try:
        return await print_fetched_runs(place, namespace, word, request, current)
    except (Failed, NoToken, ApiError):
        if current and request.is_of_the_past:
            raise  # the job is there, and who asks for its past is told where it would be
        return None


async def _fetch_job(
    client: Client, place: ClusterChoice, namespace: str, word: str, which: Which
) -> tuple[StoredJob, Which]:
    """The job that `word` names, or the one whose pod it names."""
    stored, rank = await fetch_named(client, namespace, word, place.flags)
    return stored, which if rank is None else name_one_rank(which, rank.role, rank.index)


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


def explain_silence(name: str, ranks: Sequence[Rank], pods: Collection[str], *, console: str, keeps: bool) -> Phrase:
    """Why no log of `ranks` was found. `pods`: ranks that have a pod; `console`: the command that copies logs, where no
    pod will be created and nothing was copied, else empty; `keeps`: cleanPodPolicy is Never. Pure."""
    if not console or any(str(rank) in pods for rank in ranks):
        return phrase("{job} has printed nothing yet", job=name)
    missing = phrase("the pods of {job} are gone, and their logs with them", job=name)
    if len(ranks) == 1:
        missing = phrase("the pod of {rank} of {job} is gone, and its log with it", rank=str(ranks[0]), job=name)
    if keeps:
        return phrase("{missing}; `{command}` copies logs while it runs", missing=missing, command=console)
    return phrase(
        "{missing}: runPolicy.cleanPodPolicy (cleanPodPolicy) Never keeps pods, and `{command}` copies logs while it "
        "runs",
        missing=missing, command=console,
    )  # fmt: skip


async def _follow(client: Client, place: ClusterChoice, job: StoredJob, which: Selection, request: Request) -> int:
    """The exit code: as the job ends."""
    with FilteredScreen(request.wanted, as_json=request.as_json, language=readers_language()) as screen:
        screen.run = _number(place, job)
        if which.note is not None:
            screen.notify(which.note)
        follower = Follower(
            client, place, job, screen, which.shows, container=request.which.container, tail=which.tail,
            folds=request.folds,
        )  # fmt: skip
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(place.attend(client, job, screen.notify))
        try:
            await asyncio.wait([following, watching], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                raise Failed(watching.result())
            view = following.result()
            # It was submitted before this command: its time is that of the API.
            created = read_time(metadata(job.manifest).get("creationTimestamp")) or view.submitted
            whole = replace(view, submitted=created, ended=view.status.finished or view.ended)
            screen.notify(build_end(whole, screen.language))
            return read_view_code(view)
        except JobDeleted:
            raise Failed(phrase("the job was deleted")) from None
        except asyncio.CancelledError:  # Ctrl-C
            screen.notify(explain_left(follower.view.status.phase, job.key.name, place.flags.of(job.key.namespace)))
            raise
        finally:
            following.cancel()
            watching.cancel()
            await asyncio.gather(following, watching, return_exceptions=True)


def explain_left(phase: Phase, name: str, where: str) -> Phrase:
    """Of a job whose logs are not followed any more. `where`: the options by which it is found. Pure."""
    delete = f"paddock delete {name}{where}"
    if phase is Phase.SUSPENDED:
        resume = f"paddock resume {name}{where}"
        return phrase("the job is suspended: `{resume}` lets it go on, `{delete}` removes it",
                      resume=resume, delete=delete)  # fmt: skip
    return phrase("the job goes on; `{command}` ends it", command=delete)


def _number(place: ClusterChoice, job: StoredJob) -> int | None:
    """The number of the job's run, of a job of the local cluster."""
    if place.home is None:
        return None
    word = f"{job.resource.kind.lower()}.{job.resource.group}/{job.key.name}"
    runs = find_kept(History(place.home), job.key.namespace, word)
    return next((each.run for each in runs if each.uid == job.uid), None)
