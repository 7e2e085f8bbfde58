"""What a call returns or raises, from how the job was last seen."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cli.views import build_view
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.script.requests import build_documents
from paddock.jobs.model import CauseRecord, Phase, Rank
from paddock.logs.progress import Progress
from paddock.script.request import ScriptRequest
from paddock.sdk.errors import JobFailed, PaddockError
from paddock.sdk.functions import Script
from paddock.sdk.result import Result, build_result
from paddock.sdk.runs import Ended, explained, find_first, finish
from paddock.sdk.script_directory import remove_old, write_script
from paddock.views.ended import read_end
from paddock.views.stored import StoredJob

COMPLETED = Result("train", "default", "Completed", seconds=3.0)
FAILED = Result("train", "default", "Failed", "failed: worker-0 ended with exit code 1")


def test_a_job_that_completed_is_returned() -> None:
    assert finish(Ended(0, COMPLETED), check=True) is COMPLETED
    assert COMPLETED.succeeded and not FAILED.succeeded


def test_a_job_that_failed_is_raised_with_its_result_unless_check_is_off() -> None:
    with pytest.raises(JobFailed, match="default/train: failed: worker-0 ended with exit code 1") as error:
        finish(Ended(1, FAILED), check=True)
    assert error.value.result is FAILED
    assert finish(Ended(1, FAILED), check=False) is FAILED


def test_a_job_that_completed_but_for_a_rank_is_raised() -> None:
    args = {"succeeded": 1, "failed": ["worker-0"], "code": 1, "error": "ValueError: no room"}
    view = build_view(phase=Phase.COMPLETED, cause=CauseRecord("Completed", args, 0.0))
    end = read_end(view, 1, 20.0)
    job = StoredJob(view.job.resource, {}, view.status, view.job)
    result = build_result(job, view, end, None, lambda _: "")
    assert (result.phase, result.succeeded) == ("Completed", False)
    with pytest.raises(JobFailed, match="completed, but worker-0 failed: ValueError: no room"):
        finish(Ended(1, result), check=True)


def test_what_a_rank_wrote_on_purpose_counts_more_than_what_it_printed() -> None:
    view = build_view(phase=Phase.COMPLETED)
    first, other = Rank("worker", 0), Rank("worker", 1)
    view = replace(view, progress={first: Progress(epoch=1, loss=9.5, lr=0.1)})
    written = {first: Progress(step=3, loss=0.5), other: Progress(others={"tokens": 4096.0})}
    job = StoredJob(view.job.resource, {}, view.status, view.job)
    result = build_result(job, view, read_end(view, 0, 20.0), None, lambda _: "", written)
    assert result.metrics == {
        "worker-0": Progress(step=3, loss=0.5, lr=0.1), "worker-1": Progress(others={"tokens": 4096.0})
    }  # fmt: skip


def test_an_interrupted_call_is_interrupted() -> None:
    for ended in (Ended(130, None), Ended(130, FAILED)):
        with pytest.raises(KeyboardInterrupt):
            finish(ended, check=False)


@pytest.mark.parametrize("error", [UserError("train.py is not there"), Failed("train.py is not there")])
def test_errors_keep_the_sentence_of_the_command_line(error: Exception) -> None:
    with pytest.raises(PaddockError, match=r"^train\.py is not there$"), explained():
        raise error


def test_what_a_server_said_does_not_act_on_the_terminal_that_shows_the_error() -> None:
    with pytest.raises(PaddockError) as error, explained():
        raise Failed("refused: \x1b]0;title\x9b\u202e")
    assert str(error.value) == r"refused: \x1b]0;title\x9b\u202e"


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), explained():
        raise ZeroDivisionError


def test_a_script_is_private_and_never_changes_under_a_job(tmp_path: Path) -> None:
    first, other = write_script(tmp_path, Script("train", "1")), write_script(tmp_path, Script("train", "2"))
    assert (first.read_text(), other.read_text()) == ("1", "2")
    assert first.name == "paddock_train_train.py" and first != other
    assert write_script(tmp_path, Script("train", "1")) == first
    assert first.stat().st_mode & 0o777 == 0o600
    assert first.parent.stat().st_mode & 0o777 == 0o700


def test_a_script_that_was_not_used_for_a_month_is_removed(tmp_path: Path) -> None:
    old, new = write_script(tmp_path, Script("old", "1")), write_script(tmp_path, Script("new", "1"))
    now = new.parent.stat().st_mtime
    os.utime(old.parent, (now - 31 * 86400, now - 31 * 86400))
    remove_old(tmp_path / "functions", now)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize(
    ("framework", "servers", "first"),
    [("paddle", 0, "worker-0"), ("paddle", 2, "worker-0"), ("pytorch", 0, "master-0")],
)
def test_the_log_is_by_default_that_of_the_first_rank_that_trains(framework: str, servers: int, first: str) -> None:
    request = ScriptRequest(["python", "train.py"], framework, workers=2, servers=servers, namespace="default")
    (checked,) = build_documents(request)
    assert checked.job is not None and find_first(checked.job) == first
