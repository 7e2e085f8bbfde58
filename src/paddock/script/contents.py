"""What the files of a typed command tell of it: what its programs import, and what was not read. Frozen values.

`cli.submit.script.imports` reads the files; `kinds` decides by them which framework trains.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.launches.launch import Launch
from paddock.launches.launchers import BY_PROGRAM, Launcher, find_by_module
from paddock.script.joining import Joins


@dataclass(frozen=True, slots=True)
class Contents:
    """What is known of the programs that a command starts, those of its shell scripts too."""

    imports: frozenset[str] = frozenset()
    """The first parts of the modules that they import."""
    launches: tuple[Launch, ...] = ()
    """What they start, in their order."""
    unread: tuple[str, ...] = ()
    """Programs of which nothing is known (`make`), and modules that are neither a file here nor known
    (`script.libraries`); each may bring a framework."""
    joins: Joins = Joins.NEVER
    """What they do about a process group of PyTorch, as far as they were read."""
    alone: bool = False
    """All of them was read, and nothing in it could make it one of a group of processes."""
    requirements: frozenset[str] = frozenset()
    """The modules of the packages that the user names: of -r, else of pyproject.toml or requirements.txt of the
    directory."""
    asked: frozenset[str] = frozenset()
    """The variables that shells and programs read by name and that the command does not set for them."""
    sets: frozenset[str] | None = None
    """The variables that are set for every Python program, by the command or by the program itself; None where none
    is started."""

    @property
    def launchers(self) -> tuple[Launcher, ...]:
        """The launchers among them, and those that a command of an unknown program names; each once."""
        found = (each.launcher or BY_PROGRAM.get(each.starts) or find_by_module(each.starts) for each in self.launches)
        return tuple({each.name: each for each in found if each is not None}.values())

    @property
    def families(self) -> tuple[str, ...]:
        """The frameworks of the launchers, each once."""
        return tuple(dict.fromkeys(each.family for each in self.launchers if each.family))
