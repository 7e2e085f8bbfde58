"""Percentages from a recorded terminal of uv 0.13 (15 packages, one of 184 MiB)."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.environments.progress import Progress, Screen, TransferRate, build_progress, format_size, read_screen

RECORDED = [
    line.encode().decode("unicode_escape") for line in (Path(__file__).parent / "terminal.txt").read_text().splitlines()
]
WHOLE = "".join(RECORDED)
VERSIONS = {"paddlepaddle": "3.0.0", "numpy": "2.4.6"}


def replay(chunks: list[str]) -> list[Progress]:
    screen, seen = Screen(), []
    for chunk in chunks:
        screen = read_screen(screen, chunk)
        seen.append(build_progress(screen, "paddlepaddle 3.0.0", VERSIONS))
    return seen


def test_the_percentage_follows_the_bytes_of_the_large_package() -> None:
    seen = replay(RECORDED)
    texts = [progress.explain() for progress in seen]
    assert texts[0] == "building (paddlepaddle 3.0.0), 3 %"
    downloading = [each for each in seen if each.size and each.phase == "downloading"]
    assert {each.subject for each in downloading} == {"paddlepaddle 3.0.0"}
    assert any("(paddlepaddle 3.0.0, 193 MB), " in text for text in texts)
    assert len({each.percent for each in downloading}) > 10
    assert seen[-1].phase == "installing"
    assert seen[-1].percent >= 88


@given(st.lists(st.integers(0, len(WHOLE)), max_size=60))
def test_the_percentage_never_decreases_wherever_the_text_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(WHOLE)]
    percents = [each.percent for each in replay([WHOLE[a:b] for a, b in pairwise(places)])]
    assert percents == sorted(percents)
    assert 0 <= percents[-1] <= 93


@given(st.text(max_size=300))
def test_other_text_changes_no_progress_and_raises_no_error(text: str) -> None:
    assert 0 <= build_progress(read_screen(Screen(), text), "x", {}).percent <= 93


@pytest.mark.parametrize(
    ("progress", "sentence"),
    [
        (Progress("downloading", 61, "paddlepaddle 3.0.0", 192_823_000), "building (paddlepaddle 3.0.0, 193 MB), 61 %"),
        (
            Progress("downloading", 61, "paddlepaddle 3.0.0", 192_823_000, speed=12.4e6, left=8.7),
            "building (paddlepaddle 3.0.0, 193 MB), 61 %, 12 MB/s, 9 s left",
        ),
        (Progress("retrying", 3, "building (six)", tries=(1, 3)), "building (six), the network failed: try 2 of 3"),
        (Progress("fetching", 40, "Python 3.13.9", 34_000_000), "fetching Python 3.13.9, 34 MB, 40 %"),
        (Progress("resolving", 0, "six"), "building (six), resolving, 0 %"),
        (Progress("waiting", 0, "six 1.0"), "waiting for another build of six 1.0"),
    ],
)
def test_progress_in_words(progress: Progress, sentence: str) -> None:
    assert progress.explain() == sentence


def test_the_transfer_rate_is_of_the_last_seconds() -> None:
    rate = TransferRate()
    speeds = [rate.add(now, got) for now, got in ((0.0, 0), (0.5, 1000), (1.0, 2000), (2.0, 4000), (8.0, 4000))]
    assert speeds == [0, 0, 2000, 2000, 0]
    assert rate.add(9.0, 100) == 0, "a retry resets the rate"
    assert rate.add(10.0, 600) == 500


def test_the_remaining_time_of_the_downloads_follows_the_rate() -> None:
    screen = read_screen(Screen(), "Preparing packages... (0/1)\nbig  ----- 100 MiB/200 MiB\n")
    told = build_progress(screen, "big", {}, speed=10 * 2**20)
    assert (told.speed, told.left) == (10 * 2**20, 10)
    assert build_progress(screen, "big", {}).left == 0


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (26_840, "27 kB"), (192_823_000, "193 MB"), (1.24e9, "1.2 GB")]
)
def test_sizes(count: float, text: str) -> None:
    assert format_size(count) == text
