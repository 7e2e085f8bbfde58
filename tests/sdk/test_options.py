"""What a Python call is given, checked as the command line's options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.sdk.options import (
    choose_python,
    read_count,
    read_cpus,
    read_data,
    read_file,
    read_framework,
    read_memory,
    read_name,
    read_names,
    read_note,
    read_path,
    read_resume,
    read_script,
    read_seconds,
    read_tags,
    read_variables,
    read_words,
)

CPUS = "a number above 0 is wanted, such as 2, 0.5 or 500m"
MEMORY = "A number with Mi, Gi, M or G is wanted, such as 4Gi or 512Mi"
NAME = "small letters, digits, '-' and '.', at most 253"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: read_count("workers", 0, 1), "workers: found 0; a whole number from 1 is wanted"),
        (lambda: read_count("workers", "2", 1), "workers: found '2'; a whole number from 1 is wanted"),
        (lambda: read_count("gpus", True, 1), "gpus: found True; a whole number from 1 is wanted"),
        (lambda: read_cpus("2c"),
         "cpus: '2c' is no number of CPUs; did you mean 2? A number is wanted, such as 2, 0.5 or 500m"),
        (lambda: read_cpus(0), "cpus: '0' is no number of CPUs: " + CPUS),
        (lambda: read_cpus(float("nan")), "cpus: 'nan' is no number of CPUs: " + CPUS),
        (lambda: read_cpus([2]), 'cpus: found [2]; a text is wanted, as in "4Gi" or "500m"'),  # type: ignore[arg-type]
        (lambda: read_memory("4GB"), "memory: '4GB' is no amount of memory; did you mean 4G? " + MEMORY),
        (lambda: read_memory(4), 'memory: found 4; a text is wanted, as in "4Gi" or "500m"'),  # type: ignore[arg-type]
        (lambda: read_name("queue", "Team A"), "queue: 'Team A' is no name of an object: " + NAME),
        (lambda: read_name("priority", ""), "priority: '' is no name of an object: " + NAME),
        (lambda: read_resume(0), "resume: found 0; a whole number from 1 is wanted"),
        (lambda: read_resume("3"), "resume: found '3'; a whole number from 1 is wanted"),  # type: ignore[arg-type]
        (lambda: read_framework("torch"), "framework: found 'torch'; paddle, pytorch, jax or none is wanted"),
        (lambda: read_seconds("timeout", "x"), "timeout: found 'x'; a number of seconds above 0 is wanted"),
        (lambda: read_seconds("timeout", -1), "timeout: found -1; a number of seconds above 0 is wanted"),
        (lambda: read_seconds("timeout", 0), "timeout: found 0; a number of seconds above 0 is wanted"),
        (lambda: read_seconds("timeout", True), "timeout: found True; a number of seconds above 0 is wanted"),
        (lambda: read_seconds("timeout", float("nan")), "timeout: found nan; a number of seconds above 0 is wanted"),
        (lambda: read_seconds("timeout", float("inf")), "timeout: found inf; a number of seconds above 0 is wanted"),
        (lambda: read_script(None, ()), "script: found None; a file, or a list of words, is wanted"),  # type: ignore[arg-type]
        (lambda: read_script(["python", None], ()), "args: found None; texts and numbers are wanted"),  # type: ignore[list-item]
        (lambda: read_path("requirements", "/nowhere/r.txt", directory=False),
         "requirements: /nowhere/r.txt is not there"),
        (lambda: read_path("requirements", "/", directory=False), "requirements: / is not a file"),
        (lambda: read_path("workdir", __file__, directory=True), f"workdir: {__file__} is not a directory"),
        (lambda: read_variables({"A=B": "1"}), "env: found 'A=B'; the name of a variable is wanted, as in LEVEL"),
        (lambda: read_data(["words:/data"]),
         """data: found ['words:/data']; names with paths are wanted, as in {"imagenet": "/data"}"""),
        (lambda: read_names("secrets", "TOKEN"), "secrets: found 'TOKEN'; a list is wanted"),
        (lambda: read_tags("a"), "tags: found 'a'; a list is wanted"),
        (lambda: read_tags(["a,b"]),
         "tags: a tag has letters, digits and signs but no commas and no control characters: 'a,b'"),
        (lambda: read_note("x" * 4001), "note: a note has at most 4000 characters, this one has 4001"),
        (lambda: read_words("--lr 1"), "args: found '--lr 1'; a list is wanted"),
        (lambda: read_words([None]), "args: found None; texts and numbers are wanted"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(call: Callable[[], object], told: str) -> None:
    with pytest.raises(UserError) as error:
        call()
    assert str(error.value) == told


def test_values_become_what_the_command_line_takes() -> None:
    assert read_words(["--lr", 0.1, 3, Path("/data"), "a b"]) == ("--lr", "0.1", "3", "/data", "a b")
    assert read_variables({"A": "1=2", "B": ""}) == ("A=1=2", "B=")
    assert read_data({"words": "/words", "imagenet": "/data"}) == ("words:/words", "imagenet:/data")
    assert read_data(None) == ()
    assert (read_tags(["a", " b  c", "a"]), read_note(" x\r\ny ")) == (("a", "b c"), "x\ny")
    assert read_count("workers", None, 1) is None
    assert [read_resume(value) for value in (True, False, 1, 3)] == ["true", "", "1", "3"]
    assert (read_seconds("timeout", None), read_seconds("timeout", 1.5)) == (None, 1.5)
    assert read_path("workdir", "/", directory=True) == "/"
    assert read_file("requirements", "none") == "none"


@pytest.mark.parametrize(
    ("script", "file", "words"),
    [
        ("train.py", None, ("python", "train.py", "x")),
        (Path("a/train.sh"), None, ("bash", "a/train.sh", "x")),
        ("./program", None, ("./program", "x")),
        ("job.yaml", "job.yaml", ("x",)),
        (["python", "-m", "train"], None, ("python", "-m", "train", "x")),
    ],
)
def test_a_script_is_started_by_its_ending(script: str, file: str | None, words: tuple[str, ...]) -> None:
    assert read_script(script, ("x",)) == (file, words)


def test_a_local_file_is_started_by_the_name_that_every_machine_has() -> None:
    assert read_script("train.py", (), choose_python(local=True)) == (None, ("python3", "train.py"))
    assert read_script("train.py", (), choose_python(local=False)) == (None, ("python", "train.py"))
