"""The reader's language by gettext's rules, of the languages that have a catalogue."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddock.words.phrases import Phrase

_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def readers_language() -> str:
    """The language of this process's environment."""
    return language_of(os.environ)


def language_of(environ: Mapping[str, str]) -> str:
    """`"zh"` for `zh_CN.UTF-8` and the like, else `"en"`. The first set variable decides; if it
    is not C, LANGUAGE may list preferred languages, as in `zh_CN:en`."""
    locale = next((value for name in _VARIABLES if (value := environ.get(name))), "")
    if locale.partition(".")[0] in ("", "C", "POSIX"):
        return "en"
    wanted = (environ.get("LANGUAGE") or locale).lower().split(":")
    return next((known for each in wanted for known in ("zh", "en") if each.startswith(known)), "en")


def say(said: Phrase | str, language: str) -> str:
    """A phrase in a language; a text as it is: it may be a name, which the catalogue has as a word."""
    from paddock.words.phrases import render

    return said if isinstance(said, str) else render(said, language)


def localized(said: Phrase) -> str:
    """The phrase in the reader's language, for callers that need a string (click's errors)."""
    from paddock.words.phrases import render

    return render(said, readers_language())
