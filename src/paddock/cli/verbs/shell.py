"""paddock shell"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.one_rank import Asked, OneRank, find_one, in_one_container, tell_hold
from paddock.cli.follow.ranks import Ranges
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_notice
from paddock.cli.verb import Verb
from paddock.kube.printable import show_line
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_SCRIPT = """\
printf '%s%s%s\\n' "$1" "$PWD" "$2" >&2
if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi"""
"""Only the pod knows in which directory its programs start, so it prints the line about it."""
_DIRECTORY = "DIRECTORY"


@click.command(name="shell", cls=Verb)
@click.argument("job", metavar="JOB|POD", shell_complete=complete_jobs)
@in_one_container
@namespace_option
def command(job: str, role: str, ranks: Ranges | None, container: str, namespace: str) -> int:
    """Open a shell in a pod of a job that runs, or is held: bash, or sh where there is none.

    \b
    paddock shell resnet
    paddock shell resnet --rank 3
    paddock shell resnet < commands.sh

    Ctrl-C goes to the program in the shell; `exit` or Ctrl-D ends it, and the job goes on. Commands that are piped in
    are run without a terminal. A rank that has failed can be entered while --hold of paddock run keeps it.

    Exit code: that of the shell, which is that of its last command; 2 and 1 as of paddock exec.
    """
    asked = Asked(job, role, ranks, container)

    async def work(client: Client, place: ClusterChoice) -> int:
        # late, as these are of no other verb
        from paddock.cli.follow.sessions import choose_streams, run_in

        one = await find_one(client, place, namespace, asked, holds=True)
        streams = choose_streams(interactive=True, terminal=None)
        if one.note is not None:
            print_notice(localized(one.note))
        if (hold := tell_hold(one)) is not None:
            print_notice(localized(hold))
        told = show_line(localized(tell_place(one, leaves=streams.terminal)))
        return await run_in(client, one, build_command(told), streams)

    return run_with_client(work)


def build_command(told: str) -> tuple[str, ...]:
    """`told`: the line that the shell begins with; DIRECTORY in it is filled in by the pod. Pure."""
    before, _, after = told.rpartition(_DIRECTORY)
    return ("sh", "-c", _SCRIPT, "sh", before, after)


def tell_place(one: OneRank, *, leaves: bool) -> Phrase:
    """Where the shell is. `leaves`: somebody types. Pure."""
    job, rank = one.stored.key.name, str(one.rank)
    said = phrase("{job}, {rank}, in {directory}", job=job, rank=rank, directory=_DIRECTORY)
    if not leaves:
        return said
    if one.held is not None:
        return phrase("{where}; `exit` ends the shell", where=said)
    return phrase("{where}; `exit` ends the shell, the job goes on", where=said)
