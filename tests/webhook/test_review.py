"""What a review says: `paddock validate`'s sentences, and an edit is refused only for what it makes worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from paddock.cli.main import cli
from paddock.install.own_accounts import build_own_accounts
from paddock.kube.meta import Manifest
from paddock.webhook.review import (
    MOST_CHARACTERS,
    BadReview,
    Request,
    cut_warnings,
    is_checked,
    let_through,
    read_review,
    review,
)
from paddock.webhook.server import answer
from preflight.test_hostile_texts import KINDS, is_cheap
from support.tiers import keep_light
from webhook.jobs import (
    JOB,
    REVIEW,
    Edit,
    container,
    ended,
    huge,
    in_deletion,
    labelled,
    make,
    more_negative,
    negative,
    no_image,
    nothing,
    of_a_stranger,
    of_another,
    of_kubeflow,
    of_the_operator,
    stored,
    twice_the_name,
    with_a_sidecar,
)

OWN = build_own_accounts("paddle-system", None)


def ask(
    new: Manifest, old: Manifest | None = None, operation: str = "", namespace: str = "", user: str = ""
) -> Manifest:
    request = Request("uid-1", operation or ("UPDATE" if old else "CREATE"), new, old, namespace, user)
    answer = review(request, OWN)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"] == "uid-1"
    found: Manifest = answer["response"]
    return found


@pytest.mark.parametrize(
    ("edit", "allowed"),
    [
        (nothing, True),
        (stored, True),
        (of_kubeflow, True),
        (negative, False),
        (no_image, False),
        (of_another, True),
        (of_a_stranger, True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_new_job_is_taken_unless_it_has_an_error(edit: Edit, allowed: bool) -> None:
    said = ask(make(edit))
    assert said["allowed"] is allowed
    assert ("status" in said) is not allowed
    assert allowed is False or "warnings" not in said or edit is of_another


def test_another_managers_job_is_taken_with_all_its_errors() -> None:
    assert ask(make(of_another, negative)) == {"uid": "uid-1", "allowed": True}


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ((), (negative,), False),
        ((negative,), (), True),
        ((negative,), (negative, labelled), True),
        ((negative,), (negative, ended), True),
        ((negative,), (more_negative,), True),
        ((negative,), (negative, no_image), False),
        ((no_image,), (no_image, with_a_sidecar), True),
        ((no_image, with_a_sidecar), (no_image,), True),
        ((), (negative, in_deletion), True),
        ((of_another, negative), (negative,), True),
        ((), (of_another, negative), True),
        ((twice_the_name,), (twice_the_name, labelled), True),
    ],
    ids=lambda value: "-".join(edit.__name__ for edit in value) if isinstance(value, tuple) else str(value),
)
def test_an_edit_is_refused_for_what_it_makes_worse_alone(
    before: tuple[Edit, ...], after: tuple[Edit, ...], allowed: bool
) -> None:
    assert ask(make(stored, *after), make(stored, *before))["allowed"] is allowed


ANOTHER, OURS = "kueue.x-k8s.io/multikueue", "kubeflow.org/training-operator"


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"managedBy": ANOTHER}, "spec.runPolicy.managedBy"),
        ({"managedBy": OURS}, {"managedBy": ANOTHER}, "spec.runPolicy.managedBy"),
        ({"managedBy": ANOTHER}, {}, "spec.runPolicy.managedBy"),
        ({}, {"managedBy": OURS}, ""),
        ({"managedBy": ""}, {}, ""),
        ({"managedBy": ANOTHER}, {"managedBy": ANOTHER, "suspend": True}, ""),
        (
            {"schedulingPolicy": {"queue": "a"}},
            {"schedulingPolicy": {"queue": "b"}},
            "spec.runPolicy.schedulingPolicy.queue",
        ),
        ({}, {"schedulingPolicy": {"queue": "b"}}, ""),
        ({"schedulingPolicy": {"queue": "a"}}, {"schedulingPolicy": {}}, ""),
        ({"schedulingPolicy": []}, {"schedulingPolicy": {"queue": "b"}}, ""),
    ],
)
@pytest.mark.parametrize("kind", ["PaddleJob", "PyTorchJob"])
def test_the_manager_and_the_queue_of_a_job_of_kubeflow_stay(
    kind: str, before: Manifest, after: Manifest, field: str
) -> None:
    """With training-operator a running PyTorchJob could be orphaned by an edit of managedBy (D3)."""

    def job(policy: Manifest) -> Manifest:
        made = make(of_kubeflow, stored)
        specs = made["spec"].pop("paddleReplicaSpecs")
        name = "paddleReplicaSpecs" if kind == "PaddleJob" else "pytorchReplicaSpecs"
        return {**made, "kind": kind, "spec": {name: specs, "runPolicy": policy}}

    said = ask(job(after), job(before))
    assert said["allowed"] is not bool(field)
    if field:
        (cause,) = said["status"]["details"]["causes"]
        assert (cause["field"], cause["reason"]) == (field, "FieldValueForbidden")
        assert "immutable" in cause["message"]


def test_only_the_errors_that_are_new_are_told_to_who_edits() -> None:
    said = ask(make(negative, no_image), make(negative))
    assert "image" in said["status"]["message"]
    assert "replicas" not in said["status"]["message"]


def test_errors_of_before_are_warnings() -> None:
    (said,) = ask(make(more_negative), make(negative))["warnings"]
    assert said.startswith("spec.worker.replicas: found -2")


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", ""])
def test_other_operations_are_let_through(operation: str) -> None:
    assert review(Request("u", operation, make(negative)))["response"]["allowed"] is True


def bad_manifests() -> list[Manifest]:
    return [make(edit) for edit in (negative, no_image, twice_the_name)] + [make(negative, no_image)]


@pytest.mark.parametrize("manifest", bad_manifests(), ids=["replicas", "image", "names", "two"])
def test_the_sentences_are_those_of_validate(manifest: Manifest, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(manifest, sort_keys=False))
    printed = CliRunner().invoke(cli, ["validate", str(file)]).output.splitlines()
    errors = [line.split(": ", 1)[1] for line in printed if str(file) in line and ": warning: " not in line]
    status = ask(manifest)["status"]
    assert status["message"].splitlines() == errors
    assert [f"{each['field']}: {each['message']}" for each in status["details"]["causes"]] == errors
    assert (status["code"], status["reason"], status["details"]["name"]) == (422, "Invalid", "demo")


def test_warnings_of_validate_are_told_and_the_job_is_taken() -> None:
    def asks_of_kueue(job: Manifest) -> None:
        container(job)["command"] = ["python", "-m", "paddle.distributed.launch", "run_check"]
        job["spec"]["worker"]["replicas"] = 1

    said = ask(make(asks_of_kueue))
    assert said["allowed"] is True
    assert any(each.startswith("spec.worker.template.spec.containers[0].command") for each in said["warnings"])


NOT_CHECKED = "this job is not checked, as it has more than 5000 values or 128 KiB of text"


def test_a_job_that_is_too_large_is_let_through_with_a_word() -> None:
    said = ask(make(huge))
    assert (said["allowed"], said["warnings"]) == (True, [NOT_CHECKED])


def test_a_job_with_a_text_that_is_too_long_is_let_through_with_a_word() -> None:
    def long(job: Manifest) -> None:
        container(job)["args"] = ["$(" * (MOST_CHARACTERS // 2)]

    said = ask(make(long))
    assert (said["allowed"], said["warnings"]) == (True, [NOT_CHECKED])


@pytest.mark.parametrize("kind", keep_light(KINDS, ["mounts of long names that no volume has", "deep and wide"]))
def test_a_review_at_its_bounds_ends_before_the_api_server_has_waited_in_vain(kind: str) -> None:
    """It is one thread's, which cannot be ended: a second on a quiet machine, two for an edit of such a job."""
    most = find_most(KINDS[kind][0])
    new, old = KINDS[kind][0](most), KINDS[kind][0](most - 1)
    found = answer(json.dumps(REVIEW | {"request": REVIEW["request"] | {"object": new}}).encode())
    edit = {"operation": "UPDATE", "object": new, "oldObject": old}
    body = json.dumps(REVIEW | {"request": REVIEW["request"] | edit}).encode()
    assert NOT_CHECKED not in found.decode()
    assert is_cheap(lambda: answer(body), 2_000)


def find_most(build: Callable[[int], Mapping[str, Any]]) -> int:
    """So many parts that a job is just checked."""
    low, high = 1, 2
    while is_checked(dict(build(high))):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_checked(dict(build(middle))) else (low, middle)
    return low


def test_errors_without_end_are_counted() -> None:
    def full_of_errors(job: Manifest) -> None:
        container(job)["env"] = [{"name": "", "value": "x"} for _ in range(300)]

    status = ask(make(full_of_errors))["status"]
    lines = status["message"].splitlines()
    assert (len(lines), len(status["details"]["causes"])) == (101, 100)
    assert lines[-1].startswith("and ")


@pytest.mark.parametrize(
    ("warnings", "kept"),
    [
        ([], []),
        (["short"], ["short"]),
        (["x" * 257], ["x" * 255 + "…"]),
        (["x" * 256] * 20, ["x" * 256] * 16),
    ],
)
def test_warnings_are_as_short_as_kubernetes_passes_on(warnings: list[str], kept: list[str]) -> None:
    assert cut_warnings(warnings) == kept


def test_a_review_is_read() -> None:
    assert read_review(json.dumps(REVIEW).encode()) == Request("1", "CREATE", JOB)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"[" * 100_000,
        json.dumps(REVIEW | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(),
        json.dumps(REVIEW | {"request": None}).encode(),
        json.dumps(REVIEW | {"request": {"uid": 7, "object": {}}}).encode(),
        json.dumps(REVIEW | {"request": {"uid": "7", "object": None}}).encode(),
        json.dumps(REVIEW | {"request": {"uid": "7", "object": {}, "oldObject": []}}).encode(),
    ],
    ids=range(12),
)  # fmt: skip
def test_anything_else_is_told_to_be_no_review(body: bytes) -> None:
    with pytest.raises(BadReview):
        read_review(body)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(spec=VALUES, old=VALUES, metadata=VALUES)
def test_no_object_makes_a_review_fail(spec: object, old: object, metadata: object) -> None:
    """A foreign definition of the kind may let anything through to here."""
    new = {**JOB, "spec": spec, "metadata": metadata}
    for before in (None, {**JOB, "spec": old}):
        assert isinstance(review(Request("1", "UPDATE" if before else "CREATE", new, before))["response"], dict)


def test_a_bug_lets_the_job_through_with_a_word() -> None:
    said = let_through(Request("1", "CREATE", JOB))["response"]
    assert said["allowed"] is True
    assert "bug of its own" in said["warnings"][0]


def test_a_job_beside_the_operator_that_names_its_account_is_refused_with_what_is_allowed() -> None:
    said = ask(make(of_the_operator), namespace="paddle-system")
    assert not said["allowed"]
    (cause,) = said["status"]["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (
        "FieldValueForbidden",
        "spec.worker.template.spec.serviceAccountName",
    )
    assert cause["message"] == (
        'found "paddle-manager-sa", the service account of Paddock itself in namespace paddle-system: no pod is '
        "created that could do what Paddock may. Any other account is allowed, and none at all; change it, or create "
        "the job in another namespace"
    )


def test_the_namespace_of_the_request_counts_where_the_manifest_has_none() -> None:
    job = make(of_the_operator)
    del job["metadata"]["namespace"]
    assert not ask(job, namespace="paddle-system")["allowed"]
    assert ask(job, namespace="team-a")["allowed"]
    assert ask(make(of_the_operator))["allowed"], "it is in namespace default"


def test_a_job_that_named_the_account_before_may_be_edited_and_its_author_is_warned() -> None:
    old = make(of_the_operator, stored)
    more = make(of_the_operator, stored)
    more["spec"]["worker"]["replicas"] = 3
    said = ask(more, old, namespace="paddle-system")
    assert said["allowed"]
    assert "paddle-manager-sa" in said["warnings"][0]


def test_the_namespace_is_read_of_the_request() -> None:
    read = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    body = {**read, "request": {"uid": "u", "operation": "CREATE", "namespace": "team-a", "object": make()}}
    assert read_review(json.dumps(body).encode()).namespace == "team-a"
