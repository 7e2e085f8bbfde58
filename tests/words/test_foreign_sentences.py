"""No text of the catalogues is found inside a sentence of another program: a message is told whole, or stays."""

from __future__ import annotations

import re
import string
from itertools import cycle

import pytest

from paddock.jobs.frameworks.paddle import _UNDECIDED
from paddock.words.catalogues import read_texts
from paddock.words.messages import read_template, translate_message
from paddock.words.phrases import render

_BEFORE = ("Zumble frobs quite gladly ", "the flumph wugs it: ")
_BEHIND = " gleep wugs the flumph"
_TEXTS = sorted({shown for one, many in read_texts("zh") for shown in ((one, many) if many else (one,))})


def fill(text: str) -> str:
    """With a name in each placeholder."""
    if "%(" in text:
        return re.sub(r"%\(\w+\)s", "zork", text)
    names = {name for _, name, _, _ in string.Formatter().parse(text) if name} if read_template(text) else ()
    return text.format_map(dict.fromkeys(names, "zork")) if names else text


@pytest.mark.slow
def test_no_phrase_is_found_inside_a_foreign_sentence() -> None:
    inside = [before + fill(text) + _BEHIND for text, before in zip(_TEXTS, cycle(_BEFORE), strict=False)]
    assert {each: said for each in inside if (said := translate_message(each, "zh")) != each} == {}


def test_the_sentence_about_a_check_of_one_pod_is_told_as_a_whole_behind_its_field() -> None:
    field = "spec.worker.template.spec.containers[0].command"
    said = translate_message(f"{field}: {_UNDECIDED}", "zh")
    assert said == f"{field}：{render(_UNDECIDED, 'zh')}"
    edited = f"{field}: {_UNDECIDED}".replace("two replicas", "three replicas")
    assert translate_message(edited, "zh") == edited


@pytest.mark.parametrize(
    "message",
    [
        'the address: here is "http://x", which names no file: write the address of one file',
        'a cluster runs what is written; the annotation is "false" for what is written; two replicas need neither',
        "my program says: 3 Insufficient cpu is what I read, and Held by others.",
        'the log says that waiting for the PodGroup "x", which does not exist yet, is normal',
    ],
)
def test_a_foreign_sentence_with_words_of_a_phrase_stays(message: str) -> None:
    assert translate_message(message, "zh") == message
