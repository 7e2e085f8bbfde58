"""Which jobs `paddock delete` deletes, and what it asks before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.questions import is_yes
from paddock.cli.verbs.delete import Wanted, choose_jobs, explain_none, list_jobs, refuse_unclear
from paddock.jobs.apis.registry import KUBEFLOW_PADDLE, PADDLEPADDLE
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.views.stored import StoredJob


def build(name: str, phase: Phase, cause: CauseRecord | None = None, *, kubeflow: bool = False) -> StoredJob:
    resource = (KUBEFLOW_PADDLE if kubeflow else PADDLEPADDLE).resource
    manifest: dict[str, Any] = {"metadata": {"name": name, "namespace": "lab"}}
    return StoredJob(resource, manifest, Status(phase=phase, cause=cause), None)


JOBS = [
    build("run", Phase.RUNNING),
    build("off", Phase.FAILED, CauseRecord("Cancelled")),
    build("bad", Phase.FAILED),
    build("done", Phase.COMPLETED, kubeflow=True),
    build("rests", Phase.SUSPENDED),
]


def test_finished_jobs_are_those_that_have_ended() -> None:
    assert [job.key.name for job in choose_jobs(JOBS, finished=True)] == ["bad", "done", "off"]
    assert [job.key.name for job in choose_jobs(JOBS, finished=False)] == ["bad", "done", "off", "rests", "run"]


def test_they_are_listed_with_their_state() -> None:
    assert list_jobs(choose_jobs(JOBS, finished=True)) == [
        "paddlejob/bad                 Failed",
        "paddlejob.kubeflow.org/done   Completed",
        "paddlejob/off                 Cancelled",
    ]
    assert list_jobs([]) == []


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(("a",), finished=True), Wanted(("a",), selector="a=b")])
def test_what_does_not_say_which_jobs_is_refused(wanted: Wanted) -> None:
    with pytest.raises(UserError):
        refuse_unclear(wanted)


@pytest.mark.parametrize("wanted", [Wanted(("a",)), Wanted(finished=True), Wanted(selector="a=b", finished=True)])
def test_what_says_which_jobs_is_taken(wanted: Wanted) -> None:
    refuse_unclear(wanted)
    assert wanted.chooses is not bool(wanted.names)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(finished=True), "nothing was deleted: no job in namespace lab has ended"),
        (Wanted(selector="a=b"), "nothing was deleted: no job in namespace lab has the labels a=b"),
        (Wanted(finished=True, selector="a=b"),
         "nothing was deleted: no job with labels a=b in namespace lab has ended"),
    ],
)  # fmt: skip
def test_nothing_to_delete_is_said(wanted: Wanted, said: str) -> None:
    assert str(explain_none(wanted, "lab")) == said


@pytest.mark.parametrize(
    ("answer", "yes"), [("y\n", True), ("Yes\n", True), ("\n", False), ("", False), ("n\n", False)]
)
def test_only_a_yes_deletes(answer: str, yes: bool) -> None:
    assert is_yes(answer) is yes


def test_a_job_that_goes_on_is_not_finished() -> None:
    assert choose_jobs([replace(JOBS[0], status=Status(phase=Phase.RESTARTING))], finished=True) == []
