"""The script that a command starts, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.samples import read_sample
from paddock.launches.containers import find_script

LAUNCH = ["python", "-m", "paddle.distributed.launch"]

NAMED: list[tuple[list[str], list[str], str]] = [
    ([*LAUNCH, "train.py"], ["--epochs=10"], "train.py"),
    ([*LAUNCH, "--devices", "0,1", "--log_dir=log", "./src/train.py", "--config", "c.py"], [], "src/train.py"),
    (["python3.11", "-u", "-W", "ignore", "train.py"], [], "train.py"),
    (["/usr/bin/python"], ["train.py"], "train.py"),
    ([], ["python", "train.py"], "train.py"),
    (["torchrun", "--standalone", "--nproc_per_node=2", "a/../ddp.py"], [], "ddp.py"),
    (["fleetrun", "train.py"], [], "train.py"),
    (["bash", "-c"], ["python -m paddle.distributed.launch train.py"], "train.py"),
    (["sh", "-ec", "exec python train.py"], [], "train.py"),
    ([*LAUNCH, "run_check"], [], ""),
    (["python", "/models/train.py"], [], ""),
    (["python", "../train.py"], [], ""),
    (["python", "$(SCRIPT).py"], [], ""),
    (["python", "-m", "trainer", "data.py"], [], ""),
    (["python", "-c", "import train", "x.py"], [], ""),
    (["python", "train"], [], ""),
    (["bash", "-c"], ["cd /nas/wide_and_deep; python3 train.py"], ""),
    (["bash", "-c", "python 'train.py"], [], ""),
    (["bash", "train.sh"], ["2"], "train.sh"),
    (["bash", "-e", "train.sh"], [], "train.sh"),
    (["bash", "/models/train.sh"], [], ""),
    (["sleep", "train.py"], [], ""),
    ([], [], ""),
]


@pytest.mark.parametrize(("command", "args", "script"), NAMED)
def test_a_script_that_only_the_image_could_have_is_named(command: list[str], args: list[str], script: str) -> None:
    assert find_script({"command": command, "args": args}) == script


def test_a_container_with_a_working_directory_has_no_local_script() -> None:
    assert find_script({"command": ["python", "train.py"], "workingDir": "/models"}) == ""


def test_the_documents_distributed_job_names_a_script() -> None:
    job = read_sample("kubeflow_distributed")
    assert find_script(job.roles[0].template["spec"]["containers"][0]) == "train.py"


WORDS = st.lists(st.sampled_from(["python", "bash", "-c", "-m", "-X", "-", "a.py", "/a.py", "torchrun", "a b", "'"]))


@given(WORDS, WORDS)
def test_any_command_is_read_and_what_is_found_is_relative_and_inside(command: list[str], args: list[str]) -> None:
    container: dict[str, Any] = {"command": command, "args": args}
    script = find_script(container)
    assert not script.startswith(("/", ".."))
