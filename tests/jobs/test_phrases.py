"""Phrases about manifests: every text in the code has its Chinese one, and no place is lost on the way."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import paddock
from paddock.jobs.chinese_phrases import CHINESE_PHRASES
from paddock.jobs.phrases import phrase, render
from paddock.jobs.text import either, nearest, quoted, told, unknown, wrong

TEXT_OF = {
    "phrase": 0, "Phrase": 0, "_paste": 1, "refuse": 1, "warn": 1, "missing": 1, "told": 1, "wrong": 2,
}  # fmt: skip
"""Which argument of a call is a phrase or its text."""


def texts_in_code() -> Iterator[tuple[str, str]]:
    root = Path(paddock.__file__).parent
    for path in sorted((*root.glob("jobs/**/*.py"), *root.glob("cli/*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            place = TEXT_OF.get(name)
            if place is None or len(node.args) <= place:
                continue
            argument = node.args[place]
            options = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
            for option in options:
                if isinstance(option, ast.Constant) and isinstance(option.value, str) and option.value:
                    yield f"{path.relative_to(root)}:{node.lineno}", option.value


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_text_in_the_code_has_a_chinese_one() -> None:
    found = list(texts_in_code())
    assert len(found) > 120, "the search finds them"
    assert [(where, text) for where, text in found if text not in CHINESE_PHRASES] == []


def test_no_message_about_a_manifest_is_put_together_without_a_phrase() -> None:
    """An f-string would be English in every language."""
    root = Path(paddock.__file__).parent / "jobs"
    wrong_calls = [
        f"{path.name}:{node.lineno}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (place := TEXT_OF.get(getattr(node.func, "id", getattr(node.func, "attr", "")))) is not None
        and len(node.args) > place
        and isinstance(node.args[place], ast.JoinedStr)
    ]
    assert wrong_calls == []


@pytest.mark.parametrize(("english", "chinese"), CHINESE_PHRASES.items(), ids=list(CHINESE_PHRASES))
def test_a_translation_has_the_same_places(english: str, chinese: str) -> None:
    if "{" in english:
        assert places(english) == places(chinese)
    commands = [part for part in english.split("`")[1::2] if part.startswith(("kubectl", "helm", "launch"))]
    assert all(command in chinese for command in commands)


def test_a_problem_is_said_in_each_language() -> None:
    problem = wrong("spec.intranet", "podip", either(["PodIP", "Service"]), "PodIP")
    assert problem.message == 'found "podip", PodIP or Service is allowed; did you mean "PodIP"?'
    assert problem.said is not None
    assert render(problem.said, "zh") == '值为："podip"，应为 PodIP 或 Service；是否应为 PodIP？'
    assert render(problem.said, "tlh") == problem.message, "a language without a catalogue is English"


def test_a_plain_text_is_a_phrase_without_places() -> None:
    assert render("a mapping", "zh") == CHINESE_PHRASES["a mapping"]
    assert told("a", "no such text {braces}").message == "no such text {braces}"
    assert str(phrase("a whole number from {low} to {high}", low=1, high=2)) == "a whole number from 1 to 2"


@pytest.mark.parametrize(
    ("value", "english"),
    [
        ("a{b}", '"a{b}"'), ("x" * 61, f'"{"x" * 60}…" (61 characters)'), (True, "true"), (None, "nothing"),
        ({}, "an empty mapping"), ([1], "a list"), (1.5, "1.5"),
    ],
)  # fmt: skip
def test_a_value_is_quoted(value: object, english: str) -> None:
    assert render(quoted(value)) == english


def test_an_unknown_field_is_told_with_the_best_that_is_known() -> None:
    assert unknown("spec.Worker", "Worker", ["worker"], ("spec.x.Worker",)).suggestion == "worker", "the case alone"
    assert unknown("spec.spec", "spec", ["template"], ("spec.template.spec",)).message.endswith("spec.template.spec")
    assert unknown("spec.zzz", "zzz", ["ps", "worker"]).message.endswith("; there are ps or worker")
    assert nearest("zzz", ["ps"]) == ""
