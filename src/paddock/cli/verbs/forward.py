"""paddock forward"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs, complete_ranks
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.one_rank import Asked, OneRank, find_one
from paddock.cli.follow.ranks import Ranges, RanksType
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line, print_notice
from paddock.cli.verb import Verb
from paddock.views.commands import choose_word
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.cli.follow.forwarding import Forward
    from paddock.client.client import Client

_HERE = "127.0.0.1"


@click.command(name="forward", cls=Verb)
@click.argument("job", metavar="JOB|POD", shell_complete=complete_jobs)
@click.argument("ports", metavar="[PORT|LOCAL:PORT]...", nargs=-1)
@click.option("--role", default="", metavar="ROLE", help="To a pod of this role: worker, ps.")
@click.option(
    "--rank", "ranks", type=RanksType(), metavar="N", shell_complete=complete_ranks,
    help="To the pod of this rank, or of this name: 3, ps-0 (default: rank 0).",
)  # fmt: skip
@click.option(
    "--address", default=_HERE, show_default=True, metavar="ADDRESS",
    help="Listen on this address of the machine. Who reaches it reaches the port: there is no password.",
)  # fmt: skip
@namespace_option
def command(job: str, ports: tuple[str, ...], role: str, ranks: Ranges | None, address: str, namespace: str) -> int:
    """Reach a port of a pod from this machine, until Ctrl-C: a TensorBoard, a debugger, a server.

    \b
    paddock forward resnet 6006
    paddock forward resnet 9000:8080 --rank 3
    paddock forward resnet 0:5678

    PORT is the pod's, and the same here if it is free, else another, which is said; LOCAL:PORT takes that one alone,
    0:PORT any. Without a port, the one that the pod's containers declare. It prints an address for each.

    Exit code: 130 after Ctrl-C, 1 when the pod has ended.
    """
    asked = Asked(job, role, ranks)

    async def work(client: Client, place: ClusterChoice) -> int:
        # late, as these are of no other verb
        from paddock.cli.follow.forwarding import choose_forwards, list_declared

        one = await find_one(client, place, namespace, asked)
        word = f"{shlex.quote(choose_word(one.stored, one.stored.key.name))}{place.flags.of(one.namespace)}"
        forwards = choose_forwards(ports, list_declared(one.pod), word, str(one.rank))
        if one.note is not None:
            print_notice(localized(one.note))
        raise Failed(await _forward(client, place, one, forwards, address))

    try:
        return run_with_client(work)
    except KeyboardInterrupt:
        return 130


async def _forward(client: Client, place: ClusterChoice, one: OneRank, forwards: list[Forward], address: str) -> Phrase:
    """Why it has ended."""
    from paddock.cli.follow.forwarding import Forwarder, is_open_to_others, listen, watch_end

    def note(said: Phrase | str) -> None:
        print_notice(localized(said) if isinstance(said, Phrase) else said)

    rank = str(one.rank)
    if is_open_to_others(address):
        note(phrase("{address} is no address of this machine alone: others can use it, without a password",
                    address=address))  # fmt: skip
    with contextlib.ExitStack() as held:
        sockets = []
        for forward in forwards:
            listening = held.enter_context(listen(address, forward, note))
            sockets.append((listening, forward.remote))
        for listening, remote in sockets:
            shown = f"[{address}]" if ":" in address else address
            print_line(f"http://{shown}:{listening.getsockname()[1]} -> {rank}:{remote}", flush=True)
        forwarder = Forwarder(client, one.namespace, one.name, rank, note)
        tasks = [
            asyncio.create_task(forwarder.run(sockets)),
            asyncio.create_task(watch_end(client, one.pod, rank)),
            asyncio.create_task(place.attend(client, one.stored, note)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            first = next(each for each in tasks if each.done())
            said = first.result()
            assert said is not None, "the forwarder ends by an error alone"
            return said
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
