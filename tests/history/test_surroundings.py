"""What differs between what two runs began with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.history.records import RunRecord
from paddock.history.settings import find_run_changes
from paddock.history.surroundings import (
    MOST_PACKAGES,
    DatasetState,
    MachineState,
    Packages,
    Surroundings,
    add,
    explain_machine,
    list_packages,
    tell_dataset,
    tell_machine,
)

SETS: dict[str, dict[str, str]] = {
    "a": {"python": "3.11", "torch": "2.5.0", "apex": "0.1"},
    "b": {"python": "3.11", "torch": "2.6.0", "peft": "0.14.0", "apex": "0.1"},
    "c": {"python": "3.12", "torch": "2.5.0"},
}
GPU = MachineState("ada", 16.0, 64 * 2**30, ("NVIDIA A100",), "550.54")
PLAIN = MachineState("ada", 16.0, 64 * 2**30)
WORDS = DatasetState("hf://datasets/words", "3f2a1c90d7be00", "2026-11-01T00:00:00Z", 10_000, 3)
FILE = replace(WORDS, source="https://h/f", revision="")


def run(number: int, surroundings: Surroundings) -> RunRecord:
    record = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", f"u{number}", number, 100.0)
    return replace(record, spec={"worker": {}}, surroundings=surroundings)


def packages(**digests: str) -> Surroundings:
    return Surroundings(packages=digests)


def datasets(**states: DatasetState) -> Surroundings:
    return Surroundings(datasets=states)


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (Surroundings(), Surroundings(), []),
        (Surroundings(), packages(worker="a"), []),
        (packages(worker="a"), Surroundings(), []),
        (packages(worker="a"), packages(worker="a"), []),
        (packages(worker="a"), packages(worker="b"), ["packages: torch 2.5.0 → 2.6.0, + peft 0.14.0"]),
        (packages(worker="a"), packages(worker="c"), ["packages: python 3.11 → 3.12, − apex 0.1"]),
        (packages(worker="a"), packages(worker="gone"), ["packages: …"]),
        (packages(worker="a"), packages(ps="b"), []),
        (packages(worker="a", ps="a"), packages(worker="c", ps="c"), ["packages: python 3.11 → 3.12, − apex 0.1"]),
        (packages(worker="a", ps="a"), packages(worker="c", ps="b"),
         ["packages of worker: python 3.11 → 3.12, − apex 0.1", "packages of ps: torch 2.5.0 → 2.6.0, + peft 0.14.0"]),
        (datasets(words=WORDS), datasets(words=WORDS), []),
        (datasets(words=WORDS), datasets(words=replace(WORDS, fetched="2026-11-02T00:00:00Z", bytes=0)), []),
        (datasets(words=WORDS), datasets(words=replace(WORDS, revision="9be0d1f44a10")),
         ["dataset words: 3f2a1c90d7be → 9be0d1f44a10"]),
        (datasets(words=WORDS), datasets(words=replace(WORDS, source="hf://datasets/others")),
         ["dataset words: hf://datasets/words → hf://datasets/others"]),
        (datasets(words=FILE), datasets(words=replace(FILE, bytes=12_000, files=4)),
         ["dataset words: 10 kB (3) → 12 kB (4)"]),
        (datasets(words=FILE), datasets(words=replace(FILE, fetched="2026-11-02T00:00:00Z")),
         ["dataset words: fetched 2026-11-01T00:00:00Z → 2026-11-02T00:00:00Z"]),
        (datasets(), datasets(words=WORDS), ["dataset words: + 3f2a1c90d7be"]),
        (datasets(words=FILE), datasets(), ["dataset words: − 2026-11-01T00:00:00Z"]),
        (Surroundings(), datasets(words=WORDS), []),
        (Surroundings(machine=GPU), Surroundings(machine=PLAIN),
         ["machine: 1 × NVIDIA A100 → none, driver 550.54 → none"]),
        (Surroundings(machine=GPU), Surroundings(), []),
    ],
)  # fmt: skip
def test_only_what_is_known_of_both_runs_is_a_change(
    before: Surroundings, now: Surroundings, changes: list[str]
) -> None:
    assert find_run_changes(run(1, before), run(2, now), SETS.get) == changes


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (GPU, ""),
        (replace(GPU, memory=GPU.memory - 2**20), ""),
        (replace(GPU, driver="560.1"), "driver 550.54 → 560.1"),
        (replace(GPU, gpus=("NVIDIA A100",) * 2), "1 × NVIDIA A100 → 2 × NVIDIA A100"),
        (replace(GPU, gpus=("NVIDIA A100", "NVIDIA T4")), "1 × NVIDIA A100 → 1 × NVIDIA A100 + 1 × NVIDIA T4"),
        (replace(GPU, cpus=1.5, memory=2**33, name="eve"), "CPUs 16 → 1.5, memory 64 GiB → 8.0 GiB, host ada → eve"),
    ],
)
def test_the_parts_of_a_machine_that_differ_are_told(now: MachineState, said: str) -> None:
    assert explain_machine(GPU, now) == said


def test_a_machine_and_a_dataset_are_told_in_a_few_words() -> None:
    assert tell_machine(GPU) == "ada: 1 × NVIDIA A100, driver 550.54, CPUs 16, memory 64 GiB"
    assert tell_machine(PLAIN) == "ada: no GPU, CPUs 16, memory 64 GiB"
    states = (WORDS, FILE, DatasetState("file:///d"))
    assert [tell_dataset(each) for each in states] == ["3f2a1c90d7be", "2026-11-01T00:00:00Z", "file:///d"]


def test_of_many_packages_the_first_are_named_and_the_others_counted() -> None:
    before = {f"p{number}": "1" for number in range(9)} | {"torch": "1"}
    now = dict.fromkeys(before, "2")
    assert list_packages(before, now) == ["torch 1 → 2", "p0 1 → 2", "p1 1 → 2", "p2 1 → 2", "+6"]


SET = st.dictionaries(st.sampled_from(["torch", "numpy", "a", "b", "c", "d"]), st.sampled_from(["1", "2"]))


@given(before=SET, now=SET)
def test_a_set_has_no_change_only_against_itself(before: Packages, now: Packages) -> None:
    texts = list_packages(before, now)
    assert (texts == []) == (before == now) and len(texts) <= MOST_PACKAGES + 1
    assert len(list_packages(now, before)) == len(texts)


def test_what_was_told_first_is_what_a_run_began_with() -> None:
    first = add(Surroundings(), Surroundings({"worker": "a"}, {"words": WORDS}, GPU))
    later = add(first, Surroundings({"worker": "b", "ps": "c"}, {"words": FILE, "more": FILE}, PLAIN))
    assert later == Surroundings({"worker": "a", "ps": "c"}, {"words": WORDS, "more": FILE}, GPU)
    assert add(later, Surroundings()) == later
