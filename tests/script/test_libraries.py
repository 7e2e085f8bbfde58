"""Which framework modules and packages stand for."""

from __future__ import annotations

import pytest

from paddock.script.libraries import COMMANDS, MODULES, OF_NONE, find_frameworks, find_module, is_known, write_plain

ROWS: list[tuple[str, tuple[str, ...]]] = [
    ("torch numpy", ("pytorch",)),
    ("lightning", ("pytorch",)),
    ("ultralytics cv2", ("pytorch",)),
    ("paddlenlp", ("paddle",)),
    ("ppdet", ("paddle",)),
    ("optax flax", ("jax",)),
    # the framework itself counts more than a library on another
    ("paddle transformers", ("paddle",)),
    ("jax diffusers", ("jax",)),
    ("tensorflow transformers", ()),
    ("paddle torch", ("paddle", "pytorch")),
    ("sklearn xgboost keras pandas", ()),
    ("ray pyspark openai anthropic", ()),
    ("mindspore", ()),
    ("ray torch", ("pytorch",)),
    ("verl ray", ("pytorch",)),
    ("swift modelscope", ("pytorch",)),
    ("", ()),
]


@pytest.mark.parametrize(("modules", "frameworks"), ROWS)
def test_the_framework_of_modules(modules: str, frameworks: tuple[str, ...]) -> None:
    assert find_frameworks(modules.split()) == frameworks


@pytest.mark.parametrize(
    ("package", "module"),
    [("scikit-learn", "sklearn"), ("opencv-python-headless", "cv2"), ("paddlepaddle-gpu", "paddle"), ("six", "six"),
     ("pytorch-lightning", "pytorch_lightning"), ("mosaicml", "composer")],
)  # fmt: skip
def test_the_module_of_a_package(package: str, module: str) -> None:
    assert find_module(package) == module


@pytest.mark.parametrize(
    ("module", "known"),
    [
        ("json", True),
        ("torch", True),
        ("sklearn", True),
        ("my_trees", True),
        ("ray", True),
        ("mindspore", True),
        ("keras_cv", True),
        ("openai", True),
        ("nobody_knows", False),
    ],
)
def test_what_is_known_of_a_module(module: str, known: bool) -> None:
    assert is_known(module, {write_plain("My-Trees")}) is known


def test_no_module_stands_for_two_and_commands_stand_for_known_modules() -> None:
    tables = [OF_NONE, *(each for tables in MODULES.values() for each in (tables.own, tables.built_on))]
    assert sum(map(len, tables)) == len(frozenset().union(*tables))
    assert all(is_known(module, frozenset()) for module in COMMANDS.values())
