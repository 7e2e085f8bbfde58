"""Which files of a directory are sent: .gitignore by git's rules, hidden files, links."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.directory_files import HIDDEN, IGNORED, find_files


def lay_out(work: Path, /, *paths: str, **ignored: str) -> None:
    for path in paths:
        file = work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    for directory, text in ignored.items():
        (work / directory.replace("root", ".")).mkdir(exist_ok=True, parents=True)
        (work / directory.replace("root", ".") / ".gitignore").write_text(text)


def paths(root: Path) -> list[str]:
    return [file.path for file in find_files(root).files]


@pytest.mark.parametrize(
    ("files", "ignored", "sent"),
    [
        (["train.py", "a/b.py"], {}, ["a/b.py", "train.py"]),
        (["a.log", "b.py"], {"root": "*.log\n"}, ["b.py"]),
        (["data/x", "src/data/y", "b.py"], {"root": "/data/\n"}, ["b.py", "src/data/y"]),
        (["a.log", "keep.log"], {"root": "*.log\n!keep.log\n"}, ["keep.log"]),
        (["sub/a.log", "sub/b.log", "c.log"], {"root": "*.log\n", "sub": "!a.log\n"}, ["sub/a.log"]),
        (["sub/a.txt", "a.txt"], {"sub": "/a.txt\n"}, ["a.txt"]),
        (["out/a.txt"], {"root": "out/\n!out/a.txt\n"}, []),
        ([".env", ".venv/x", "a.py", "__pycache__/a.pyc"], {}, ["a.py"]),
        ([".env", ".config.yaml", "a.py"], {"root": "!.config.yaml\n"}, [".config.yaml", "a.py"]),
        ([".git/config", "sub/.git/config", "a.py"], {"root": "!.git\n"}, ["a.py"]),
    ],
)
def test_what_git_ignores_and_what_is_hidden_stays(
    tmp_path: Path, files: list[str], ignored: dict[str, str], sent: list[str]
) -> None:
    lay_out(tmp_path, *files, **ignored)
    assert paths(tmp_path) == sent


@pytest.mark.parametrize(
    ("ignored", "sent"),
    [
        ({"root": "*.log\n"}, ["a.py", "data/x"]),
        ({"root": "/prog/data/\n"}, ["a.log", "a.py"]),
        ({"root": "/data/\n"}, ["a.log", "a.py", "data/x"]),  # of the repository's root
        ({"root": "*.log\n", "sub/prog": "!a.log\n"}, ["a.log", "a.py", "data/x"]),
        ({"root": "*.log\n", "sub": "!a.log\n"}, ["a.log", "a.py", "data/x"]),
        ({"sub": "/prog/*.log\n"}, ["a.py", "data/x"]),
        ({"root": "sub/\n", "sub/prog": "!*.py\n"}, ["a.py"]),
    ],
)
def test_git_ignores_from_the_root_of_the_repository_down(
    tmp_path: Path, ignored: dict[str, str], sent: list[str]
) -> None:
    ignored = {each: text.replace("/prog/data", "/sub/prog/data") for each, text in ignored.items()}
    lay_out(tmp_path, ".git/info/exclude", "sub/prog/a.log", "sub/prog/a.py", "sub/prog/data/x", **ignored)
    assert paths(tmp_path / "sub/prog") == sent


def test_what_lies_above_the_repository_ignores_nothing(tmp_path: Path) -> None:
    lay_out(tmp_path, "repo/.git", "repo/a.py", root="*.py\n")  # a worktree's .git is a file
    assert paths(tmp_path / "repo") == ["a.py"]
    lay_out(tmp_path, "none/a.py")
    assert paths(tmp_path / "none") == ["a.py"], "no repository"


def test_what_the_repository_excludes_for_this_user_alone_stays(tmp_path: Path) -> None:
    lay_out(tmp_path, ".git/info/exclude", "sub/mine.txt", "sub/a.py")
    (tmp_path / ".git/info/exclude").write_text("mine.txt\n")
    assert paths(tmp_path / "sub") == ["a.py"]


def test_a_directory_that_is_ignored_itself_is_refused(tmp_path: Path) -> None:
    lay_out(tmp_path, ".git/config", "runs/1/a.py", root="runs/\n")
    with pytest.raises(UserError, match=r"runs/1 is itself left out by a .gitignore above it.*!\*\.py"):
        find_files(tmp_path / "runs/1")


def test_what_stays_is_counted(tmp_path: Path) -> None:
    lay_out(tmp_path, "a.log", "b.log", "data/1", "data/2", ".env", "a.py", root="*.log\ndata\n")
    assert find_files(tmp_path).left_out == {IGNORED: 3, HIDDEN: 1}


def test_a_program_keeps_its_right_to_be_run(tmp_path: Path) -> None:
    lay_out(tmp_path, "run.sh", "a.py")
    (tmp_path / "run.sh").chmod(0o755)
    assert {file.path: file.executable for file in find_files(tmp_path).files} == {"a.py": False, "run.sh": True}


def test_links_inside_are_followed(tmp_path: Path) -> None:
    lay_out(tmp_path, "pkg/mod.py")
    (tmp_path / "again").symlink_to("pkg")
    (tmp_path / "one.py").symlink_to("pkg/mod.py")
    assert paths(tmp_path) == ["again/mod.py", "one.py", "pkg/mod.py"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/etc/hostname", "link is a link to /etc/hostname, outside of"),
        ("../secret", "outside of"),
        ("nowhere", "link is a link to nowhere, which is not there"),
        (".", "link is a link to a directory that it lies in"),
    ],
)
def test_a_link_that_leads_elsewhere_is_refused_unless_it_is_ignored(tmp_path: Path, target: str, said: str) -> None:
    work = tmp_path / "work"
    lay_out(work, "a.py")
    (tmp_path / "secret").write_text("s")
    (work / "link").symlink_to(target)
    with pytest.raises(UserError, match=said):
        find_files(work)
    lay_out(work, root="link\n")
    assert paths(work) == ["a.py"]


def test_a_link_into_git_stays(tmp_path: Path) -> None:
    lay_out(tmp_path, ".git/config", "a.py")
    (tmp_path / "config").symlink_to(".git/config")
    assert paths(tmp_path) == ["a.py"]


def test_a_name_that_no_api_takes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad\udcff.py").write_text("")
    with pytest.raises(UserError, match="is no UTF-8"):
        find_files(tmp_path)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    lay_out(tmp_path, "a.py")
    assert paths(tmp_path) == ["a.py"]
