"""A followed job: what its newest status changes."""

from __future__ import annotations

from dataclasses import replace

from cli.views import build_view
from paddock.jobs.model import Counts, Phase
from paddock.views.followed import with_status


def test_the_newest_status_is_shown_until_the_job_has_ended() -> None:
    view = build_view()
    restarting = replace(view.status, phase=Phase.RESTARTING)
    assert with_status(view, restarting, 111.0) == replace(view, status=restarting)


def test_a_job_that_has_ended_stays_as_it_was_although_clean_up_changes_its_counts() -> None:
    done = build_view(phase=Phase.COMPLETED).status
    ended = with_status(build_view(), done, 131.0)
    assert (ended.status, ended.ended, ended.seconds) == (done, 131.0, 31.0)
    cleaned = replace(done, roles={**done.roles, "ps": Counts(2)})
    assert with_status(ended, cleaned, 145.0) == ended
