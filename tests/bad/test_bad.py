"""Files that people really give, and exactly what they are told, in both languages.

`NAME.yaml` is what was given, `NAME.en.txt` and `NAME.zh.txt` are what `paddock validate NAME.yaml` prints.
`pytest tests/bad --rewrite-goldens` writes them anew: read the difference as somebody who has not seen the code.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paddock.cli.submit.report import build_lines
from paddock.submission.reading import read_manifests

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
LANGUAGES = ("en", "zh")
ACCEPTED = {"anchors", "inside_a_list", "merge_keys", "windows_line_ends"}
"""Looks odd and is right: the user is told so."""

_TEXTS = [(FOLDER / f"{name}.yaml").read_bytes() for name in NAMES]


def lines_of(data: bytes, name: str, language: str) -> list[str]:
    return build_lines([read_manifests(f"{name}.yaml", data, "default")], language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_bad_file_is_told_as_the_golden_says(name: str, language: str, request: pytest.FixtureRequest) -> None:
    text = "\n".join(lines_of((FOLDER / f"{name}.yaml").read_bytes(), name, language)) + "\n"
    golden = FOLDER / f"{name}.{language}.txt"
    if request.config.getoption("--rewrite-goldens"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_there_are_many_and_none_is_told_the_same_twice() -> None:
    """Two files that get the same sentence, but for names, show the same check."""
    sentences = Counter(
        re.sub(r"^\S+: ", "", (FOLDER / f"{name}.en.txt").read_text(encoding="utf-8").replace(name, "FILE"))
        for name in NAMES
        if name not in ACCEPTED
    )
    assert len(sentences) > 100
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_each_line_says_where_and_each_language_says_the_same_places(name: str) -> None:
    english, chinese = [(FOLDER / f"{name}.{each}.txt").read_text(encoding="utf-8").splitlines() for each in LANGUAGES]
    place = re.compile(rf"{name}\.yaml:\d+:\d+: ")
    assert [place.match(line) and place.match(line)[0] for line in english] == [  # type: ignore[index]
        place.match(line) and place.match(line)[0]  # type: ignore[index]
        for line in chinese
    ]
    assert (place.match(english[0]) is None) == (name in ACCEPTED)


@pytest.mark.parametrize("name", NAMES)
def test_chinese_is_chinese(name: str) -> None:
    """Outside of paths, quotes, commands and names no English sentence is left."""
    for line in (FOLDER / f"{name}.zh.txt").read_text(encoding="utf-8").splitlines():
        bare = re.sub(r'`[^`]*`|"(\\.|[^"\\])*"|\[[^\]]*\]|python -c|\S+: (?=\S)', "", line)
        assert re.search(r"[\u4e00-\u9fff]", line)
        assert re.search(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b", bare) is None, bare


@settings(suppress_health_check=[HealthCheck.data_too_large])
@given(st.data())
def test_a_damaged_file_is_accepted_or_told_with_a_place(data: st.DataObject) -> None:
    """Cut, doubled, swapped or overwritten: never a traceback, never a problem without a line."""
    text = data.draw(st.sampled_from(_TEXTS))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 40)))
        piece = data.draw(
            st.binary(max_size=8) | st.sampled_from([b"", b"\t", b": ", b"- ", b"*a", b"{", b"null", b'"', b"1e999"])
        )
        text = (
            text[:start]
            + data.draw(st.sampled_from([piece, text[start:end] * 2, piece + text[start:end]]))
            + text[end:]
        )
    reading = read_manifests("f.yaml", text, "default")
    assert reading.documents
    assert all(problem.line and problem.column for problem in reading.problems)
    for language in LANGUAGES:
        assert build_lines([reading], language)


_KEYS = st.sampled_from(
    ["spec", "worker", "ps", "replicas", "template", "containers", "metadata", "name", "image", "ports", "hostPort",
     "env", "resources", "limits", "nvidia.com/gpu", "volumes", "volumeMounts", "mountPath", "labels", "command",
     "containerPort"]
)  # fmt: skip
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 70000)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["Never", "1Gi"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(spec=_VALUES, role=_VALUES, pod=_VALUES, container=_VALUES)
def test_any_values_anywhere_are_accepted_or_told_with_a_path(
    spec: object, role: object, pod: object, container: object
) -> None:
    from paddock.preflight import Document, check

    def merged(value: object, more: dict[str, object]) -> object:
        return {**value, **more} if isinstance(value, dict) else more

    inner = merged(
        pod,
        {
            "containers": [
                merged({"name": "paddle", "image": "a"}, container if isinstance(container, dict) else {}),
                container,
            ]
        },
    )
    worker = merged(role, {"replicas": 1, "template": {"spec": inner}})
    manifest = {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "job"},
        "spec": merged(spec, {"worker": worker}),
    }
    for problem in check(Document(manifest)):
        assert problem.path and problem.message
