"""What `paddock history` reads of the logs of many runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from history.test_logs import write_log
from paddock.app.history import History
from paddock.app.home import Home
from paddock.app.written_metrics import find_file
from paddock.history.records import RunRecord
from paddock.history.since import find_earlier
from paddock.words.phrases import render

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


def test_all_numbers_of_a_name_are_kept_the_last_of_each(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    text = (
        "epoch 1 step 3 loss 0.5 lr 0.1 grad 1.25 world 2\n[Eval][Epoch 1][Avg]loss: 0.75, top1: 0.25\n"
        "epoch 2 step 6 loss nan lr 0.01\n"
    )
    write_log(home.node, "demo-worker-0", "one", job="one", text=text)
    assert History(home).survey().read_metrics(RUN) == {
        "worker-0": {
            "epoch": 2, "step": 6, "loss": "nan", "val_loss": 0.75, "val_accuracy": 0.25, "lr": 0.01,
            "grad_norm": 1.25, "world": 2.0,
            "val_loss@epoch": 1, "val_accuracy@epoch": 1, "grad_norm@epoch": 1, "grad_norm@step": 3,
            "world@epoch": 1, "world@step": 3,
        }
    }  # fmt: skip


def test_what_is_written_on_purpose_counts_more_than_what_is_printed(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    write_log(home.node, "demo-worker-0", "one", job="one", text="epoch 1 step 3 loss 9.5 lr 0.1\n")
    path = find_file(home, "default", "demo", "one", "worker-0", 0)
    path.parent.mkdir(parents=True)
    path.write_text('{"step": 4, "loss": 0.5}\n{"step": 5, "tokens": 4096}\nno JSON\n')
    survey = History(home).survey()
    assert survey.read_metrics(RUN) == {
        "worker-0": {"epoch": 1, "step": 5, "loss": 0.5, "loss@step": 4, "lr": 0.1, "lr@epoch": 1, "lr@step": 3,
                     "tokens": 4096.0}
    }  # fmt: skip
    unread = survey.find_unread(RUN)
    assert unread is not None and (unread[0], render(unread[1])) == ("worker-0", "`no JSON` is no JSON object")
    path.unlink()
    path.mkdir()
    unread = survey.find_unread(RUN)
    assert unread is not None and render(unread[1]) == "it is no regular file that can be read"
    assert survey.read_metrics(RUN) == {"worker-0": {"epoch": 1, "step": 3, "loss": 9.5, "lr": 0.1}}


def test_the_nearest_line_of_a_run_without_metrics_is_found_in_the_last_logs(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    write_log(home.node, "demo-worker-0", "one", job="one", text="hello\n")
    write_log(home.node, "demo-worker-1", "other", job="one", text="step 3 loss: n/a\n")
    survey = History(home).survey()
    assert survey.read_metrics(RUN) == {}
    found = survey.find_nearest(RUN)
    assert found is not None and found.line == "step 3 loss: n/a"
    assert survey.find_nearest(replace(RUN, uid="two")) is None


def test_the_run_before_is_of_the_same_name() -> None:
    three, other = replace(RUN, uid="three", run=3), replace(RUN, name="other", uid="other", run=2)
    assert find_earlier([other, three, RUN]) == {"three": RUN}


def test_the_run_before_is_of_the_same_directory_as_far_as_that_is_known() -> None:
    def of(number: int, directory: str) -> RunRecord:
        annotations = {"paddock.dev/working-directory": directory} if directory else {}
        return replace(RUN, uid=str(number), run=number, annotations=annotations)

    runs = [of(1, "/a"), of(2, "/b"), of(3, "/a/"), of(4, ""), of(5, "/b"), of(6, "")]
    assert {now: before.uid for now, before in find_earlier(runs).items()} == {"3": "1", "4": "3", "5": "4", "6": "5"}
