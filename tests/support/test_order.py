"""Which test files come first, and which share a worker."""

from __future__ import annotations

import re
from pathlib import Path

from support.order import ON_NODE, rank, share

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
