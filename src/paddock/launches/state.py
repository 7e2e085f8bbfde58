"""What a shell knows at a place of its script: variables, functions, arguments, its directory. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.launches.budget import MOST_LETTERS, Budget
from paddock.launches.words import Unknown, Word, count_letters, join_pieces, join_within

Value = Word | tuple[Word, ...]
"""A variable's text, or the words of an array."""


@dataclass(slots=True)
class State:
    variables: dict[str, Value] = field(default_factory=dict)
    """Those of which something is known; any other may be set from outside."""
    exported: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)
    """Names that are surely not set."""
    arguments: tuple[Word, ...] | None = None
    """`$1`, `$2`, …; None where they are not known."""
    name: str = ""
    """`$0`: the script as it was started; empty where it is not known."""
    file: str = ""
    """`$BASH_SOURCE`: the file in which the text stands, as it was named."""
    files: tuple[str, ...] = ()
    """The paths of the files that are being read here, as `locate` gives them: one of them that is named again would be
    read without an end."""
    start: str = ""
    """The absolute path of the directory where the script was started; empty where it is not known."""
    directory: Word | None = None
    """Where `cd` has led; None where the script was started."""
    stack: tuple[Word | None, ...] = ()
    """The directories to which `popd` leads back, the last first."""
    local_names: set[str] | None = None
    """Names that are the running function's own; None outside of one."""
    may_run: bool = False
    """Whether a condition decides if this place is reached, or how often."""
    is_conditional: bool = False
    """Whether a condition decides if this place is reached: in a loop alone it is."""
    exports_all: bool = False
    """`set -a`."""
    options: str = ""
    """Those with which the shell is started, as typed: `-e -o pipefail`."""
    is_open: bool = False
    """Whether a file that was not read, `. env.sh`, may have set any variable."""
    _environment: Mapping[str, Word] | None = None
    """`read_environment`, until something changes."""
    _unset: frozenset[str] | None = None
    """`read_unset`, until something changes."""

    def copy(self, *, may_run: bool = False, is_conditional: bool = False) -> State:
        return replace(
            self,
            variables=dict(self.variables),
            exported=set(self.exported),
            unset=set(self.unset),
            may_run=self.may_run or may_run or is_conditional,
            is_conditional=self.is_conditional or is_conditional,
        )

    @property
    def size(self) -> int:
        """What a copy of it costs: its names."""
        return len(self.variables) + len(self.exported) + len(self.unset)

    @property
    def changed(self) -> int:
        """What `read_environment` and `read_unset` cost: nothing until something changes."""
        exported = len(self.exported) if self._environment is None else 0
        return exported + (len(self.unset) if self._unset is None else 0)

    @property
    def place(self) -> str | None:
        """The absolute path of its directory; None where it is not known."""
        moved = self.directory.text if self.directory is not None else ""
        if moved is None or not (self.start or moved.startswith("/")):
            return None
        return posixpath.normpath(posixpath.join(self.start, moved))

    def move(self, to: Word, budget: Budget) -> None:
        """`cd`. A path that is too long, as many of them make, is unknown."""
        place = self.directory
        if place is not None and not (to.beginning or "/").startswith("/"):
            to = replace(to, pieces=join_within([*place.pieces, "/", *to.pieces], 0, budget))
        self.directory = to

    def locate(self, path: Word) -> str | None:
        """A path as it is seen from where the script was started, normalised; None where nobody knows it."""
        moved = self.directory.text if self.directory is not None else ""
        if not path.text or not (moved is not None or path.text.startswith("/")):
            return None
        return posixpath.normpath(posixpath.join(moved or "", path.text))

    def set(self, name: str, value: Value) -> None:
        """A value that is too large, as one that doubles itself becomes, is unknown."""
        self.variables[name] = value if _measure(value) <= MOST_LETTERS else Word((Unknown(f"${name}"),))
        self.unset.discard(name)
        self._environment = self._unset = None
        if self.exports_all:
            self.exported.add(name)

    def export(self, name: str) -> None:
        self.exported.add(name)
        self._environment = self._unset = None

    def forget(self, name: str, usual: str | None = None) -> None:
        """It is set, or not, to a text that nobody knows. `usual`: what it is where nothing unread sets it."""
        self.variables[name] = Word((Unknown(f"${name}", usual),))
        self.unset.discard(name)
        self._environment = self._unset = None

    def forget_all(self) -> None:
        """Something that was not read may have set any variable."""
        for name, value in list(self.variables.items()):
            if isinstance(value, Word):
                self.forget(name, value.usual)
            else:
                self.variables[name] = tuple(Word((Unknown(each.typed, each.usual),), each.line) for each in value)
        self.unset = set()
        self.is_open = True
        self._environment = self._unset = None

    def remove(self, name: str) -> None:
        self.variables.pop(name, None)
        self.exported.discard(name)
        self.unset.add(name)
        self._environment = self._unset = None

    def restore(self, names: Iterable[str], before: State) -> None:
        """What these names were before a function made them its own."""
        for name in names:
            if name in before.variables:
                self.variables[name] = before.variables[name]
            else:
                self.variables.pop(name, None)
            for own, others in ((self.exported, before.exported), (self.unset, before.unset)):
                own.discard(name)
                own |= {name} & others
        self._environment = self._unset = None

    def take(self, other: State) -> None:
        """What another state has come to."""
        self.arguments, self.stack = other.arguments, other.stack
        self.variables, self.exported, self.unset = other.variables, other.exported, other.unset
        self.directory, self.exports_all, self.is_open = other.directory, other.exports_all, other.is_open
        self._environment = self._unset = None

    def merge(self, ends: Sequence[State]) -> None:
        """What holds behind branches of which one has run: what they do not agree on is unknown. At least one."""
        before = dict(self.variables)
        for name in {each for end in ends for each in end.variables} | before.keys():
            values = [end.variables.get(name) for end in ends]
            if values[0] is None or any(value != values[0] for value in values):
                usual = {each.usual if isinstance(each, Word) else None for each in values}
                self.forget(name, usual.pop() if len(usual) == 1 else None)
            else:
                self.variables[name] = values[0]
        self._environment = self._unset = None
        self.exported = set.union(*(end.exported for end in ends))
        self.unset = set.intersection(*(end.unset for end in ends))
        self.is_open = any(end.is_open for end in ends)
        places = {end.directory for end in ends}
        self.directory = places.pop() if len(places) == 1 else Word((Unknown("$PWD"),))
        self.arguments = ends[0].arguments if all(end.arguments == ends[0].arguments for end in ends) else None
        self.stack = ends[0].stack if all(end.stack == ends[0].stack for end in ends) else ()

    def read_unset(self) -> frozenset[str]:
        """The names that are surely not set. The same set until something changes."""
        if self._unset is None:
            self._unset = frozenset(self.unset)
        return self._unset

    def read_environment(self) -> Mapping[str, Word]:
        """What a program gets; an array is never exported. The same mapping until something changes."""
        if self._environment is None:
            found = {name: self.variables.get(name, Word((Unknown(f"${name}"),))) for name in sorted(self.exported)}
            self._environment = {name: value for name, value in found.items() if isinstance(value, Word)}
        return self._environment


def _measure(value: Value) -> int:
    words = (value,) if isinstance(value, Word) else value
    return sum(1 + count_letters(word.pieces) for word in words)


def join_values(first: Value | None, more: Value, name: str) -> Value:
    """`NAME+=more`."""
    if isinstance(first, tuple) or isinstance(more, tuple):
        return (*_as_words(first, name), *_as_words(more, name))
    before = first.pieces if first is not None else (Unknown(f"${name}"),)
    return replace(more, pieces=join_pieces([*before, *more.pieces]))


def _as_words(value: Value | None, name: str) -> tuple[Word, ...]:
    if value is None:
        return (Word((Unknown(f"${{{name}[@]}}"),), splits=True),)
    return value if isinstance(value, tuple) else (value,)
