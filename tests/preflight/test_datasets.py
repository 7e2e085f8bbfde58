"""`paddock validate` of a Dataset's file: each mistake with its path, its line and the nearest name."""

from __future__ import annotations

import pytest

from paddock.preflight import explain_problem, read_documents
from paddock.preflight.datasets import examine_document
from paddock.words.phrases import render

GOOD = """\
apiVersion: paddock.dev/v1alpha1
kind: Dataset
metadata:
  name: words
spec:
  source:
    uri: https://data.example.com/words.tar
    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  round: 1
  storage:
    size: 200Gi
    storageClassName: nas
    accessModes: [ReadWriteMany]
"""


def find(text: str) -> list[tuple[int | None, str, str]]:
    """(line, severity, sentence) of each problem."""
    (document,) = read_documents(text)
    return [(each.line, each.severity, explain_problem(each)) for each in examine_document(document).problems]


def test_a_right_file_has_no_problem_also_one_that_a_cluster_wrote() -> None:
    assert find(GOOD) == []
    ((line, severity, said),) = find(
        GOOD.replace("  name: words", "  name: words\n  uid: 1-2") + "status: {phase: Ready}"
    )
    assert (line, severity) == (5, "warning")
    assert "metadata.uid, status are left out" in said


@pytest.mark.parametrize(
    ("change", "into", "line", "said"),
    [
        ("  source:", "  sorce:", 6, 'spec.sorce: there is no field of this name; did you mean "source"?'),
        ("uri:", "url:", 7, 'spec.source.url: there is no field of this name; did you mean "uri"?'),
        ("sha256:", "checksum:", 8, "spec.source.checksum: there is no field of this name; there are endpoint"),
        ("https://data", "htps://data", 7, 'spec.source.uri: the address: found "htps://": did you mean "https://"?'),
        ("https://data", "oss://data", 7, "write s3://data.example.com/words.tar and the endpoint that speaks S3"),
        ("https://", "", 7, 'found "data.example.com/words.tar", which begins with no scheme'),
        ("9f86d0", "9f86", 8, "a SHA-256 checksum has 64 hexadecimal digits, and 62 were found"),
        ("https://data.example.com/", "s3://data/", 8, "sha256 means nothing for s3://data/words.tar"),
        ("  name: words", "  name: Words", 4, "metadata.name: 'Words' is not a valid name for a dataset"),
        ("round: 1", "round: -1", 9, "spec.round: found -1, a whole number from 0 to 2147483647 is allowed"),
        ("round: 1", "round: one", 9, 'spec.round: found "one", a whole number is allowed'),
        ("size: 200Gi", "size: much", 11, "spec.storage.size: 'much' is no size: write 50Gi"),
        ("[ReadWriteMany]", "ReadWriteMany", 13, 'found "ReadWriteMany", a list is allowed'),
        ("[ReadWriteMany]", "[ReadWriteAll]", 13, 'is no access mode: write ReadWriteMany'),
        ("    uri: https://data.example.com/words.tar\n", "", 6, "spec.source.uri: is missing: text is needed"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_once_with_its_line(change: str, into: str, line: int, said: str) -> None:
    ((found_line, severity, sentence),) = find(GOOD.replace(change, into, 1))
    assert (found_line, severity) == (line, "error")
    assert said in sentence


def test_a_field_at_the_wrong_level_is_told_with_its_place_and_what_it_would_fill_is_not() -> None:
    text = "apiVersion: paddock.dev/v1alpha1\nkind: Dataset\nmetadata: {name: w}\nspec:\n  uri: https://a.example/b\n"
    ((line, _, said),) = find(text)
    assert (line, said) == (5, "spec.uri: there is no field of this name here; it belongs to spec.source.uri")


def test_several_mistakes_are_all_told_and_a_password_is_in_none_of_them() -> None:
    text = GOOD.replace("https://data", "htps://me:hunter2@data").replace("9f86d0", "9").replace("Gi", "gigs")
    (document,) = read_documents(text)
    problems = examine_document(document).problems
    assert [each.line for each in problems] == [7, 8, 11]
    assert not any("hunter2" in f"{render(each.said or each.message)}{each.found}" for each in problems)


def test_a_template_that_was_not_filled_is_told_as_that() -> None:
    ((line, _, said),) = find(GOOD.replace("https://data.example.com/words.tar", '"${DATA_URI}"').replace(
        "    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n", ""
    ))  # fmt: skip
    assert (line, "DATA_URI" in said) == (7, True)
