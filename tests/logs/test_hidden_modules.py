"""A user's file with the name of a module of Python is told where an error surely comes from it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.follow.hidden_files import explain_hidden
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.logs.hidden_modules import Hidden, list_files, read_doubtful, read_hidden
from paddock.words.phrases import render

OWN, PYTHON, SITE = "/home/me/job", "/usr/lib/python3.11", "/env/lib/python3.11/site-packages"
TRAIN = f"{OWN}/train.py"
FILE = f"{OWN}/random.py"


@pytest.mark.parametrize(
    ("error", "files", "found"),
    [
        # Python 3.13
        ("AttributeError: module 'random' has no attribute 'seed' (consider renaming '/home/me/job/random.py' since it "
         "has the same name as the standard library module named 'random' and prevents importing that standard library "
         "module)", (TRAIN,), Hidden("random", FILE)),
        # Python 3.11
        ("ModuleNotFoundError: No module named 'http.client'; 'http' is not a package", (TRAIN, f"{PYTHON}/urllib.py"),
         Hidden("http", "http.py")),
        ("ModuleNotFoundError: No module named 'mylib.x'; 'mylib' is not a package", (TRAIN,), None),
        (f"ImportError: cannot import name 'randint' from 'random' ({FILE})", (), Hidden("random", FILE)),
        ("ImportError: cannot import name 'Random' from partially initialized module 'random' (most likely due to a "
         "circular import) (/home/me/job/random.py)", (), Hidden("random", FILE)),
        (f"ImportError: cannot import name 'Mapping' from 'collections' ({PYTHON}/collections/__init__.py)", (), None),
        (f"ImportError: cannot import name 'x' from 'random' ({PYTHON}/random.py)", (), None),
        ("ImportError: cannot import name 'x' from 'models' (/home/me/job/models.py)", (), None),
        ("AttributeError: partially initialized module 'random' has no attribute 'seed' (most likely due to a circular "
         "import)", (TRAIN, FILE), Hidden("random", FILE)),
        ("AttributeError: module 'random' has no attribute 'seed'", (TRAIN, FILE), Hidden("random", FILE)),
        ("AttributeError: module 'time' has no attribute 'clock'", (TRAIN,), None),  # of an older Python
        # a library has asked for it
        ("ValueError: no data", (TRAIN, f"{SITE}/torch/__init__.py", FILE), Hidden("random", FILE)),
        ("ValueError: no data", (TRAIN, "<frozen importlib._bootstrap>", FILE), Hidden("random", FILE)),
        # the user has asked for it, and may have meant it
        ("ValueError: no data", (TRAIN, FILE), None),
        ("ValueError: no data", (TRAIN, f"{SITE}/torch/random.py", f"{PYTHON}/random.py"), None),
        ("ValueError: no data", (f"{SITE}/torch/run.py", f"{OWN}/main.py"), None),
    ],
)  # fmt: skip
def test_a_module_is_told_as_hidden_where_it_surely_is(
    error: str, files: tuple[str, ...], found: Hidden | None
) -> None:
    assert read_hidden(error, files) == found


def test_only_modules_of_python_are_doubtful() -> None:
    assert read_doubtful("AttributeError: module 'logging' has no attribute 'getLogger'") == "logging"
    assert read_doubtful("AttributeError: module 'paddle' has no attribute 'fluid'") == ""


def test_the_frames_are_those_of_the_last_traceback() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/a.py", line 1, in <module>\nValueError\n'
        'Traceback (most recent call last):\n[rank0]:   File "/b.py", line 1, in <module>\n  File "/c.py", line 2\n'
    )
    assert list_files(text) == ("/b.py", "/c.py")


@pytest.mark.parametrize("place", ["work", "scripts"])
def test_a_file_that_no_frame_shows_is_looked_for_where_python_looks(tmp_path: Path, place: str) -> None:
    """In the directory of the script, and in the working directory."""
    error, said = "AttributeError: module 'logging' has no attribute 'getLogger'", tmp_path / place / "logging.py"
    for name in ("work", "scripts", "elsewhere"):
        (tmp_path / name).mkdir()
    said.write_text("")
    job = KINDS[RESOURCE].read_job(build_manifest())
    job = replace(job, annotations={**job.annotations, WORKING_DIRECTORY_ANNOTATION: str(tmp_path / "work")})
    text = f'Traceback (most recent call last):\n  File "{tmp_path}/scripts/train.py", line 1, in <module>\n{error}\n'
    found = explain_hidden(job, error, text, local=True)
    assert found is not None
    told = "is your own, has the name of Python's module logging, and is imported in its place: rename it"
    assert render(found) == f"{said} {told}"
    assert explain_hidden(job, error, text, local=False) is None  # the files of a cluster are not here
    said.unlink()
    assert explain_hidden(job, error, text, local=True) is None
