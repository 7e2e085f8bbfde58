"""Options of `paddock console` that would do nothing where they stand are refused."""

from __future__ import annotations

from collections.abc import Sequence

import click
import pytest

from paddock.cli.cluster.consoles import list_typed, refuse_misplaced
from paddock.cli.cluster.errors import UserError
from paddock.cli.verbs.console import command


@pytest.mark.parametrize(
    ("words", "cluster", "said"),
    [
        ([], False, ""),
        (["two", "--url"], False, ""),
        (["--port", "9"], True, ""),
        (["--port", "9"], False, "the local cluster's console has its own address: leave --port out"),
        (["--host", "a"], False, "--host goes with --serve: add it, or leave --host out"),
        (["--behind-tls"], True, "--behind-tls goes with --serve: add it, or leave --behind-tls out"),
        (["--serve", "--host", "a", "--bind-address", ":8765"], False, ""),
        (["-n", "team"], False, ""),
        (["--serve", "-n", "team"], False, "--serve opens no page of its own: leave -n out"),
        (["--serve", "two"], False, "--serve opens no page of its own: leave JOB out"),
        (["--serve", "--url"], True, "--serve opens no page of its own: leave --url out"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(words: Sequence[str], cluster: bool, said: str) -> None:
    context: click.Context = command.make_context("console", list(words), resilient_parsing=False)
    try:
        refuse_misplaced(list_typed(context), serve=bool(context.params["serve"]), cluster=cluster)
    except UserError as error:
        assert str(error) == said
    else:
        assert said == ""
