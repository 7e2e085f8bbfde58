"""Files beside a program that hide a framework, or what it imports."""

from __future__ import annotations

import pytest

from paddock.script.hiding import NAMES, explain_hiding
from paddock.words.phrases import render

TORCH = "warning: torch.py hides the package torch, which train.py imports: give it another name"


@pytest.mark.parametrize(
    ("imports", "files", "said"),
    [
        ({"torch"}, ["torch.py"], [TORCH]),
        ({"torch"}, ["torch/"], [TORCH.replace("torch.py", "torch/")]),
        ({"paddle"}, ["paddle.py"], [TORCH.replace("torch", "paddle")]),
        ({"torch", "torchvision"}, ["torchvision.py"], [TORCH.replace("torch", "torchvision")]),
        # the framework imports it, whatever the program does
        (
            {"torch"},
            ["random.py", "numpy.py"],
            [
                "warning: numpy.py hides the module numpy, which PyTorch imports: give it another name",
                "warning: random.py hides the module random, which PyTorch imports: give it another name",
            ],
        ),
        (
            {"lightning"},
            ["queue.py"],
            ["warning: queue.py hides the module queue, which PyTorch imports: give it another name"],
        ),
        # what hides nothing that is imported
        ({"torch"}, ["paddle.py"], []),
        ({"paddle"}, ["torch.py", "torchvision.py"], []),
        ({"torch"}, ["torchvision.py"], []),
        ({"json"}, ["torch.py", "random.py"], []),
        (set(), ["random.py"], []),
    ],
)
def test_only_what_hides_something_imported_is_told(imports: set[str], files: list[str], said: list[str]) -> None:
    found = {file.removesuffix(".py").rstrip("/"): file for file in files}
    assert found.keys() <= NAMES
    assert [render(each) for each in explain_hiding("train.py", imports, found)] == said


@pytest.mark.parametrize("name", ["cuda", "utils", "model", "data", "train", "test", "code", "sys", "os", "nn"])
def test_names_of_everybodys_files_are_not_looked_for(name: str) -> None:
    assert name not in NAMES
