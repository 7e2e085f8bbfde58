"""What a step of `paddock explain` is in the console: a button, and never a command that deletes with a placeholder."""

from __future__ import annotations

import pytest

from jobs.gangs import NOW
from jobs.test_causes import example
from paddock.console.step_buttons import Of, build_again, build_without, find_button
from paddock.jobs.causes import CAUSES
from paddock.jobs.model import CauseRecord
from paddock.views.steps import Reach, Step, build_steps
from support.consoles import PADDLE

JOB = Of(PADDLE, "team", "demo")
ADDRESS = "/jobs/team/paddlejobs.batch.paddlepaddle.org/demo"
FORM = "/new?from=team/paddlejobs.batch.paddlepaddle.org/demo"
BY_COMMAND_ALONE = {
    "JobSilent",  # the stacks of its programs
    "QuotaExceeded",
    "WaitingForContainers", "CompletedWithoutContainers",  # the log of a container that does not train
}  # fmt: skip


@pytest.mark.parametrize("reason", CAUSES)
def test_each_step_of_each_cause_is_a_button_or_known_to_be_a_command_alone(reason: str) -> None:
    for step in build_steps(example(CAUSES[reason]).record(NOW), "demo", "team", word="paddlejob/demo"):
        assert (find_button(step, JOB) is None) is (reason in BY_COMMAND_ALONE), step.text


def lacks(message: str) -> list[Step]:
    return build_steps(
        CauseRecord("WaitingForScheduler", {"message": message}, NOW), "demo", "team", word="paddlejob/demo"
    )


def test_a_job_that_needs_gpus_which_nobody_has_is_run_without_them_by_a_button() -> None:
    [step] = lacks("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 32, 0 of 0 free)")
    button = find_button(step, JOB)
    assert button is not None
    assert (str(button.title), button.address) == ("Run without GPUs", f"{FORM}&without=nvidia.com/gpu")
    assert not button.posts
    assert Reach().write(step) == "paddock clone paddlejob/demo -n team --without nvidia.com/gpu"


def test_several_devices_are_left_out_together() -> None:
    [step] = lacks("0/1 nodes are available: 1 Insufficient nvidia.com/gpu, 1 Insufficient rdma/hca.")
    button = find_button(step, JOB)
    assert button is not None
    assert str(button.title) == "Run without nvidia.com/gpu and rdma/hca"
    assert button.address == f"{FORM}&without=nvidia.com/gpu,rdma/hca"


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("reason", CAUSES)
def test_no_command_that_deletes_has_a_placeholder(reason: str, local: bool) -> None:
    for step in build_steps(example(CAUSES[reason]).record(NOW), "demo", "team", local=local):
        typed = Reach().write(step)
        assert " delete " not in typed or not any(word.isupper() for word in typed.split()), typed


@pytest.mark.parametrize(
    ("step", "title", "address", "posts"),
    [
        (Step("paddock logs {word}{where} --role {role} --rank {index}", {"role": "worker", "index": "1"}),
         "Open the log of worker-1", f"{ADDRESS}/logs?rank=worker-1", False),
        (Step("paddock logs {word}{where} --first-error"), "Open the logs", f"{ADDRESS}/logs", False),
        (Step("paddock resume {word}{where}"), "Resume", f"{ADDRESS}/resume", True),
        (Step("paddock delete {word}{where}"), "Delete", f"{ADDRESS}/delete", False),
        (Step("paddock env build {environment}", {"environment": "team"}),
         "Open the environment team", "/environments/team", False),
        (Step("paddock dataset create {dataset}{where} --from URL", {"dataset": "a b"}),
         "Make the dataset", "/new-dataset?name=a+b&namespace=team", False),
        (Step("paddock env create NAME -r requirements.txt"), "Make the environment", "/new-environment", False),
    ],
)  # fmt: skip
def test_a_button_does_what_the_command_does(step: Step, title: str, address: str, posts: bool) -> None:
    button = find_button(step, JOB)
    assert button is not None
    assert (str(button.title), button.address, button.posts) == (title, address, posts)


def test_the_form_is_told_what_is_wanted_of_it() -> None:
    assert build_again(JOB) == f"{FORM}&again=1"
    assert build_again(JOB, anchor="directory") == f"{FORM}&again=1#directory"
    assert build_without(JOB, ["nvidia.com/gpu"]) == f"{FORM}&without=nvidia.com/gpu"
