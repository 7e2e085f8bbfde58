"""What every command of `paddock` is made of: the names of its help option come from here, and from nowhere else.

click asks a context for those names, a context asks its parent, and a command keeps the option that it made first. So a
command that was first asked without its parent would know `--help` alone, for the rest of the process. The first
context must not matter: a program that uses these commands as objects makes contexts of its own.
"""

from __future__ import annotations

import click

HELP_NAMES = ("-h", "--help")
"""No command may use either for something else."""


class Verb(click.Command):
    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return list(HELP_NAMES)


class VerbGroup(Verb, click.Group):
    """A command that has commands, all of them `Verb`."""

    command_class = Verb
