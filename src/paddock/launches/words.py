"""One word of a command: text, and unknown pieces in it. Frozen values; pure."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from paddock.launches.budget import MOST_LETTERS, Budget, Spent


@dataclass(frozen=True, slots=True)
class Unknown:
    """A piece that is filled in later: by a shell, by Kubernetes, by a template."""

    typed: str
    """As it was written: `${PORT}`, `$(hostname -i)`, `*.py`."""
    otherwise: str | None = None
    """What it is where nothing sets it: `y` of `${x:-y}`."""


Piece = str | Unknown
_SHOWN = 60
"""Letters of a word that is too long to be read."""


@dataclass(frozen=True, slots=True)
class Word:
    """What a program gets as one argument."""

    pieces: tuple[Piece, ...] = ()
    """Without empty texts, and no two texts beside each other."""
    line: int = 0
    """Where it stands in its text, from 1; 0 where there is none."""
    splits: bool = False
    """It may become several words or none: an unquoted variable, `"$@"`, a pattern of files."""

    @property
    def text(self) -> str | None:
        """The text; None where a piece is unknown."""
        if not self.pieces:
            return ""
        only = self.pieces[0]
        return only if len(self.pieces) == 1 and isinstance(only, str) and not self.splits else None

    @property
    def typed(self) -> str:
        """The text, with unknown pieces as they were typed: for people."""
        return "".join(piece if isinstance(piece, str) else piece.typed for piece in self.pieces)

    @property
    def beginning(self) -> str:
        """The known text before the first unknown piece."""
        first = self.pieces[0] if self.pieces else ""
        return first if isinstance(first, str) else ""

    @property
    def usual(self) -> str | None:
        """The text, with what unknown pieces are where nothing sets them; None where that is not known either."""
        found = [piece if isinstance(piece, str) else piece.otherwise for piece in self.pieces]
        return "".join(map(str, found)) if None not in found else None

    @property
    def program(self) -> str:
        """As the name of a program: the text with its defaults, else what is known behind its last slash: `python` of
        `$VENV/bin/python`. Empty where neither is known."""
        usual = self.usual
        if usual is not None:
            return usual
        last = self.pieces[-1]
        return last.rpartition("/")[2] if isinstance(last, str) and "/" in last else ""

    def partition(self, mark: str) -> tuple[Word, bool, Word]:
        """As `str.partition`, at the first known `mark`: what is before, whether there is one, what is behind."""
        for place, piece in enumerate(self.pieces):
            if isinstance(piece, str) and mark in piece:
                before, _, after = piece.partition(mark)
                first = join_pieces([*self.pieces[:place], before])
                # what a variable behind the mark splits into does not change what stands before it
                splits = self.splits and any(isinstance(each, Unknown) for each in first)
                return (
                    replace(self, pieces=first, splits=splits),
                    True,
                    replace(self, pieces=join_pieces([after, *self.pieces[place + 1 :]])),
                )
        return self, False, Word(line=self.line)

    def without(self, prefix: str) -> Word:
        """Without a known text that it begins with."""
        return replace(self, pieces=join_pieces([self.beginning.removeprefix(prefix), *self.pieces[1:]]))


NOTHING = Word()
"""The empty word."""


def build_word(text: str, line: int = 0) -> Word:
    """A word of which all is known."""
    return Word((text,) if text else (), line)


def join_pieces(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Without empty texts, and with one for texts beside each other."""
    found: list[Piece] = []
    for is_text, run in itertools.groupby(pieces, lambda piece: isinstance(piece, str)):
        if not is_text:
            found += run
        elif text := "".join(map(str, run)):
            found.append(text)
    return tuple(found)


def join_within(pieces: Sequence[Piece], typed: int, budget: Budget) -> tuple[Piece, ...]:
    """As `join_pieces`. `typed`: letters of what was typed; what is longer than twice that and MOST_LETTERS is
    unknown."""
    letters = count_letters(pieces)
    if letters > max(MOST_LETTERS, 2 * typed):
        return (Unknown(f"{Word(tuple(pieces[:9])).typed[:_SHOWN]}…"),)
    budget.copy(letters, len(pieces))
    return join_pieces(pieces)


def count_letters(pieces: Iterable[Piece]) -> int:
    """The letters, and one for each piece."""
    return sum(len(piece if isinstance(piece, str) else piece.typed) + 1 for piece in pieces)


def charge_pieces(pieces: Sequence[Piece], budget: Budget) -> Sequence[Piece]:
    """The same, charged as a copy of them is."""
    budget.copy(count_letters(pieces), len(pieces))
    return pieces


def read_number(text: str | None) -> int | None:
    """The number of a text in digits; None for another text, and for one that no program takes."""
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else None


def read_argument(text: str, variables: Mapping[str, Word], budget: Budget, *, is_script: bool = False) -> Word:
    """A word of a container's `command` or `args`: Kubernetes puts the values of the container's variables in the place
    of `$(NAME)`, and `$` in that of `$$`. A name that the template does not set may be Paddock's, so it is unknown; in
    a text that a shell reads it is left, as it is a substitution there. Beyond the budget the word is unknown."""
    try:
        return _read_argument(text, variables, budget, is_script)
    except Spent:
        return Word((Unknown(text[:_SHOWN]),))


def _read_argument(text: str, variables: Mapping[str, Word], budget: Budget, is_script: bool) -> Word:
    pieces: list[Piece] = []
    place = 0
    for start, end, name in _find_references(text):
        if is_script and name is not None and name not in variables:
            continue
        value = ("$",) if name is None else variables[name].pieces if name in variables else (Unknown(text[start:end]),)
        budget.spend(1)
        pieces += [text[place:start], *charge_pieces(value, budget)]
        place = end
    return Word(join_within([*pieces, text[place:]], len(text), budget)) if place else build_word(text)


def _find_references(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Where `$(NAME)` stands, and `$$`, which has no name, as `kube.downward.expand` reads them. One pass, also of a
    text in which nothing is closed."""
    place, is_closed = text.find("$"), True
    while place >= 0:
        end = place + 1
        if text.startswith("$", end):
            yield place, (end := place + 2), None
        elif is_closed and text.startswith("(", end):
            close = text.find(")", end)
            is_closed = close >= 0
            if is_closed:
                yield place, close + 1, text[end + 1 : close]
                end = close + 1
        place = text.find("$", end)


def split_pieces(pieces: Sequence[Piece], line: int) -> Iterator[Word]:
    """The words of an unquoted expansion, which a shell splits at blanks."""
    current: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Unknown):
            current.append(piece)
            continue
        for found in re.finditer(r"([ \t\n]+)|[^ \t\n]+", piece):
            if not found[1]:
                current.append(found[0])
            elif current:
                yield _build_split(current, line)
                current = []
    if current:
        yield _build_split(current, line)


def _build_split(pieces: Sequence[Piece], line: int) -> Word:
    return Word(join_pieces(pieces), line, splits=any(isinstance(piece, Unknown) for piece in pieces))


def show_words(words: Iterable[Word]) -> str:
    """As one would type them; unknown pieces stand as they were typed."""
    return " ".join(map(_show, words))


def _show(word: Word) -> str:
    text = word.text
    if text is not None:
        return shlex.quote(text)
    plain = all(shlex.quote(piece) == piece for piece in word.pieces if isinstance(piece, str))
    return word.typed if plain else f'"{word.typed}"'
