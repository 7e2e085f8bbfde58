"""A sentence that an older Paddock stored in the API is told in Chinese as it was then.

`stored_sentences.txt` has an English sentence and its Chinese, then an empty line. A sentence that is written otherwise
today stays there, as objects of the API keep it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.words.messages import translate_message


def read_pairs() -> list[tuple[str, str]]:
    text = Path(__file__).with_name("stored_sentences.txt").read_text(encoding="utf-8")
    pairs = [block.split("\n") for block in text.rstrip("\n").split("\n\n")]
    return [(english, chinese) for english, chinese in pairs]


def test_a_stored_sentence_is_told_as_it_was() -> None:
    pairs = read_pairs()
    assert len(pairs) > 400
    told = {english: translate_message(english, "zh") for english, _ in pairs}
    assert [(english, told[english], chinese) for english, chinese in pairs if told[english] != chinese] == []


@pytest.mark.parametrize("language", ["en", "tlh"])
def test_a_stored_sentence_stays_in_a_language_without_catalogue(language: str) -> None:
    assert [english for english, _ in read_pairs() if translate_message(english, language) != english] == []
