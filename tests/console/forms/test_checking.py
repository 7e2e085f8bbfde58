"""What is wrong with a text, and the word that mends it."""

from __future__ import annotations

import time

import pytest

from paddock.console.forms.checking import BOUNDS, MOST_CHARACTERS, check_text, find_mended, mend
from paddock.console.forms.choices import Choices
from paddock.console.forms.editor import read_posted
from paddock.console.forms.fields import write_fields
from paddock.console.forms.templates import TEMPLATES
from paddock.manifests.documents import count_values

EXPLODING = "a0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(30))
TEXT = TEMPLATES["pytorch-distributed"].text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("      replicas: 2", "      replica: 2"),
        ("restartPolicy: OnFailure", "restartPolicy: OnFailur"),
        ("restartPolicy: OnFailure", 'restartPolicy: "OnFailur"'),
        ("command: [python", "comand: [python"),
        ("kind: PyTorchJob", "kind: PytorchJob"),
    ],
)
def test_a_misspelt_word_is_mended_in_its_place_and_nothing_else(right: str, wrong: str) -> None:
    text = TEXT.replace(right, wrong, 1)
    (problem, *_) = check_text(text).problems
    mended = mend(text, f"{problem.line}:{problem.column}")
    assert mended.replace('"OnFailure"', "OnFailure") == TEXT


def test_a_problem_without_a_near_name_has_no_fix() -> None:
    text = TEXT.replace("      replicas: 2", "      replicas: many")
    (problem,) = check_text(text).problems
    assert find_mended(text, problem) is None
    assert mend(text, f"{problem.line}:{problem.column}") == text


def test_a_fix_of_what_is_no_longer_wrong_does_nothing() -> None:
    assert mend(TEXT, "24:7") == TEXT
    assert mend(TEXT, "") == TEXT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a" * (MOST_CHARACTERS + 1), "KiB"),
        (EXPLODING, ""),
        ("spec:\n\treplicas: 1\n", "tab"),
        ("[" * 5000, ""),
        ("\x00\x01", ""),
    ],
)  # fmt: skip
def test_bad_input_is_told_and_never_a_crash(text: str, said: str) -> None:
    report = check_text(text)
    assert report.wrong
    assert said in " ".join(each.message for each in report.problems)


def test_a_text_is_checked_as_a_file_is() -> None:
    """Of Datasets too, and of two names that are one once both have the namespace in which they are created."""
    dataset = (
        "apiVersion: paddock.dev/v1alpha1\nkind: Dataset\nmetadata: {name: words}\nspec: {source: {uri: ftp://x/y}}\n"
    )
    (problem,) = check_text(dataset).problems
    assert (problem.path, problem.line) == ("spec.source.uri", 4)
    claim = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%s}\n"
    (problem,) = check_text(f"{claim % ''}---\n{claim % ', namespace: default'}").problems
    assert problem.message == "a ConfigMap of this name stands in line 3 already"


def fill(head: str, piece: str, end: str = "") -> str:
    """As long as a text may be."""
    return head + piece * ((MOST_CHARACTERS - len(head) - len(end)) // len(piece)) + end


JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"
CONTAINER = JOB + "spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: ["


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (fill("", "---\n"), "more than 50 documents"),
        (fill("", "---\na: 1\n"), "more than 50 documents"),
        (fill(CONTAINER, "{},", "]}}}}}"), "more than 8000 values"),
        (fill(CONTAINER + "{name: pytorch, image: x, args: [", "1,", "]}]}}}}}"), "more than 8000 values"),
        (fill(JOB + "spec:\n", "  a: 1\n"), "more than 8000 values"),
        (fill("a: &a 1\nb: [", "*a,", "]"), "more than 8000 values"),
        ("a: b: c\n---\nb: [" + "a," * 10_000 + "]", "more than 8000 values"),
        (JOB + "spec: " + "{a: " * 101 + "1" + "}" * 101, "nested more than 100 levels"),
        (fill("", "["), "nested more than 100 levels"),
        (fill("a:\n\tb: 1\n---\n", "a: [1, 2]\n"), "a tab stands here"),
    ],
    ids=["empty documents", "documents", "containers", "arguments", "keys", "aliases", "behind a mistake", "levels",
         "lists", "behind tabs"],
)  # fmt: skip
def test_a_text_that_passes_a_bound_is_refused_before_it_is_checked(text: str, said: str) -> None:
    begun = time.process_time()
    report = check_text(text)
    assert report.wrong
    assert said in " ".join(each.message for each in report.problems)
    assert time.process_time() - begun < 8, "most of what it took without bounds: 2 to 72 s"


def test_a_large_job_is_within_bounds() -> None:
    variables = ", ".join(f"{{name: V{each}, value: 'x'}}" for each in range(100))
    role = f"replicas: 1, template: {{spec: {{containers: [{{name: pytorch, image: i, env: [{variables}]}}]}}}}"
    text = f"{JOB}metadata: {{name: a}}\nspec: {{pytorchReplicaSpecs: {{Master: {{{role}}}, Worker: {{{role}}}}}}}\n"
    assert not check_text(text).wrong
    assert BOUNDS.values > 3 * count_values(text, BOUNDS)


def test_fields_that_no_form_has_cost_nothing() -> None:
    begun = time.process_time()
    assert write_fields(TEXT, {f"no-{each}": "x" for each in range(20_000)}) == TEXT
    assert time.process_time() - begun < 5


@pytest.mark.slow
def test_many_fields_are_not_written_into_a_long_text() -> None:
    text = TEXT + "  # \n" + "x: [" + "1," * 5_000 + "]\n"
    posted = {"text": text} | {f"f:{each}": "x" for each in range(10)}
    draft = read_posted(posted, Choices())
    assert draft.text == text
    assert "too long for so many fields" in str(draft.unwritten[0])
    assert "too long" not in str([each.said for each in read_posted(posted | {"text": TEXT}, Choices()).unwritten])
