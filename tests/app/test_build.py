"""The commit of this Paddock, as the files of git tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.build import describe_version, read_commit

COMMIT = "51637969" + "a" * 32
ROWS: list[tuple[str, dict[str, str], bool]] = [
    ("a branch", {".git/HEAD": "ref: refs/heads/x/y\n", ".git/refs/heads/x/y": f"{COMMIT}\n"}, True),
    ("a commit without a branch", {".git/HEAD": f"{COMMIT}\n"}, True),
    (
        "a packed branch",
        {".git/HEAD": "ref: refs/heads/x", ".git/packed-refs": f"# pack\n{COMMIT} refs/heads/x\n"},
        True,
    ),
    (
        "a worktree",
        {
            ".git": "gitdir: main/.git/worktrees/w\n",
            "main/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
            "main/.git/worktrees/w/commondir": "../..\n",
            "main/.git/refs/heads/w": COMMIT,
        },
        True,
    ),
    ("a wheel", {"src/paddock/COMMIT": f"{COMMIT}\n"}, True),
    ("no clone", {}, False),
    ("a branch without a commit", {".git/HEAD": "ref: refs/heads/x\n"}, False),
    ("a file that is none of git's", {".git": "what\0ever"}, False),
    ("a wheel whose file is damaged", {"src/paddock/COMMIT": "main"}, False),
]


@pytest.mark.parametrize(("what", "files", "known"), ROWS, ids=[row[0] for row in ROWS])
def test_the_commit_is_read_without_git(what: str, files: dict[str, str], known: bool, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read_commit(tmp_path / "src/paddock") == (COMMIT if known else ""), what


def test_a_package_that_is_not_in_src_takes_no_clone_around_it_for_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(COMMIT)
    assert read_commit(tmp_path / "site-packages/paddock") == ""


def test_a_build_is_a_release_and_the_first_digits_of_its_commit() -> None:
    assert describe_version(COMMIT).endswith("+g51637969")
    assert "+" not in describe_version("")
