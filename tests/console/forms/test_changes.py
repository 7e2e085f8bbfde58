"""What an edit changes and costs."""

from __future__ import annotations

import copy
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.console.forms.changes import (
    diff,
    diff_texts,
    explain_cost,
    explain_stale,
    find_moved,
    merge_edit,
    take_editable,
)
from paddock.console.forms.fields import write_fields
from paddock.console.forms.templates import TEMPLATES
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.labels import CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.jobs.model import Job, Phase, Status
from paddock.jobs.people import Change, read_change
from paddock.manifests.documents import read_documents

TEXT = TEMPLATES["pytorch-distributed"].text


def manifest(text: str = TEXT) -> dict[str, Any]:
    found = read_documents(text)[0].manifest
    return {**found, "metadata": {**found["metadata"], "namespace": "default", "uid": "u"}}


def job(**typed: str) -> Job:
    return KUBEFLOW_PYTORCH.read_job(manifest(write_fields(TEXT, {k.replace("_", "."): v for k, v in typed.items()})))


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        ({"Worker_replicas": "3"}, Status(phase=Phase.RUNNING, attempt=3), "attempt 3 → 4"),
        ({"Worker_replicas": "3"}, Status(phase=Phase.SUSPENDED, attempt=3), "no pod runs"),
        ({"Worker_replicas": "3"}, Status(phase=Phase.COMPLETED, attempt=1), "has ended"),
        ({"image": "other:1"}, Status(phase=Phase.RUNNING, attempt=1), "keep what they were started with"),
        ({"restarts": "9"}, Status(phase=Phase.RUNNING, attempt=1), "restarts nothing"),
    ],
)
def test_the_cost_of_an_edit_is_told(typed: dict[str, str], status: Status, said: str) -> None:
    (found,) = explain_cost(job(), job(**typed), status)
    assert said in str(found)


def test_the_diff_has_the_changed_lines_with_two_around_them() -> None:
    lines = diff(manifest(), manifest(write_fields(TEXT, {"Worker.replicas": "5"})))
    assert [(each.sign, each.text.strip()) for each in lines if each.sign in "+-"] == [
        ("-", "replicas: 2"),
        ("+", "replicas: 5"),
    ]
    assert len(lines) == 6
    assert diff(manifest(), manifest()) == []


@pytest.mark.parametrize(("path", "value"), [("name", "other"), ("namespace", "other")])
def test_another_name_is_no_edit(path: str, value: str) -> None:
    moved = find_moved(
        manifest(), manifest(write_fields(TEXT, {})) | {"metadata": {**manifest()["metadata"], path: value}}
    )
    assert f"metadata.{path}" in str(moved)


def test_a_saved_edit_keeps_what_is_the_servers() -> None:
    stored = manifest() | {"status": {"a": 1}}
    stored["metadata"] |= {
        "resourceVersion": "7",
        "finalizers": ["f"],
        "ownerReferences": [{"name": "o"}],
        "labels": {"a": "b"},
    }
    edited = take_editable(stored)
    edited["metadata"] = {**edited["metadata"], "labels": {"a": "c"}}
    sent = merge_edit(stored, edited)
    assert sent["metadata"] == {**stored["metadata"], "labels": {"a": "c"}}
    assert sent["status"] == {"a": 1}


@pytest.mark.parametrize(
    ("before", "after", "what", "generation"),
    [
        (False, False, "edited", 8),
        (False, True, "suspended", 8),
        (True, False, "resumed", 8),
        (None, None, "edited", 7),
    ],
)
def test_a_saved_edit_is_signed_and_keeps_who_submitted_the_job(
    before: bool | None, after: bool | None, what: str, generation: int
) -> None:
    """An edit of labels alone makes no new generation."""
    stored = manifest()
    stored["metadata"] |= {"generation": 7, "annotations": {CREATED_BY_ANNOTATION: "bob", CHANGED_BY_ANNOTATION: "{}"}}
    stored["spec"]["runPolicy"] = {"suspend": bool(before)}
    edited = copy.deepcopy(take_editable(stored))
    assert "annotations" not in edited["metadata"], "nobody edits who has done what"
    edited["metadata"]["annotations"] = {CREATED_BY_ANNOTATION: "ceo", "mine": "new"}
    edited["spec"]["runPolicy"] = {"suspend": bool(after), **({} if after is None else {"backoffLimit": 3})}
    sent = merge_edit(stored, edited, "ada")["metadata"]["annotations"]
    assert read_change(sent) == Change("ada", what, generation)
    assert (sent[CREATED_BY_ANNOTATION], sent["mine"]) == ("bob", "new")
    assert merge_edit(stored, edited)["metadata"]["annotations"][CHANGED_BY_ANNOTATION] == "{}", "nobody is known"


def test_a_new_status_is_no_change_by_somebody() -> None:
    later = manifest() | {"status": {"phase": "Running"}}
    later["metadata"]["resourceVersion"] = "9"
    assert take_editable(later) == take_editable(manifest())
    assert take_editable(manifest(write_fields(TEXT, {"image": "x:1"}))) != take_editable(manifest())


def test_who_changed_it_is_the_last_who_wrote_no_status() -> None:
    stored = manifest()
    stored["metadata"]["managedFields"] = [
        {"manager": "kubectl-edit", "time": "2026-11-22T10:00:00Z"},
        {"manager": "paddock", "time": "2026-11-22T11:00:00Z", "subresource": "status"},
    ]
    assert str(explain_stale(stored)).startswith("kubectl-edit changed this job at 2026-11-22T10:00:00Z")
    assert str(explain_stale(manifest())).startswith("somebody changed this job")


VERY_MANY: dict[str, tuple[str, str]] = {
    "two lines in turn": ("a\nb\n" * 50_000, "a\nc\n" * 100),
    "lines that stand hundreds of times": (
        "".join(f"- {number % 150}\n" for number in range(20_000)),
        "".join(f"- {number * 7 % 151}\n" for number in range(20_000)),
    ),
    "every second line": (
        "".join(f"{number}\n" for number in range(20_000)),
        "".join(f"{number if number % 2 else -number}\n" for number in range(1, 20_001)),
    ),
    "at the bound": ("a\n" * 1_000 + "x\n", "b\n" + "a\n" * 999),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", VERY_MANY)
def test_a_difference_of_very_many_lines_is_found_in_time(kind: str) -> None:
    """A form may send 2 MiB as what a job was, and whoever compares it holds up the pages of all readers."""
    before, after = VERY_MANY[kind]
    begun = time.thread_time()
    lines = diff_texts(before, after)
    assert time.thread_time() - begun < 2, "pairs of equal lines were compared one by one"
    assert len(lines) > 2


@given(*[st.lists(st.sampled_from(["a", "b", "c"]), max_size=12).map("\n".join)] * 2)
def test_a_difference_has_all_that_was_taken_out_and_put_in(before: str, after: str) -> None:
    lines = diff_texts(before, after)
    assert Counter(each.text for each in lines if each.sign == "-") - Counter(before.splitlines()) == Counter()
    gone, came = (Counter(each.text for each in lines if each.sign == sign) for sign in "-+")
    assert Counter(before.splitlines()) - gone + came == Counter(after.splitlines())


def test_far_apart_changes_of_a_long_text_show_only_themselves() -> None:
    before = [f"line {number}" for number in range(20_000)]
    after = [*before[:9_999], "new", *before[9_999:]]
    assert [each.sign for each in diff_texts("\n".join(before), "\n".join(after))] == [" ", " ", "+", " ", " "]
