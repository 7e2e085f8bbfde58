"""A notebook that a typed command runs is read as a script is: what its cells import decides the framework."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddock.cli.submit.script.imports import read_contents
from paddock.launches.reading import read_typed
from paddock.script.kinds import Choice, choose_framework

NUMPY = ["%matplotlib inline\n", "import numpy as np\n", "!nvidia-smi\n", "print(np.pi)"]


def write(path: Path, *sources: object, language: str = "python") -> None:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    text = {"cell_type": "markdown", "source": ["import tensorflow, and paddle"]}
    path.write_text(json.dumps({"cells": [text, *cells], "metadata": {"kernelspec": {"language": language}}}))


def choose(directory: Path, command: str) -> Choice:
    words = command.split()
    return choose_framework(read_typed(words).launches[0], read_contents(words, directory))


@pytest.mark.parametrize(
    "command",
    [
        "papermill a.ipynb out.ipynb -p steps 40",
        "python -m papermill a.ipynb out.ipynb",
        ".venv/bin/papermill a.ipynb out.ipynb",
        "jupyter nbconvert --to notebook --execute a.ipynb",
        "jupyter-execute a.ipynb",
        "python3 -m jupyter nbconvert --execute --to html a.ipynb",
    ],
)
def test_a_notebook_without_a_framework_has_none_added(command: str, tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", NUMPY)
    assert choose(tmp_path, command) == Choice("none")


@pytest.mark.parametrize(
    ("source", "framework"),
    [
        ("import torch", "pytorch"),
        (["import os\n", "import paddle"], "paddle"),
        ("%%time\nimport jax", "jax"),
        ("if True:\n    %pip install torch\nimport jax", "jax"),
        ("from net import Net", "pytorch"),
    ],
)
def test_a_notebook_trains_with_what_its_cells_import(source: object, framework: str, tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", NUMPY, source)
    (tmp_path / "net.py").write_text("import torch\n")
    assert choose(tmp_path, "papermill a.ipynb out.ipynb") == Choice(framework)


def test_cells_of_other_languages_import_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", NUMPY, "%%bash\nimport torch\ncd x && make", "%%writefile net.py\nimport paddle")
    assert choose(tmp_path, "papermill a.ipynb out.ipynb") == Choice("none")


@pytest.mark.parametrize("text", ["", "[]", "no notebook", "[" * 100_000, '{"cells": 3}', '{"cells": [3, {}]}'])
def test_what_is_no_notebook_is_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    choice = choose(tmp_path, "papermill a.ipynb out.ipynb")
    assert choice.framework == ("none" if text.endswith("{}]}") else "paddle")


@pytest.mark.parametrize(
    "command", ["papermill s3://bucket/a.ipynb out.ipynb", "papermill $1 out.ipynb", "jupyter lab"]
)
def test_a_notebook_that_is_not_here_leaves_it_open(command: str, tmp_path: Path) -> None:
    choice = choose(tmp_path, command)
    assert choice.framework == "paddle"
    assert "nothing tells which framework" in str(choice.doubt)


def test_one_of_another_language_leaves_it_open(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", "library(torch)", language="R")
    assert "a.ipynb is not known here" in str(choose(tmp_path, "papermill a.ipynb out.ipynb").doubt)


def test_a_script_of_that_name_is_the_users(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", "import torch")
    (tmp_path / "papermill.py").write_text("import paddle\n")
    assert choose(tmp_path, "python papermill.py a.ipynb") == Choice("paddle")
