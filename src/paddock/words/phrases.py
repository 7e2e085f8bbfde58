"""Sentences as values: an English text with {placeholders}, and its arguments.

A `Phrase` is written in English in the code; gettext catalogues have its text in other languages
(`words.catalogues`), and a sentence without a translation stays English. `tools/catalogues.py` finds the texts by
the names of the functions that take them, so texts must be literals at the call. An argument is a name or a number,
which is the same in every language, another phrase, a list of names, or a message of another program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from paddock.words.catalogues import translate, translate_counted
from paddock.words.formats import DURATIONS, Joint, format_of


@dataclass(frozen=True, slots=True)
class Names:
    """A list of names, or of short sentences; with more than `most` (0: no limit) the first three and a number."""

    items: tuple[str | Phrase, ...]
    joint: Joint = "and"
    most: int = 4


@dataclass(frozen=True, slots=True)
class Foreign:
    """A message of another program, translated as far as its form is known."""

    text: str


Value: TypeAlias = "str | int | Phrase | Names | Foreign | tuple[str, ...]"
"""An argument of a phrase. A tuple is a list of names, joined by "or" and never cut."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence. `str(phrase)` is English, for messages and events of the API. `many`: the plural text, for an
    argument `count` other than 1; empty if there is one text for all numbers."""

    text: str
    args: tuple[tuple[str, Value], ...] = ()
    many: str = ""

    def __str__(self) -> str:
        return render(self)


def phrase(text: str, /, **args: Value) -> Phrase:
    """`phrase("a whole number from {low} to {high}", low=1, high=65535)`"""
    return Phrase(text, tuple(args.items()))


def counted(one: str, many: str, /, **args: Value) -> Phrase:
    """`counted("{count} worker", "{count} workers", count=2)`; an unknown count takes the plural."""
    return Phrase(one, tuple(args.items()), many)


NOTHING = Phrase("")


def render(said: Phrase | str, language: str = "en") -> str:
    """The text in `language`; in English without a catalogue or a translation."""
    if isinstance(said, str):
        said = Phrase(said)
    args = dict(said.args)
    if said.many:
        count = args.get("count")
        text = translate_counted(said.text, said.many, count if isinstance(count, int) else 0, language)
    else:
        text = translate(said.text, language)
    return text.format_map({name: _render(name, value, language) for name, value in args.items()}) if args else text


def _render(name: str, value: Value, language: str) -> str:
    match value:
        case str() if name in DURATIONS:
            return format_of(language).say_duration(value)
        case Phrase():
            return render(value, language)
        case Foreign():
            from paddock.words.messages import (
                translate_message,  # late: many patterns, of which most commands need none
            )

            return translate_message(value.text, language)
        case Names():
            items = [render(each, language) if isinstance(each, Phrase) else each for each in value.items]
            return format_of(language).join(items, value.joint, value.most) if items else "?"
        case tuple():
            return format_of(language).join(value, "or")
    return str(value)
