"""paddock exec"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.follow.one_rank import Asked, find_every, find_one, in_one_container, tell_hold
from paddock.cli.follow.ranks import Ranges
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_notice
from paddock.cli.verb import Verb
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


class _Exec(Verb):
    """Options of the program look like ours (`head -n 5`), so it stands behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_help = bool(set(args) & set(self.get_help_option_names(ctx)))
        if args and "--" not in args and not ctx.resilient_parsing and not asks_help:
            job = next((each for each in args if not each.startswith("-")), "JOB")
            command = f"paddock exec {job} -- nvidia-smi"
            raise UserError(
                phrase("the command to run stands behind --, as in `{command}`; `{other}` opens a shell",
                       command=command, other=f"paddock shell {job}")
            )  # fmt: skip
        return super().parse_args(ctx, args)


@click.command(name="exec", cls=_Exec)
@click.argument("job", metavar="JOB|POD", shell_complete=complete_jobs)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@in_one_container
@click.option("--all", "everywhere", is_flag=True, help="In every pod, or in all that --role and --rank name.")
@click.option("-i", "--stdin", "interactive", is_flag=True, help="Pass the input also from a terminal.")
@click.option("-t/-T", "terminal", default=None, help="With a terminal or without (default: if this command has one).")
@namespace_option
def command(
    job: str,
    words: tuple[str, ...],
    role: str,
    ranks: Ranges | None,
    container: str,
    everywhere: bool,
    interactive: bool,
    terminal: bool | None,
    namespace: str,
) -> int:
    """Run a command in a pod of a job that runs, where the job's program is: its files, variables and devices.

    \b
    paddock exec resnet -- nvidia-smi
    paddock exec resnet --rank 3 -- ls -l /data
    paddock exec resnet -- tar c out | tar x
    paddock exec resnet-ps-0 -- env
    paddock exec resnet --all -- nvidia-smi -L

    Its output and its errors are the program's bytes alone, and input that is piped in is passed to it. With --all each
    line has its rank before it, and the program no input.

    Exit code: that of the program, with --all the highest, and 1 at least where a pod does not run; 126 and 127 where
    it cannot be started. Where nothing was started, 2 if the command is wrong and 1 if the job does not run or the
    connection was lost.
    """
    asked = Asked(job, role, ranks, container)
    if everywhere and (interactive or terminal):
        options = choose_place().flags.of(namespace)
        raise UserError(explain_alone("-i" if interactive else "-t", f"paddock shell {job}{options}"))

    async def work(client: Client, place: ClusterChoice) -> int:
        # late, as these are of no other verb
        from paddock.cli.follow.sessions import choose_streams, run_in

        if everywhere:
            from paddock.cli.follow.every_rank import run_everywhere

            every = await find_every(client, place, namespace, asked, holds=True)
            if every.note is not None:
                print_notice(localized(every.note))
            for told in filter(None, map(tell_hold, every.ones)):
                print_notice(localized(told))
            return await run_everywhere(client, every, words)
        one = await find_one(client, place, namespace, asked, holds=True)
        streams = choose_streams(interactive=interactive, terminal=terminal)
        if one.note is not None:
            print_notice(localized(one.note))
        if (hold := tell_hold(one)) is not None:
            print_notice(localized(hold))
        if terminal and not streams.terminal:
            print_notice(localized(phrase("-t: the input is no terminal, so the program gets none")))
        return await run_in(client, one, words, streams)

    return run_with_client(work)


def explain_alone(option: str, command: str) -> Phrase:
    """Why --all does not go with an input or a terminal. `command`: that opens a shell. Pure."""
    return phrase(
        "{option} is for one pod, as nobody types into several: without it the command has no input, and `{command}` "
        "opens a shell in one",
        option=option, command=command,
    )  # fmt: skip
