"""Which test files come first, which share a worker, and which are not opened."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.order import ON_NODE, find_firsts, is_left_out, rank, share

TESTS = Path(__file__).resolve().parents[1]


def test_all_that_open_the_one_node_are_run_by_one_worker() -> None:
    opens = re.compile(r"with (open_node|open_real_cluster)\(")
    found = [
        path for name in ("test_*.py", "conftest.py") for path in TESTS.rglob(name) if opens.search(path.read_text())
    ]
    assert found
    for path in found:
        assert share(str(path.relative_to(TESTS.parent))) == "the real node", path
    assert share("tests/kubernetes/test_shards.py") == "tests/kubernetes/test_shards.py"
    assert all((TESTS / each).exists() for each in ON_NODE)


def test_what_shares_the_node_comes_first_and_each_folder_of_it_stands_together() -> None:
    files = ["kube/test_meta.py", "kubernetes/test_datasets.py", "kubernetes/test_shards.py",
             "kubernetes/on_node/test_outputs.py", "kubernetes/on_node/test_training.py"]  # fmt: skip
    ranked = sorted((TESTS / each for each in files), key=rank)
    assert [str(each.relative_to(TESTS)) for each in ranked] == [
        "kubernetes/on_node/test_outputs.py", "kubernetes/on_node/test_training.py", "kubernetes/test_datasets.py",
        "kubernetes/test_shards.py", "kube/test_meta.py",
    ]  # fmt: skip
    assert rank(Path("/elsewhere/test_mine.py")) == rank(TESTS / "kube/test_meta.py")


@pytest.mark.parametrize(
    ("expression", "line", "left_out"),
    [
        ("not slow and not kubernetes", "pytestmark = pytest.mark.slow", True),
        ("not slow and not kubernetes", "pytestmark = [pytest.mark.timeout(600), pytest.mark.kubernetes]", True),
        ("not slow and not kubernetes", "pytestmark = pytest.mark.timeout(600)", False),
        ("not slow and not kubernetes", "@pytest.mark.slow", False),
        ("slow and not kubernetes", "pytestmark = pytest.mark.slow", False),
        ("slow and not kubernetes", "pytestmark = [pytest.mark.slow, pytest.mark.kubernetes]", True),
        ("slow", "pytestmark = pytest.mark.kubernetes", False),
        ("", "pytestmark = pytest.mark.slow", False),
    ],
)
def test_a_file_is_not_opened_if_the_marks_of_all_its_tests_are_left_out(
    tmp_path: Path, expression: str, line: str, left_out: bool
) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(f"import pytest\n\n{line}\ndef test_it(): ...\n")
    assert is_left_out(file, expression) is left_out


def test_a_line_that_gives_marks_to_all_tests_of_a_file_stands_in_no_text_of_it() -> None:
    """Such a line in the program of a test would be read as the file's own mark, and fail the program."""
    line = re.compile(r"^pytestmark\b", re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    found = {path: len(line.findall(text)) for path, text in texts.items() if line.search(text)}
    assert found
    assert {path: count for path, count in found.items() if count != count_marks(texts[path])} == {}


def count_marks(text: str) -> int:
    """The statements at the top of a module that set its `pytestmark`."""
    assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    return sum([*map(ast.unparse, node.targets)] == ["pytestmark"] for node in assigned)


def test_a_folder_and_a_file_that_is_no_python_are_looked_into(tmp_path: Path) -> None:
    assert not is_left_out(tmp_path, "not slow")
    assert not is_left_out(tmp_path / "golden.txt", "not slow")


def test_of_each_folder_the_first_file_that_is_not_left_out_stands_for_it(tmp_path: Path) -> None:
    slow = "import pytest\npytestmark = pytest.mark.slow\n"
    files = {"deep/a/b/test_a.py": "", "deep/a/test_z.py": "", "high/a/test_a.py": "", "high/test_a.py": slow,
             "high/test_b.py": "", "high/test_c.py": "", "none/test_a.py": slow, "support/kept.py": "",
             "test_house.py": ""}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [str(path.relative_to(tmp_path)) for path in find_firsts(tmp_path, "not slow")]
    assert found == ["deep/a/test_z.py", "high/test_b.py"]


def test_each_folder_of_ours_has_a_file_for_the_bare_machine_but_those_of_a_longer_tier() -> None:
    light = "not paddle and not slow and not kubernetes and not browser"
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    found = {path.relative_to(TESTS).parts[0] for path in find_firsts(TESTS, light)}
    assert folders - found == {"browser", "clients"}
