"""What `paddock history` reads of the logs of many runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from history.test_logs import write_log
from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.verbs.history import find_before
from paddock.history.records import RunRecord

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "one", 1, 100.0)


def test_the_logs_are_looked_through_once_and_only_where_needed(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    for uid in ("one", "two"):
        write_log(home.node, "demo-worker-0", uid, job=uid, text="Epoch 3, Loss: 0.5\n")
    survey = History(home).survey()
    read = {"worker-0": {"epoch": 3, "loss": 0.5}}
    over = replace(RUN, ended=150.0, finished=True)
    assert survey.read_metrics(replace(over, settled=True)) == {}, "it printed no numbers"
    assert survey.read_metrics(replace(over, metrics={"ps-0": {"step": 1}})) == {"ps-0": {"step": 1}}
    assert survey.read_metrics(over) == read, "its keeper was killed"
    assert survey.read_metrics(replace(RUN, metrics={"ps-0": {"step": 1}})) == read, "it was resumed"
    write_log(home.node, "demo-worker-0", "late", job="three")
    assert survey.find_logs(replace(RUN, uid="three")) == []
    assert [file.rank for file in survey.find_logs(replace(RUN, uid="two"))] == ["worker-0"]


def test_the_run_before_is_of_the_same_name() -> None:
    three, other = replace(RUN, uid="three", run=3), replace(RUN, name="other", uid="other", run=2)
    assert find_before([other, three, RUN]) == {"three": RUN}


def test_the_run_before_is_of_the_same_directory_as_far_as_that_is_known() -> None:
    def of(number: int, directory: str) -> RunRecord:
        annotations = {"paddock.dev/working-directory": directory} if directory else {}
        return replace(RUN, uid=str(number), run=number, annotations=annotations)

    runs = [of(1, "/a"), of(2, "/b"), of(3, "/a/"), of(4, ""), of(5, "/b"), of(6, "")]
    assert {now: before.uid for now, before in find_before(runs).items()} == {"3": "1", "4": "3", "5": "4", "6": "5"}
