"""The simple commands of a shell script, and what of it was not followed, as values. Pure; `shell` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paddock.launches.words import Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """`2>&1`, `> out.log`."""

    operator: str
    """With the number of the stream, as typed: `2>&`."""
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    words: tuple[Word, ...]
    """At least one."""
    line: int
    """Where it begins, from 1; of a text in a word, the line of that word; 0 of words without a text."""
    environment: Mapping[str, Word] = field(default_factory=dict)
    """What is set for the program, as far as the script says it."""
    unset: frozenset[str] = frozenset()
    """Names that the script has surely unset."""
    redirections: tuple[Redirection, ...] = ()
    stdin: Word | None = None
    """The text of its here-document."""
    directory: Word | None = None
    """Where `cd` has led; None where the script was started."""
    may_run: bool = False
    """Whether a condition decides if it runs, or how often."""
    is_conditional: bool = False
    """Whether a condition decides if it runs: in a loop alone it does."""
    in_background: bool = False
    """Whether `&` stands behind it, and no `wait` further on."""
    piped: tuple[str, ...] = ()
    """The next programs behind its `|`, as typed."""
    is_filter: bool = False
    """It stands behind a `|` itself."""
    hidden_by: str = ""
    """What the shell surely ends as instead, whatever becomes of this: `| tee`, `echo done`."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What is there, and was not followed."""

    line: int
    text: str
    """At most 200 letters of it."""
    is_file: bool = False
    """A file that is not there; False for what the grammar does not know."""
    is_filled_in: bool = False
    """A file of which nobody knows which one it is: a shell fills in its path, or where `cd` leads."""
