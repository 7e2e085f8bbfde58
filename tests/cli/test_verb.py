"""Commands are objects that outlive an invocation: none may depend on who asked it first."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import click
import pytest

from paddock.cli.main import cli, find_module
from paddock.cli.verb import HELP_NAMES


def _walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _walk(found, f"{name} {each}")


COMMANDS = dict(_walk(cli, "paddock"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_same_names_whichever_context_came_first(name: str) -> None:
    """Without its parent, as a program that uses the command as an object makes it."""
    command = COMMANDS[name]
    alone = click.Context(command, info_name=name)
    option = command.get_help_option(alone)
    assert option is not None and option.opts == list(HELP_NAMES)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_takes_a_name_of_help(name: str) -> None:
    taken = {word for parameter in COMMANDS[name].params for word in (*parameter.opts, *parameter.secondary_opts)}
    assert not taken.intersection(HELP_NAMES)


def test_every_module_of_a_verb_can_be_asked_alone() -> None:
    verbs = cli.list_commands(click.Context(cli))  # type: ignore[attr-defined]
    assert len(verbs) > 10
    for verb in verbs:
        module = importlib.import_module(find_module(verb))
        with pytest.raises(click.exceptions.Exit):
            module.command.make_context(verb, ["-h"])
