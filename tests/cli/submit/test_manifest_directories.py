"""A directory in the place of a manifest."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli
from paddock.cli.submit.manifest_directories import explain_directory

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: x, command: [python, t.py]}]}}
"""


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no manifest is in it"),
        ({"readme.yaml": "a: b\n"}, "no manifest is in it"),
        ({"kustomization.yaml": "", "job.yaml": JOB}, "`kubectl kustomize {place} | paddock run -`"),
        ({"Chart.yaml": "apiVersion: v2\n"}, "`helm template {place} | paddock run -`"),
        ({"job.yaml": JOB, "notes.txt": JOB}, "with one manifest: `paddock run {place}/job.yaml`"),
        ({"b.yaml": JOB, "a.json": '{"apiVersion": "v1"}'}, "a.json and b.yaml, as in `paddock run {place}/a.json`"),
    ],
)
def test_a_directory_is_told_with_what_is_in_it(tmp_path: Path, files: dict[str, str], said: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert said.format(place=tmp_path) in str(explain_directory(tmp_path))


@pytest.mark.parametrize("verb", ["validate", "run", "submit"])
def test_a_verb_that_is_given_a_directory_names_the_command_that_works(tmp_path: Path, verb: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = CliRunner().invoke(cli, [verb, str(tmp_path)], prog_name="paddock")
    said = done.output + str(done.exception or "")
    command = shlex.split(said.split("`")[1])
    shown = CliRunner().invoke(cli, [*command[1:], "--print"], prog_name="paddock")
    assert shown.exit_code == 0, shown.output
