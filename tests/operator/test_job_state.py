"""What the operator's process knows of a job ends with that job, not with its name."""

from __future__ import annotations

from paddock.kube.meta import Key
from paddock.operator.job_state import JobRef, JobStates
from support.operator_seam import JOBS

REF = JobRef(JOBS, Key("default", "demo"))


def test_a_job_that_is_made_again_under_its_name_begins_anew() -> None:
    states = JobStates()
    known = states.begin(REF, "first")
    known.reported_generation, known.told_no_autoscaler, known.port = 1, True, 30000
    known.note_live(7.0, cached=True)
    assert states.begin(REF, "first") is known
    begun = states.begin(REF, "second")
    assert states[REF] is begun
    assert (begun.reported_generation, begun.told_no_autoscaler, begun.port) == (None, False, None)
    assert begun.live_at == float("-inf"), "the new job was not read"


def test_a_pass_that_failed_is_not_forgotten_with_the_job() -> None:
    """The cache may be behind still."""
    states = JobStates()
    states.begin(REF, "first").doubtful = True
    assert states.begin(REF, "second").doubtful
