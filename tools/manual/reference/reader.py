"""The language of a page of the reference, and its words.

A text is looked up in `zh.json` first, then in the catalogue of sentences, which has the help of all commands. What has
no Chinese stays English and is kept in `missing`, for the test that names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from paddock.words.catalogues import translate

LANGUAGES = ("en", "zh")
_TABLE = Path(__file__).with_name("zh.json")


@dataclass(frozen=True, slots=True)
class Reader:
    """`language`: of `LANGUAGES`. `table`: English text to Chinese. `missing`: the texts that have no Chinese."""

    language: str
    table: Mapping[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)

    def say(self, text: str) -> str:
        """`text` in the language of the page."""
        if self.language == "en" or not text or (text not in self.table and not text.isascii()):
            return text
        self.asked.add(text)
        if text in self.table:
            return self.table[text]
        said = translate(text, self.language)
        if said == text:
            self.missing.add(text)
        return said

    @property
    def end(self) -> str:
        """How the name of a page in this language ends."""
        return ".md" if self.language == "en" else ".zh-CN.md"


@cache
def read_table() -> Mapping[str, str]:
    """The Chinese of the texts that the reference alone has."""
    table: dict[str, str] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


def read_in(language: str) -> Reader:
    return Reader(language, read_table() if language == "zh" else {})
