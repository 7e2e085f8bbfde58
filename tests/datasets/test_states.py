"""A dataset's state as its status tells it."""

from __future__ import annotations

import pytest

from paddock.datasets.definition import read_definition
from paddock.datasets.fetching import Fault, Progress
from paddock.datasets.states import (
    Failed,
    Fetching,
    Ready,
    State,
    Unfetched,
    build_status,
    explain,
    read_percent,
    read_recorded,
)
from paddock.kube.datasets import Phase, format_part, format_size, read_claim, read_status

GB = 10**9


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_600, "1 MB"),
        (193 * 10**6, "193 MB"),
        (7.8 * GB, "7.8 GB"),
        (99.96 * GB, "100 GB"),
        (999.7 * GB, "1.0 TB"),
        (12 * 10**15, "12000 TB"),
    ],
)
def test_sizes_are_told_in_powers_of_ten(count: float, shown: str) -> None:
    assert format_size(count) == shown


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [(3.2 * GB, 7.8 * GB, "3.2 of 7.8 GB"), (900e6, 7.8 * GB, "900 MB of 7.8 GB"), (3.2 * GB, 0, "3.2 GB")],
)
def test_a_part_of_a_size_names_its_unit_once(done: float, total: float, shown: str) -> None:
    assert format_part(done, total) == shown


@pytest.mark.parametrize(
    ("progress", "percent"),
    [
        (Progress(phase="fetching", done=41, total=100), 41),
        (Progress(phase="fetching", done=100, total=100), 99),
        (Progress(phase="fetching", done=5, files=1, all_files=4), 25),
        (Progress(phase="listing"), 0),
        (Progress(phase="fetching", done=120, total=100), 99),
    ],
)
def test_the_percentage_is_that_of_the_bytes_and_a_hundred_means_ready(progress: Progress, percent: int) -> None:
    assert read_percent(progress) == percent


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (
            Progress(phase="fetching", done=32 * GB // 10, total=78 * GB // 10, speed=12e6),
            "fetching, 41 %, 3.2 of 7.8 GB, 12 MB/s, 6 min left",
        ),
        (Progress(phase="fetching", done=5_000_000), "fetching, 5 MB"),
        (Progress(phase="listing", all_files=1200), "listing what is there: 1200 files so far"),
        (Progress(phase="verifying"), "verifying"),
        (
            Progress(phase="retrying", done=5, total=10, reason="the connection was cut"),
            "the connection was cut: trying again, 50 %, 5 of 10 B are there",
        ),
    ],
)
def test_progress_is_a_sentence_with_numbers(progress: Progress, said: str) -> None:
    assert explain(progress) == said


@pytest.mark.parametrize(
    "state",
    [
        Unfetched("why not"),
        Fetching(Progress(phase="fetching", done=1, total=2)),
        Ready("/d", 2, 1, "etag"),
        Failed("no", Fault.NETWORK),
    ],
)
def test_what_is_written_is_what_readers_read(state: State) -> None:
    manifest = {"metadata": {"name": "words", "namespace": "team", "generation": 3},
                "spec": {"source": {"uri": "https://example.com/a"}}}  # fmt: skip
    status = {
        name: value for name, value in build_status(read_definition(manifest), state).items() if value is not None
    }
    found = read_status({**manifest, "status": status})
    assert (found.namespace, found.name, found.claim) == ("team", "words", "dataset-words")
    assert found.phase == status["phase"]
    assert found.percent == status.get("progress", 0)
    assert found.retries is (isinstance(state, Failed) and state.retries)


@pytest.mark.parametrize("unknown", [True, False])
def test_that_no_length_was_told_is_said_and_is_read_again_from_the_status(unknown: bool) -> None:
    definition = read_definition({"metadata": {"name": "words"}, "spec": {"source": {"uri": "https://example.com/a"}}})
    ready = Ready(size=2, files=1, length_unknown=unknown)
    status = build_status(definition, ready)
    told = "; the server did not tell its length, so only a checksum says whether it is whole"
    assert status["message"] == f"2 B in 1 file{told if unknown else ''}"
    assert status["lengthUnknown"] is (True if unknown else None)
    assert read_recorded(definition, status) == ready


@pytest.mark.parametrize("differ", [True, False])
def test_that_etags_are_no_checksums_is_said_and_is_read_again_from_the_message(differ: bool) -> None:
    definition = read_definition({"metadata": {"name": "words"}, "spec": {"source": {"uri": "s3://words/a"}}})
    ready = Ready(size=2, files=3, tags_differ=differ)
    status = build_status(definition, ready)
    told = "; an ETag of the bucket looks like an MD5 and is none of what came, twice alike, so only the sizes were "
    told += "compared"
    assert status["message"] == f"2 B in 3 files{told if differ else ''}"
    assert read_recorded(definition, status) == ready


def test_a_status_of_an_older_generation_is_not_taken_for_the_new_one() -> None:
    manifest = {"metadata": {"name": "words", "generation": 2}, "status": {"phase": "Ready", "observedGeneration": 1}}
    assert read_status(manifest).phase is Phase.PENDING


@pytest.mark.parametrize(
    "status", [{}, {"phase": "Odd"}, {"phase": 7, "progress": "x", "bytesDone": -1, "message": None}]
)
def test_another_programs_status_breaks_no_reader(status: dict[str, object]) -> None:
    found = read_status({"metadata": {"name": "words"}, "status": status})
    assert (found.phase, found.percent, found.done) == (Phase.PENDING, 0, 0)


@pytest.mark.parametrize(
    ("uri", "claim"),
    [("https://x/y", "dataset-words"), ("claim://mine", "mine"), ("claim://", "dataset-words"), ("", "dataset-words")],
)
def test_which_claim_pods_mount(uri: str, claim: str) -> None:
    assert read_claim({"metadata": {"name": "words"}, "spec": {"source": {"uri": uri}}}) == claim
