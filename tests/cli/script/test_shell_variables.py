"""Variables of the shell that typed `paddock run -- …`: nothing goes along by itself, and what the command reads is
said with the options that give it; these are typed here."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cli.main import run

SCRIPT = """#!/bin/sh
set -e
EPOCHS=${EPOCHS:-3}
python train.py --lr "$LR" --epochs $EPOCHS
"""
PROGRAM = """import os
import torch
from parts.data import load
print(os.environ.get("SEED"), load())
"""
PART = """import os
def load():
    return os.environ["DATA_TOKEN"]
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a shell script, a program and a module of it, and a shell in which nothing of it is set."""
    for name in [*os.environ]:
        if re.match("(OMP|MKL|TORCH|PYTORCH|NCCL|CUDA|KUBE)|PYTHONPATH|PADDOCK_CONTEXT", name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "500")
    (tmp_path / "parts").mkdir()
    for name, text in (("run.sh", SCRIPT), ("train.py", PROGRAM), ("parts/data.py", PART)):
        (tmp_path / name).write_text(text)
    (tmp_path / "run.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> int:
    return run(list(words))


def read_env(text: str) -> dict[str, Any]:
    """The variables of the first container of the job in these documents."""
    job = list(yaml.safe_load_all(text))[-1]
    (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value") for each in container.get("env", ())}


@pytest.mark.parametrize("verb", [("run", "--print"), ("init", "-o", "-")])
def test_the_options_that_the_line_names_give_what_the_command_reads(
    verb: tuple[str, ...], work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LR": "0.1", "SEED": "7", "DATA_TOKEN": "hidden", "OMP_NUM_THREADS": "2", "OTHER": "1"}.items():
        monkeypatch.setenv(name, value)
    assert call(*verb, "--", "./run.sh") == 0
    printed = capfd.readouterr()
    assert printed.err == (
        "the command reads DATA_TOKEN, LR, SEED and OMP_NUM_THREADS of this shell, which a job does not get by itself: "
        "add `--secret DATA_TOKEN --env LR --env SEED --env OMP_NUM_THREADS`\n"
    )
    assert read_env(printed.out) == {}
    options = printed.err.split("`")[1]
    assert call(*verb, *shlex.split(options), "--", "./run.sh") == 0
    printed = capfd.readouterr()
    assert printed.err == "" and "hidden" not in printed.out
    given = {"LR": "0.1", "SEED": "7", "OMP_NUM_THREADS": "2", "DATA_TOKEN": None}
    assert read_env(printed.out) == given


def test_nothing_is_said_where_nothing_is_asked_for(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("run", "--print", "--", "./run.sh") == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "command",
    ["env LR=1 SEED=1 ./run.sh", "sh -c 'export LR=2 SEED=2; ./run.sh'", "env SEED=1 python train.py $LR"],
)
def test_what_the_command_sets_or_does_not_read_is_not_named(
    command: str, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LR", "0.1")
    monkeypatch.setenv("SEED", "7")
    assert call("run", "--print", "--", *shlex.split(command)) == 0
    assert capfd.readouterr().err == ""


def test_variables_of_a_file_and_of_a_manifest_are_not_asked_for_again(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LR", "0.1")
    (work / ".env").write_text("LR=0.2\n")
    assert call("init", "--env-file", ".env", "--", "./run.sh") == 0
    assert call("run", "--print", "job.yaml") == 0
    assert "the command reads" not in capfd.readouterr().err


def test_a_name_alone_takes_the_value_of_this_shell_for_a_command_and_for_a_file(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LR", "a=$(b)")
    monkeypatch.setenv("EMPTY", "")
    assert call("run", "--print", "--env", "LR", "--env", "EMPTY", "--", "./run.sh") == 0
    assert read_env(capfd.readouterr().out) == {"LR": "a=$$(b)", "EMPTY": ""}
    assert call("init", "--", "./run.sh") == 0
    assert call("run", "--print", "--env", "LR=1", "--env", "LR", "job.yaml") == 0
    assert read_env(capfd.readouterr().out) == {"LR": "a=$$(b)"}


@pytest.mark.parametrize("what", [("job.yaml",), ("--", "./run.sh")])
def test_a_secret_by_its_name_is_told_from_other_variables(
    what: tuple[str, ...], work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_TOKEN", "hidden")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "0")
    assert call("init", "--secret", "DATA_TOKEN", "--", "./run.sh") == 0
    capfd.readouterr()
    assert call("run", "--print", "--env", "DATA_TOKEN", "--env", "TOKENIZERS_PARALLELISM", *what) == 0
    assert capfd.readouterr().err == (
        "warning: --env DATA_TOKEN writes its value into the manifest, where others read it: --secret DATA_TOKEN keeps "
        "it out\n"
    )
    assert call("run", "--print", "--secret", "DATA_TOKEN", *what) == 0
    printed = capfd.readouterr()
    assert printed.err == "" and "hidden" not in printed.out
