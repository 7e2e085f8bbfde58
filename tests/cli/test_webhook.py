"""`paddock webhook`: what is wrong with its flags is told before anything is started."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bind-address=0", "--bind-address=0 is off, and a webhook has to listen"),
        ("--bind-address=9443", "is no address: HOST:PORT"),
        ("--bind-address=::1:9443", "has too many colons"),
        ("--log-format=xml", "'xml' is not one of"),
    ],
)
def test_wrong_flags_are_usage_errors(words: str, said: str) -> None:
    result = CliRunner().invoke(cli, ["webhook", *words.split()], prog_name="paddock")
    assert (result.exit_code, said in result.output) == (2, True), result.output
