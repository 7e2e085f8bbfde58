"""The files of a place on the disk: all or none, and never over a file of the user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.rendering.files import find_left, write_files
from paddock.places.rendering import MARK, File

FILES = (File("a.sh", f"#!/bin/bash\n# {MARK}\n", executable=True), File("sub/b.txt", f"# {MARK}\n"))


def test_files_are_written_for_their_owner_alone_and_again_over_themselves(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for _ in range(2):
        assert write_files(target, FILES) == [target / "a.sh", target / "sub/b.txt"]
    assert (target / "a.sh").stat().st_mode & 0o777 == 0o700
    assert (target / "sub/b.txt").stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in target.iterdir()) == ["a.sh", "sub"]


def test_a_file_of_the_user_s_own_is_not_written_over_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.txt").write_text("mine")
    with pytest.raises(UserError, match=r"b\.txt is there already, and Paddock did not make it"):
        write_files(tmp_path, FILES)
    assert not (tmp_path / "a.sh").exists()
    assert (tmp_path / "sub/b.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", ["link", "broken link", "directory", "file as directory", "file as target"])
def test_what_is_no_plain_file_is_never_replaced(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    target.mkdir()
    mine = tmp_path / "mine"
    mine.write_text(f"# {MARK}\n")
    if kind == "link":
        (target / "a.sh").symlink_to(mine)
    elif kind == "broken link":
        (target / "a.sh").symlink_to(tmp_path / "none")
    elif kind == "directory":
        (target / "a.sh").mkdir()
    elif kind == "file as directory":
        (target / "sub").write_text(f"# {MARK}\n")
    else:
        target = mine
    with pytest.raises(UserError, match="is there already"):
        write_files(target, FILES)
    assert mine.read_text() == f"# {MARK}\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Failed, match="ermission"):
        write_files(tmp_path / "out", FILES)


def test_a_script_of_an_earlier_rendering_is_found(tmp_path: Path) -> None:
    written = write_files(tmp_path, FILES)
    (tmp_path / "old.sh").write_text(f"# {MARK}\n")
    (tmp_path / "mine.sh").write_text("echo\n")
    assert find_left(tmp_path, written) == [tmp_path / "old.sh"]
