"""Nobody signs with another's name where the webhook answers; what stands there already stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.jobs.people import Change, write_change
from paddock.kube.meta import Manifest
from paddock.webhook.own_names import find_other_names
from paddock.webhook.review import read_review
from webhook.jobs import REVIEW, Edit, ended, make, of_kubeflow
from webhook.test_review import ask

BY_BOB = write_change(Change("bob", "suspended", 2))
BY_ADA = write_change(Change("ada", "suspended", 2))


def noted(**annotations: str) -> Edit:
    names = {"cancel": CANCEL_ANNOTATION, "changed": CHANGED_BY_ANNOTATION, "created": CREATED_BY_ANNOTATION}
    kept = {names[name]: value for name, value in annotations.items()}

    def edit(job: Manifest) -> None:
        job["metadata"]["annotations"] = kept

    return edit


def nobody(_: Manifest) -> None: ...


@pytest.mark.parametrize("group", [nobody, of_kubeflow])
@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        (None, noted(created="ada"), True),
        (None, noted(created="bob"), False),
        (None, noted(created="login bob of lab-7"), True),
        (nobody, noted(created="bob"), False),
        (noted(created="bob"), noted(created="bob", cancel="ada"), True),
        (noted(created="bob"), nobody, True),
        (noted(created="bob"), noted(created="carol"), False),
        (nobody, noted(cancel="true"), True),
        (nobody, noted(cancel="false"), True),
        (nobody, noted(cancel="ceo"), False),
        (noted(cancel="ceo"), noted(cancel="ceo", created="ada"), True),
        (nobody, noted(changed=BY_ADA), True),
        (nobody, noted(changed=BY_BOB), False),
        (noted(changed=BY_BOB), noted(changed=BY_BOB), True),
        (noted(changed=BY_BOB), noted(changed=BY_ADA), True),
        (noted(changed=BY_BOB), noted(changed=write_change(Change("bob", "cancelled", 2))), False),
        (noted(changed=BY_BOB), noted(changed=write_change(Change("bob", "suspended", 9))), False),
        (nobody, noted(changed="no reader understands this"), True),
    ],
)
def test_a_name_that_a_request_brings_is_its_authors(
    group: Edit, before: Edit | None, after: Edit, allowed: bool
) -> None:
    old = None if before is None else make(group, before)
    said = ask(make(group, after), old, user="ada")
    assert said["allowed"] == allowed, said
    if not allowed:
        assert 'and the API knows you as "ada": write that, or ' in said["status"]["message"]
        assert said["status"]["details"]["causes"][0]["reason"] == "FieldValueForbidden"


def test_the_sentence_names_the_annotation_what_was_found_and_what_does_what_was_meant() -> None:
    said = ask(make(noted(cancel="ceo\x1b[31m")), user="system:serviceaccount:ci:bot")["status"]["message"]
    assert said == (
        'metadata.annotations[paddock.dev/cancel]: found "ceo\\x1b[31m", and the API knows you as '
        '"system:serviceaccount:ci:bot": write that, or "true"'
    )
    said = ask(make(noted(created="ceo")), user="ada")["status"]["message"]
    assert said.endswith('found "ceo", and the API knows you as "ada": write that, or leave the annotation out')


def test_of_a_job_that_has_ended_nobody_signs_for_another_either() -> None:
    assert not ask(make(ended, noted(cancel="ceo")), make(ended), user="ada")["allowed"]


def test_where_the_api_server_does_not_say_who_asks_nothing_is_refused() -> None:
    assert ask(make(noted(cancel="ceo")))["allowed"]


def test_the_user_is_the_one_of_the_review() -> None:
    request: Manifest = {"uid": "1", "operation": "CREATE", "object": make(), "userInfo": {"username": "ada"}}
    assert read_review(json.dumps({**REVIEW, "request": request}).encode()).user == "ada"
    for odd in (None, [], "ada", {"username": None}, {}):
        assert read_review(json.dumps({**REVIEW, "request": {**request, "userInfo": odd}}).encode()).user == ""


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | inner)


@given(st.dictionaries(st.sampled_from([CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION]), JSON) | JSON)
def test_no_annotations_of_whatever_form_are_a_fault_of_the_webhook(annotations: object) -> None:
    list(find_other_names({"metadata": {"annotations": annotations}}, {"metadata": annotations}, "ada"))
