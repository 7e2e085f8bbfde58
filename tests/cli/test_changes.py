"""What `suspend`, `resume`, `cancel` and `clone` write, and when they are refused. The verbs themselves: tests/e2e."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.given_up import GIVEN_UP
from paddock.jobs.labels import (
    CANCEL_ANNOTATION,
    CHANGED_BY_ANNOTATION,
    CREATED_BY_ANNOTATION,
    HALTED_ANNOTATION,
)
from paddock.jobs.people import Change, read_change
from paddock.kube.patches import merge_patch
from paddock.views.changes import build_change, explain_done, explain_pruned, is_asked
from paddock.views.clones import build_clone, explain_taken, name_clone, take_editable
from paddock.views.commands import explain_refusal, explain_why_not, list_commands
from paddock.views.stored import StoredJob, read_stored

VERBS = ("suspend", "resume", "cancel")
JOB = PADDLEPADDLE.resource


def build_stored(*, suspend: bool | None = None, phase: str = "Running", **metadata: Any) -> StoredJob:
    template = {"spec": {"containers": [{"name": "paddle", "image": "python:3"}]}}
    policy = {} if suspend is None else {"runPolicy": {"suspend": suspend}}
    manifest = {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": "mnist", "namespace": "default", "uid": "one", **metadata},
        "spec": {"worker": {"replicas": 1, "template": template}, **policy},
        "status": {"phase": phase},
    }
    return read_stored(JOB, manifest)


CANCELLED = {"annotations": {CANCEL_ANNOTATION: "ada"}}
ROWS: list[tuple[StoredJob, dict[str, str]]] = [
    (build_stored(), {"resume": "mnist is not suspended"}),
    (build_stored(suspend=True, phase="Suspended"), {"suspend": "mnist is suspended already"}),
    (build_stored(suspend=True), {"suspend": "mnist is suspended already"}),
    (build_stored(phase="Completed"), dict.fromkeys(VERBS, "mnist has ended")),
    (build_stored(**CANCELLED), dict.fromkeys(VERBS, "mnist is cancelled")),
    (
        build_stored(phase="Failed", **CANCELLED),
        {"suspend": "mnist has ended", "resume": "mnist has ended", "cancel": "mnist is cancelled"},
    ),
]


@pytest.mark.parametrize(("job", "reasons"), ROWS)
def test_why_a_verb_makes_no_sense_now(job: StoredJob, reasons: dict[str, str]) -> None:
    found = {verb: said for verb in VERBS if (said := explain_why_not(verb, job))}
    assert {verb: str(said) for verb, said in found.items()} == reasons
    buttons = {each.name: str(each.why_not) for each in list_commands(job) if each.why_not and each.name in VERBS}
    assert buttons == reasons, "buttons of the console say the same"


@pytest.mark.parametrize("phase", ["Completed", "Failed"])
def test_a_job_that_has_ended_is_run_again_first_and_not_edited(phase: str) -> None:
    found = list_commands(build_stored(phase=phase), options=" --context prod")
    assert [each.name for each in found if each.why_not is None] == ["again", "clone", "delete"]
    assert (str(found[0].title), found[0].verb) == ("Run again", "create")
    assert found[0].paddock == "paddock clone paddlejob/mnist --context prod"
    assert "edit" in {each.name for each in list_commands(build_stored(phase="Running")) if each.why_not is None}
    assert "again" not in {each.name for each in list_commands(build_stored(phase="Running"))}


def test_what_is_asked_for_already_is_no_mistake_and_what_has_ended_is() -> None:
    assert explain_refusal("suspend", build_stored(suspend=True)) is None
    assert explain_refusal("cancel", build_stored(phase="Failed", **CANCELLED)) is None
    assert str(explain_refusal("cancel", build_stored(phase="Failed"))) == "mnist has ended"


def test_another_manager_and_a_job_that_never_began_are_not_cancelled() -> None:
    foreign, wrong = build_stored(), build_stored()
    foreign.manifest["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    wrong.manifest["spec"]["worker"]["replicas"] = "many"
    assert "which cancels no jobs: delete it" in str(explain_refusal("cancel", foreign))
    assert "is not valid and has not begun" in str(explain_refusal("cancel", read_stored(JOB, wrong.manifest)))


@pytest.mark.parametrize("verb", VERBS)
def test_each_patch_is_of_one_job_alone_and_asks_for_what_the_verb_says(verb: str) -> None:
    before = build_stored(suspend=verb == "resume", annotations={GIVEN_UP: "", "mine": "kept"}, generation=7)
    patch = build_change(verb, before.manifest, "ada")
    assert patch["metadata"]["uid"] == "one"
    after = merge_patch(before.manifest, patch)
    assert not is_asked(verb, before.manifest) and is_asked(verb, after)
    assert after["metadata"]["annotations"].get("mine") == "kept"
    assert (GIVEN_UP in after["metadata"]["annotations"]) == (verb != "resume")
    change = read_change(after["metadata"]["annotations"])
    done = {"suspend": ("suspended", 8), "resume": ("resumed", 8), "cancel": ("cancelled", 7)}[verb]
    assert change == Change("ada", *done), "an annotation alone makes no new generation"
    unknown = build_change(verb, before.manifest)["metadata"].get("annotations", {})
    assert CHANGED_BY_ANNOTATION not in unknown and unknown.get(CANCEL_ANNOTATION, "true") == "true"
    assert explain_pruned(verb, JOB, after) is None
    if verb == "suspend":
        assert "`paddock manifests crd` prints ours" in str(explain_pruned(verb, JOB, before.manifest))
    past = {"suspend": "suspended", "resume": "resumed", "cancel": "cancelled"}
    assert str(explain_done(verb, "paddlejob/mnist")) == f"paddlejob/mnist {past[verb]}"


def test_the_commands_name_cluster_namespace_and_kind() -> None:
    job = build_stored(namespace="team a".replace(" ", "-"))
    found = {each.name: each for each in list_commands(job, "kubectl --context prod", " --context prod")}
    assert list(found) == ["edit", "clone", "suspend", "resume", "cancel", "delete"]
    assert found["cancel"].paddock == "paddock cancel paddlejob/mnist --namespace team-a --context prod"
    assert found["cancel"].kubectl == (
        "kubectl --context prod annotate paddlejobs.batch.paddlepaddle.org mnist -n team-a --overwrite "
        "paddock.dev/cancel=true"
    )


@pytest.mark.parametrize(
    ("name", "taken", "clone"),
    [
        ("mnist", ["mnist"], "mnist-2"),
        ("mnist", ["mnist", "mnist-2", "mnist-3"], "mnist-4"),
        ("mnist-2", ["mnist", "mnist-2"], "mnist-3"),
        ("resnet-50", ["resnet-50"], "resnet-50-2"),
        ("a-0", ["a-0", "a"], "a-0-2"),
    ],
)
def test_a_clone_has_the_next_free_name(name: str, taken: list[str], clone: str) -> None:
    assert name_clone(name, taken) == clone


def test_a_clone_whose_name_is_taken_is_told_one_that_is_free() -> None:
    assert str(explain_taken(build_stored(), "bert", "mnist-2", " -n team")) == (
        "paddlejob/bert exists already: `paddock clone mnist mnist-2 -n team` takes a name that is free"
    )


def test_a_clone_starts_and_keeps_nothing_that_became_of_the_other() -> None:
    annotations = {GIVEN_UP: "", CANCEL_ANNOTATION: "ada", HALTED_ANNOTATION: "x", "paddock.dev/environment": "mine",
                   CREATED_BY_ANNOTATION: "bob", CHANGED_BY_ANNOTATION: "{}",
                   "kubectl.kubernetes.io/last-applied-configuration": "{}"}  # fmt: skip
    job = build_stored(suspend=True, annotations=annotations, finalizers=["f"], ownerReferences=[{}], labels={"a": "b"},
                       resourceVersion="5")  # fmt: skip
    clone = build_clone(job.manifest, "new")
    assert clone["metadata"] == {
        "name": "new",
        "namespace": "default",
        "labels": {"a": "b"},
        "annotations": {"paddock.dev/environment": "mine"},
    }
    assert "status" not in clone and "runPolicy" not in clone["spec"]
    assert job.manifest["spec"]["runPolicy"] == {"suspend": True}, "the other one is not touched"
    assert CANCEL_ANNOTATION in take_editable(job.manifest)["metadata"]["annotations"], "an edit sees all"


@pytest.mark.parametrize(("resume", "kept"), [("true", {"paddock.dev/resume": "true"}), ("3", None)])
def test_a_clone_does_not_resume_from_a_run_of_the_other_name(resume: str, kept: dict[str, str] | None) -> None:
    job = build_stored(annotations={"paddock.dev/resume": resume})
    assert build_clone(job.manifest, "new")["metadata"].get("annotations") == kept
