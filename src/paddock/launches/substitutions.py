"""What a shell puts in the place of `$(dirname "$0")`, `$((2 * N))` and `${0%/*}`, where all of it is known. Pure.

Nothing is run: these are the few programs by which scripts find the place where they stand, and whole numbers.
"""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from paddock.launches.words import Piece, Unknown, Word

_LONGEST = 200
"""Letters of an expression, and of a text from which a pattern is cut: the cost grows with their square."""
_LARGEST = 2**63
_PLAIN_OPTIONS = {
    "pwd": frozenset({"-L", "-P", "-LP"}),
    "realpath": frozenset({"--", "-e", "-m", "-q", "-s"}),
    "readlink": frozenset({"--", "-f", "-e", "-m", "-n"}),
}
"""Options that change nothing of what is printed, where no link is followed."""
_NUMBERS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda one, other: int(one / other) if abs(one) < 2**53 else one // other,
    ast.Mod: lambda one, other: one - other * int(one / other) if abs(one) < 2**53 else one % other,
}
"""A shell's division cuts towards zero."""


def find_printed(words: Sequence[Word], place: str | None, typed: str) -> Piece | None:
    """What a program prints: dirname, basename, pwd, realpath, readlink -f; of `which NAME`, whose path is not known,
    the program. None where it is not known. `place`: the absolute path of the directory in which it runs; None where
    nobody knows that; `typed`: the whole substitution. No link is followed."""
    texts = [word.text for word in words]
    if texts[0] in ("which", "command", "type") and len(words) > 1 and texts[-1] is not None:
        is_asked = texts[0] == "which" or texts[1] in ("-v", "-P")
        return Unknown(typed, texts[-1]) if is_asked else None
    return _find_path(texts, place)


def _find_path(texts: Sequence[str | None], place: str | None) -> str | None:
    typed = [text for text in texts if text is not None]
    if len(typed) != len(texts):
        return None
    name, *rest = typed
    operands = [each for each in rest if not each.startswith("-")]
    if not _PLAIN_OPTIONS.get(name, frozenset({"--"})).issuperset(set(rest) - set(operands)):
        return None
    if name == "pwd":
        return place
    if name == "dirname" and len(operands) == 1:
        return posixpath.dirname(operands[0].rstrip("/")) or ("/" if operands[0].startswith("/") else ".")
    if name == "basename" and len(operands) in (1, 2) and len(rest) == len(operands):
        found = posixpath.basename(operands[0].rstrip("/"))
        return found.removesuffix(operands[1]) if len(operands) == 2 and found != operands[1] else found
    if (name == "realpath" or (name == "readlink" and rest[:1] in (["-f"], ["-e"], ["-m"]))) and len(operands) == 1:
        if place is None and not operands[0].startswith("/"):
            return None
        return posixpath.normpath(posixpath.join(place or "/", operands[0]))
    return None


def calculate(text: str, find: Callable[[str], str | None]) -> str | None:
    """The number of an arithmetic expression: `2 * GPUS + 1`, `$N / 2`. `find`: the text of a variable. None where it
    is not known, or no number comes out."""
    if len(text) > _LONGEST:
        return None
    plain = re.sub(r"\$\{?(\w+)\}?", r"\1", text).replace("/", "//")
    if not re.fullmatch(r"[\w\s()*%+/-]*", plain):
        return None
    try:
        found = _calculate(ast.parse(plain.strip(), mode="eval").body, find)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return None if found is None or abs(found) >= _LARGEST else str(found)


def _calculate(node: ast.expr, find: Callable[[str], str | None]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        text = find(node.id)
        # a text that begins with 0 is octal
        return int(text) if text is not None and re.fullmatch(r"-?[1-9]\d{0,17}|0", text) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _calculate(node.operand, find)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and (does := _NUMBERS.get(type(node.op))) is not None:
        left, right = _calculate(node.left, find), _calculate(node.right, find)
        if left is None or right is None:
            return None
        found = does(left, right)
        return found if abs(found) < _LARGEST else None
    return None


def cut(text: str, mark: str, pattern: str) -> str | None:
    """`${text%pattern}`, and with `%%`, `#` and `##`; None for a text that is too long."""
    if len(text) > _LONGEST or len(pattern) > _LONGEST or not re.fullmatch(r"[\w\s/.*?:=@+,-]*", pattern):
        return None
    places = range(len(text) + 1)
    at_end = mark[0] == "%"
    # the shortest first; the longest with the mark twice
    shortest = reversed(places) if at_end else places
    ordered = list(shortest) if len(mark) == 1 else list(reversed(list(shortest)))
    for place in ordered:
        piece, rest = (text[place:], text[:place]) if at_end else (text[:place], text[place:])
        if fnmatchcase(piece, pattern):
            return rest
    return text
