"""Which run of a claim is meant, and what is told where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.gangs import build_job
from paddock.app.claimed.fetching import Fetched
from paddock.app.claimed.files import ClaimedRun, Listing, sort_runs
from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.cluster_outputs import choose_run, explain_none
from paddock.cli.follow.fetched_outputs import explain_fetched, open_target
from paddock.words.phrases import phrase

KIND = "PaddleJob.batch.paddlepaddle.org"
ONE = ClaimedRun("a", 1, "2026-11-30T00:00:00Z", 50.0, KIND)
TWO = ClaimedRun("b", 2, "2026-11-30T01:00:00Z", 20.0, KIND)
OTHER = ClaimedRun("c", 3, "2026-11-30T02:00:00Z", 30.0, "PyTorchJob.kubeflow.org")
PLAIN = ClaimedRun("d", 0, "", 99.0)


def test_runs_are_in_the_order_in_which_they_began_not_in_which_they_wrote() -> None:
    assert sort_runs([OTHER, TWO, ONE]) == [ONE, TWO, OTHER]


@pytest.mark.parametrize(
    ("runs", "number", "uid", "found"),
    [
        ([ONE, TWO], None, "x", TWO),
        ([ONE, TWO], 1, "x", ONE),
        ([ONE, TWO], 3, "x", None),
        ([ONE, TWO, OTHER], None, "x", TWO),
        ([ONE, TWO, OTHER], 3, "x", None),
        ([ONE, TWO], None, "a", ONE),
        ([PLAIN], None, "x", PLAIN),
        ([PLAIN, ONE], None, "d", PLAIN),
    ],
)
def test_the_run_that_is_meant(runs: list[ClaimedRun], number: int | None, uid: str, found: ClaimedRun | None) -> None:
    assert choose_run(runs, number, build_job(uid=uid)) == found


def test_of_a_job_that_is_deleted_its_kind_is_not_known() -> None:
    assert choose_run([ONE, TWO, OTHER], None, None) == OTHER
    assert choose_run([ONE, TWO, OTHER], 2, None) == TWO


def test_a_job_without_a_claim_is_told_how_its_next_run_has_one() -> None:
    (said, cure) = map(str, explain_none(build_job()))
    assert said.startswith("demo names no claim") and "--outputs CLAIM" in cure


def test_what_did_not_come_is_counted_and_the_first_ones_are_told() -> None:
    fetched = Fetched(there=2, changed={"log": 3}, failed=3, problems=[phrase("model: damaged")])
    said = [str(each) for each in explain_fetched(fetched, Listing([], others=2, more=True))]
    assert said == [
        "2 files were here already",
        "log has changed since it was listed: it is here as it was when it was read",
        "2 links and devices are left out",
        "there are more than 1000000 files, and the others are left out",
        "model: damaged",
        "2 more files did not come",
    ]


def test_a_directory_with_something_else_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match="is not empty: name another directory"):
        open_target(tmp_path, "train", "a")
    open_target(tmp_path / "new", "train", "a")
    with pytest.raises(UserError, match="has the files of another run"):
        open_target(tmp_path / "new", "train", "b")
