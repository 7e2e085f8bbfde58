"""A text is read by libyaml's parser, and by PyYAML's where the two differ or it has a mistake: nobody sees which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paddock.manifests import documents
from paddock.manifests.bounds import Bounds
from paddock.manifests.documents import read_documents
from paddock.manifests.edits import CannotEdit, set_value

pytestmark = pytest.mark.skipif(documents._CParser is None, reason="this build of PyYAML has no libyaml")
ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    text
    for folder in ("examples/documents", "tests/bad")
    for path in (ROOT / folder).glob("*.yaml")
    if len(text := path.read_text(errors="replace")) < 3000
)
LONG = "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nspec:\n" + "".join(f"  k{n}: 1\n" for n in range(20))
PIECES = [
    *"{}[]:,-&*|>'\"%@`#\n \\é\u2028\t\ufeff!", "---\n", "...\n", "\r\n", ": ", "- ", "<<: ", "? ", ": }", "|#",
]  # fmt: skip


@st.composite
def build_text(draw: st.DrawFn) -> str:
    """A manifest in which a piece is missing, twice there, or strange."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 8)))
        text = text[:begin] + draw(st.sampled_from(["", text[begin:end] * 2, *PIECES])) + text[end:]
    return text


@contextmanager
def by_pyyaml() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_CParser", None)
        yield


@given(build_text(), st.sampled_from([None, Bounds(2, 60, 7), Bounds(100, 10_000, 100)]))
@example(f"Here is my job\n---\n{LONG}", Bounds(2, 60, 100))
@example("a: \ud800\n", None)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_both_parsers_give_the_same_values_places_and_problems(text: str, bounds: Bounds | None) -> None:
    with by_pyyaml():
        expected = read_documents(text, bounds)
    assert read_documents(text, bounds) == expected


@given(build_text())
@example("\ufeffapiVersion: v1\nspec:\n  x: 1\n")
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_an_edit_gives_the_same_text_with_both(text: str) -> None:
    def edit() -> str | None:
        try:
            return set_value(text, ("spec", "x"), 7)
        except CannotEdit:
            return None

    with by_pyyaml():
        expected = edit()
    assert edit() == expected


@pytest.mark.parametrize("bounds", [None, Bounds(2, 60, 7)])
def test_a_text_without_a_mistake_is_read_by_libyaml(bounds: Bounds | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_Loader", None)
    monkeypatch.setattr(documents, "_MeteredLoader", None)
    assert read_documents("a: 1\n---\nb: 2\n", bounds)[1].manifest == {"b": 2}
