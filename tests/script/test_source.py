"""What a script's text tells without running it."""

from __future__ import annotations

import pytest

from paddock.script.source import LARGEST, read_source


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import paddle.nn as nn", {"paddle"}),
        ("import torch", {"torch"}),
        ("from torch.nn import Linear", {"torch"}),
        ("import torch, paddle", {"torch", "paddle"}),
        ("def f():\n    import torch.distributed", {"torch"}),
        ("from . import torch", set()),
        ("from .torch import nn", set()),
        ("torch = 1", set()),
    ],
)
def test_what_it_imports(text: str, imports: set[str]) -> None:
    assert read_source(text.encode()).imports == imports


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("x = input()", True),
        ("import sys\nfor line in sys.stdin: pass", True),
        ("def input_size(): pass\ninput_size()", False),
        ("input = 3", False),
        ("# input()", False),
    ],
)
def test_whether_it_reads_standard_input(text: str, reads: bool) -> None:
    assert read_source(text.encode()).reads_stdin is reads


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        (b"x = 1\nfor:\n", 2, "for:"),
        (b"def f(:\n", 1, "def f(:"),
        (b"x = '\xff'\n", 1, ""),
        (b"a\0b", 1, ""),
        (b"  x = 1\n", 1, "x = 1"),
    ],
)
def test_a_mistake_of_syntax_has_its_line(text: bytes, line: int, shown: str) -> None:
    source = read_source(text)
    assert source.problem and source.line == line
    assert source.text.startswith(shown)


def test_of_what_is_too_large_or_too_deep_nothing_is_known() -> None:
    assert read_source(b"(" * (LARGEST + 1)).problem == ""
    deep = read_source(b"x = " + b"-" * 100_000 + b"1")
    assert deep.imports == frozenset()


def test_a_worker_that_waits_for_no_server_is_known() -> None:
    hasty, patient = read_source(b"fleet.init_worker()"), read_source(b"fleet.server_endpoints(); fleet.init_worker()")
    assert (hasty.starts_workers, hasty.waits) == (True, False)
    assert patient.starts_workers and patient.waits


def test_an_invalid_escape_is_no_warning_of_ours(recwarn: pytest.WarningsRecorder) -> None:
    assert read_source(rb"x = '\d'").problem == "" and list(recwarn) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('import os\nrank = os.environ["PADDLE_TRAINER_ID"]', 2),
        ('from os import environ\ndef main():\n    return int(environ["PADDLE_TRAINER_ID"])', 3),
        ('import os\nrank = int(os.getenv("PADDLE_TRAINER_ID"))', 2),
        ('import os\nrank = int(os.environ.get("PADDLE_TRAINER_ID"))', 2),
        ('import os\nrank = int(os.getenv("PADDLE_TRAINER_ID", "0"))', 0),
        ('import os\nrank = os.environ.get("PADDLE_TRAINER_ID")', 0),
        ('import os\nif role.is_worker():\n    rank = os.environ["PADDLE_TRAINER_ID"]', 0),
        ('import os\ntry:\n    rank = os.environ["PADDLE_TRAINER_ID"]\nexcept KeyError:\n    rank = 0', 0),
        ('import os\nos.environ["PADDLE_TRAINER_ID"] = "0"', 0),
        ('import os\nos.environ["PADDLE_TRAINER_ID"] = "0"\nrank = os.environ["PADDLE_TRAINER_ID"]', 0),
        ('import os\nos.environ.setdefault("PADDLE_TRAINER_ID", "0")\nrank = os.environ["PADDLE_TRAINER_ID"]', 0),
        ('import os\nrank = os.environ["PADDLE_TRAINERS_NUM"]', 0),
        ("x = " + "(" * 90 + "1" + ")" * 90, 0),
    ],
)
def test_where_a_rank_without_a_trainers_number_would_end(text: str, line: int) -> None:
    assert read_source(text.encode()).trainer_id == line


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ('with paddle.static.device_guard("gpu"):\n    pass', "gpu"),
        ('with device_guard("gpu:1"):\n    pass', "gpu:1"),
        ('with paddle.static.device_guard("cpu"):\n    pass', ""),
        ("with paddle.static.device_guard(device):\n    pass", ""),
    ],
)
def test_for_which_device_layers_are_marked(text: str, device: str) -> None:
    assert read_source(text.encode()).second_stage == device
