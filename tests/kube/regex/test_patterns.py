"""Patterns of schemas: RE2's syntax, and a time that grows with the text alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.budget import Budget, Exhausted
from paddock.kube.regex.automaton import MOST_STATES, Pattern, read_pattern
from paddock.kube.regex.syntax import MOST_CHARACTERS, PatternError


def _matches(pattern: str, text: str) -> bool:
    return read_pattern(pattern).search(text, Budget())


HOST = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

# Pattern -> texts with a match, texts without one; each was compared with Google's RE2.
MATCHES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    HOST: (("a", "*.example.com", "a-b.c"), ("-a", "a..b", "A", "a.")),
    QUANTITY: (("1", "-1.5Gi", ".5", "1e3", "100m"), ("", "1 Gi", "Gi", "1e")),
    "b": (("abc",), ("ac", "")),
    "": (("", "a"), ()),
    "^a|b$": (("ax", "xb"), ("xa", "bx")),
    "a$": (("a",), ("a\n",)),
    "(?m)^a$": (("x\na\ny",), ("xa",)),
    "a.c": (("abc",), ("a\nc",)),
    "(?s)a.c": (("a\nc",), ("ac",)),
    "(?i)straSSe": (("STRAsse",), ("stra",)),
    "(?i)k": (("\u212a", "K"), ("c",)),
    "(?i:a)b": (("Ab",), ("AB",)),
    "(?i)a(?-i)b": (("Ab",), ("AB",)),
    r"(?i)^\W$": (("-",), ("s", "\u017f")),
    "^[^a]$": (("b", "\n"), ("a",)),
    "^[]a]+$": (("]a",), ("b",)),
    r"^[\]\-a-c]+$": (("]-b",), ("d",)),
    r"^[a-]+$": (("-a",), ("b",)),
    "^[[:alpha:]_]+$": (("aB_",), ("a1", "é")),
    "^[[:^digit:]]$": (("a",), ("1",)),
    r"^\d\D\s\S\w\W$": (("1a a_-",), ("aa a_-", "\u0661a a_-")),
    r"^[\d\s]+$": (("1 2",), ("a",)),
    r"^\pL\p{Lu}\PN\p{^Z}$": (("éÉab",), ("éé1b",)),
    r"\bfoo\b": (("a foo.",), ("afoo",)),
    r"\Boo": (("foo",), ("oo",)),
    r"\Aa\z": (("a",), ("a\n", "ba")),
    "^a{2}$": (("aa",), ("a", "aaa")),
    "^a{1,2}?$": (("a", "aa"), ("", "aaa")),
    "^a{2,}$": (("aaaa",), ("a",)),
    "^a{,2}$": (("a{,2}",), ("a",)),
    "a{": (("a{",), ("a",)),
    "^(a*)*$": (("", "aa"), ("b",)),
    "^(|a)+b$": (("b", "aab"), ("c",)),
    r"^\x41\x{1F600}\101\n\.\_$": (("A\U0001f600A\n._",), ("A",)),
    r"^\Qa.b*\E+$": (("a.b***",), ("axb",)),
    "^(?P<name>a)(?<other>b)(?:c)$": (("abc",), ("ab",)),
}


@pytest.mark.parametrize("pattern", MATCHES)
def test_a_pattern_is_found(pattern: str) -> None:
    found, missing = MATCHES[pattern]
    assert {text: _matches(pattern, text) for text in (*found, *missing)} == dict.fromkeys(found, True) | dict.fromkeys(
        missing, False
    )


REFUSED = {
    r"(a)\1": "invalid escape sequence",
    "(?=a)": "invalid or unsupported Perl syntax",
    "(?<!a)b": "invalid or unsupported Perl syntax",
    "(?P=n)": "invalid or unsupported Perl syntax",
    "(?x)a": "invalid or unsupported Perl syntax",
    "(?P<>a)": "invalid named capture",
    "a**": "invalid nested repetition operator",
    "a++": "invalid nested repetition operator",
    "*a": "missing argument to repetition operator",
    "{2}": "missing argument to repetition operator",
    "|+": "missing argument to repetition operator",
    "a{1001}": "invalid repeat count",
    "a{3,2}": "invalid repeat count",
    "(a": "missing closing )",
    "a)": "unexpected )",
    "[a": "missing closing ]",
    "[]": "missing closing ]",
    "[b-a]": "invalid character class range",
    "[[:word1:]]": "invalid character class range",
    r"\p{Greek}": "categories are read here",
    r"\pX": "invalid character class range",
    "\\": "trailing backslash",
    r"\q": "invalid escape sequence",
    r"\x{110000}": "invalid escape sequence",
    r"\xg": "invalid escape sequence",
    r"\Z": "invalid escape sequence",
    "((a{1,1000}){1,1000}){1,1000}": f"more than {MOST_STATES} states",
    "((((a{0}){1000}){1000}){1000})*": f"more than {MOST_STATES} states",
    "(" * 1_000: "nests too deeply",
    "a" * (MOST_CHARACTERS + 1): "expression too large",
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_re2_does_not_read_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match=re.escape(REFUSED[pattern])):
        Pattern(pattern)


_atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "(?:)", "-"])
_patterns = st.recursive(
    _atoms,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}")
    ),
    max_leaves=5,
)


@given(_patterns, st.text("ab- \n", max_size=6))
def test_patterns_that_python_reads_alike_match_alike(pattern: str, text: str) -> None:
    assert _matches(pattern, text) == (re.search(pattern, text, re.ASCII) is not None)


@given(st.text(max_size=12), st.text(max_size=5))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    try:
        read = Pattern(pattern)
    except PatternError:
        return
    read.search(text, Budget())


SLOW = ["(a+)+$", "^(a|a)*$", "(a*)*b", "a*a*a*a*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a?){50}a{50}"]
"""Patterns for which an engine that tries one way after the other needs 2**n or n**4 steps."""


@pytest.mark.parametrize("pattern", SLOW)
def test_the_steps_of_a_search_grow_with_the_text_alone(pattern: str) -> None:
    taken = []
    for length in (1_000, 10_000):
        budget = Budget(10**9)
        Pattern(pattern).search("a" * length + "!", budget)
        taken.append(10**9 - budget.left)
    assert taken[1] < 12 * taken[0]


def test_a_search_ends_with_its_budget() -> None:
    with pytest.raises(Exhausted):
        read_pattern("[^!]{1,900}$").search("".join(map(chr, range(1_000, 20_000))), Budget(1_000_000))


@pytest.mark.slow
def test_a_pattern_remembers_only_so_much() -> None:
    read = Pattern("[^!]{1,900}$")
    read.search("".join(map(chr, range(1_000, 2_000))), Budget())
    assert sum(len(position[0]) for position in read._known.values()) <= 21_000
