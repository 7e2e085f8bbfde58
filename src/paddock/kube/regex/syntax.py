"""Patterns in RE2's syntax, as trees. Left out: Unicode classes of scripts, such as `\\p{Greek}`.

Source: Go, regexp/syntax, with the flags of `regexp.Compile`. `PatternError` says what is wrong, in Go's words.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from enum import Enum

MOST_CHARACTERS = 10_000
"""Of a pattern; Go's own limits are on what a pattern compiles to."""
_MOST_REPEATS = 1_000
_MOST_DEPTH = 100
_LAST = 0x10FFFF


class PatternError(ValueError):
    """Not a pattern of RE2; the message has the wrong part."""


Ranges = tuple[tuple[int, int], ...]


Member = tuple[Ranges | str, bool]
"""Codes, or a category of Unicode (`L`, `Lu`); True: all characters but these."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character."""

    members: tuple[Member, ...]
    """It is out of these."""
    negated: bool = False
    """It is out of all others."""
    folded: bool = False
    """Capitals and small letters count as the same, in each member before all others than it are taken."""

    def has(self, char: str) -> bool:
        variants = _variants(char) if self.folded else (char,)
        return any(any(_is_in(one, what) for one in variants) is not rest for what, rest in self.members) is not (
            self.negated
        )


def _is_in(char: str, what: Ranges | str) -> bool:
    if isinstance(what, str):
        return unicodedata.category(char).startswith(what)
    return any(low <= ord(char) <= high for low, high in what)


class Boundary(Enum):
    """A place between two characters."""

    TEXT_BEGIN = "\\A"
    TEXT_END = "\\z"
    LINE_BEGIN = "^"
    LINE_END = "$"
    WORD = "\\b"
    NO_WORD = "\\B"


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`most` None: without end."""

    part: Node
    least: int
    most: int | None


Node = Chars | Boundary | Sequence | Choice | Repeat

_DIGIT: Ranges = ((0x30, 0x39),)
_SPACE: Ranges = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_PERL = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
_LETTERS: Ranges = ((0x41, 0x5A), (0x61, 0x7A))
_POSIX: dict[str, Ranges] = {
    "alnum": _DIGIT + _LETTERS, "alpha": _LETTERS, "ascii": ((0, 0x7F),), "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)), "digit": _DIGIT, "graph": ((0x21, 0x7E),), "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),), "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)), "upper": ((0x41, 0x5A),), "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip
_MINOR = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(major + minor for major, minors in _MINOR.items() for minor in ("", *minors))
_CONTROLS = {"a": 0x07, "f": 0x0C, "t": 0x09, "n": 0x0A, "r": 0x0D, "v": 0x0B}
# What Python's capitals and small letters of one character leave out: the sign of Kelvin, the long s and the sharp S.
_FOLDED = {
    "k": "\u212a", "K": "\u212a", "\u212a": "kK", "s": "\u017f", "S": "\u017f", "\u017f": "sS",
    "\xdf": "\u1e9e", "\u1e9e": "\xdf",
}  # fmt: skip


def _variants(char: str) -> tuple[str, ...]:
    found = {char, char.lower(), char.upper(), char.swapcase(), *_FOLDED.get(char, "")}
    return tuple(one for one in found if len(one) == 1)


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


def parse(pattern: str) -> Node:
    """The tree of a pattern. Raises `PatternError`."""
    if len(pattern) > MOST_CHARACTERS:
        raise PatternError(f"expression too large: {len(pattern)} characters, at most {MOST_CHARACTERS}")
    parser = _Parser(pattern)
    tree = parser.read_choice(_Flags(), 0)
    if parser.text[parser.at :]:
        raise PatternError(f"unexpected ): `{pattern:.200}`")
    return tree


class _Parser:
    """Reads a pattern from left to right; `at` is the place of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._flags = _Flags()

    def _next(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def _take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def read_choice(self, flags: _Flags, depth: int) -> Node:
        """Up to the end, or to the parenthesis that closes this group. Flags set inside end with the group."""
        if depth > _MOST_DEPTH:
            raise PatternError(f"expression nests too deeply: more than {_MOST_DEPTH} groups")
        outer, self._flags = self._flags, flags
        parts = [self._read_sequence(depth)]
        while self._take("|"):
            parts.append(self._read_sequence(depth))
        self._flags = outer
        return Choice(tuple(parts)) if len(parts) > 1 else parts[0]

    def _read_sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while (char := self._next()) and char not in "|)":
            begun = self.at
            node = self._read_literals() if self._take("\\Q") else self._read_atom(depth)
            # `(?i)` sets flags and is nothing that could be repeated.
            parts += node if isinstance(node, list) else [self._read_repeats(node, begun)] if node is not None else []
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _read_literals(self) -> list[Node]:
        """`\\Q...\\E`, without the beginning. A repetition behind it is of the last character."""
        end = self.text.find("\\E", self.at)
        quoted = self.text[self.at : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        nodes: list[Node] = [self._literal(char) for char in quoted]
        return [*nodes[:-1], self._read_repeats(nodes[-1], self.at)] if nodes else []

    def _read_repeats(self, node: Node, begun: int) -> Node:
        repeated = self._read_repeat(node, begun)
        if repeated is None:
            return node
        start = self.at
        if self._read_repeat(node, begun) is not None:
            raise PatternError(f"invalid nested repetition operator: `{self.text[start - 1 : self.at]}`")
        return repeated

    def _read_repeat(self, node: Node, begun: int) -> Repeat | None:
        found = self._read_times()
        if found is None:
            return None
        least, most = found
        # Whether a repetition is greedy does not matter here: only whether there is a match is asked for.
        self._take("?")
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise PatternError(f"invalid repeat count: `{self.text[begun : self.at]:.200}`")
        return Repeat(node, least, most)

    def _read_times(self) -> tuple[int, int | None] | None:
        char = self._next()
        if char and char in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        end = self.text.find("}", self.at, self.at + 12)
        if char != "{" or end < 0:
            return None
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        # Braces that are no count stand for themselves, as in Perl.
        if not _is_count(least) or (most and not _is_count(most)):
            return None
        self.at = end + 1
        return int(least), (int(most) if most else None if comma else int(least))

    def _read_atom(self, depth: int) -> Node | None:
        char = self._next()
        if char == "(":
            return self._read_group(depth)
        if char == "[":
            return self._read_class()
        if char == "\\":
            return self._read_escape()
        begun = self.at
        if self._read_times() is not None:
            raise PatternError(f"missing argument to repetition operator: `{self.text[begun : self.at]}`")
        self.at += 1
        if char == ".":
            return Chars(((((0, _LAST),), False),) if self._flags.dot_all else ((((0x0A, 0x0A),), True),))
        if char == "^":
            return Boundary.LINE_BEGIN if self._flags.lines else Boundary.TEXT_BEGIN
        if char == "$":
            return Boundary.LINE_END if self._flags.lines else Boundary.TEXT_END
        return self._literal(char)

    def _literal(self, char: str) -> Chars:
        return Chars(((((ord(char), ord(char)),), False),), folded=self._flags.fold)

    def _read_group(self, depth: int) -> Node | None:
        begun = self.at
        self.at += 1
        flags = self._flags
        if self._take("?"):
            if self._take("P<") or (self._next() == "<" and self._next(2) not in ("<=", "<!") and self._take("<")):
                name, end, _ = self.text[self.at :].partition(">")
                if not end or not name.isascii() or not all(char.isalnum() or char == "_" for char in name) or not name:
                    raise PatternError(f"invalid named capture: `{self.text[begun : begun + 50]}`")
                self.at += len(name) + 1
            else:
                flags, whole = self._read_flags(begun)
                if whole:
                    self._flags = flags
                    return None
        node = self.read_choice(flags, depth + 1)
        if not self._take(")"):
            raise PatternError(f"missing closing ): `{self.text:.200}`")
        return node

    def _read_flags(self, begun: int) -> tuple[_Flags, bool]:
        """`i-s:` or `i-s)`, behind `(?`: the flags, and whether the group is at its end."""
        flags, value = self._flags, True
        while char := self._next():
            self.at += 1
            if char in ":)":
                return flags, char == ")"
            if char == "-" and value:
                value = False
            elif char == "i":
                flags = replace(flags, fold=value)
            elif char == "m":
                flags = replace(flags, lines=value)
            elif char == "s":
                flags = replace(flags, dot_all=value)
            elif char != "U":
                break
        raise PatternError(f"invalid or unsupported Perl syntax: `{self.text[begun : self.at]}`")

    def _read_escape(self) -> Node:
        char = self._next(2)[1:]
        boundary = {"A": Boundary.TEXT_BEGIN, "z": Boundary.TEXT_END, "b": Boundary.WORD, "B": Boundary.NO_WORD}
        if char in boundary:
            self.at += 2
            return boundary[char]
        if (member := self._read_class_escape()) is not None:
            return Chars((member,), folded=self._flags.fold)
        return self._literal(chr(self._read_code()))

    def _read_class_escape(self) -> Member | None:
        r"""`\d`, `\W`, `\pL`, `\P{Lu}`; None if it is another escape."""
        char = self._next(2)[1:]
        if char.lower() in _PERL:
            self.at += 2
            return _PERL[char.lower()], char.isupper()
        if char not in ("p", "P"):
            return None
        begun = self.at
        self.at += 2
        name = self._next()
        self.at += 1
        if name == "{":
            name, closed, _ = self.text[self.at :].partition("}")
            self.at += len(name) + 1
            name = name if closed else ""
        outside = (char == "P") is not name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            return ((0, _LAST),), outside
        if name not in _CATEGORIES:
            found = f"`{self.text[begun : self.at]:.50}` (categories are read here, such as \\pL, and no scripts)"
            raise PatternError(f"invalid character class range: {found}")
        return name, outside

    def _read_code(self) -> int:
        r"""`\.`, `\n`, `\x41`, `\x{1F600}`, `\101`: the code of one character."""
        begun = self.at
        char = self._next(2)[1:]
        self.at += 2
        if not char:
            raise PatternError("trailing backslash at end of expression: ``")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            digits = self._next(2)
            if digits.startswith("{"):
                digits = self.text[self.at + 1 :].partition("}")[0] if "}" in self.text[self.at : self.at + 12] else ""
                self.at += 2
            elif len(digits) < 2:
                digits = ""
            self.at += len(digits)
            if digits and all(one in "0123456789abcdefABCDEF" for one in digits) and int(digits, 16) <= _LAST:
                return int(digits, 16)
        # One digit alone would be a reference to a group, which needs more than an automaton.
        elif char == "0" or (char in "1234567" and self._next() in tuple("01234567")):
            digits = char
            while len(digits) < 3 and self._next() in tuple("01234567"):
                digits += self._next()
                self.at += 1
            return int(digits, 8)
        elif char.isascii() and not char.isalnum():
            return ord(char)
        raise PatternError(f"invalid escape sequence: `{self.text[begun : self.at]}`")

    def _read_class(self) -> Chars:
        begun = self.at
        self.at += 1
        negated = self._take("^")
        members: list[Member] = []
        first = True
        while first or not self._take("]"):
            first = False
            if not self._next():
                raise PatternError(f"missing closing ]: `{self.text[begun : begun + 200]}`")
            if self._next(2) == "[:" and (posix := self._read_posix()) is not None:
                members.append(posix)
            elif self._next() == "\\" and (member := self._read_class_escape()) is not None:
                members.append(member)
            else:
                members.append(((self._read_range(),), False))
        return Chars(tuple(members), negated, self._flags.fold)

    def _read_posix(self) -> Member | None:
        end = self.text.find(":]", self.at + 2)
        if end < 0:
            return None
        name, begun = self.text[self.at + 2 : end], self.at
        self.at = end + 2
        known = _POSIX.get(name.removeprefix("^"))
        if known is None:
            raise PatternError(f"invalid character class range: `{self.text[begun : self.at]:.50}`")
        return known, name.startswith("^")

    def _read_range(self) -> tuple[int, int]:
        begun = self.at
        low = high = self._read_member()
        if self._next() == "-" and self._next(2)[1:] not in ("", "]"):
            self.at += 1
            high = self._read_member()
        if high < low:
            raise PatternError(f"invalid character class range: `{self.text[begun : self.at]}`")
        return low, high

    def _read_member(self) -> int:
        char = self._next()
        if char == "\\":
            return self._read_code()
        self.at += 1
        return ord(char)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal()
