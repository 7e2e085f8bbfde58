"""What a script's text tells without running it."""

from __future__ import annotations

import pytest

from paddock.jobs.script.source import LARGEST, read_source


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import paddle.nn as nn", {"paddle"}),
        ("import torch", {"torch"}),
        ("from torch.nn import Linear", {"torch"}),
        ("import torch, paddle", {"torch", "paddle"}),
        ("def f():\n    import torch.distributed", {"torch"}),
        ("from . import torch", set()),
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
