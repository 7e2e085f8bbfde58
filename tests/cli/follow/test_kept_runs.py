"""Which run, attempt and ranks `logs` reads of the history, and what it says where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from history.test_logs import write_log
from paddock.app.history import History, read_chunks
from paddock.app.home import Home
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import split_pod
from paddock.cli.follow.kept_runs import Which, choose_logs, choose_run, find_kept
from paddock.cli.follow.print_logs import Request, explain_nothing, order_for_errors, print_kept
from paddock.cli.follow.ranks import read_ranges
from paddock.cli.follow.wanted_lines import Wanted
from paddock.history.records import Attempt, Cause, RunRecord, write_record
from paddock.jobs.model import Rank
from paddock.kube.log_marks import write_mark

RUN = RunRecord(
    "batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "one", 1, 100.0,
    ended=150.0, deleted=200.0, phase="Failed", finished=True,
)  # fmt: skip
TWO = replace(RUN, uid="two", run=2, created=300.0, ended=None, deleted=None, phase="Running", finished=False)
OF_KUBEFLOW = replace(RUN, api_version="kubeflow.org/v1", uid="kf", created=50.0)


@pytest.fixture
def history(tmp_path: Path) -> History:
    home = Home(tmp_path, tmp_path)
    for run in (RUN, TWO):
        write_record(home.history, run)
    write_log(home.node, "demo-worker-0", "a", job="one", text="old", when=110.0)
    for attempt, when in ((0, 310.0), (1, 400.0)):
        for pod in ("demo-worker-0", "demo-worker-1", "demo-ps-0"):
            write_log(home.node, pod, f"{pod}{attempt}", job="two", attempt=attempt, when=when,
                      text=f"{pod} {attempt}\n")  # fmt: skip
    return History(home)


def mark(log: Path, *marks: tuple[int, float]) -> None:
    """Notes when a log was so many bytes long, as the node does."""
    log.with_suffix(".times").write_bytes(b"".join(write_mark(*each) for each in marks))


def choose(history: History, which: Which) -> str:
    run, files, _ = choose_logs(history, "demo", find_kept(history, "default", "demo"), which, 405.0)
    return f"run {run.run}: " + " ".join(f"{file.rank}/{file.place.attempt}" for file in files)


@pytest.mark.parametrize(
    ("which", "chosen"),
    [
        (Which(), "run 2: ps-0/1 worker-0/1 worker-1/1"),
        (Which(run=1), "run 1: worker-0/0"),
        (Which(attempt=0), "run 2: ps-0/0 worker-0/0 worker-1/0"),
        (Which(previous=True), "run 2: ps-0/0 worker-0/0 worker-1/0"),
        (Which(role="worker", ranks=read_ranges("1-5")), "run 2: worker-1/1"),
        (Which(since=10.0), "run 2: ps-0/1 worker-0/1 worker-1/1"),
        (Which(since=1.0), "run 2: "),
        (Which(run=2, attempt=0, since=10.0), "run 2: "),
    ],
)
def test_these_logs_are_read(history: History, which: Which, chosen: str) -> None:
    assert choose(history, which) == chosen


def test_previous_is_the_run_before_where_there_was_one_attempt(history: History) -> None:
    write_record(history.home.history, replace(TWO, uid="three", run=3, created=500.0))
    assert choose(history, Which(previous=True)) == "run 2: ps-0/1 worker-0/1 worker-1/1"
    assert choose(history, Which(previous=True, role="worker", ranks=read_ranges("0"))) == "run 2: worker-0/1"


def test_the_attempt_before_is_counted_by_the_record_while_the_newest_has_no_log(history: History) -> None:
    write_record(history.home.history, replace(TWO, attempts=tuple(Attempt(number, 300.0) for number in range(3))))
    assert choose(history, Which(previous=True)) == "run 2: ps-0/1 worker-0/1 worker-1/1"


def test_a_run_that_is_not_recorded_yet_has_not_the_output_of_the_one_before(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    def show(which: Which, current: str) -> tuple[int | None, str]:
        code = print_kept(history, "default", "demo", Request(which, Wanted(), raw=True), current)
        return code, capsys.readouterr().out

    worker = Which("worker", read_ranges("0"))
    assert show(worker, "three") == (None, ""), "the API is asked"
    assert show(replace(worker, attempt=0), "three") == (None, "")
    assert show(worker, "two") == show(worker, "") == (0, "demo-worker-0 1\n")
    assert show(replace(worker, previous=True), "three") == (0, "demo-worker-0 1\n"), "that of run 2"
    assert show(replace(worker, run=1), "three") == (0, "old"), "as it was printed"


MARKED = ((4, 100.0), (8, 200.0), (11, 300.0), (13, 310.0))
"""Of the lines `one`, `two`, `3: 4`: the third line was begun at 300 and ended at 310."""


@pytest.mark.parametrize(
    ("since", "printed"),
    [
        (300.0, "one\ntwo\n3: 4\n"),
        (299.9, "two\n3: 4\n"),
        (200.0, "two\n3: 4\n"),
        (199.0, "3: 4\n"),
        (90.0, "3: 4\n"),
        (89.0, ""),
    ],
)
def test_since_prints_the_lines_that_ended_in_that_time(
    history: History, capsys: pytest.CaptureFixture[str], since: float, printed: str
) -> None:
    log = write_log(history.home.node, "demo-worker-0", "a", job="one", text="one\ntwo\n3: 4\n", when=310.0)
    mark(log, *MARKED)
    request = Request(Which(run=1, since=since), Wanted(), raw=True)
    assert print_kept(history, "default", "demo", request, now=400.0) == 0
    seen = capsys.readouterr()
    assert seen.out == printed
    assert seen.err == ("" if printed else "run 1 of demo printed no such line\n")


def test_a_rank_whose_lines_nobody_timed_is_named_and_printed_whole(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, text in enumerate(("old\nnew\n", "whole\n", "cut\n")):
        log = write_log(history.home.node, f"demo-worker-{index}", "abc"[index], job="one", text=text, when=390.0)
        if index != 1:
            mark(log, (4, 150.0), (8, 390.0))
    request = Request(Which(run=1, since=20.0), Wanted(), raw=True)
    assert print_kept(history, "default", "demo", request, now=400.0) == 0
    seen = capsys.readouterr()
    assert seen.out == "worker-0 │ new\nworker-1 │ whole\nworker-2 │ cut\n"
    assert seen.err == (
        "nobody noted when the lines of worker-1 and worker-2 were printed: all of them follow, also those from before "
        "--since\n"
    )
    whole = replace(request, which=replace(request.which, since=300.5))
    assert print_kept(history, "default", "demo", whole, now=400.0) == 0
    assert capsys.readouterr() == ("worker-0 │ old\nworker-0 │ new\nworker-1 │ whole\nworker-2 │ cut\n", ""), (
        "the run itself is younger"
    )


def test_the_first_error_is_looked_for_in_that_time(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    text = "ValueError: early\n" + "x\n" * 50 + "KeyError: late\n"
    log = write_log(history.home.node, "demo-worker-0", "a", job="one", text=text, when=390.0)
    mark(log, (len(text) - 17, 150.0), (len(text), 390.0))
    request = Request(Which(run=1, since=20.0), Wanted(first_error=True))
    assert print_kept(history, "default", "demo", request, now=400.0) == 0
    assert capsys.readouterr().out == "x\nKeyError: late\n"


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (Which(run=7), "demo has no run 7; kept are 1, 2"),
        (Which(attempt=5), "run 2 of demo has no logs of attempt 5; it has those of 0, 1"),
        (Which(run=1, previous=True), "nothing is kept before run 1 of demo"),
        (Which(role="heter"), "demo has no role heter; it has ps and worker"),
    ],
)
def test_what_is_not_kept_is_refused_with_what_is(history: History, which: Which, said: str) -> None:
    with pytest.raises(UserError) as refused:
        choose(history, which)
    assert str(refused.value) == said


def test_a_name_that_two_kinds_share_means_the_job_that_is_there(history: History) -> None:
    write_record(history.home.history, OF_KUBEFLOW)
    assert [run.uid for run in find_kept(history, "default", "demo")] == ["one", "two"]
    assert [run.uid for run in find_kept(history, "default", "paddlejob.kubeflow.org/demo")] == ["kf"]
    assert find_kept(history, "default", "pod/demo-worker-0") == [], "a pod is no job: who asks looks for its job"
    write_record(history.home.history, replace(TWO, deleted=500.0))
    with pytest.raises(UserError, match="two jobs in namespace default are called 'demo'"):
        find_kept(history, "default", "demo")
    assert [run.uid for run in find_kept(history, "default", "paddlejob/demo")] == ["one", "two"]
    assert find_kept(history, "default", "nobody") == find_kept(history, "other", "demo") == []


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("demo-worker-0", ("demo", Rank("worker", 0))),
        ("pod/my-job-ps-12", ("my-job", Rank("ps", 12))),
        ("demo", None),
        ("demo-0", None),
        ("worker-0", None),
    ],
)
def test_the_name_of_a_pod_names_its_job_and_rank(word: str, split: tuple[str, Rank] | None) -> None:
    assert split_pod(word) == split


def test_the_rank_that_failed_is_searched_first_for_its_error(history: History) -> None:
    files = choose_logs(history, "demo", [TWO], Which(), 405.0)[1]
    failed = replace(TWO, cause=Cause("RankFailed", {"ranks": ["worker-1", "worker-0"]})).failed
    assert [file.rank for file in order_for_errors(files, failed)] == ["worker-1", "ps-0", "worker-0"]
    assert TWO.failed == replace(TWO, cause=Cause("X", {"ranks": 3})).failed == ""


def test_a_run_that_failed_without_an_error_in_its_logs_is_told_by_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one that was ended because it was silent."""
    home = Home(tmp_path, tmp_path)
    cause = Cause("SilentFailed", {"seconds": 1800, "who": ["worker-0"], "places": ["wait, train.py:8"]})
    write_record(home.history, replace(RUN, cause=cause))
    write_log(home.node, "demo-worker-0", "a", job="one", text="", when=110.0)
    request = Request(Which(), Wanted(first_error=True))
    assert print_kept(History(home), "default", "demo", request, now=405.0) == 0
    assert capsys.readouterr().err.splitlines() == [
        "run 1 of demo printed no error",
        "demo run 1: Failed after 50s: no rank has printed for over 30m: worker-0 in wait, train.py:8",
    ]


def test_a_log_that_was_replaced_by_a_link_is_not_read(history: History) -> None:
    (file,) = choose_logs(history, "demo", [RUN], Which(), 405.0)[1]
    assert b"".join(read_chunks(file)) == b"old"
    file.path.unlink()
    file.path.symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="not a regular file"):
        next(read_chunks(file))


def test_a_run_whose_logs_were_pruned_did_not_print_nothing() -> None:
    request = Request(Which(), Wanted())
    assert str(explain_nothing("demo", RUN, request)) == "run 1 of demo printed nothing"
    said = explain_nothing("demo", replace(RUN, logs_pruned=True), request)
    assert str(said) == "the logs of run 1 of demo are no longer kept (`paddock up --keep-logs 30d` sets for how long)"


def test_the_last_run_is_chosen_by_default() -> None:
    assert choose_run("demo", [RUN, TWO], None) == TWO
    assert choose_run("demo", [RUN, TWO], 1) == RUN


def test_another_container_has_its_own_log_and_a_name_that_none_has_is_told(history: History) -> None:
    pod = next(file for file in history.find_logs(TWO) if file.rank == "worker-0" and file.place.attempt == 1)
    beside = pod.path.parents[1] / "metrics"
    beside.mkdir()
    for number, text in ((9, "before"), (10, "listens")):
        (beside / f"{number}.log").write_text(text)
    runs = find_kept(history, "default", "demo")
    _, files, _ = choose_logs(history, "demo", runs, Which(container="metrics"), 405.0)
    assert [(file.rank, b"".join(read_chunks(file, 0))) for file in files] == [("worker-0", b"listens")]
    with pytest.raises(UserError) as told:
        choose_logs(history, "demo", runs, Which(container="metric"), 405.0)
    assert str(told.value).startswith("of demo no log of a container 'metric' is kept; there are those of ")
    assert "metrics" in str(told.value)
