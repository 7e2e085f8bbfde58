"""paddock stacks"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.follow.one_rank import is_in, tell_container
from paddock.cli.follow.ranks import Ranges, RanksType, choose_ranks
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.stacks import build_document, print_stacks
from paddock.cli.output.streams import print_line, print_notice, write_json
from paddock.cli.verb import Verb
from paddock.client.pod_stacks import NoStacks, fetch_stacks
from paddock.jobs.model import PodPhase
from paddock.jobs.objects.observed import read_pod
from paddock.kube.pod_logs import name_main_container
from paddock.kube.pod_stacks import count_beside, only_of
from paddock.logs.stacks import Folded, fold
from paddock.views.commands import choose_word
from paddock.words.phrases import Names, Phrase, counted, phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddock.client.client import Client
    from paddock.jobs.model import Pod, Rank
    from paddock.kube.meta import Manifest
    from paddock.views.stored import StoredJob


@click.command(name="stacks", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("--role", default="", metavar="ROLE", help="Of this role alone: worker, ps.")
@click.option("--rank", "ranks", type=RanksType(), metavar="N,N-N", help="Of these ranks alone: 0,3-5.")
@click.option("--all", "whole", is_flag=True, help="Also of launchers and data loaders, and of all threads.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@click.option("--no-copy", is_flag=True, help="On a Kubernetes: copy no py-spy into containers whose image has none.")
@namespace_option
def command(job: str, role: str, ranks: Ranges | None, whole: bool, output: str, no_copy: bool, namespace: str) -> int:
    """Where the ranks of a job that runs are: the stack of each rank's Python, equal ones once.

    \b
    paddock stacks resnet
    paddock stacks resnet --rank 0,2
    paddock stacks resnet --all -o json

    The first line names the line of your program at which each rank is, and what it calls there. Then comes each
    different stack with the ranks that have it, the most recent call last. Nothing is stopped or changed: py-spy looks
    from outside, and where the system forbids that, a Python of an environment that Paddock has built tells its stack
    itself.

    On a Kubernetes each pod is entered as by paddock exec, with the same rights. py-spy is the image's; where that has
    none, the one of this machine is copied into /tmp of the container and removed again.

    Exit code: 0 each rank has a stack, 1 one or more have none.
    """

    async def work(client: Client, place: ClusterChoice) -> tuple[StoredJob, Folded]:
        return await _take(client, place, namespace, job, role, ranks, copies=not no_copy)

    stored, folded = run_with_client(work)
    if output == "json":
        print_line(write_json(build_document(stored.key.namespace, stored.key.name, folded, whole=whole), indent=2))
    else:
        print_stacks(folded, readers_language(), whole=whole)
    return 1 if folded.without or not folded.located else 0


async def _take(
    client: Client,
    place: ClusterChoice,
    namespace: str,
    word: str,
    role: str,
    ranks: Ranges | None,
    *,
    copies: bool,
) -> tuple[StoredJob, Folded]:
    stored = await fetch_present(client, place, namespace, word)
    options, named = place.flags.of(stored.key.namespace), choose_word(stored, word)
    if stored.job is None:
        command = f"paddock explain {named}{options}"
        raise UserError(phrase("{job} has no pods: its manifest is wrong; `{command}` says where",
                               job=stored.key.name, command=command))  # fmt: skip
    chosen = choose_ranks(stored.key.name, stored.job.ranks(), role, ranks, None).ranks
    pods = {read.rank: (read, pod) for pod in await fetch_pods(client, stored) if (read := _read(stored, pod))}
    # Also in a pod that is not ready: why it is not may be what is asked.
    running = {str(rank): pods[rank][1] for rank in chosen if rank in pods and is_running(*pods[rank])}
    absent = tuple((str(rank), tell_absent(pods[rank][0] if rank in pods else None)) for rank in chosen
                   if str(rank) not in running)  # fmt: skip
    if not running:
        raise Failed(explain_none(stored.key.name, chosen, options, named))
    folded = await (_fetch_local(client, running) if place.home is not None else _enter(client, running, copies=copies))
    return stored, Folded(folded.groups, folded.helpers, (*folded.without, *absent))


async def _fetch_local(client: Client, running: Mapping[str, Manifest]) -> Folded:
    try:
        taken = await fetch_stacks(client, running)
    except NoStacks:
        raise UserError(
            phrase(
                "the local cluster was started by an older Paddock, which takes no stacks: after `{command}` the next "
                "command starts this one, and the job begins a new attempt",
                command="paddock down",
            )
        ) from None
    trains = {rank: name_main_container(pod) for rank, pod in running.items()}
    for said in tell_beside(count_beside(taken, trains)):
        print_notice(localized(said))
    return fold({rank: only_of(each, trains[rank]) for rank, each in taken.items()})


async def _enter(client: Client, running: Mapping[str, Manifest], *, copies: bool) -> Folded:
    """On a Kubernetes, which takes none itself."""
    # late, as these are of clusters alone
    from paddock.app.entered_stacks import Place, StackVisitor
    from paddock.node.stacks.dumps import find_py_spy

    places, absent = dict[str, Place](), list[tuple[str, Phrase]]()
    for rank, pod in running.items():
        name = name_main_container(pod)
        if (why := tell_container(pod, rank, name)) is None:
            places[rank] = Place(pod, name)
        else:
            absent.append((rank, why))
    visitor = StackVisitor(
        client, partial(find_py_spy, os.environ) if copies else None, lambda said: print_notice(localized(said))
    )
    taken = await visitor.take(places)
    folded = fold(taken.stacks, taken.tell)
    return Folded(folded.groups, folded.helpers, (*folded.without, *taken.missed.items(), *absent))


def _read(stored: StoredJob, pod: Manifest) -> Pod | None:
    read = read_pod(pod)
    return read if read and stored.status.holds(read) else None


def is_running(read: Pod, pod: Manifest) -> bool:
    """Whether a container of the pod runs, ready or not. Pure."""
    return read.phase is PodPhase.RUNNING or (not read.ended and is_in(pod))


def tell_beside(counts: Mapping[str, int]) -> list[Phrase]:
    """What is left out. `counts`: processes of containers that do not train, by the container's name. Pure."""
    return [
        counted(
            "left out: {count} process of container {name}, which does not train",
            "left out: {count} processes of container {name}, which does not train",
            count=count, name=name,
        )
        for name, count in sorted(counts.items())
    ]  # fmt: skip


def tell_absent(pod: Pod | None) -> Phrase:
    """Why a rank has no processes."""
    if pod is None:
        return phrase("it has no pod")
    if pod.exit is not None:
        return phrase("it has ended, with exit code {code}", code=pod.exit.code)
    return phrase("it does not run yet")


def explain_none(job: str, ranks: tuple[Rank, ...], options: str, named: str = "") -> Phrase:
    """`named`: the job as commands name it, where that is not its name."""
    names = Names(tuple(map(str, ranks)))
    command = f"paddock explain {named or job}{options}"
    return phrase("no stack of {job}: {ranks} does not run; `{command}` says why",
                  job=job, ranks=names, command=command) if len(ranks) == 1 else phrase(
        "no stack of {job}: none of {ranks} runs; `{command}` says why", job=job, ranks=names, command=command
    )  # fmt: skip
