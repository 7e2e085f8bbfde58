"""Values of a manifest's text that are set and taken out: what is read afterwards is what was asked for, and comments
stay."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.manifests.documents import read_documents
from paddock.manifests.edits import CannotEdit, Path, remove_value, set_value

TEXT = """# head
apiVersion: v1  # api
kind: PaddleJob
metadata:
  name: a   # the name
  labels: {a: b, c: "d"}
spec:
  # about workers
  worker:
    replicas: 2  # two
    template:
      spec:
        containers:
        - name: paddle   # c
          image: x:1
          command:
          - python
          - train.py
          args: [a, "b"]
          env:
            - name: A
              value: "1"
          script: |
            import x

            y = 1
  # trailing comment
  ps:
  tail: {}
# end
"""

_CONTAINERS = ("spec", "worker", "template", "spec", "containers")
_CONTAINER = (*_CONTAINERS, 0)

SET: list[tuple[Path, Any]] = [
    (("metadata", "name"), "b"),
    (("metadata", "labels", "e"), "f"),
    (("metadata", "labels", "a"), "yes"),
    (("metadata", "annotations", "x/y"), "z: 1 # no"),
    (("spec", "worker", "replicas"), 5),
    (("spec", "ps", "replicas"), 1),
    (("spec", "tail", "x"), [1, 2]),
    ((*_CONTAINER, "image"), "r/y:2"),
    ((*_CONTAINER, "command"), ["bash"]),
    ((*_CONTAINER, "command", 2), "--x"),
    ((*_CONTAINER, "args", 2), "c, d"),
    ((*_CONTAINER, "args", 0), "multi\nline\n"),
    ((*_CONTAINER, "script"), "print(1)\n\nprint('#')\n\n"),
    ((*_CONTAINER, "env", 1), {"name": "B", "value": "x\ny"}),
    ((*_CONTAINER, "env"), []),
    ((*_CONTAINER, "resources", "limits", "cpu"), "1"),
    ((*_CONTAINERS, 1), {"name": "s"}),
    (("spec", "cleanPodPolicy"), "Always"),
    (("spec", "worker"), {"replicas": 1}),
    (("metadata", "name"), None),
    (("status",), {"a": [{"b": 1}]}),
    ((*_CONTAINER, "name"), "é 中文"),
]


def load(text: str) -> Any:
    return read_documents(text)[0].manifest


def put(before: Any, path: Path, value: Any) -> Any:
    """What `set_value` promises, on values."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if before is None:
        before = [] if isinstance(step, int) else {}
    if isinstance(step, str):
        return {**before, step: put(before.get(step), rest, value)}
    inner = before[step] if step < len(before) else None
    return [*before[:step], put(inner, rest, value), *before[step + 1 :]]


def drop(before: Any, path: Path) -> Any:
    """What `remove_value` promises, on values."""
    after = copy.deepcopy(before)
    del find(after, path[:-1])[path[-1]]
    return after


def find(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def paths(value: Any, outer: Path = ()) -> Iterator[Path]:
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*outer, step)
        yield from paths(inner, (*outer, step))


@pytest.mark.parametrize(("path", "value"), SET)
def test_a_value_that_is_set_is_read_again_and_comments_elsewhere_stay(path: Path, value: Any) -> None:
    after = set_value(TEXT, path, value)
    assert load(after) == put(load(TEXT), path, value), after
    for comment in ("# head", "# api", "# end"):
        assert comment in after
    if path[0] != "spec":
        assert "# two" in after and "# trailing comment" in after and "# about workers" in after


@pytest.mark.parametrize("path", list(paths(load(TEXT))))
def test_a_value_that_is_taken_out_is_gone_and_nothing_else(path: Path) -> None:
    after = remove_value(TEXT, path)
    assert load(after) == drop(load(TEXT), path), after
    assert "# head" in after
    assert "# end" in after


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ("a: [null, \xa0]\n", ("a", 0), "a: [\xa0]\n"),
        ("a: [\xa0, b]\n", ("a", 1), "a: [\xa0]\n"),
        ("a:\n  \xa0:\n    b: 1\n", ("a", "\xa0", "b"), "a:\n  \xa0: {}\n"),
        ("a: |\n  x\n  \u3000\nb: 1\n", ("a",), "b: 1\n"),
    ],
)
def test_a_space_of_another_alphabet_is_text(text: str, path: Path, left: str) -> None:
    assert remove_value(text, path) == left


# Any document, any place in it, any value.

_LOOKS_OTHERWISE = (
    "on", "017", "1e3", "1:30", "=", "~", "null", "- a", "a: b", "2020-01-01", "a #b", "'", '"', ": ", "?", "|", ">",
    "%", "@", "0x1f", "1_000", ".5", "+1", "y", "no", "a, b", "[", "]", "{", "}", ",",
)  # fmt: skip
"""Texts that YAML reads as something else unless they are quoted."""

_TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), whitelist_characters="\n\t"), max_size=20)
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), _TEXTS, st.sampled_from(_LOOKS_OTHERWISE))
_KEYS = st.text(st.characters(whitelist_categories=("Ll", "Nd")), min_size=1, max_size=5).filter(
    lambda key: not key.isdigit()
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=6,
)
_NAMES = st.sampled_from(["a", "b", "spec", "x-y"])
_DOCUMENTS = st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=4)


def draw_text(document: Any, data: st.DataObject) -> str | None:
    """In block or flow style; None where PyYAML writes what kubectl reads otherwise."""
    style = data.draw(st.sampled_from([None, False]))
    text: str = yaml.safe_dump(document, allow_unicode=True, default_flow_style=style)
    return text if load(text) == document else None


@settings(max_examples=3 * settings.default.max_examples)
@given(_DOCUMENTS, st.data())
def test_any_value_can_be_set_where_its_parent_is_a_mapping_or_a_list(document: Any, data: st.DataObject) -> None:
    if (text := draw_text(document, data)) is None:
        return
    path = data.draw(st.sampled_from(list(paths(document))))
    if data.draw(st.booleans()):
        path = (*path, data.draw(_NAMES))
    value, parent = data.draw(_VALUES), find(document, path[:-1])
    if isinstance(path[-1], str) and not (isinstance(parent, dict) or parent is None):
        with pytest.raises(CannotEdit):
            set_value(text, path, value)
        return
    after = set_value(text, path, value)
    assert load(after) == put(document, path, value), (text, after)


@given(_DOCUMENTS, st.data())
def test_any_value_can_be_taken_out(document: Any, data: st.DataObject) -> None:
    if (text := draw_text(document, data)) is None:
        return
    path = data.draw(st.sampled_from(list(paths(document))))
    after = remove_value(text, path)
    assert load(after) == drop(document, path), (text, after)
