"""The programs that draw what trainings record: the files that each reads, and the packages that it is made of.

TensorBoard names its files `events.out.tfevents.SECONDS.HOST…`, VisualDL `vdlrecords.SECONDS.log` (or, by an argument
of its writer, `vdlrecords.NAME.log`); SECONDS is when the writer was made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paddock.environments.definition import Definition

_SECONDS = re.compile(r"\.([0-9]{10})\.")


@dataclass(frozen=True, slots=True)
class Tool:
    """One of the programs."""

    name: str
    """As `--with` takes it."""
    title: str
    pattern: re.Pattern[str]
    """Of the names of its files."""
    definition: Definition
    """What is installed for it, once for all boards of a user."""

    def reads(self, name: str) -> bool:
        return self.pattern.search(name) is not None


TENSORBOARD = Tool(
    "tensorboard",
    "TensorBoard",
    re.compile(r"(?:^|\.)tfevents\."),
    Definition(
        name="board-tensorboard",
        # It imports pkg_resources, which later setuptools do not have.
        requirements=("tensorboard>=2.16,<3", "setuptools<81"),
        verify="import tensorboard.program, tensorboard.default, tensorboard.backend.application",
    ),
)
VISUALDL = Tool(
    "visualdl",
    "VisualDL",
    re.compile(r"^vdl(?:records|graph)\..*\.log$"),
    Definition(
        name="board-visualdl",
        # Before 2.5.3 it needs a Flask-Babel and a protobuf that current Pythons have no wheels of.
        requirements=("visualdl>=2.5.3,<3",),
        verify="import visualdl.server.app",
    ),
)
TOOLS = {each.name: each for each in (TENSORBOARD, VISUALDL)}


def find_tool(name: str) -> Tool | None:
    """The program that reads a file of this name; None for one that neither reads. Pure."""
    return next((each for each in TOOLS.values() if each.reads(name)), None)


def read_begun(name: str) -> int | None:
    """When the writer of a file was made, in seconds since the epoch, by the file's name; None if it does not say.
    Pure."""
    found = _SECONDS.search(name)
    return int(found[1]) if found else None
