"""One mistake does not hide another: the first wrong line is reported, and the rest of the file is parsed."""

from __future__ import annotations

import pytest

from paddock.preflight import check, read_documents

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: resnet
spec:
  worker:
    replicas: two
    template:
      spec:
        containers:
          - name: paddle
            image: registry.baidubce.com/paddle-operator/demo-resnet:v1
"""


def places_of(text: str) -> list[int]:
    return sorted(each.line or 0 for document in read_documents(text) for each in check(document))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (JOB, [7]),
        ("an unknown field: 1\n" + JOB, [1, 8]),
        ("INFO reading\n" + JOB, [1, 8]),
        ("INFO reading\nINFO and writing\n" + JOB, [1, 9]),
        (JOB.replace("spec:\n  worker", "see the wiki\nspec:\n  worker"), [5, 8]),
        (JOB.replace("    replicas: two", "\treplicas: two"), [7, 7]),
        (JOB.replace("metadata:\n  name", "metadata:\nname"), [4, 7]),
        (JOB + JOB, [7, 13, 19]),
        (JOB.replace("  name: resnet", "  name: resnet: 1") + "---\n" + JOB, [4, 20]),
        ("```\n" + JOB + "```\nand so on: [\n", [1, 8]),
        (JOB.replace("metadata:\n", "kind: PaddleJob\nmetadata:\n"), [3, 8]),
    ],
    ids=[
        "alone", "an unknown field", "a line before it", "two lines before it", "a line in between", "a tab",
        "no indentation", "no separator", "another manifest behind", "a fence", "a key twice",
    ],
)  # fmt: skip
def test_both_mistakes_are_reported(text: str, lines: list[int]) -> None:
    assert places_of(text) == lines


def test_a_problem_before_a_yaml_mistake_is_reported_once() -> None:
    assert places_of(JOB + "---\na: b: c\n---\n" + JOB) == [7, 14, 22]


def test_parsing_of_a_file_with_many_mistakes_terminates() -> None:
    assert len(read_documents("a: b: c\n---\n" * 1000)) <= 20


def test_a_manifest_without_any_indentation_names_the_first_spec() -> None:
    """`spec` is given again in its template, where it is empty as well."""
    flat = "\n".join(line.strip() for line in JOB.replace("  worker:", "  cleanPodPolicy: All\n  worker:").splitlines())
    only_spec = flat.replace("metadata:\nname: resnet\n", "metadata: {name: resnet}\n")
    said = [each.message for document in read_documents(only_spec) for each in check(document)]
    assert any("cleanPodPolicy belongs to spec in line 4" in each for each in said), said
