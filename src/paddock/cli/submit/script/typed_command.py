"""The part of a command line behind `--`: a program and its arguments, taken exactly as typed.

click removes `--` and reads options on both sides of a name, so the words are split before click sees them.
"""

from __future__ import annotations

import posixpath
import shlex
import shutil
from collections.abc import Sequence
from gettext import gettext
from itertools import pairwise

import click

from paddock.cli.output.language import localized, readers_language
from paddock.cli.submit.script.options import RESUME, RUN_TO_RESUME, WHAT, WHERE, WHILE_IT_RUNS, WITH_WHAT
from paddock.cli.verb import Verb
from paddock.words.catalogues import translate
from paddock.words.phrases import phrase

_KEY = "paddock.command"


def read_typed() -> tuple[str, ...] | None:
    """The words behind `--` of the command that runs now; None without `--`."""
    found: tuple[str, ...] | None = click.get_current_context().meta.get(_KEY)
    return found


class CommandVerb(Verb):
    """A verb that takes a program after `--`, and says so where a program stands before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        before, words = args[:place], tuple(args[place + 1 :])
        parsed = [read_resume(word) for word in before]
        ctx.meta[_KEY] = words if place < len(args) else None
        if ctx.resilient_parsing:
            return super().parse_args(ctx, parsed)
        refuse_apart(ctx, before)
        if place == len(args):
            self._refuse_program(ctx, before)
        try:
            return super().parse_args(ctx, parsed)
        except click.NoSuchOption as error:
            if place < len(args):
                raise
            raise self._name_arguments(ctx, before, error) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes them in groups. An option that is in none of them is in the first."""
        language = readers_language()
        groups = {
            translate("What runs", language): WHAT,
            translate("With what", language): WITH_WHAT,
            translate("Where", language): WHERE,
            translate("While it runs", language): WHILE_IT_RUNS,
        }
        options = (each for each in self.get_params(ctx) if isinstance(each, click.Option))
        rows = [(each.opts[-1], row) for each in options if (row := each.get_help_record(ctx)) is not None]
        grouped = {name for names in groups.values() for name in names}
        for title, names in {gettext("Options"): [name for name, _ in rows if name not in grouped], **groups}.items():
            with formatter.section(title):
                formatter.write_dl([row for name, row in rows if name in names])

    def _refuse_program(self, ctx: click.Context, before: Sequence[str]) -> None:
        place = self._find_name(ctx, before)
        if place is None:
            return
        starter = find_starter(before[place])
        if starter is None:
            return
        command = shlex.join(["paddock", str(ctx.info_name), *before[:place], "--", *starter, *before[place:]])
        said = phrase("{program} is a program: `{command}`", program=before[place], command=command)
        raise click.UsageError(localized(said), ctx)

    def _name_arguments(self, ctx: click.Context, before: Sequence[str], error: click.NoSuchOption) -> click.UsageError:
        place = self._find_name(ctx, before)
        wrong = [word.partition("=")[0] for word in before]
        if place is None or error.option_name in wrong[:place] or error.option_name not in wrong:
            return error
        command = shlex.join(["paddock", str(ctx.info_name), *before[: place + 1], "--", *before[place + 1 :]])
        said = phrase("arguments of the program stand behind `--`: `{command}`", command=command)
        return click.UsageError(f"{error.format_message()} {localized(said)}", ctx)

    def _find_name(self, ctx: click.Context, words: Sequence[str]) -> int | None:
        """The place of the first word that is neither an option nor an option's value."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        with_value = {name for each in options if not each.is_flag for name in each.opts}
        skip = False
        for place, word in enumerate(words):
            if skip or (word.startswith("-") and word != "-"):
                skip = not skip and word in with_value
                continue
            return place
        return None


def read_resume(word: str) -> str:
    """`--resume=3` as the option that it means (`options.RUN_TO_RESUME`). Pure."""
    name, given, value = word.partition("=")
    return f"{RUN_TO_RESUME}={value}" if given and name == RESUME else word


def refuse_apart(ctx: click.Context, words: Sequence[str]) -> None:
    """Raises `click.UsageError` for `--resume 3`, whose number would be taken for FILE."""
    for option, word in pairwise(words):
        if option == RESUME and word.isdecimal():
            said = phrase("the number of a run is joined to {option}: `{command}`", option=option,
                          command=f"{option}={word}")  # fmt: skip
            raise click.UsageError(localized(said), ctx)


def name_python() -> str:
    """The Python that a person here can type: Debian has `python3` alone."""
    return "python" if shutil.which("python") or not shutil.which("python3") else "python3"


def find_starter(word: str) -> tuple[str, ...] | None:
    """What stands before a program that was named alone: `python` before train.py; None if it is no program."""
    from paddock.launches.launchers import BY_PROGRAM
    from paddock.launches.programs import is_python, is_shell

    if word.endswith(".py"):
        return (name_python(),)
    if word.endswith(".sh"):
        return ("bash",)
    return () if is_python(word) or is_shell(word) or posixpath.basename(word) in BY_PROGRAM else None
