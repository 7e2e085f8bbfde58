"""A cancelled job: it ends for good, says who asked, and stays listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, cause, observe, succeeded
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.cancelling import plan_cancellation
from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION
from paddock.jobs.model import Observed, Phase
from paddock.jobs.people import Change, write_change
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain

BY_ADA = {CANCEL_ANNOTATION: "ada", CHANGED_BY_ANNOTATION: write_change(Change("ada", "cancelled", 1))}
BY_BOB = {**BY_ADA, CANCEL_ANNOTATION: "bob"}


@pytest.mark.parametrize(
    ("annotations", "args"),
    [
        ({}, None),
        ({CANCEL_ANNOTATION: "false"}, None),
        (BY_ADA, {"who": "ada"}),
        ({CANCEL_ANNOTATION: "true"}, {"who": ""}),
        ({CANCEL_ANNOTATION: ""}, {"who": ""}),
        ({CANCEL_ANNOTATION: "ada"}, {"who": "", "claimed": "ada"}),
        (BY_BOB, {"who": "", "claimed": "bob"}),
        ({CANCEL_ANNOTATION: " a\n\x1b[31mb "}, {"who": "", "claimed": "a [31mb"}),
        ({CANCEL_ANNOTATION: "a" * 500}, {"who": "", "claimed": "a" * 100}),
    ],
)
def test_the_annotation_says_that_and_by_whom(annotations: dict[str, str], args: dict[str, str] | None) -> None:
    verdict = plan_cancellation(build_job(annotations=annotations))
    expected = None if args is None else (Phase.FAILED, args)
    assert (verdict and (verdict.phase, verdict.cause.args())) == expected


@pytest.mark.parametrize("phase", [each for each in Phase if not each.terminal])
def test_a_job_is_cancelled_in_every_phase_that_is_no_end(phase: Phase) -> None:
    job = build_job(annotations=BY_ADA, suspend=phase is Phase.SUSPENDED)
    recorded = plan(job, build_status(job, phase), observe(job), NOW)
    assert (recorded.status.phase, recorded.status.cause) == (Phase.FAILED, cause("Cancelled", NOW, who="ada"))
    assert (recorded.status.finished, recorded.actions) == (NOW, ()), "recorded alone, acted on at the next reconcile"
    assert recorded.events[0].reason == "Cancelled"


def test_what_has_ended_stays_as_it_ended() -> None:
    job = build_job(annotations=BY_ADA)
    assert plan(job, build_status(job, Phase.COMPLETED), Observed(), NOW).status.phase is Phase.COMPLETED
    done = plan(job, build_status(job), observe(job, map(succeeded(), build_pods(job))), NOW)
    assert done.status.phase is Phase.COMPLETED, "it was done before anybody saw that it is cancelled"
    ended = plan(job, build_status(job), observe(job), NOW).status
    undone = replace(job, annotations={})
    assert plan(undone, ended, Observed(), NOW + 9).status.phase is Phase.FAILED, "it never trains again"


def test_kubeflows_own_clients_see_a_failed_job_that_says_why() -> None:
    job = build_torch_job(annotations=BY_ADA)
    status = plan(job, build_status(job), observe(job), NOW).status
    written = KUBEFLOW_PYTORCH.write_status({}, status, NOW, {"kind": "PyTorchJob", "metadata": {"name": "demo"}})
    (failed,) = (each for each in written["conditions"] if each["type"] == "Failed")
    assert (failed["status"], failed["message"]) == ("True", "PyTorchJob demo is failed: cancelled by ada.")


def test_the_sentence_names_who_asked() -> None:
    assert explain(cause("Cancelled", who="ada")) == "cancelled by ada"
    assert explain(cause("Cancelled")) == "cancelled"
    assert explain(cause("Cancelled", who="", claimed="ada")) == "cancelled by somebody (the annotation says ada)"
    account = cause("Cancelled", who="system:serviceaccount:ci:bot")
    assert explain(account) == "cancelled by service account bot of ci"
    assert explain(cause("Cancelled", who="login ada of lab-7")) == "cancelled by ada (a login on lab-7)"
