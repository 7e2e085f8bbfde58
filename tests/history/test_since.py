"""What has changed since a run last completed: which run is compared, and the sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from paddock.history.records import RunRecord
from paddock.history.since import explain_since, find_completed
from paddock.history.surroundings import Surroundings
from paddock.words.phrases import render

HERE, THERE = {"paddock.dev/working-directory": "/home/you/proj"}, {"paddock.dev/working-directory": "/home/you/other"}
SPEC = {"worker": {"replicas": 1}}


def run(number: int, phase: str, annotations: dict[str, str] = HERE, replicas: int = 1) -> RunRecord:
    record = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "train", f"uid-{number}", number, 100.0)
    spec = {"worker": {"replicas": replicas}}
    return replace(record, phase=phase, finished=True, annotations=annotations, spec=spec)


FAILED = run(9, "Failed")


@pytest.mark.parametrize(
    ("runs", "number"),
    [
        ([], None),
        ([run(1, "Failed"), FAILED], None),
        ([run(1, "Completed"), run(2, "Failed"), FAILED], 1),
        ([run(1, "Completed"), run(2, "Completed"), FAILED], 2),
        ([run(10, "Completed"), FAILED], None),
        ([run(1, "Completed"), run(2, "Completed", THERE), FAILED], 1),
        ([run(1, "Completed", {}), FAILED], 1),
        ([replace(run(1, "Completed"), name="other"), FAILED], None),
        ([replace(run(1, "Completed"), kind="PyTorchJob"), FAILED], None),
    ],
)
def test_the_last_completed_run_of_the_name_and_directory_is_compared(
    runs: list[RunRecord], number: int | None
) -> None:
    found = find_completed([*runs, FAILED] if FAILED not in runs else runs).get(FAILED.uid)
    assert (found.run if found else None) == number


def test_the_sentence_names_what_changed_or_that_nothing_did() -> None:
    good = run(4, "Completed")
    nothing = "nothing that Paddock records has changed since run 4, which completed"
    assert render(explain_since(good, FAILED)) == f"{nothing}; whether the packages have is not known"
    known = Surroundings({"worker": "a"})
    one, two = (replace(each, surroundings=known) for each in (good, FAILED))
    assert render(explain_since(one, two)) == nothing
    assert render(explain_since(one, FAILED)) == f"{nothing}; whether the packages have is not known"
    sets = {"a": {"torch": "2.5.0"}, "b": {"torch": "2.6.0", "peft": "0.14.0"}}
    newer = replace(two, surroundings=Surroundings({"worker": "b"}))
    said = "since run 4, which completed: packages: torch 2.5.0 → 2.6.0, + peft 0.14.0"
    assert render(explain_since(one, newer, sets.get)) == said
    wider = run(9, "Failed", replicas=2)
    assert render(explain_since(good, wider)) == "since run 4, which completed: spec.worker.replicas: 1 → 2"


def test_ten_thousand_runs_are_gone_through_once() -> None:
    class Counted(list[RunRecord]):
        times = 0

        def __iter__(self) -> Iterator[RunRecord]:
            Counted.times += 1
            return super().__iter__()

    runs = Counted(run(number, "Completed" if number % 2 else "Failed") for number in range(1, 10_001))
    found = find_completed(runs)
    assert Counted.times == 1
    assert (found["uid-10000"].run, found["uid-3"].run, "uid-1" in found) == (9_999, 1, False)
