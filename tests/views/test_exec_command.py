"""The commands that enter a pod are those that the command line takes."""

from __future__ import annotations

import shlex

import pytest
from click import Command

from paddock.cli.verbs.exec import command as exec_verb
from paddock.cli.verbs.shell import command as shell_verb
from paddock.jobs.apis.registry import KINDS
from paddock.views.exec_command import exec_command, shell_command

PADDLE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
HERE = (PADDLE, "default", "demo")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (shell_command(*HERE), "paddock shell paddlejob/demo"),
        (shell_command(*HERE, role="worker", index=0), "paddock shell paddlejob/demo --role worker --rank 0"),
        (shell_command(PADDLE, "team", "demo", options=" --context prod"),
         "paddock shell paddlejob/demo --namespace team --context prod"),
        (exec_command(*HERE, ["ls", "my data"], role="ps", index=1, options=" --context prod"),
         "paddock exec paddlejob/demo --role ps --rank 1 --context prod -- ls 'my data'"),
        (exec_command(*HERE, ["echo", "$HOME; rm -rf /"]), "paddock exec paddlejob/demo -- echo '$HOME; rm -rf /'"),
    ],
)  # fmt: skip
def test_a_command_names_the_pod_and_quotes_what_a_shell_would_read(written: str, expected: str) -> None:
    assert written == expected


@pytest.mark.parametrize(
    ("verb", "written"),
    [
        (shell_verb, shell_command(PADDLE, "team", "demo", role="worker", index=3)),
        (exec_verb, exec_command(PADDLE, "team", "demo", ["ls", "-l", "/data"], role="worker", index=3)),
    ],
)
def test_the_command_line_takes_it(verb: Command, written: str) -> None:
    read = verb.make_context(verb.name, shlex.split(written)[2:]).params
    assert (read["job"], read["role"], read["namespace"]) == ("paddlejob/demo", "worker", "team")
    assert read["ranks"] is not None and "3" in str(read["ranks"])
    assert read.get("words", ("ls", "-l", "/data")) == ("ls", "-l", "/data")
