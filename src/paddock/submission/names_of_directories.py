"""A name that is made from a script belongs to the directory that used it first (decision 52). Pure.

Everybody's script is called train.py: two projects would replace each other's jobs, and their runs would be one
history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from paddock.script.names import build_name
from paddock.words.phrases import Phrase, phrase


def choose_name(name: str, directory: str, find_directory: Callable[[str], str]) -> str:
    """`train`, or `proj-train` where the last run of `train` is of another directory than this one, `/home/you/proj`;
    `proj-train-2` where that one is, too. `find_directory`: of the last run of a name, empty where none is known."""
    return next(each for each in _list_names(name, directory) if find_directory(each) in ("", directory))


def _list_names(name: str, directory: str) -> Iterator[str]:
    yield name
    own = build_name(f"{directory.rstrip('/').rpartition('/')[2] or 'root'}-{name}")
    yield own
    for number in count(2):
        yield f"{own}-{number}"


def explain_name(name: str, directory: str, chosen: str) -> Phrase:
    """Why a job is not called `name`. `directory`: that of the job of this name, as it is shown."""
    return phrase(
        "{name} is a job of {directory}: this one is called {chosen}, and --name gives it another name",
        name=name, directory=directory, chosen=chosen,
    )  # fmt: skip
