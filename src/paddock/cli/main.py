"""`paddock`: finds the verb, and turns every error into a message and an exit code.

Exit codes: 0 success; 1 the job or the request failed; 2 the command or the manifest is wrong; 130 interrupted. A verb
is imported when it is used: `--help` must feel instant. Users never see a traceback.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.options import context_options
from paddock.cli.help import click_in_language, translate_error
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import drop_output, print_line
from paddock.cli.verb import VerbGroup
from paddock.words.catalogues import translate

if TYPE_CHECKING:
    from paddock.words.phrases import Phrase


class Where(Enum):
    """What a verb is about, and so whether --context and --kubeconfig may stand before it."""

    ANYWHERE = auto()
    """The cluster that they name, by default the local one."""
    LOCAL = auto()
    """The local cluster alone."""
    ITSELF = auto()
    """What its own options say."""


class Listed(NamedTuple):
    """A verb in the list of `paddock --help`."""

    what: str
    """What it does, in English; `tools/catalogues.py` finds the text here."""
    where: Where


VERBS: dict[str, Listed] = {
    "run": Listed("Train: submit a program or a manifest and follow the job to its end", Where.ANYWHERE),
    "init": Listed("Write the manifest of a program to a file", Where.ANYWHERE),
    "submit": Listed("Submit manifests and come back at once", Where.ANYWHERE),
    "render": Listed("Write a job as files for bare machines, Docker or a cloud's training service", Where.ITSELF),
    "validate": Listed("Find every mistake in manifests, without a cluster", Where.ANYWHERE),
    "rehearse": Listed("Whether a job of a cluster would start: all its ranks here, for two steps", Where.LOCAL),
    "get": Listed("List jobs, pods, environments or datasets", Where.ANYWHERE),
    "queue": Listed("What runs and what waits for room, in order, and why", Where.ANYWHERE),
    "describe": Listed("Everything about one job, and why it waits or failed", Where.ANYWHERE),
    "explain": Listed("Why a job waits, restarts or failed, or why one would not start", Where.ANYWHERE),
    "doctor": Listed("Why a run does not do what it was asked for, and what mends it", Where.ANYWHERE),
    "bundle": Listed("All that somebody else needs to understand a job, in one file", Where.ANYWHERE),
    "logs": Listed("What the ranks of a job print", Where.ANYWHERE),
    "stacks": Listed("Where the ranks of a job are, when they print nothing more", Where.ANYWHERE),
    "top": Listed("What the ranks that run use: processors, memory, GPUs", Where.ANYWHERE),
    "usage": Listed("Hours of GPUs and cores that jobs have held, by namespace, kind, name", Where.ANYWHERE),
    "exec": Listed("Run a command in a pod of a job", Where.ANYWHERE),
    "shell": Listed("Open a shell in a pod of a job", Where.ANYWHERE),
    "forward": Listed("Reach a port of a pod from this machine", Where.ANYWHERE),
    "wait": Listed("Wait until a job has ended, and exit as it", Where.ANYWHERE),
    "console": Listed("Open the console in the browser", Where.ANYWHERE),
    "history": Listed("What ran here: every run, how it ended, what changed", Where.ANYWHERE),
    "compare": Listed("Runs side by side: how they ended, their last numbers, in what they differ", Where.ANYWHERE),
    "outputs": Listed("What a job has written: where it is, its files, a copy of them", Where.ANYWHERE),
    "board": Listed("TensorBoard or VisualDL over what jobs have written", Where.ANYWHERE),
    "suspend": Listed("End the pods of a job and keep it, to be resumed later", Where.ANYWHERE),
    "resume": Listed("Let a suspended job go on, in a new attempt", Where.ANYWHERE),
    "cancel": Listed("End a job for good and keep it listed", Where.ANYWHERE),
    "clone": Listed("Make a new job like one that is there", Where.ANYWHERE),
    "delete": Listed("End a job and remove it", Where.ANYWHERE),
    "env": Listed("Environments: which Python and packages an image stands for", Where.ANYWHERE),
    "dataset": Listed("Datasets: data that is fetched once and mounted by jobs", Where.ANYWHERE),
    "clean": Listed("Free disk space: what may go, and how much comes free", Where.LOCAL),
    "up": Listed("Start the local cluster and keep it up", Where.LOCAL),
    "down": Listed("Stop the local cluster and everything it runs", Where.LOCAL),
    "status": Listed("Whether the local cluster is up, and what it runs on", Where.ANYWHERE),
    "kubeconfig": Listed("Print the path of the local cluster's kubeconfig", Where.LOCAL),
    "operator": Listed("Run the operator of a Kubernetes cluster", Where.ITSELF),
    "webhook": Listed("Refuse wrong jobs before a Kubernetes stores them", Where.ITSELF),
    "manifests": Listed("Print what a Kubernetes needs: the definitions of jobs, the operator", Where.ITSELF),
    "completion": Listed("Print the completion script of a shell", Where.ITSELF),
    "version": Listed("Print the version", Where.ITSELF),
}


def find_module(verb: str) -> str:
    return f"paddock.cli.verbs.{verb}"


class _ReaderGone(Exception):
    """Nobody reads the pipe that is printed to, as after `| head`: no fault of anybody. A verb that does more than to
    print goes on (`cli.output.terminal`)."""


@contextmanager
def _unread() -> Iterator[None]:
    """Click would end the command with exit code 1."""
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error


class Verbs(VerbGroup):
    """Lists the verbs from a table and imports a verb when it is used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command: click.Command = importlib.import_module(find_module(name)).command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        language = readers_language()
        with formatter.section(translate("Verbs", language)):
            formatter.write_dl([(name, translate(each.what, language)) for name, each in VERBS.items()])

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _unread():  # --help is printed here
            return super().make_context(*args, **options)

    def invoke(self, context: click.Context) -> object:
        with _unread():
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments[:1] == ["help"]:  # `paddock help get` is `paddock get --help`
            arguments = [*arguments[1:], "--help"]
        if arguments == ["--help"] and not context.resilient_parsing:
            print_line(context.get_help())
            context.exit()
        if arguments and arguments[0] not in VERBS:
            _refuse_verb(context, arguments)
        return super().resolve_command(context, arguments)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from paddock.build import BUILD  # late: every verb imports this module

        print_line(f"paddock {BUILD}")
        context.exit()


@click.command(
    cls=Verbs,
    subcommand_metavar="VERB …",
    context_settings={"max_content_width": 110},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
@partial(context_options, variable=None)
@click.pass_context
def cli(context: click.Context) -> None:
    """Training jobs for PaddlePaddle and PyTorch, from one laptop to a Kubernetes fleet, from one YAML file.

    \b
    paddock run -- python train.py  train here, now
    paddock run job.yaml            the same of a manifest
    paddock get                     what there is
    paddock logs JOB -f             what it prints
    paddock --context prod get      the same on a Kubernetes
    """
    verb = context.invoked_subcommand
    if verb and is_chosen(context) and VERBS[verb].where is not Where.ANYWHERE:
        from paddock.words.phrases import phrase

        said = phrase(
            "`paddock {verb}` takes no --context before it: `paddock {verb} --help` says what it takes", verb=verb
        )
        if VERBS[verb].where is Where.LOCAL:
            said = phrase(
                "`paddock {verb}` is about the local cluster: leave --context and --kubeconfig out", verb=verb
            )
        context.fail(localized(said))


def _refuse_verb(context: click.Context, typed: Sequence[str]) -> NoReturn:
    from paddock.cli.synonyms import advise_verb
    from paddock.kube.nearness import nearest
    from paddock.words.phrases import phrase

    advice = advise_verb(typed)
    if advice is not None:
        context.fail(localized(phrase("there is no verb {verb}: {advice}", verb=repr(typed[0]), advice=advice)))
    near = nearest(typed[0], VERBS)
    hint = phrase(" `paddock --help` lists the verbs.")
    if near:
        hint = phrase(" Did you mean `paddock {near}`?", near=near)
    context.fail(localized(phrase("there is no verb {verb}.{hint}", verb=repr(typed[0]), hint=hint)))


_GC_THRESHOLD = 100_000
"""Objects between two collections; Python's 700 are for programs that make garbage, most commands import modules."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. Always raises SystemExit."""
    _replace_closed()
    _replace_unencodable()
    gc.set_threshold(_GC_THRESHOLD)
    code = run(sys.argv[1:] if arguments is None else list(arguments))
    _drop_unwritable()
    gc.freeze()  # else the interpreter looks at every object again at its end: a tenth of the time of `paddock get`
    sys.exit(code)


def _replace_closed() -> None:
    """A stream that was closed by who started the command (`>&-`, a service) takes all and keeps nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end of the process


def _replace_unencodable() -> None:
    """A character that the terminal's encoding lacks is printed as `?`, where Python would raise UnicodeEncodeError."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    with click_in_language(readers_language()):
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        typed = tuple(arguments) or ("--help",)  # `paddock` alone is a question, as `kubectl` alone
        result = cli.main(args=list(typed), prog_name="paddock", standalone_mode=False, obj=typed)
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        with suppress(OSError):
            _show(translate_error(error, readers_language()))
        return 2
    except (click.Abort, KeyboardInterrupt):
        if not _completes():
            _say(translate("interrupted", readers_language()))
        return 130
    except _ReaderGone:
        return 0
    except Exception as error:
        if _completes():
            return 1
        return _explain(error)


def _completes() -> bool:
    """Completion runs while the user types: output would damage the line."""
    return "_PADDOCK_COMPLETE" in os.environ


def _show(error: click.ClickException) -> None:
    """What click says of a wrong command, which has its words as they were typed. Raises OSError."""
    text = io.StringIO()
    error.show(text)
    print_line(text.getvalue(), end="", to=sys.stderr)


def _drop_unwritable() -> None:
    """What a stream does not take is lost: the interpreter would report it at its end, and end with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            drop_output(stream)


def _say(text: str) -> None:
    """Prints to stderr. The exit code says enough where that is closed or full."""
    with suppress(OSError):
        print_line(text, to=sys.stderr)


def _explain(error: Exception) -> int:
    import traceback

    from paddock.cli.cluster.errors import explain_error

    known = explain_error(error)
    if known is not None:
        _say(known.message)
        return known.exit_code
    trace = "".join(traceback.format_exception(error))
    _say(f"paddock: {type(error).__name__}: {error}")
    _say(localized(_keep(trace)))
    return 1


def _keep(trace: str) -> Phrase:
    """Writes the traceback to a file; the sentence that names the file."""
    from paddock.app.home import read_home
    from paddock.words.phrases import phrase

    path = read_home(os.environ).root / "last-error.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(trace)
    except OSError:
        return phrase(
            "This is a bug of Paddock. Run it again with PYTHONFAULTHANDLER=1 and a writable PADDOCK_HOME to keep its "
            "details."
        )
    return phrase("This is a bug of Paddock. Its details are in {path}.", path=str(path))


if __name__ == "__main__":
    main()
