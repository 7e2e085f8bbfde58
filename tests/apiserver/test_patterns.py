"""Patterns of schemas: the same answers as Python's `re`, but for time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.patterns import read_pattern

_LETTERS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", "\\.", "\\d", "[a-c1-2]"])
_PATTERNS = st.recursive(
    _LETTERS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,1}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        inner.map(lambda one: f"^{one}"),
        inner.map(lambda one: f"{one}$"),
        inner.map(lambda one: f"(^{one}$|b)"),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.text("ab-.1", max_size=7))
def test_a_pattern_is_found_where_python_finds_it(pattern: str, value: str) -> None:
    assert read_pattern(pattern).search(value) is (re.search(pattern, value) is not None)


QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


@pytest.mark.parametrize(
    ("pattern", "value", "found"),
    [
        (QUANTITY, "1.5Gi", True),
        (QUANTITY, "1.5 Gi", False),
        (SUBDOMAIN, "a-b.example", True),
        (SUBDOMAIN, "a-.example", False),
        ("^$", "", True),
        ("^$", "x", False),
        ("b", "abc", True),
        ("^a$", "a\n", False),
        ("(?i)^ab[C-D]$", "AbcD"[:3], True),
        ("(?i:a)b", "AB", False),
        ("(?s)^.$", "\n", True),
        ("^.$", "\n", False),
        (r"^\d+$", "٣", False),
        (r"^\S+\s\w$", "ab c", True),
        ("^[a-z]{1,63}$", "a" * 64, False),
    ],
)
def test_patterns_of_real_definitions(pattern: str, value: str, found: bool) -> None:
    assert read_pattern(pattern).search(value) is found


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a*)*$", "^a*a*a*a*a*$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_takes_longer_than_its_value(pattern: str) -> None:
    before = time.process_time()
    assert read_pattern(pattern).search("a" * 20_000 + "!") is False
    assert time.process_time() - before < 2


def test_a_value_that_is_too_much_work_is_given_up() -> None:
    pattern = read_pattern("(a|b)*a(a|b){900}c")
    before = time.process_time()
    assert pattern.search("abba" * 3 * 2**18) is None
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("a(", "missing \\)"),
        ("(a)\\1", "groupref is not supported"),
        ("a(?=b)", "assert is not supported"),
        ("\\ba", "at_boundary is not supported"),
        ("(?m)^a", "at_beginning is not supported"),
        ("((a{1,99}){1,99}){1,99}", "too large"),
        ("(" * 2_000 + ")" * 2_000, "too large"),
    ],
)
def test_what_is_no_pattern_here_is_refused(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_pattern(pattern)
