"""Sentences about manifests as values: an English text with {places}, and what stands in them.

A `Phrase` is written once, in English, where the mistake is found; another language is a catalogue from that text to
its own (`jobs.chinese_phrases`), so nothing has to be named twice and a sentence without a translation is English,
never nothing. What stands in a place is a name or a number of the user's, which no language changes, another phrase,
or a tuple of names, which each language joins in its own way. Causes of jobs are recorded and have numbers of their
own: they are in `jobs.causes`, and put into words by `jobs.explain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.jobs.chinese_phrases import CHINESE_PHRASES

TRANSLATIONS: Mapping[str, Mapping[str, str]] = {"zh": CHINESE_PHRASES}
"""By language: English text -> the text of that language, with the same places."""

_JOINTS = {"en": (", ", " or "), "zh": ("、", " 或 ")}


@dataclass(frozen=True, slots=True)
class Phrase:
    """`str(phrase)` is English, for what has one language: the API's messages and events."""

    text: str
    args: tuple[tuple[str, str | int | Phrase | tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        return render(self)


def phrase(text: str, /, **args: str | int | Phrase | tuple[str, ...]) -> Phrase:
    """`phrase("a whole number from {low} to {high}", low=1, high=65535)`"""
    return Phrase(text, tuple(args.items()))


NOTHING = Phrase("")


def render(said: Phrase | str, language: str = "en") -> str:
    """In `language`, or in English where that has no catalogue or no such text."""
    if isinstance(said, str):
        said = Phrase(said)
    text = TRANSLATIONS.get(language, {}).get(said.text, said.text)
    if not said.args:
        return text
    return text.format_map({name: _render(value, language) for name, value in said.args})


def _render(value: str | int | Phrase | tuple[str, ...], language: str) -> str:
    if isinstance(value, Phrase):
        return render(value, language)
    if not isinstance(value, tuple):
        return str(value)
    *most, last = value
    comma, joint = _JOINTS.get(language, _JOINTS["en"])
    return f"{comma.join(most)}{joint}{last}" if most else last
