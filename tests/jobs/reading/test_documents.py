"""A text is read by libyaml's parser, and by PyYAML's own where it has a mistake: nobody sees which."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paddock.jobs.reading import documents
from paddock.jobs.reading.bounds import Bounds
from paddock.jobs.reading.documents import Document, read_documents

ROOT = Path(__file__).parents[3]
TEXTS = sorted(
    text
    for folder in ("examples/documents", "tests/bad")
    for path in (ROOT / folder).glob("*.yaml")
    if len(text := path.read_text(errors="replace")) < 3000
)
# Not "!" nor "?": of an empty tag, and of a key without a value in a list on one line, the two say something else.
PIECES = [*"{}[]:,-&*|>'\"%@`#\n \\é\u2028", "---\n", "...\n", "\r\n", ": ", "- ", "<<: ", "\t"]


@st.composite
def build_text(draw: st.DrawFn) -> str:
    """A manifest in which a piece is missing, twice there, or strange."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 8)))
        text = text[:begin] + draw(st.sampled_from(["", text[begin:end] * 2, *PIECES])) + text[end:]
    return text


def read_slowly(text: str, bounds: Bounds | None = None) -> tuple[Document, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_CParser", None)
        return read_documents(text, bounds)


@given(build_text(), st.sampled_from([None, Bounds(2, 60, 7), Bounds(100, 10_000, 100)]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_both_parsers_give_the_same_values_places_and_problems(text: str, bounds: Bounds | None) -> None:
    assert read_documents(text, bounds) == read_slowly(text, bounds)


def test_a_text_without_a_mistake_is_read_by_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    if documents._CParser is None:
        pytest.skip("this build of PyYAML has no libyaml")
    monkeypatch.setattr(documents, "_Loader", None)
    assert read_documents("a: 1\n---\nb: 2\n")[1].manifest == {"b": 2}
