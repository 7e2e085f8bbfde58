"""What decides the framework of a command that is not the first: one behind a program that nobody knows, into which
nothing is put, and those of a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.submit.script.imports import read_contents
from paddock.launches.reading import find_main, read_typed
from paddock.script.behind import explain_behind
from paddock.script.kinds import choose_framework, find_kind
from paddock.script.request import ScriptRequest
from paddock.words.phrases import render

SEVERAL = ", and nothing is put into the command; each of the 2 workers is told of the others by variables"
ROWS = [
    ("doppler run -- python ddp.py", "pytorch", "doppler may start python: it is not read"),
    ("op run --env-file .env -- python3 -u ddp.py", "pytorch", "op may start python3: it is not read"),
    ("./wrap -- python -m ddp", "pytorch", "./wrap may start python: it is not read"),
    ("dotenv run -- python flow.py", "jax", "dotenv may start python: it is not read"),
    ("aws-vault exec p -- torchrun ddp.py", "pytorch", "aws-vault may start torchrun: it is not read"),
    ("aws-vault exec p -- torchrun", "pytorch", "aws-vault may start torchrun: it is not read"),
    ("wrap -- timeout 5 python -m paddle.distributed.launch x.py", "paddle", "wrap may start python: it is not read"),
    ("wrap -- python plain.py", "paddle", "wrap may start python: it is not read"),
    ("wrap --lr 0.1", "paddle", ""),
    ("wrap --python python3", "paddle", ""),
    ("grep -m1 python ddp.py", "none", ""),
    ("python ddp.py", "pytorch", ""),
    ("timeout 5 python ddp.py", "pytorch", ""),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "ddp.py").write_text("import torch\n")
    (tmp_path / "flow.py").write_text("import jax\n")
    (tmp_path / "plain.py").write_text("import numpy\n")
    (tmp_path / "wrap").write_bytes(b"\x7fELF")
    return tmp_path


@pytest.mark.parametrize(("typed", "framework", "said"), ROWS)
def test_it_tells_of_the_framework_and_is_said_not_to_be_read(
    typed: str, framework: str, said: str, directory: Path
) -> None:
    words = typed.split()
    contents = read_contents(words, directory)
    assert choose_framework(find_main(read_typed(words)), contents).framework == framework
    for workers, more in ((1, ""), (2, SEVERAL)):
        request = ScriptRequest(words, framework, workers=workers)
        found = [render(each) for each in explain_behind(request, contents.launches)]
        assert found == ([said + more] if said else [])
        if said:
            assert list(find_kind(request).build_command(request)) == words


@pytest.mark.parametrize(
    ("script", "framework"),
    [
        ("python plain.py \\ \n  --lr 0.1 --flag\n", "none"),
        ("export TORCH_HOME=/x NNODES=2\nset -x\n", "none"),
        ("python ddp.py \\ \n  --lr 0.1\n", "pytorch"),
        ("python plain.py \\ \n  lr 0.1\n", "paddle"),
    ],
)
def test_exports_and_options_of_a_script_decide_nothing(script: str, framework: str, directory: Path) -> None:
    (directory / "run.sh").write_text(script)
    words = ["bash", "run.sh"]
    assert choose_framework(find_main(read_typed(words)), read_contents(words, directory)).framework == framework
