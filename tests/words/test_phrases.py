"""Phrases: a text, its arguments, and its translations. Catalogues: tests/tools."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from catalogues import ARGUMENTS

import paddock
from paddock.kube.nearness import nearest
from paddock.words.phrases import Foreign, Names, counted, phrase, render
from paddock.words.sentences import either, quoted, told, unknown, wrong


def test_no_message_about_a_manifest_is_put_together_without_a_phrase() -> None:
    """An f-string would be English in every language."""
    root = Path(paddock.__file__).parent / "jobs"
    wrong_calls = [
        f"{path.name}:{node.lineno}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (place := ARGUMENTS.get(getattr(node.func, "id", getattr(node.func, "attr", "")))) is not None
        and len(node.args) > place
        and isinstance(node.args[place], ast.JoinedStr)
    ]
    assert wrong_calls == []


def test_a_problem_is_rendered_in_each_language() -> None:
    problem = wrong("spec.intranet", "podip", either(["PodIP", "Service"]), "PodIP")
    assert problem.message == 'found "podip", PodIP or Service is allowed; did you mean "PodIP"?'
    assert problem.said is not None
    assert render(problem.said, "zh") == '值为 "podip"，应为 PodIP 或 Service；是否应为 PodIP？'
    assert render(problem.said, "tlh") == problem.message, "a language without a catalogue is English"


def test_a_plain_text_is_a_phrase_without_placeholders() -> None:
    assert render("a mapping", "zh") == "一个映射（键：值）"
    assert told("a", "no such text {braces}").message == "no such text {braces}"
    assert str(phrase("a whole number from {low} to {high}", low=1, high=2)) == "a whole number from 1 to 2"


def test_the_count_selects_the_plural_form() -> None:
    one, two = (counted("{count} worker", "{count} workers", count=count) for count in (1, 2))
    assert (str(one), str(two)) == ("1 worker", "2 workers")
    assert (render(one, "zh"), render(two, "zh")) == ("1 个 worker", "2 个 worker")


def test_each_language_joins_names_in_its_own_way() -> None:
    some, many = Names(("a", "b", "c")), Names(tuple("abcdef"))
    said = phrase("waiting for the addresses of {pods}", pods=some)
    assert str(said) == "waiting for the addresses of a, b and c"
    assert render(said, "zh") == "a、b 和 c正在等待分配地址"
    assert str(phrase("{names}", names=many)) == "a, b, c and 3 more"
    assert render(phrase("{names}", names=many), "zh").strip() == "a、b、c 等 6 个"
    assert str(phrase("{names}", names=("a", "b", "c"))) == "a, b or c"


def test_a_schedulers_message_is_translated_as_far_as_its_pattern_is_known() -> None:
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had moods"
    said = phrase("{said}: {message}", said="worker-0", message=Foreign(message))
    assert str(said) == f"worker-0: {message}"
    assert render(said, "zh") == "worker-0：2 个节点中没有可用的：1 个节点的 cpu 不足，1 node(s) had moods"


@pytest.mark.parametrize(
    ("value", "english"),
    [
        ("a{b}", '"a{b}"'), ("x" * 61, f'"{"x" * 60}…" (61 characters)'), (True, "true"), (None, "nothing"),
        ({}, "an empty mapping"), ([1], "a list"), (1.5, "1.5"),
    ],
)  # fmt: skip
def test_a_value_is_quoted(value: object, english: str) -> None:
    assert render(quoted(value)) == english


def test_an_unknown_field_is_reported_with_the_best_suggestion() -> None:
    assert unknown("spec.Worker", "Worker", ["worker"], ("spec.x.Worker",)).suggestion == "worker", "the case alone"
    assert unknown("spec.spec", "spec", ["template"], ("spec.template.spec",)).message.endswith("spec.template.spec")
    assert unknown("spec.zzz", "zzz", ["ps", "worker"]).message.endswith("; there are ps or worker")
    assert nearest("zzz", ["ps"]) == ""


@pytest.mark.parametrize(
    ("written", "said"),
    [("12 s", "12 秒"), ("13s", "13 秒"), ("2m30s", "2 分钟 30 秒"), ("1.4 s", "1.4 秒"), ("3 d", "3 天"),
     ("2026-11-20T08:12:00Z", "2026-11-20T08:12:00Z"), ("?", "?")],
)  # fmt: skip
def test_a_duration_is_said_in_the_readers_language_and_a_time_as_it_is(written: str, said: str) -> None:
    told = phrase("Failed after {time}", time=written)
    assert (str(told), render(told, "zh")) == (f"Failed after {written}", f"{said}后失败")


def test_sentences_in_a_list_are_rendered_too() -> None:
    some = Names((phrase("a mapping"), "worker"))
    assert (str(phrase("{names}", names=some)), render(phrase("{names}", names=some), "zh").strip()) == (
        "a mapping and worker", "一个映射（键：值） 和 worker",
    )  # fmt: skip
