"""Which files of a program's directory Python takes first: files on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.submit.script.imports import find_hiding
from paddock.launches.reading import find_main, read_typed


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("torch.py", "cuda.py", "src/random.py", "src/train.py", "src/numpy/__init__.py", "src/json/data.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("python train.py", {"torch": "torch.py"}),
        ("python torch.py", {"torch": "torch.py"}),
        ("torchrun --nproc_per_node=2 train.py", {"torch": "torch.py"}),
        ("python -m torch.distributed.run src/train.py", {"numpy": "src/numpy/", "random": "src/random.py"}),
        ("python -m train", {"torch": "torch.py"}),
        ("python -c 1", {"torch": "torch.py"}),
        ("python src/train.py", {"numpy": "src/numpy/", "random": "src/random.py"}),
        ("python src", {"numpy": "src/numpy/", "random": "src/random.py"}),
        ("python -W ignore -u train.py", {"torch": "torch.py"}),
        ("python -XI=1 train.py", {"torch": "torch.py"}),
        ("python -P train.py", {}),
        ("python -uI train.py", {}),
        ("bash train.sh", {}),
        ("./train", {}),
        ("python there/is/no.py", {}),
    ],
)
def test_files_beside_the_program_that_hide_modules(directory: Path, words: str, found: dict[str, str]) -> None:
    assert find_hiding(find_main(read_typed(words.split())).program, directory) == found
