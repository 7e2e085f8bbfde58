"""No sentence that the API stores is told half in English, also where it carries another one."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

import pytest
from catalogues import find_texts

from paddock.words.messages import read_template, translate_message

ROOMS = ("node/", "environments/", "datasets/", "jobs/sentences/", "words/known_messages.py")
"""Those that write events, conditions, causes, and messages of pods, Environments and Datasets."""
CARRIED = "the disk is full: free some space"
AMBIGUOUS = {"found {found}; {why}"}
"""`found {found}: {form}` fits as well where {why} has a colon."""
_SENTENCES = frozenset({"why", "what", "reason", "failure", "remedy", "unsuitable", "loss", "hint"})
"""Placeholders that take another sentence."""
_NUMBERS = frozenset(
    {"count", "number", "restart", "limit", "code", "signal", "seconds", "delay", "percent", "needed", "part"}
) | {"whole", "asked", "has", "positions"}
_NAMES = re.compile(
    r"`[^`]*`|“[^”]*”|\"[^\"]*\"|（apt-get install [\w-]+）|\(bwrap\)|"
    r"[\w.-]*[/_.=<>~!*@][\w/.,=<>~!*@:-]*|--?[a-z][\w-]*|\b[A-Z]{2,}[A-Z_]*\b|\b[a-z]+[A-Z]\w*"
)
"""Commands, quoted texts, paths, versions, options, variables and fields."""
_ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}")


def fill(text: str) -> str:
    """The text with a value of its form in each placeholder."""
    names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    values = {
        name: CARRIED if name in _SENTENCES else "7" if name in _NUMBERS else f"x{number}"
        for number, name in enumerate(names)
    }
    return text.format_map(values)


def read_stored() -> Iterator[str]:
    """A sentence of each text that a room may store, and that is recognised."""
    for place, text in find_texts():
        for each in (text,) if isinstance(text, str) else text:
            if (
                place.startswith(ROOMS)
                and each not in AMBIGUOUS
                and ("{" not in each or read_template(each) is not None)
            ):
                yield fill(each)


def find_english(said: str) -> str:
    found = _ENGLISH.search(_NAMES.sub("·", said))
    return found[0] if found else ""


def test_each_stored_sentence_is_told_as_a_whole() -> None:
    sentences = list(dict.fromkeys(read_stored()))
    assert len(sentences) > 500
    told = {each: translate_message(each, "zh") for each in sentences}
    assert {each: said for each, said in told.items() if find_english(said)} == {}


@pytest.mark.parametrize(
    "message",
    [
        "environment paddle: building torch 2.13.0 failed: it ended without a word (tried 3 times) (log: /home/x.log)",
        "torch 2.13.0+cpu for CPUs, from find-links, Python 3.12.4, 706 MB",
        "mountPath /nas: cannot make a link at /nas: Permission denied. Without a sandbox a volume can only be a link "
        "at a path that is free and writable: install bubblewrap, or choose another mountPath",
        "Error: volume 'data': hostPath '/a/../b' must not contain '..'",
        "its pod was lost, and another one goes on: it used more memory than its limit",
        "https://h/x was removed while the dataset was fetched: fetch it again; tried 8 times without getting further",
    ],
)
def test_a_sentence_within_another_is_told_as_well(message: str) -> None:
    assert find_english(message)
    assert find_english(translate_message(message, "zh")) == ""
