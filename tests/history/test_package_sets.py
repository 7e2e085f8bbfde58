"""Sets of packages are kept by what they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.history.package_sets import UNUSED_SECONDS, drop_unused, read_set, write_set
from paddock.history.records import read_records

TORCH = {"torch": "2.6.0", "numpy": "2.1"}


def test_runs_that_had_the_same_share_one_file(tmp_path: Path) -> None:
    digests = {write_set(tmp_path, dict(reversed(TORCH.items()))), *(write_set(tmp_path, TORCH) for _ in range(3))}
    assert len(digests) == 1 and read_set(tmp_path, *digests) == TORCH
    (file,) = (tmp_path / ".packages").iterdir()
    assert (file.stem, file.stat().st_mode & 0o777) == (digests.pop(), 0o600)
    assert list(read_records(tmp_path)) == []


@pytest.mark.parametrize("digest", ["", "0" * 32, "../default/x", "0" * 31 + "/"])
def test_a_digest_that_names_no_set_is_unknown(tmp_path: Path, digest: str) -> None:
    write_set(tmp_path, TORCH)
    assert read_set(tmp_path, digest) is None


@pytest.mark.parametrize("content", ["{", "[]", '{"torch": 2}', "[" * 100_000])
def test_what_is_no_set_is_unknown(tmp_path: Path, content: str) -> None:
    digest = write_set(tmp_path, TORCH)
    (tmp_path / ".packages" / f"{digest}.json").write_text(content)
    assert read_set(tmp_path, digest) is None


def test_a_pipe_or_a_link_in_place_of_a_set_is_waited_for_by_nobody(tmp_path: Path) -> None:
    digest = write_set(tmp_path, TORCH)
    place = tmp_path / ".packages"
    os.mkfifo(place / f"{'0' * 32}.json")
    (place / f"{'1' * 32}.json").symlink_to(place / f"{digest}.json")
    assert [read_set(tmp_path, each * 32) for each in "01"] == [None, None]


def test_a_set_goes_when_no_record_names_it_and_nobody_has_met_it_for_long(tmp_path: Path) -> None:
    drop_unused(tmp_path, (), 0.0)  # no directory yet
    used, old, met = (write_set(tmp_path, {"torch": each}) for each in "123")
    left = tmp_path / ".packages" / f"{old}.77"
    left.touch()
    for digest in (used, old, met):
        os.utime(tmp_path / ".packages" / f"{digest}.json", (0, 0))
    os.utime(left, (0, 0))
    assert write_set(tmp_path, {"torch": "3"}) == met
    now = (tmp_path / ".packages" / f"{met}.json").stat().st_mtime
    drop_unused(tmp_path, {used}, now + UNUSED_SECONDS - 1)
    assert {each.name for each in (tmp_path / ".packages").iterdir()} == {f"{used}.json", f"{met}.json"}
    drop_unused(tmp_path, {used}, now + UNUSED_SECONDS + 1)
    assert [each.stem for each in (tmp_path / ".packages").iterdir()] == [used]
