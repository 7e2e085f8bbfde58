"""What a version of Paddock has stored is read by the next ones: statuses with each cause, Datasets, history.

`former/` was written on 2026-11-27 by commit 18bd025a: `objects.json` by `paddock get -o json`, `history/` by its local
cluster, `causes.json` by its `causes` and what it said of them. Sentences are stored in English, so they are compared
as stored.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddock.app.history import read_cause
from paddock.history.records import RunRecord, read_records
from paddock.history.settings import find_run_changes
from paddock.history.since import explain_since
from paddock.history.surroundings import DatasetState, MachineState, Surroundings
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.causes import CAUSES
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import DATASETS
from paddock.views.datasets import read_dataset_row
from paddock.views.jobs import build_why, read_job_row
from paddock.words.messages import translate_message
from paddock.words.phrases import render

FORMER = Path(__file__).parent / "former"
OBJECTS: dict[str, list[dict[str, Any]]] = json.loads((FORMER / "objects.json").read_text())
FAILED = "failed: worker-0 ended with exit code 3, its last line: out of ideas"
ABSENT = "there is no directory /home/ada/data/a.txt on this machine"
SAID: dict[str, dict[str, Any]] = json.loads((FORMER / "causes.json").read_text())


def test_no_cause_that_was_stored_has_gone() -> None:
    assert SAID.keys() - CAUSES.keys() == set()


@pytest.mark.parametrize("reason", SAID)
def test_a_cause_that_was_stored_is_explained_as_it_was(reason: str) -> None:
    assert explain(CauseRecord(reason, SAID[reason]["args"])) == SAID[reason]["said"]


@pytest.mark.parametrize(
    ("place", "phase", "why"),
    [(0, "Completed", "completed: 2 ranks succeeded"), (1, "Failed", FAILED), (2, "Running", "")],
)
def test_a_job_that_was_stored_is_shown_as_it_was(place: int, phase: str, why: str) -> None:
    job = OBJECTS["jobs"][place]
    (resource,) = (each for each in KINDS if (each.api_version, each.kind) == (job["apiVersion"], job["kind"]))
    row = read_job_row(resource, job)
    assert (str(row.phase), build_why(row)) == (phase, why)


def test_a_dataset_that_was_stored_is_shown_as_it_was() -> None:
    good, words = (read_dataset_row(DATASETS, each) for each in OBJECTS["datasets"])
    assert (good.status.phase, good.status.message) == ("Ready", "file:///home/ada/data, as it is there")
    assert (words.status.phase, words.status.message) == ("Failed", ABSENT)
    assert translate_message(ABSENT, "zh") == "本机没有目录 /home/ada/data/a.txt"


def test_the_history_of_a_former_version_is_read() -> None:
    runs = [each for each in read_records(FORMER / "history") if isinstance(each, RunRecord)]
    assert sorted((run.name, run.phase, run.run) for run in runs) == [
        ("badly", "Failed", 1),
        ("going", "Running", 1),
        ("well", "Completed", 1),
    ]
    (badly,) = (run for run in runs if run.name == "badly")
    cause = read_cause(badly.cause)
    assert cause is not None and explain(cause) == FAILED


def test_what_a_former_run_began_with_is_unknown_and_no_change() -> None:
    runs = [each for each in read_records(FORMER / "history") if isinstance(each, RunRecord)]
    known = Surroundings({"worker": "a"}, {"words": DatasetState("https://h/f")}, MachineState("ada", 2.0, 2**34))
    for run in runs:
        assert run.surroundings == Surroundings()
        for before, now in ((run, replace(run, surroundings=known)), (replace(run, surroundings=known), run)):
            assert find_run_changes(before, now) == []
            assert render(explain_since(before, now)).endswith("; whether the packages have is not known")
