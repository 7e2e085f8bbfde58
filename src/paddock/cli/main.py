"""`paddock`: finds the verb, and turns whatever goes wrong into a sentence and an exit code.

Exit codes: 0 done; 1 it failed (the job, or what was asked of the cluster); 2 the command or the manifest is wrong;
130 interrupted. A verb is imported when it is used: `--help` must feel instant. No traceback reaches a user.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from functools import partial

import click

from paddock import __version__
from paddock.cli.context_options import context_options, is_chosen
from paddock.cli.verb import VerbGroup

_VERBS: dict[str, str] = {
    "run": "Train: submit a manifest and follow the job to its end",
    "submit": "Submit manifests and come back at once",
    "validate": "Find every mistake in manifests, without a cluster",
    "get": "List jobs, pods or environments",
    "describe": "Everything about one job, and why it waits or failed",
    "explain": "Why a job waits, restarts or failed, or why one would not start",
    "logs": "What the ranks of a job print",
    "delete": "End a job and remove it",
    "env": "Environments: which Python and packages an image stands for",
    "up": "Start the local cluster and keep it up",
    "down": "Stop the local cluster and everything it runs",
    "status": "Whether the local cluster is up, and what it runs on",
    "kubeconfig": "Print the path of the local cluster's kubeconfig",
    "operator": "Run the operator of a Kubernetes cluster",
    "manifests": "Print what a Kubernetes needs: the definitions of jobs, the operator",
    "completion": "Print the completion script of a shell",
    "version": "Print the version",
}


_ANYWHERE = frozenset({"run", "submit", "validate", "get", "describe", "explain", "logs", "delete", "status"})
_LOCAL = frozenset({"env", "up", "down", "kubeconfig"})


class Verbs(VerbGroup):
    """The verbs, listed from a table and imported when used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _VERBS:
            return None
        command: click.Command = importlib.import_module(f"paddock.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(_VERBS.items()))

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments and arguments[0] not in _VERBS:
            from paddock.jobs.text import nearest

            near = nearest(arguments[0], _VERBS)
            hint = f" Did you mean `paddock {near}`?" if near else " `paddock --help` lists the verbs."
            context.fail(f"there is no verb {arguments[0]!r}.{hint}")
        return super().resolve_command(context, arguments)


@click.command(
    cls=Verbs,
    subcommand_metavar="VERB …",
    context_settings={"max_content_width": 110},
)
@click.version_option(__version__, "--version", message="paddock %(version)s")
@partial(context_options, variable=None)
@click.pass_context
def cli(context: click.Context) -> None:
    """Training jobs for PaddlePaddle, from one laptop to a Kubernetes fleet, from one YAML file.

    \b
    paddock run job.yaml        train here, now
    paddock get                 what there is
    paddock logs JOB -f         what it prints
    paddock --context prod get  the same on a Kubernetes
    """
    verb = context.invoked_subcommand
    if is_chosen(context) and verb not in _ANYWHERE:
        if verb in _LOCAL:
            context.fail(f"`paddock {verb}` is about the local cluster: leave --context and --kubeconfig out")
        context.fail(f"`paddock {verb}` takes no --context before it: `paddock {verb} --help` says what it takes")


def main(arguments: Sequence[str] | None = None) -> None:
    """The program. Always ends by SystemExit."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: Sequence[str]) -> int:
    """One command, as an exit code."""
    try:
        typed = tuple(arguments)
        result = cli.main(args=list(typed), prog_name="paddock", standalone_mode=False, obj=typed)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "_PADDOCK_COMPLETE" in os.environ:  # a shell asks while somebody types: no word may reach the line
            return 1
        return _explain(error)


def _explain(error: Exception) -> int:
    from paddock.cli.errors import explain_error

    known = explain_error(error)
    if known is not None:
        print(known.message, file=sys.stderr)
        return known.exit_code
    trace = "".join(traceback.format_exception(error))
    print(f"paddock: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"This is a bug of Paddock. {_keep(trace)}", file=sys.stderr)
    return 1


def _keep(trace: str) -> str:
    """Where the traceback was put, for the report; it is not for the screen."""
    from paddock.app.home import read_home

    path = read_home(os.environ).root / "last-error.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(trace)
    except OSError:
        return "Run it again with PYTHONFAULTHANDLER=1 and a writable PADDOCK_HOME to keep its details."
    return f"Its details are in {path}."


if __name__ == "__main__":
    main()
