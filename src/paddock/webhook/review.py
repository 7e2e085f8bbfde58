"""AdmissionReview -> AdmissionReview: whether a job is taken, and what its author is told.

`preflight.check` decides, as in `paddock validate`, and the sentences are the same. An edit is refused only for
what it makes worse: the object that is stored may have errors already, from before the webhook was there, and its
labels, finalizers and end must not hang on them. Other managers' jobs and kinds that Paddock does not run pass, but
that the manager of a job of kubeflow.org is never changed (`webhook.immutable`), and that nobody signs with another's
name (`webhook.own_names`).
All sentences are in English: a cluster does not know who reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from paddock.jobs.manager import find_other_manager
from paddock.kube.budget import Budget, Exhausted
from paddock.kube.meta import Key, Manifest, metadata, name_of
from paddock.kube.validation.field_errors import Code
from paddock.preflight import Document, check, explain_problem, find_api, without_server_fields
from paddock.webhook.immutable import find_changed
from paddock.webhook.own_names import find_other_names
from paddock.words.phrases import render
from paddock.words.problems import Problem

VERSION = "admission.k8s.io/v1"
MOST_VALUES, MOST_CHARACTERS = 5_000, 128 * 1024
"""Of one object. A job has some hundreds of values, and a longer text is no argument of a Linux program. The cost of a
check grows as both do (`tests/preflight/test_hostile_texts.py`): with so many, all wrong, it takes about a second.
So a review ends by itself, and no process is needed that can be killed."""

_MOST_ERRORS = 100
# Kubernetes cuts longer ones (truncateItemRunes, truncateAtTotalRunes).
_LONGEST_WARNING, _MOST_WARNING_CHARACTERS = 256, 4096


class BadReview(Exception):
    """The body is no AdmissionReview; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Request:
    """The part of an AdmissionReview's request that decides."""

    uid: str
    operation: str
    new: Manifest
    old: Manifest | None = None
    """None for a CREATE."""
    namespace: str = ""
    """That of the request, which the manifest of a job that is created may lack; empty: that of the manifest."""
    user: str = ""
    """Who asks, as the API server vouches for them; empty where it does not say."""


def read_review(body: bytes) -> Request:
    """Raises `BadReview`."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadReview(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict) or (found.get("apiVersion"), found.get("kind")) != (VERSION, "AdmissionReview"):
        raise BadReview(f"the body is no AdmissionReview of {VERSION}")
    request = found.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str) or not request["uid"]:
        raise BadReview("the AdmissionReview has no request with a uid")
    new, old = request.get("object"), request.get("oldObject")
    if not isinstance(new, dict) or not isinstance(old, dict | None):
        raise BadReview("the request's object or oldObject is not an object")
    info = request.get("userInfo")
    user = str(info.get("username") or "") if isinstance(info, dict) else ""
    return Request(request["uid"], str(request.get("operation")), new, old, str(request.get("namespace") or ""), user)


def review(request: Request, own: Collection[Key] = ()) -> Manifest:
    """The AdmissionReview that answers. `own`: the service accounts of Paddock (`kube.service_accounts`). Whatever it
    raises is a bug, for which `let_through` is the answer."""
    new, old = request.new, request.old
    # An annotation changes no spec, and of a job that has ended nobody asks for more.
    if others := list(find_other_names(new, old, request.user)):
        return build_answer(request, others)
    if not _is_asked(request):
        return build_answer(request)
    # Also a job of another manager, as it may have been Paddock's until now.
    if old and (changed := list(find_changed(new, old))):
        return build_answer(request, changed)
    if find_other_manager(new) or find_api(Document(new)) is None:
        return build_answer(request)
    if not (is_checked(new) and (old is None or is_checked(old))):
        said = (
            f"this job is not checked, as it has more than {MOST_VALUES} values or {MOST_CHARACTERS >> 10} KiB of text"
        )
        return build_answer(request, warnings=[said])
    found = _check(new, request.namespace, own)
    wrong = [each for each in found if each.severity == "error"]
    worse = find_worse(wrong, _check(old, request.namespace, own)) if wrong and old else wrong
    if worse:
        return build_answer(request, worse)
    return build_answer(request, warnings=[explain_problem(each) for each in found])


def let_through(request: Request) -> Manifest:
    """The answer when the check itself failed: the webhook must not stand in the way for a bug of its own."""
    said = "Paddock could not check this job, which is a bug of its own: the webhook's log says more"
    return build_answer(request, warnings=[said])


def find_worse(wrong: Sequence[Problem], before: Sequence[Problem]) -> list[Problem]:
    """The errors that an edit brings. The same rule broken at the same field is the same error, whatever its value and
    wherever in its list: who removes the first container has not broken the second one anew."""
    had = {(each.path, each.code) for each in before if each.severity == "error"}
    counted_before = Counter(map(_kind_of, before))
    by_kind: dict[tuple[str, str, str], list[Problem]] = {}
    for each in wrong:
        by_kind.setdefault(_kind_of(each), []).append(each)
    worse: list[Problem] = []
    for kind, same in by_kind.items():
        if len(same) > counted_before[kind]:
            worse += [each for each in same if (each.path, each.code) not in had] or same
    return worse


def _kind_of(problem: Problem) -> tuple[str, str, str]:
    return problem.severity, re.sub(r"\[\d+\]", "[]", problem.path), problem.code


def build_answer(request: Request, errors: Sequence[Problem] = (), warnings: Sequence[str] = ()) -> Manifest:
    """Allowed unless there are errors."""
    response: Manifest = {"uid": request.uid, "allowed": not errors}
    if errors:
        response["status"] = _build_status(request.new, errors)
    if warnings := cut_warnings(warnings):
        response["warnings"] = warnings
    return {"apiVersion": VERSION, "kind": "AdmissionReview", "response": response}


def cut_warnings(warnings: Sequence[str]) -> list[str]:
    """At most what Kubernetes passes on."""
    cut: list[str] = []
    left = _MOST_WARNING_CHARACTERS
    for each in warnings:
        short = each if len(each) <= _LONGEST_WARNING else f"{each[: _LONGEST_WARNING - 1]}…"
        left -= len(short)
        if left < 0:
            break
        cut.append(short)
    return cut


def _is_asked(request: Request) -> bool:
    """Whether this writes the spec of a job that is to live. What else is edited is none of preflight's business."""
    if request.operation == "CREATE":
        return True
    deleted = metadata(request.new).get("deletionTimestamp")
    return request.operation == "UPDATE" and not deleted and _spec_of(request.new) != _spec_of(request.old)


def _spec_of(manifest: Manifest | None) -> object:
    return (manifest or {}).get("spec")


def is_checked(manifest: Manifest) -> bool:
    """Whether a job has so little that its check ends in time."""
    try:
        _spend(without_server_fields(manifest))
    except Exhausted:
        return False
    return True


def _spend(manifest: Manifest) -> None:
    """Raises `Exhausted`."""
    count, length = Budget(MOST_VALUES), Budget(MOST_CHARACTERS)
    values: list[object] = [manifest]
    while values:
        count.spend()
        value = values.pop()
        if isinstance(value, str):
            length.spend(len(value))
        elif isinstance(value, dict):
            length.spend(sum(map(len, value)))
            values += value.values()
        elif isinstance(value, list):
            values += value


def _check(manifest: Manifest, namespace: str, own: Collection[Key]) -> tuple[Problem, ...]:
    manifest = without_server_fields(manifest)
    if namespace:
        manifest = {**manifest, "metadata": {**metadata(manifest), "namespace": namespace}}
    return check(Document(manifest), own=own)


def _build_status(manifest: Manifest, errors: Sequence[Problem]) -> Manifest:
    """kubectl prints the causes of an Invalid status, other clients its message."""
    told = errors[:_MOST_ERRORS]
    lines = [explain_problem(each) for each in told]
    if more := len(errors) - len(told):
        lines.append(f"and {more} more")
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "\n".join(lines),
        "details": {
            "name": name_of(manifest),
            "group": str(manifest.get("apiVersion")).rpartition("/")[0],
            "kind": str(manifest.get("kind")),
            "causes": [
                {"reason": _REASONS.get(each.code, "FieldValueInvalid"), "field": each.path, "message": _say(each)}
                for each in told
            ],
        },
    }


def _say(problem: Problem) -> str:
    return render(problem.said or problem.message, "en")


_REASONS: Mapping[Code, str] = {
    Code.REQUIRED: "FieldValueRequired",
    Code.DUPLICATE: "FieldValueDuplicate",
    Code.NOT_SUPPORTED: "FieldValueNotSupported",
    Code.NOT_FOUND: "FieldValueNotFound",
    Code.FORBIDDEN: "FieldValueForbidden",
}
"""Kubernetes' CauseTypes (apimachinery, meta/v1)."""
