"""Arguments of a function as Python source, as the function runs in another process. Pure.

Only values whose source is known are taken: those that a Python literal can write, also nested, and infinities. A
subclass, such as a number of NumPy, is refused, as its source would lose what it is.
"""

from __future__ import annotations

import math

from paddock.words.phrases import Phrase, phrase

_PLAIN = (bool, int, str, bytes, complex, type(None), type(Ellipsis))
_SEQUENCES: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ",)"), set: ("{", "}")}
_DEEPEST = 50


class NoLiteral(Exception):
    """`said`: which value cannot be written."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


def write_literal(value: object, place: str, depth: int = 0) -> str:
    """The source of `value`. `place`: its name for the error, such as `kwargs['lr']`. Raises `NoLiteral`."""
    if depth > _DEEPEST:
        raise NoLiteral(phrase("{place} is nested too deeply", place=place))
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if isinstance(value, float) and kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, (list, tuple, set)) and kind in _SEQUENCES:
        begin, end = _SEQUENCES[kind]
        items = [write_literal(each, f"{place}[{number}]", depth + 1) for number, each in enumerate(value)]
        if not items:
            return f"{kind.__name__}()"
        return begin + ", ".join(items) + end
    if isinstance(value, dict) and kind is dict:
        pairs = (
            f"{write_literal(key, place, depth + 1)}: {write_literal(each, f'{place}[{key!r}]', depth + 1)}"
            for key, each in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    raise NoLiteral(
        phrase(
            "{place} is of type {type}, which cannot be sent to another process: numbers, texts, and lists, tuples, "
            "sets and dictionaries of them can; write others to a file and give its path as a text",
            place=place, type=f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."),
        )
    )  # fmt: skip
