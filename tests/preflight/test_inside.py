"""Embedded jobs: the reported line, and that the advice works."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from paddock.preflight import check, read_documents

BAD = Path(__file__).parents[1] / "bad"


def read(name: str) -> str:
    return (BAD / f"{name}.yaml").read_text(encoding="utf-8")


def errors_of(text: str) -> list[str]:
    return [each.message for document in read_documents(text) for each in check(document) if each.severity == "error"]


@pytest.mark.parametrize("name", ["inside_an_experiment", "inside_a_config_map", "inside_a_key"])
def test_the_text_at_the_reported_line_is_a_manifest_when_copied(name: str) -> None:
    """The advice is to copy it: from its line on, to the left margin."""
    text = read(name)
    (inside,) = read_documents(text)[0].inside
    job = textwrap.dedent("".join(text.splitlines(keepends=True)[inside.line - 1 :]))
    if name == "inside_an_experiment":  # the tuner gives each trial its name and parameters
        job = job.replace("${trialParameters.learningRate}", "0.1") + "metadata: {name: trial}\n"
    assert errors_of(job) == []
    assert read_documents(job)[0].manifest["kind"] == inside.kind


def test_a_list_of_manifests_is_one_with_the_lines_that_are_advised() -> None:
    assert errors_of("apiVersion: v1\nkind: List\nitems:\n" + read("list_at_the_top")) == []
    assert errors_of("apiVersion: v1\nkind: List\n" + read("list_without_kind")) == []


@pytest.mark.parametrize(
    ("written", "advised"),
    [
        ("", "write the lines `apiVersion: v1` and `kind: List` above items"),
        ("apiVersion: v1\n", "write the line `kind: List` above items"),
        ("apiVersion: v2\n", "write the line `kind: List` above items, and `apiVersion: v1` for the apiVersion there"),
    ],
)
def test_only_the_missing_lines_of_a_list_are_advised(written: str, advised: str) -> None:
    """A line that is there already would be given twice."""
    (said,) = errors_of(written + read("list_without_kind"))
    assert said.endswith(f": {advised}")


def test_a_dump_is_valid_without_the_objects_that_the_job_owns() -> None:
    text = read("snapshot")
    assert errors_of(text) != []
    assert errors_of(text[: text.index("  - apiVersion: v1\n    kind: Pod")]) == []


def test_a_python_program_prints_its_dict_as_advised() -> None:
    program = read("inside_a_python_program")
    dict_alone = program[program.index("job = ") : program.index("client.CustomObjectsApi")]
    printing = dict_alone + "import json; print(json.dumps(job))\n"
    printed = subprocess.run([sys.executable, "-c", printing], capture_output=True, text=True, check=True).stdout
    assert errors_of(printed) == []


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nmetadata:\n  annotations:\n    last: |\n"
        "      apiVersion: batch.paddlepaddle.org/v1\n      kind: PaddleJob\n",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  ownerReferences:\n"
        "    - {apiVersion: batch.paddlepaddle.org/v1, kind: PaddleJob, name: resnet, uid: u}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: 'kind: PaddleJob'\n",
    ],
    ids=["a copy that kubectl keeps", "a reference", "a kind without its apiVersion"],
)
def test_a_text_that_only_mentions_a_job_is_no_job(text: str) -> None:
    assert read_documents(text)[0].inside == ()


@pytest.mark.parametrize("indentation", ["", "  "])
def test_a_line_stands_before_the_manifest_only_where_one_follows(indentation: str) -> None:
    text = f"Deploying resnet now\n{indentation}apiVersion: batch.paddlepaddle.org/v1\n{indentation}kind: PaddleJob\n"
    said = "; ".join(errors_of(text))
    assert ("stands before the manifest" in said) is (indentation == "")


def test_hundreds_of_jobs_are_counted() -> None:
    items = "  - {apiVersion: batch.paddlepaddle.org/v1, kind: PaddleJob, metadata: {name: a}}\n"
    (said,) = errors_of(f"apiVersion: v2\nkind: Chart\nparts:\n{items * 400}")
    assert "at line 6, under parts[2] and 397 more" in said
