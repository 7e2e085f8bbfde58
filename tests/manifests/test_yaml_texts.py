"""YAML that Paddock writes is read back as the same values, by the rules of kubectl."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paddock.cli.submit.script.written_manifest import write_manifest
from paddock.kube.printable import show
from paddock.manifests.scalars import read_scalar
from paddock.manifests.yaml_texts import write_yaml
from paddock.preflight import read_documents

TEXTS = ["y", "N", "on", "1e3", "1e-3", "0o17", "08", "1_000", ".5", "1.", "", "~", "null", "=", "1:30", "2021-01-01"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_kubectl_would_read_as_another_value_is_in_quotes(text: str) -> None:
    written = write_yaml([{"value": text}])
    assert read_documents(written)[0].manifest == {"value": text}, written
    if read_scalar(text) != text:
        assert written == f"value: '{text}'\n"


def test_a_text_that_needs_no_quotes_has_none_and_shared_parts_are_written_out() -> None:
    shared = {"lr": "1e-3", "mode": "yes sir"}
    assert write_yaml([{"b": shared, "a": shared}]) == (
        "b:\n  lr: '1e-3'\n  mode: yes sir\na:\n  lr: '1e-3'\n  mode: yes sir\n"
    )


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=12) | st.sampled_from(TEXTS)
    | st.from_regex(r"[-+]?[0-9._]{1,5}([eE][-+]?[0-9]{1,2})?", fullmatch=True) | st.floats().map(str)
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from(TEXTS) | st.text(max_size=6), VALUES, min_size=1, max_size=4))
def test_any_value_is_read_back(document: dict[str, Any]) -> None:
    written = write_yaml([document])
    (found,) = read_documents(written)
    assert (found.manifest, found.problems) == (document, ()), written
    assert yaml.safe_load(written) == document, "and by PyYAML, which other tools of Python read it with"


ACTING = st.sampled_from("ab :#'\"\\\n\t\r\0\x1b\x07\x7f\x85\x9b\u200f\u2028\u202e\u2066训")


@given(st.dictionaries(st.text(ACTING), st.text(ACTING) | st.lists(st.text(ACTING))))
def test_what_a_terminal_acts_on_is_escaped_and_every_value_is_the_same(document: dict[str, Any]) -> None:
    for text in (write_yaml([document]), write_manifest(document)):
        assert read_documents(text)[0].manifest == yaml.safe_load(text) == document
        assert show(text) == text


def test_a_text_that_does_not_act_is_written_as_before() -> None:
    assert write_yaml([{"a": "训练 – größer", "b": "one\ttab"}]) == 'a: 训练 – größer\nb: "one\\ttab"\n'
