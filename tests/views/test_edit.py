"""An edit that is not followed is told beside the state, in every view."""

from __future__ import annotations

from jobs.gangs import NOW, cause
from paddock.cli.output.rows import build_job_cells
from paddock.cli.verbs.explain import build_explanation
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Phase, Status
from paddock.jobs.sentences.explain import explain_edit
from paddock.views.jobs import read_job_row
from paddock.words.phrases import render
from support.operator_seam import build_job

PROBLEM = cause("InvalidJob", problems=["spec.worker: is missing"])
SAID = "the manifest was edited and is wrong: spec.worker: is missing; the job goes on by what was written before"


def test_it_is_told_while_the_job_goes_on() -> None:
    running = Status(phase=Phase.RUNNING, problem=PROBLEM)
    assert render(explain_edit(running) or "", "en") == SAID
    assert explain_edit(running.with_(phase=Phase.COMPLETED)) is None
    assert explain_edit(running.with_(problem=None)) is None
    assert explain_edit(running.with_(problem=cause("InvalidJob"))) is not None, "another version may have written it"


def test_it_stands_beside_the_cause() -> None:
    status = Status(phase=Phase.STARTING, problem=PROBLEM, cause=cause("PodsStarting", starting=1, wanted=2))
    job = {**build_job(), "status": PADDLEPADDLE.write_status({}, status, NOW)}
    assert (
        build_job_cells(read_job_row(PADDLEPADDLE.resource, job), NOW, wide=True)[-1]
        == f"1 of 2 pods is starting; {SAID}"
    )
    assert len(build_job_cells(read_job_row(PADDLEPADDLE.resource, job), NOW, most=100)[-1]) < 130
    assert build_explanation(job, status, NOW, "en")[1:3] == [SAID, "1 of 2 pods is starting"]
    calm = status.with_(phase=Phase.RUNNING, cause=None)
    assert build_explanation(job, calm, NOW, "en")[1] == SAID
