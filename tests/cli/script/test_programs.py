"""The line that says what a job runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.submit.programs import explain_programs, explain_shadowed, show_command
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION

WIDE_AND_DEEP = "registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1"
HERE = Path("/home/me")


def explain(container: dict[str, Any], *, started_in: str = "", local: bool = True, ps: bool = False) -> list[str]:
    manifest = build_manifest(workers=1, ps=int(ps))
    template = {"spec": {"containers": [{"name": "paddle", **container}]}}
    manifest["spec"]["worker"]["template"] = template
    manifest["metadata"]["annotations"] = {WORKING_DIRECTORY_ANNOTATION: started_in} if started_in else {}
    job = KINDS[RESOURCE].read_job(manifest)
    return [str(each) for each in explain_programs(job, build_defaults() if local else None, HERE)]


TRAIN = {"image": "paddlepaddle/paddle:3.3.1", "command": ["python", "train.py", "--lr", "0.1"]}


@pytest.mark.parametrize(
    ("container", "started_in", "said"),
    [
        (TRAIN, "/home/me", "runs /home/me/train.py (python train.py --lr 0.1), environment paddle"),
        ({"image": WIDE_AND_DEEP}, "/home/me", "runs /home/me/train.py (python3 train.py), environment paddle-ps"),
        (
            {"image": WIDE_AND_DEEP},
            "",
            "runs the built-in example program wide_and_deep of Paddock (no train.py in /home/me), environment "
            "paddle-ps",
        ),
        (
            {"image": "python:3", "command": ["python3", "/data/a.py"]},
            "/x",
            "runs /data/a.py (python3 /data/a.py), environment host",
        ),
        (
            {"image": "python:3", "command": ["python3", "a.py"], "workingDir": "/mnt"},
            "",
            "runs /mnt/a.py (python3 a.py), environment host",
        ),
        (
            {"image": "busybox", "command": ["sh", "-c", "echo $$(X) 'a'"]},
            "",
            "runs sh -c 'echo $(X) '\"'\"'a'\"'\"'', environment host",
        ),
        (
            {"image": "python:3", "command": ["bash"], "args": ["import os\nprint(os.name)\n"]},
            "",
            "runs the Python program in the manifest, environment host",
        ),
        (
            {"image": "nobody/knows:1", "command": ["python", "train.py"]},
            "",
            "runs python train.py, environment paddle",
        ),
        ({"image": "nobody/knows:1"}, "", "runs what the image starts, image nobody/knows:1"),
    ],
)
def test_what_runs_on_a_laptop(container: dict[str, Any], started_in: str, said: str) -> None:
    assert explain(container, started_in=started_in) == [said]


def test_on_a_cluster_the_image_has_it_or_the_directory_is_sent() -> None:
    assert explain(TRAIN, local=False) == ["runs python train.py --lr 0.1, image paddlepaddle/paddle:3.3.1"]
    sent = {**TRAIN, "workingDir": "/paddock/workdir"}
    (said,) = explain(sent, local=False)
    assert said.startswith("runs /") and "train.py" in said


def test_roles_that_run_other_programs_have_a_line_each() -> None:
    said = explain(TRAIN, started_in="/home/me", ps=True)
    assert said == [
        "ps: runs true, environment host",
        "worker: runs /home/me/train.py (python train.py --lr 0.1), environment paddle",
    ]


def test_a_command_is_shown_in_one_line() -> None:
    assert show_command(["echo", "a\nb", "\x1b[31m"]) == "echo 'a\\nb' '\\x1b[31m'"
    assert len(show_command(["x" * 1000])) <= 301


@pytest.mark.parametrize(("image", "started_in", "told"), [
    (WIDE_AND_DEEP, "/home/me", True), (WIDE_AND_DEEP, "", False), (TRAIN["image"], "/home/me", False),
])  # fmt: skip
def test_a_file_that_runs_in_place_of_a_built_in_program_is_told(image: str, started_in: str, told: bool) -> None:
    manifest = build_manifest(workers=1, ps=0)
    container = {"name": "paddle", "image": image, "command": ["python", "train.py"]}
    manifest["spec"]["worker"]["template"] = {"spec": {"containers": [container]}}
    manifest["metadata"]["annotations"] = {WORKING_DIRECTORY_ANNOTATION: started_in} if started_in else {}
    said = [str(each) for each in explain_shadowed(KINDS[RESOURCE].read_job(manifest), build_defaults())]
    assert bool(said) is told
    assert (
        not told
        or "warning: train.py of /home/me runs in place of the built-in example program wide_and_deep" in said[0]
    )
