"""The files that --watch looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.watch import find_changes
from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.submit.watched_files import find_watched, read_snapshot, refuse_watching


def test_python_files_count_and_what_the_job_may_write_or_gitignore_names_does_not(tmp_path: Path) -> None:
    directory, outside = tmp_path / "mine", tmp_path / "outside"
    for path in (
        "train.py",
        "a/model.py",
        "config.yaml",
        "data.bin",
        "out/config.yaml",
        "results.json",
        "a/__pycache__/model.py",
        "out/model.py",
    ):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text("x")
    (directory / ".gitignore").write_text("out/\n")
    outside.mkdir()
    (directory / "data").symlink_to(outside)
    (directory / "gone.py").symlink_to(outside / "nowhere")
    (directory / "circle").symlink_to(directory)
    assert sorted(read_snapshot(directory, [])) == ["a/model.py", "train.py"]


def test_what_was_named_counts_wherever_it_lies(tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    directory.mkdir()
    (directory / "train.py").write_text("")
    (tmp_path / "requirements.txt").write_text("")
    options = ScriptOptions(requirements=str(tmp_path / "requirements.txt"), workdir=str(directory))
    look = find_watched(None, ("python", "train.py"), options)
    assert sorted(look()) == ["../requirements.txt", "train.py"]
    (directory / "train.py").write_text("changed")
    assert look()["train.py"][1] == len("changed")


def test_a_manifest_counts_beside_the_yaml_that_its_job_writes_and_while_it_is_gone(tmp_path: Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text("kind: PaddleJob")
    (tmp_path / "results.yaml").write_text("loss: 1")
    look = find_watched(str(manifest), None, ScriptOptions(workdir=str(tmp_path)))
    assert list(look()) == ["job.yaml"]
    manifest.unlink()  # an editor replaces it at this moment, or a run begins while it is gone
    gone = look()
    manifest.write_text("kind: PaddleJob")
    assert find_changes(gone, look()) == ("job.yaml",)


def test_a_directory_that_cannot_be_read_counts_with_what_was_named(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("")
    assert list(read_snapshot(tmp_path / "nowhere", [script])) == ["../train.sh"]


@pytest.mark.parametrize(
    ("file", "detach", "told"),
    [
        (None, True, "--watch follows the job, and --detach leaves it alone: leave one out"),
        ("-", False, "--watch needs a file that can change, and standard input is none"),
    ],
)
def test_where_nothing_can_be_watched_it_is_refused(file: str | None, detach: bool, told: str) -> None:
    with pytest.raises(UserError) as error:
        refuse_watching(file, detach=detach)
    assert str(error.value) == told
