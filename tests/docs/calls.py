"""Whether a command line that a page shows is one of Paddock's."""

from __future__ import annotations

import click

from paddock.cli.main import cli


def resolve(words: list[str]) -> None:
    """Raises `click.UsageError` for a verb or an option that there is not. No value is looked at. A command that has
    verbs may be typed without one, as in `paddock --version`."""
    command: click.Command = cli
    context = click.Context(cli, info_name="paddock")
    while isinstance(command, click.Group):
        _, words, _ = command.make_parser(context).parse_args(list(words))
        if not words:
            return
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=found.name)
    command.make_parser(context).parse_args(list(words))
