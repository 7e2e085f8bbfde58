import copy

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.jobs.reading.documents import read_documents
from paddock.jobs.reading.edits import CannotEdit, remove_value, set_value


def load(t):
    return read_documents(t)[0].manifest


BASE = """# head
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
CASES = [
    (("metadata", "name"), "b"),
    (("metadata", "labels", "e"), "f"),
    (("metadata", "labels", "a"), "yes"),
    (("metadata", "annotations", "x/y"), "z: 1 # no"),
    (("spec", "worker", "replicas"), 5),
    (("spec", "ps", "replicas"), 1),
    (("spec", "tail", "x"), [1, 2]),
    (("spec", "worker", "template", "spec", "containers", 0, "image"), "r/y:2"),
    (("spec", "worker", "template", "spec", "containers", 0, "command"), ["bash"]),
    (("spec", "worker", "template", "spec", "containers", 0, "command", 2), "--x"),
    (("spec", "worker", "template", "spec", "containers", 0, "args", 2), "c, d"),
    (("spec", "worker", "template", "spec", "containers", 0, "args", 0), "multi\nline\n"),
    (("spec", "worker", "template", "spec", "containers", 0, "script"), "print(1)\n\nprint('#')\n\n"),
    (("spec", "worker", "template", "spec", "containers", 0, "env", 1), {"name": "B", "value": "x\ny"}),
    (("spec", "worker", "template", "spec", "containers", 0, "env"), []),
    (("spec", "worker", "template", "spec", "containers", 0, "resources", "limits", "cpu"), "1"),
    (("spec", "worker", "template", "spec", "containers", 1), {"name": "s"}),
    (("spec", "cleanPodPolicy"), "Always"),
    (("spec", "worker"), {"replicas": 1}),
    (("metadata", "name"), None),
    (("status",), {"a": [{"b": 1}]}),
    (("spec", "worker", "template", "spec", "containers", 0, "name"), "é 中文"),
]


def put(d, path, v):
    if not path:
        return v
    k = path[0]
    if d is None:
        d = [] if isinstance(k, int) else {}
    if isinstance(d, dict):
        return {**d, k: put(d.get(k), path[1:], v)}
    return [*d[:k], put(d[k] if k < len(d) else None, path[1:], v), *d[k + 1 :]]


@pytest.mark.parametrize("path,v", CASES)
def test_set(path, v):
    out = set_value(BASE, path, v)
    assert load(out) == put(load(BASE), path, v), out
    for c in ("# head", "# api", "# end"):
        assert c in out
    if path[0] != "spec":
        assert "# two" in out and "# trailing comment" in out and "# about workers" in out


def paths(d, p=()):
    if isinstance(d, dict):
        for k, v in d.items():
            yield (*p, k)
            yield from paths(v, (*p, k))
    elif isinstance(d, list):
        for i, v in enumerate(d):
            yield (*p, i)
            yield from paths(v, (*p, i))


def drop(d, path):
    d = copy.deepcopy(d)
    x = d
    for s in path[:-1]:
        x = x[s]
    del x[path[-1]]
    return d


@pytest.mark.parametrize("path", list(paths(load(BASE))))
def test_remove(path):
    out = remove_value(BASE, path)
    assert load(out) == drop(load(BASE), path), out
    assert "# head" in out
    assert "# end" in out


text = st.text(st.characters(blacklist_categories=("Cs", "Cc"), whitelist_characters="\n\t"), max_size=20)
scalar = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-99, 99),
    text,
    st.sampled_from(
        [
            "on",
            "017",
            "1e3",
            "1:30",
            "=",
            "~",
            "null",
            "- a",
            "a: b",
            "2020-01-01",
            "a #b",
            "'",
            '"',
            ": ",
            "?",
            "|",
            ">",
            "%",
            "@",
            "0x1f",
            "1_000",
            ".5",
            "+1",
            "y",
            "no",
        ]
    ),
)
value = st.recursive(
    scalar,
    lambda c: st.one_of(
        st.lists(c, max_size=3),
        st.dictionaries(
            st.text(st.characters(whitelist_categories=("Ll", "Nd")), min_size=1, max_size=5).filter(
                lambda s: not s.isdigit()
            ),
            c,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
names = st.sampled_from(["a", "b", "spec", "x-y"])
doc = st.dictionaries(names, value, min_size=1, max_size=4)


@settings(max_examples=500, deadline=None)
@given(doc, st.data())
def test_any(d, data):
    style = data.draw(st.sampled_from([None, False]))
    t = yaml.safe_dump(d, allow_unicode=True, default_flow_style=style)
    base = load(t)
    if base != d:
        return
    allp = list(paths(d))
    path = data.draw(st.sampled_from(allp)) if allp else ("a",)
    if data.draw(st.booleans()):
        path = (*path, data.draw(names))
    v = data.draw(value)
    x = d
    for q in path[:-1]:
        x = x[q]
    if isinstance(path[-1], str) and not (isinstance(x, dict) or x is None):
        with pytest.raises(CannotEdit):
            set_value(t, path, v)
        return
    out = set_value(t, path, v)
    assert load(out) == put(d, path, v), (t, out)


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ("a: [null, \xa0]\n", ("a", 0), "a: [\xa0]\n"),
        ("a: [\xa0, b]\n", ("a", 1), "a: [\xa0]\n"),
        ("a:\n  \xa0:\n    b: 1\n", ("a", "\xa0", "b"), "a:\n  \xa0: {}\n"),
        ("a: |\n  x\n  \u3000\nb: 1\n", ("a",), "b: 1\n"),
    ],
)
def test_a_space_of_another_alphabet_is_text(text: str, path: tuple[str | int, ...], left: str) -> None:
    assert remove_value(text, path) == left


@settings(max_examples=300, deadline=None)
@given(doc, st.data())
def test_any_removed(d, data):
    t = yaml.safe_dump(d, allow_unicode=True, default_flow_style=data.draw(st.sampled_from([None, False])))
    if load(t) != d:
        return
    path = data.draw(st.sampled_from(list(paths(d))))
    out = remove_value(t, path)
    assert load(out) == drop(d, path), (t, out)
