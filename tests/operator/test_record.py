"""Which part of a status is written, and what a server lost of it."""

from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest

from paddock.jobs.apis.last_valid import decode_spec, encode_spec, with_last_valid_spec
from paddock.jobs.model import Phase, Status
from paddock.operator.record import (
    INVALID,
    build_difference,
    build_status_patch,
    find_dropped,
    with_invalid_job,
    with_valid_spec,
)
from paddock.words.problems import InvalidJob, Problem


@pytest.mark.parametrize(
    ("before", "patch", "difference"),
    [
        ({}, {}, {}),
        ({}, {"phase": "Pending"}, {"phase": "Pending"}),
        ({"phase": "Pending"}, {"phase": "Pending"}, {}),
        ({"phase": "Pending", "theirs": 1}, {"phase": "Running"}, {"phase": "Running"}),
        ({}, {"cause": None}, {}),
        ({"cause": {}}, {"cause": None}, {"cause": None}),
        ({"ps": {"running": 2, "ready": "2/2"}}, {"ps": {"running": None, "ready": "2/2"}}, {"ps": {"running": None}}),
        ({"ps": {"running": 2}}, {"ps": {"running": 2}, "worker": {}}, {"worker": {}}),
        ({"ps": "text"}, {"ps": {"running": 2}}, {"ps": {"running": 2}}),
        ({"attempt": 0}, {"attempt": 1}, {"attempt": 1}),
    ],
)
def test_only_what_would_change_is_written(
    before: dict[str, Any], patch: dict[str, Any], difference: dict[str, Any]
) -> None:
    assert build_difference(before, patch) == difference


def test_the_write_is_guarded_by_the_version_that_was_read() -> None:
    patch = build_status_patch({"metadata": {"resourceVersion": "7"}}, {"phase": "Pending"})
    assert patch == {"metadata": {"resourceVersion": "7"}, "status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        ({"status": {"phase": "Pending", "attempt": 0, "theirs": 1}}, ()),
        ({"status": {"phase": "Pending"}}, ("attempt",)),
        ({"status": {"phase": "Pending", "attempt": 3}}, ("attempt",)),
        ({}, ("attempt", "phase")),
    ],
)
def test_a_field_that_was_written_and_is_not_in_the_answer_is_lost(answer: dict[str, Any], lost: tuple[str]) -> None:
    assert find_dropped(answer, {"phase": "Pending", "attempt": 0, "cause": None}) == lost


def test_a_definition_without_suspects_halts_nothing() -> None:
    """An upgrade whose definitions come later: no node is avoided until then, and all else goes on."""
    wanted = {"attempt": 1, "suspects": {"gpu-7": {"reason": "NodeLost", "attempts": [0]}}}
    assert find_dropped({"status": {"attempt": 1}}, wanted) == ()
    assert find_dropped({"status": {}}, wanted) == ("attempt",)


NEW, OLD = {"worker": {"replicas": 2}}, {"worker": {"replicas": 4}}


def test_a_spec_that_an_operator_without_this_field_observed_is_kept_at_first_sight() -> None:
    manifest = {"metadata": {"generation": 2}, "spec": NEW}
    before = Status(phase=Phase.RUNNING, observed_generation=2, last_valid=encode_spec(OLD))
    assert with_valid_spec(before, before, manifest) == before
    assert decode_spec(with_valid_spec(before, before, manifest, first_look=True).last_valid) == NEW
    same = replace(before, last_valid=encode_spec(NEW))
    assert with_valid_spec(same, same, manifest, first_look=True) == same, "nothing new writes nothing"


def test_a_spec_too_large_to_be_kept_twice_is_not_kept() -> None:
    spec = {"data": token_hex(300_000)}
    status = with_valid_spec(Status(last_valid="old"), Status(last_valid="old"), {"metadata": {}, "spec": spec})
    assert status.last_valid == ""
    assert with_last_valid_spec({"spec": NEW}, status.last_valid) is None


@pytest.mark.parametrize("wanted", [True, False, None, "yes"])
def test_a_suspension_is_followed_beside_an_edit_that_is_not(wanted: Any) -> None:
    last = encode_spec({**OLD, "runPolicy": {"backoffLimit": 1, "suspend": False}})
    found = with_last_valid_spec({"kind": "PaddleJob", "spec": {"runPolicy": {"suspend": wanted}}}, last)
    suspend = wanted is True
    assert found == {"kind": "PaddleJob", "spec": {**OLD, "runPolicy": {"backoffLimit": 1, "suspend": suspend}}}


def test_of_an_annotation_of_datasets_the_entries_that_can_be_followed_are() -> None:
    mount = {"containers": [{"volumeMounts": [{"mountPath": "/taken"}]}]}
    last = encode_spec({"worker": {"template": {"spec": mount}}})
    note = {"paddock.dev/datasets": "imagenet:/data, words, x:/taken, y:/data"}
    found = with_last_valid_spec({"metadata": {"annotations": note}, "spec": {}}, last)
    assert found and found["metadata"]["annotations"] == {"paddock.dev/datasets": "imagenet:/data"}


def test_a_refusal_keeps_the_phase_and_its_moment_while_it_stays_the_same() -> None:
    refusal = InvalidJob((Problem("spec.worker", "is required"),))
    assert with_invalid_job(Status(), refusal, 10.5).phase is Phase.INVALID, "it has never been one that can run"
    first = with_invalid_job(Status(phase=Phase.RUNNING), refusal, 10.5)
    assert first.phase is Phase.RUNNING
    assert first.cause is not None
    assert (first.cause.reason, first.cause.since) == (INVALID, 10.0)
    assert first.cause.args == {"problems": ["spec.worker: is required"]}
    assert with_invalid_job(first, refusal, 99.0) == first
    other = with_invalid_job(first, InvalidJob((Problem("spec.ps", "is required"),)), 99.0)
    assert other.cause is not None
    assert other.cause.since == 99.0
