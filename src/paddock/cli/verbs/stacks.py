"""paddock stacks"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_job, fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.follow.ranks import Ranges, RanksType, choose_ranks
from paddock.cli.output.language import readers_language
from paddock.cli.output.stacks import build_document, print_stacks
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.verb import Verb
from paddock.client.pod_stacks import NoStacks, fetch_stacks
from paddock.jobs.model import PodPhase
from paddock.jobs.objects.observed import read_pod
from paddock.logs.stacks import fold
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.jobs.model import Pod, Rank
    from paddock.kube.meta import Manifest
    from paddock.logs.stacks import Folded
    from paddock.views.stored import StoredJob


@click.command(name="stacks", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("--role", default="", metavar="ROLE", help="Of this role alone: worker, ps.")
@click.option("--rank", "ranks", type=RanksType(), metavar="N,N-N", help="Of these ranks alone: 0,3-5.")
@click.option("--all", "whole", is_flag=True, help="Also of launchers and data loaders, and of all threads.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(job: str, role: str, ranks: Ranges | None, whole: bool, output: str, namespace: str) -> int:
    """Where the ranks of a job that runs are: the stack of each rank's Python, equal ones once.

    \b
    paddock stacks resnet
    paddock stacks resnet --rank 0,2
    paddock stacks resnet --all -o json

    The first line names the line of your program at which each rank is, and what it calls there. Then comes each
    different stack with the ranks that have it, the most recent call last. Nothing is stopped or changed: py-spy looks
    from outside, and where the system forbids that, a Python of an environment that Paddock has built tells its stack
    itself. On the local cluster alone: on a Kubernetes this needs a program in the pod.

    Exit code: 0 each rank has a stack, 1 one or more have none.
    """
    place = choose_place()
    if place.home is None:
        raise UserError(explain_cluster(job, place.flags.of(namespace)))

    async def work(client: Client, place: ClusterChoice) -> tuple[StoredJob, Folded]:
        return await _take(client, place, namespace, job, role, ranks)

    stored, folded = run_with_client(work)
    if output == "json":
        print_line(write_json(build_document(stored.key.namespace, stored.key.name, folded, whole=whole), indent=2))
    else:
        print_stacks(folded, readers_language(), whole=whole)
    return 1 if folded.without or not folded.located else 0


def explain_cluster(job: str, options: str) -> Phrase:
    return phrase(
        "stacks are taken on the local cluster alone: on a Kubernetes that needs a program in the pod, which Paddock "
        "does not start yet; `{command}` says what the logs tell",
        command=f"paddock doctor {job}{options}",
    )


async def _take(
    client: Client, place: ClusterChoice, namespace: str, word: str, role: str, ranks: Ranges | None
) -> tuple[StoredJob, Folded]:
    stored = await fetch_job(client, namespace, word, place.flags)
    options = place.flags.of(stored.key.namespace)
    if stored.job is None:
        command = f"paddock explain {stored.key.name}{options}"
        raise UserError(phrase("{job} has no pods: its manifest is wrong; `{command}` says where",
                               job=stored.key.name, command=command))  # fmt: skip
    chosen = choose_ranks(stored.key.name, stored.job.ranks(), role, ranks, None).ranks
    pods = {read.rank: (read, pod) for pod in await fetch_pods(client, stored) if (read := _read(stored, pod))}
    running = {str(rank): pods[rank][1] for rank in chosen if rank in pods and pods[rank][0].phase is PodPhase.RUNNING}
    absent = tuple((str(rank), tell_absent(pods[rank][0] if rank in pods else None)) for rank in chosen
                   if str(rank) not in running)  # fmt: skip
    if not running:
        raise Failed(explain_none(stored.key.name, chosen, options))
    try:
        folded = fold(await fetch_stacks(client, running))
    except NoStacks:
        raise UserError(
            phrase(
                "the local cluster was started by an older Paddock, which takes no stacks: after `{command}` the next "
                "command starts this one, and the job begins a new attempt",
                command="paddock down",
            )
        ) from None
    return stored, type(folded)(folded.groups, folded.helpers, (*folded.without, *absent))


def _read(stored: StoredJob, pod: Manifest) -> Pod | None:
    read = read_pod(pod)
    return read if read and stored.status.holds(read) else None


def tell_absent(pod: Pod | None) -> Phrase:
    """Why a rank has no processes."""
    if pod is None:
        return phrase("it has no pod")
    if pod.exit is not None:
        return phrase("it has ended, with exit code {code}", code=pod.exit.code)
    return phrase("it does not run yet")


def explain_none(job: str, ranks: tuple[Rank, ...], options: str) -> Phrase:
    names = Names(tuple(map(str, ranks)))
    command = f"paddock explain {job}{options}"
    return phrase("no stack of {job}: {ranks} does not run; `{command}` says why",
                  job=job, ranks=names, command=command) if len(ranks) == 1 else phrase(
        "no stack of {job}: none of {ranks} runs; `{command}` says why", job=job, ranks=names, command=command
    )  # fmt: skip
