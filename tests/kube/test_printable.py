"""What a terminal acts on is shown, and everything else is left as it is."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.printable import escape_json, show, show_line

ACTING = {"Cc", "Cs", "Zl", "Zp"}
MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("step 3: loss 0.25", "step 3: loss 0.25"),
        ("训练 – größer 👩‍🚀", "训练 – größer 👩‍🚀"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"),
        ("\x9b31mred", "\\x9b31mred"),
        ("admin\u202etxt.exe", "admin\\u202etxt.exe"),
        ("10%\r100%", "10%\\r100%"),
        ("caf\udce9", "caf\\udce9"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_characters_that_act_are_written_out(text: str, shown: str) -> None:
    assert show(text) == shown


def test_a_line_has_no_tab_and_no_newline() -> None:
    assert show_line("a\tb\nc\x1b") == "a\\tb\\nc\\x1b"


@given(st.text(st.characters()))  # with surrogates
def test_nothing_that_acts_is_left(text: str) -> None:
    for shown in (show(text), show_line(text)):
        left = [sign for sign in shown if sign in MARKS or unicodedata.category(sign) in ACTING]
        assert set(left) <= (set("\t\n") if shown == show(text) else set())
        shown.encode()


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")).filter(lambda sign: sign not in MARKS))
)
def test_all_other_text_stays_as_it_is(text: str) -> None:
    assert show(text) == show_line(text) == text


@given(st.recursive(st.text(st.characters()), lambda each: st.lists(each) | st.dictionaries(st.text(), each)))
def test_json_has_the_same_values_and_nothing_that_acts(document: object) -> None:
    written = escape_json(json.dumps(document, indent=2, ensure_ascii=False))
    assert json.loads(written) == document
    assert show(written) == written
