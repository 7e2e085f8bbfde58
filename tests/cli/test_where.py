"""Where --context and --kubeconfig may stand: before a verb as behind it."""

from __future__ import annotations

import click
import pytest

from paddock.cli.main import VERBS, Where, cli


@pytest.mark.parametrize("verb", [verb for verb, listed in VERBS.items() if listed.where is not Where.ITSELF])
def test_a_verb_takes_a_context_before_it_if_it_takes_one_behind_it(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    if isinstance(command, click.Group):
        return  # its own verbs take them
    behind = any("--context" in each.opts for each in command.params)
    assert behind is (VERBS[verb].where is Where.ANYWHERE)
