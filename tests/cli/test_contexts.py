"""`--context` several times: which clusters `paddock console` then shows, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from paddock.cli.cluster.context_flags import read_chosen, read_contexts
from paddock.cli.cluster.options import namespace_option
from paddock.cli.main import cli
from paddock.client.errors import ConfigError


def write_kubeconfig(directory: Path, *contexts: str) -> str:
    path = directory / "kubeconfig"
    kubeconfig = {
        "current-context": contexts[0],
        "clusters": [{"name": "one", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": each, "context": {"cluster": "one", "namespace": "team"}} for each in contexts],
    }
    path.write_text(json.dumps(kubeconfig))
    return str(path)


@pytest.mark.parametrize(
    ("words", "variable", "several", "first"),
    [
        ("--context a --context b", "", ("a", "b"), "a"),
        ("--context b --context a --context b", "x", ("b", "a"), "b"),
        ("--context a", "", (), "a"),
        ("--context a --context a", "", (), "a"),
        ("", "a b", (), "a b"),
        ("", "", (), None),
    ],
)
def test_contexts_are_taken_in_their_order_and_each_once(
    words: str, variable: str, several: tuple[str, ...], first: str | None, tmp_path: Path
) -> None:
    @click.command()
    @click.pass_context
    def command(context: click.Context, namespace: str) -> None:
        assert read_contexts(context) == several
        assert read_chosen(context).get("context") == first

    file = ["--kubeconfig", write_kubeconfig(tmp_path, "a", "b", "a b")]
    environ = {"PADDOCK_CONTEXT": variable} if variable else {}
    arguments = [*words.split(), *file]
    result = CliRunner().invoke(namespace_option(command, several=True), arguments, env=environ)
    assert (result.exit_code, result.exception) == (0, None), result.output


@pytest.mark.parametrize("words", [["resnet"], ["--serve"]])
def test_one_list_is_of_no_job_and_for_one_reader(words: list[str]) -> None:
    result = CliRunner().invoke(cli, ["console", "--context", "a", "--context", "b", *words], prog_name="paddock")
    assert result.exit_code == 2
    assert "several --context make one list: leave JOB and --serve out" in " ".join(result.output.split())


def test_a_context_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path, "prod", "test")
    words = ["console", "--kubeconfig", file, "--context", "prod", "--context", "tset"]
    result = CliRunner().invoke(cli, words, prog_name="paddock", env={"PADDOCK_HOME": str(tmp_path / "home")})
    assert isinstance(result.exception, ConfigError)
    assert "context 'tset' is not in it (there: prod, test)" in str(result.exception)
