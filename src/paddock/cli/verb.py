"""The base class of every command of `paddock`: sets the names of its help option and the language of its help.

click reads those names from the context and its parents, and a command caches the option that it built first. A
command whose first context had no parent would therefore know `--help` alone for the rest of the process. Programs that
use these commands as objects make such contexts, so the names are set in the class.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.help import CommandT, Formatter, first_sentence, translate_command
from paddock.cli.output.language import readers_language
from paddock.words.catalogues import TRANSLATED, translate

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP_NAMES = ("-h", "--help")
"""No command may use either for something else."""


class _Context(click.Context):
    formatter_class = Formatter


class Verb(click.Command):
    context_class = _Context

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return list(HELP_NAMES)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:  # click caches it in the language of its first use
            option.help = translate("Show this message and exit.", readers_language())
        return option

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super(Verb, _in_readers_language(self)).format_help(ctx, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        """What a shell shows beside the command while it completes."""
        if readers_language() not in TRANSLATED:
            return super().get_short_help_str(limit)
        return first_sentence(_in_readers_language(self).help or "")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return super(Verb, _in_readers_language(self)).shell_complete(ctx, incomplete)


class DescribedDefault(click.Option):
    """An option whose `show_default` describes the default in words; click would put them in brackets of their own."""

    def get_help_extra(self, ctx: click.Context) -> Any:  # click.core.OptionHelpExtra, which is no name for a type
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


class VerbGroup(Verb, click.Group):
    """A command with subcommands, all of them `Verb`."""

    command_class = Verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        language = readers_language()
        if language not in TRANSLATED:
            super().format_commands(ctx, formatter)
            return
        # click ends a summary at a full stop and a space; Chinese has no space there
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, first_sentence(_in_readers_language(each).help or "")) for name, each in found.items() if each]
        with formatter.section(translate("Commands", language)):
            formatter.write_dl(rows)


def _in_readers_language(command: CommandT) -> CommandT:
    language = readers_language()
    return translate_command(command, partial(translate, language=language)) if language in TRANSLATED else command
