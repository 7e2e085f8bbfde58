"""`paddock compare`: which runs the words name, and what stands side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.cluster.errors import UserError
from paddock.cli.verbs.compare import Compared, build_document, choose_runs, compare_settings, list_facts
from paddock.history.records import RunRecord, write_record

API = "batch.paddlepaddle.org/v1"


def run(name: str, number: int, replicas: int = 1, code: str = "") -> RunRecord:
    record = RunRecord(API, "PaddleJob", "default", name, f"{name}-{number}", number, 100.0 * number)
    annotations = {"paddock.dev/code": code, "paddock.dev/working-directory": f"/srv/{name}"}
    return replace(
        record, spec={"worker": {"replicas": replicas, "image": "a"}}, annotations=annotations, phase="Completed",
        finished=True, ended=record.created + 60,
    )  # fmt: skip


@pytest.fixture
def history(tmp_path: Path) -> History:
    home = Home(tmp_path, tmp_path)
    for each in (run("train", 1), run("train", 2, 2), run("train", 5), run("resnet", 7), run("once", 1)):
        write_record(home.history, each)
    return History(home)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("train", ["train-2", "train-5"]),
        ("train 1 5", ["train-1", "train-5"]),
        ("train 5 1 2", ["train-5", "train-1", "train-2"]),
        ("train:1 train:2", ["train-1", "train-2"]),
        ("train:1 2", ["train-1", "train-2"]),
        ("train resnet", ["train-5", "resnet-7"]),
        ("train:1 resnet", ["train-1", "resnet-7"]),
        ("train:1 resnet:7 train:1", ["train-1", "resnet-7"]),
        ("train 1 resnet 7", ["train-1", "resnet-7"]),
        ("train 1 resnet", ["train-1", "resnet-7"]),
    ],
)
def test_words_name_runs(history: History, words: str, chosen: list[str]) -> None:
    assert [each.uid for each in choose_runs(history, "default", words.split())] == chosen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("once", "two runs are wanted, and only run 1 of once is named or kept: `paddock history once` lists them"),
        ("train:1 train:1", "two runs are wanted, and only run 1 of train is named or kept"),
        ("train 9", "train has no run 9; kept are 1, 2, 5"),
        ("train:x", "'train:x' is no run: a number stands behind the colon, as in train:3"),
        ("train " + "9" * 5_000, "no run of '999"),
        ("nothere", "no run of 'nothere' is kept in namespace default"),
    ],
)
def test_what_names_no_two_runs_is_refused(history: History, words: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        choose_runs(history, "default", words.split())
    assert said in str(caught.value)


def test_only_what_differs_is_shown_beside_how_they_ended() -> None:
    one = run("train", 1, 1, '{"files":{"train.py":"aaaaaa"}}')
    two = run("train", 2, 2, '{"files":{"train.py":"bbbbbb"}}')
    compared = [Compared(one, {"worker-0": {"loss": 0.5}}), Compared(two, {})]
    facts = dict(list_facts(compared, "en"))
    assert facts["Ended"] == ["Completed", "Completed"] and facts["Took"] == ["60s", "60s"]
    assert facts["Metrics"] == ["loss 0.5", "–"]
    assert facts["Code"] == ["1 file", "1 file; differs: train.py"]
    assert "Directory" not in facts and "Restarts" not in facts
    comparison = compare_settings([one, two])
    assert [(each.path, each.values) for each in comparison.differences] == [("spec.worker.replicas", ("1", "2"))]
    assert comparison.equal == 1
    document = build_document(compared)
    assert document["differences"] == [{"path": "spec.worker.replicas", "values": ["1", "2"]}]
    assert [each["run"] for each in document["runs"]] == [1, 2] and document["equal"] == 1
