"""Files that a script names and that are no scripts: none of them is waited for, and none is read without an end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli
from paddock.cli.submit.named_files import find_scripts, list_places, read_named
from paddock.cli.submit.script.imports import read_contents
from paddock.launches.budget import LARGEST

LONG = "n" * 300
ODD = ["pipe", "folder", "/dev/zero", "/dev/tty", "loop", LONG, "gone.sh", "a\0b", "file/under"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("export A=1\n")
    (tmp_path / "large.sh").write_bytes(b"export A=1\n" * 1_000_000)
    (tmp_path / "t.py").write_text("import torch\n")
    return tmp_path


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_regular_file_is_not_opened(place: Path, name: str) -> None:
    assert find_scripts([place])(name) is None
    assert read_named(place / name, 10) is None


def test_a_file_is_read_up_to_its_bound(place: Path) -> None:
    assert read_named(place / "large.sh", 10) == b"export A=1"


def test_a_script_that_is_too_large_has_more_letters_than_a_reading_takes(place: Path) -> None:
    (place / "wide.sh").write_text("# \U0001f411\n" * LARGEST)
    for name in ("large.sh", "wide.sh"):
        assert LARGEST < len(find_scripts([place])(name) or "") < 5 * LARGEST


@pytest.mark.parametrize("name", [*ODD[:6], "large.sh", "/dev/stdin"])
@pytest.mark.parametrize("line", [". {name}", "bash {name}", "python {name}"])
@pytest.mark.parametrize(
    "words",
    [("validate", "run.sh"), pytest.param(("init", "--from", "run.sh", "-o", "job.yaml"), marks=pytest.mark.slow)],
)
def test_a_script_that_names_one_is_read_all_the_same(
    place: Path, words: tuple[str, ...], line: str, name: str
) -> None:
    named = name if "/" in name else f"./{name}"
    (place / "run.sh").write_text(f"{line.format(name=named)}\ntorchrun --nproc_per_node 2 t.py\n")
    done = CliRunner().invoke(cli, [*words], prog_name="paddock")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", ["pipe", "folder", "loop", LONG, "/dev/zero"])
def test_a_typed_program_that_is_no_file_tells_nothing(place: Path, name: str) -> None:
    for words in (["bash", name], ["python", name], ["bash", "-c", f". ./{name}; python t.py"]):
        assert read_contents(words, place).unread


def test_a_script_that_is_too_large_is_said_to_be_too_long(place: Path) -> None:
    (place / "run.sh").write_text("python t.py\n. ./large.sh\n")
    done = CliRunner().invoke(cli, ["init", "--from", "run.sh", "-o", "job.yaml"], prog_name="paddock")
    assert "the script is too long" in done.stderr and "no such file" not in done.stderr


def test_names_in_a_file_are_seen_from_here_and_then_from_where_it_lies(place: Path) -> None:
    (place / "folder/run.sh").write_text("")
    (place / "folder/own.sh").write_text("own")
    (place / "folder/file").write_text("another")
    read = find_scripts(list_places("folder/run.sh"))
    assert (read("own.sh"), read("file"), find_scripts(list_places("-"))("own.sh")) == ("own", "export A=1\n", None)


def test_a_script_that_goes_to_its_own_directory_runs_what_lies_there(place: Path) -> None:
    (place / "inner.sh").write_text("torchrun t.py\n")
    (place / "folder/inner.sh").write_text("fleetrun --nnodess=2 own.py\n")
    (place / "folder/run.sh").write_text('cd "$(dirname "$0")" && bash inner.sh\n')
    done = CliRunner().invoke(cli, ["validate", "folder/run.sh"], prog_name="paddock")
    assert "because of --nnodess the old launcher starts" in done.output
    done = CliRunner().invoke(cli, ["init", "--from", "folder/run.sh", "-o", "job.yaml"], prog_name="paddock")
    assert "paddock run --workdir folder -- python -m paddle.distributed.launch own.py" in done.stderr


def test_a_file_that_a_shell_fills_in_is_not_said_to_be_absent(place: Path) -> None:
    (place / "run.sh").write_text('. "$HERE/env.sh"\n. gone.sh\npython t.py\n')
    done = CliRunner().invoke(cli, ["init", "--from", "run.sh", "-o", "job.yaml"], prog_name="paddock")
    assert "run.sh:1: `. $HERE/env.sh` is not read: a shell fills in which file it is" in done.stderr
    assert "run.sh:2: `. gone.sh` is not read: there is no such file here" in done.stderr
