"""Files of variables, by the rules of dotenv."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.script.env_file import read_env_file


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1\nB=two words\n", [("A", "1"), ("B", "two words")]),
        ("# all\n\n  # more\nA=1 # one\nB=#\nC=a#b\n", [("A", "1"), ("B", ""), ("C", "a#b")]),
        ("export A=1\n  export   B = 2\n", [("A", "1"), ("B", "2")]),
        ("A='$HOME # \\n'\n", [("A", "$HOME # \\n")]),
        ('A="a\\nb\\"c\\\\ # d" # e\n', [("A", 'a\nb"c\\ # d')]),
        ('A="C:\\dir"', [("A", "C:\\dir")]),
        ('KEY="-----BEGIN\nabc\n-----END"\nB=2', [("KEY", "-----BEGIN\nabc\n-----END"), ("B", "2")]),
        ("A=a=b\nA=2", [("A", "a=b"), ("A", "2")]),
        ("A=\r\nB=1\r\n", [("A", ""), ("B", "1")]),
        ("\ufeffA=1", [("A", "1")]),
        ("A=one\u2028two\x0cthree\x85\rfour\nB=1", [("A", "one\u2028two\x0cthree\x85\rfour"), ("B", "1")]),
        ("A=it's", [("A", "it's")]),
        ("", []),
    ],
)
def test_what_a_file_says(text: str, values: list[tuple[str, str]]) -> None:
    read = read_env_file(text)
    assert (read.values, read.problems) == (values, [])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("A=1\nB\n", 2, "NAME=VALUE is wanted"),
        ("1A=x", 1, "found '1A'; a name of letters"),
        ("A-B=x", 1, "found 'A-B'"),
        ("=x", 1, "NAME=VALUE is wanted"),
        ("A=1\nB='secret\nC=2", 2, "the value of B begins with '"),
        ('A="secret" more', 1, "there is more after the closing quote of A"),
    ],
)
def test_a_problem_names_its_line_and_never_a_value(text: str, line: int, said: str) -> None:
    read = read_env_file(text)
    ((found, why),) = read.problems
    assert found == line and said in str(why) and "secret" not in str(why)


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,5}", fullmatch=True), st.text("ab '\"\\\n$#=", max_size=12)))
def test_what_is_quoted_comes_back(values: dict[str, str]) -> None:
    def quote(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("$", "\\$") + '"'

    text = "".join(f"{name}={quote(value)}\n" for name, value in values.items())
    assert dict(read_env_file(text).values) == values
