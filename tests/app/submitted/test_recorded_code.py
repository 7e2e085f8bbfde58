"""Which code a job begins with, read from real directories and a real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paddock.app.submitted import recorded_code
from paddock.app.submitted.recorded_code import read_code_of
from paddock.kube.code_annotation import MOST_FILES, Code
from support.programs import need

DIGEST = "ba7816"
"""The first letters of the SHA-256 of `abc`."""


def git(directory: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    names = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main")
    command = [need("git"), *names, "-C", str(directory), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **own}).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name in ("train.py", "data.py", "gone.py"):
        (tmp_path / name).write_text("abc")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_of_a_repository_it_is_the_commit_and_what_differs_from_it(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")[:12]
    assert read_code_of(repository) == Code(commit)
    (repository / "train.py").write_text("def")
    (repository / "neu 文.py").write_text("abc")
    (repository / "gone.py").unlink()
    found = read_code_of(repository)
    assert (found.commit, dict(found.files)) == (commit, {"gone.py": "-", "neu 文.py": DIGEST, "train.py": "cb8379"})


def test_of_a_directory_in_a_repository_its_own_part_is_told(repository: Path) -> None:
    (repository / "train.py").write_text("def")
    part = repository / "part"
    part.mkdir()
    (part / "model.py").write_text("abc")
    git(repository, "add", "part")
    assert dict(read_code_of(part).files) == {"model.py": DIGEST}


def test_a_program_that_a_repository_names_for_git_is_not_started(repository: Path) -> None:
    mark = repository.parent / "started"
    program = repository / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o700)
    git(repository, "config", "core.fsmonitor", str(program))
    assert read_code_of(repository).commit
    assert not mark.exists()


def test_a_filter_of_a_repository_is_not_started(repository: Path) -> None:
    mark = repository.parent / "filtered"
    git(repository, "config", "filter.own.clean", f"sh -c 'touch {mark}; cat'")
    (repository / ".gitattributes").write_text("*.py filter=own\n")
    (repository / "train.py").write_text("def")
    assert "train.py" in read_code_of(repository).files
    assert not mark.exists()


def test_a_new_directory_is_told_by_its_files_and_outputs_are_none(repository: Path) -> None:
    for name in ("new/model.py", "outputs/x.py", "new/__pycache__/model.pyc"):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("abc")
    assert dict(read_code_of(repository).files) == {"new/model.py": DIGEST}


def test_another_repository_that_the_shell_names_is_not_asked(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "a.py").write_text("abc")
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    assert read_code_of(other) == Code(files={"a.py": DIGEST})


def test_of_a_git_that_does_not_answer_nothing_is_known(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = recorded_code._ask_git
    monkeypatch.setattr(recorded_code, "_ask_git", lambda *words: None if "status" in words else asked(*words))
    (repository / "train.py").write_text("def")
    assert read_code_of(repository) == Code()


def test_without_git_it_is_the_files_of_the_program(tmp_path: Path) -> None:
    for name in ("train.py", "run.sh", "model.bin", "src/net.py", ".venv/x.py", "node_modules/y.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("abc")
    (tmp_path / "loop.py").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo.py")
    assert read_code_of(tmp_path) == Code(files={"run.sh": DIGEST, "src/net.py": DIGEST, "train.py": DIGEST})


def test_many_files_are_told_by_one_digest(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 5):
        (tmp_path / f"f{number:03}.py").write_text("abc")
    before = read_code_of(tmp_path)
    assert (len(before.files), before.more) == (MOST_FILES, 5)
    (tmp_path / f"f{MOST_FILES:03}.py").write_text("def")
    assert read_code_of(tmp_path).rest != before.rest


@pytest.mark.parametrize("directory", [Path("/"), Path("~").expanduser(), Path("/nothing/there")])
def test_of_a_home_a_root_or_nothing_nothing_is_known(directory: Path) -> None:
    assert read_code_of(directory) == Code()
