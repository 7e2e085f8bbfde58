"""The disk of the home is full: commands say so, and what they advise makes room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import Cluster
from support.printed import take_printed, type_printed
from support.small_disks import fill, small_disk


@pytest.fixture
def small(sandbox: str, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster whose directory has a disk of its own."""
    with small_disk(tmp_path / "d", "16m") as disk:
        cluster = Cluster(disk, sandbox)
        try:
            assert cluster.up().code == 0
            yield cluster
        finally:
            cluster.close()


def test_a_full_disk_is_told_and_a_dataset_makes_room(small: Cluster) -> None:
    (small.directory / "words").mkdir()
    made = small.paddock("dataset", "create", "words", "--from", f"file://{small.directory}/words")
    assert made.code == 0, str(made)
    fill(small.directory)
    ended = small.paddock("run", "--", "true")
    assert ended.code == 1, str(ended)
    assert "is full" in ended.err and ended.err.endswith("nothing was submitted\n")
    removed = type_printed(small, take_printed(ended.err, "paddock dataset rm NAME"), {"NAME": "words"})
    assert (removed.code, removed.out) == (0, "dataset/words deleted\n"), str(removed)
