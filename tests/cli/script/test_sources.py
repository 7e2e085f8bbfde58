"""What the files of a typed command cost: each is read once, and all of them have one budget."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli
from paddock.cli.submit.script.imports import read_contents
from paddock.cli.submit.script.sources import MOST_BYTES, MOST_FILES, Sources
from paddock.launches.reading import find_main, read_typed
from paddock.script.kinds import choose_framework
from support.steps import count_steps

WORDS = ["python", "pretrain.py"]
LINES = '    values = [x * 2 + size for x in values if x is not None and os.path.join("a", str(x))]\n' * 5


def write(directory: Path, modules: int, lines: str = LINES) -> Path:
    """A program, and modules that import each other."""
    (directory / "pkg").mkdir(parents=True)
    (directory / "pretrain.py").write_text("import torch\nfrom pkg import m0\n")
    for number in range(modules):
        near, far = (number + 1) % modules, (number * 7 + 3) % modules
        text = f"import os\nfrom pkg import m{near}\nfrom .m{far} import *\ndef train(values, size):\n{lines}"
        (directory / f"pkg/m{number}.py").write_text(text)
    return directory


def count_init(*words: str) -> int:
    return count_steps(lambda: CliRunner().invoke(cli, ["init", "-o", "-", *words], prog_name="paddock"))


def test_a_program_of_hundreds_of_modules_costs_no_more_than_the_budget(tmp_path: Path) -> None:
    few, many = write(tmp_path / "few", 110), write(tmp_path / "many", 300)
    assert count_steps(lambda: read_contents(WORDS, many)) < 1.1 * count_steps(lambda: read_contents(WORDS, few))


@pytest.mark.parametrize(
    ("modules", "lines"),
    [(MOST_FILES + 1, "    0\n"), pytest.param(4, "    0\n" * (MOST_BYTES // 12), marks=pytest.mark.slow)],
)
def test_what_is_beyond_the_budget_is_unknown_and_what_was_read_counts(
    modules: int, lines: str, tmp_path: Path
) -> None:
    contents = read_contents(WORDS, write(tmp_path / "x", modules, lines))
    assert contents.unread and not contents.alone
    assert choose_framework(find_main(read_typed(WORDS)), contents).framework == "pytorch"


def test_all_modules_of_a_smaller_program_are_read(tmp_path: Path) -> None:
    contents = read_contents(WORDS, write(tmp_path / "x", MOST_FILES - 10))
    assert not contents.unread and contents.alone


def test_the_program_itself_is_read_however_large_it_is(tmp_path: Path) -> None:
    (tmp_path / "pretrain.py").write_text("import torch\n#" + "x" * MOST_BYTES)
    assert not read_contents(WORDS, tmp_path).unread


def test_a_file_is_read_once_for_all_questions(tmp_path: Path) -> None:
    directory, sources = write(tmp_path / "x", 20), Sources()
    first = count_steps(lambda: read_contents(WORDS, directory, sources=sources))
    assert count_steps(lambda: read_contents(WORDS, directory, sources=sources)) < first / 4


def test_the_program_of_another_tools_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "x", 40))
    Path("run.sh").write_text("python pretrain.py\n")
    count_init("--from", "run.sh")  # what is imported at the first call is no reading
    assert count_init("--from", "run.sh") < 1.3 * count_init("--", *WORDS)
