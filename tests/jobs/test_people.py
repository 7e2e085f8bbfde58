"""Who has changed a job: names that Paddock wrote, that others wrote, and that no longer hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import NOW, build_job, build_status, cause, observe
from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION
from paddock.jobs.model import Phase
from paddock.jobs.people import (
    CHANGES,
    Change,
    explain_change,
    find_canceller,
    find_changer,
    read_change,
    show_person,
    write_change,
)
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain
from paddock.kube.described import CREATED_BY_ANNOTATION, read_creator


def signed(what: str, generation: int = 1, who: str = "ada") -> dict[str, str]:
    return {CHANGED_BY_ANNOTATION: write_change(Change(who, what, generation))}


@given(st.text(min_size=1, max_size=200), st.sampled_from(CHANGES), st.integers(0, 2**31))
def test_what_is_written_is_read_again(who: str, what: str, generation: int) -> None:
    change = Change(who, what, generation)
    read = read_change({CHANGED_BY_ANNOTATION: write_change(change)})
    assert read in (change, None) and (read is not None) == bool(explain_change(signed(what, generation, who), 0))


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_whatever_others_write_is_read_as_nothing_or_as_one_line(text: str) -> None:
    annotations = {CHANGED_BY_ANNOTATION: text, CANCEL_ANNOTATION: text, CREATED_BY_ANNOTATION: text}
    assert read_change(annotations) is None
    names = (*find_canceller(annotations), read_creator(annotations))
    assert all(len(name.splitlines()) <= 1 and len(name) <= 253 for name in names)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"who": "ada"}', '{"who": "", "what": "edited", "generation": 1}', "[" * 5000,
     '{"who": "ada", "what": "praised", "generation": 1}', '{"who": "ada", "what": "edited", "generation": "x"}'],
)  # fmt: skip
def test_another_programs_text_names_nobody(text: str) -> None:
    assert read_change({CHANGED_BY_ANNOTATION: text}) is None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("alice@example.com", "alice@example.com"),
        ("system:serviceaccount:ci:bot", "service account bot of ci"),
        ("system:serviceaccount:ci:bot:x", "system:serviceaccount:ci:bot:x"),
        ("login ada of lab-7", "ada (a login on lab-7)"),
        ("oidc:ada", "oidc:ada"),
    ],
)
def test_a_person_is_shown_readably(name: str, shown: str) -> None:
    assert str(show_person(name)) == shown


def test_a_change_that_nobody_signed_is_nobodys() -> None:
    assert find_changer(signed("suspended", 2), "suspended", 2) == "ada"
    assert find_changer(signed("suspended", 2), "resumed", 2) == ""
    assert find_changer(signed("suspended", 2), "suspended", 4) == "", "kubectl has resumed and suspended it since"
    assert str(explain_change(signed("edited", 2), 2)) == "edited by ada"
    assert str(explain_change(signed("edited", 2), 3)) == (
        "edited by ada; changed again since, by somebody who left no name"
    )
    assert explain_change({}, 2) is None


def test_a_suspended_job_says_who_and_goes_on_saying_it() -> None:
    job = build_job(suspend=True, generation=2, annotations=signed("suspended", 2))
    recorded = plan(job, build_status(job), observe(job), NOW).status
    assert (recorded.phase, recorded.cause) == (Phase.SUSPENDED, cause("Suspended", NOW, who="ada"))
    assert explain(recorded.cause) == "suspended by ada, holds no pods; set runPolicy.suspend to false to go on"
    edited = build_job(suspend=True, generation=3, annotations=signed("edited", 3, "bob"))
    assert plan(edited, recorded, observe(edited, ()), NOW + 9).status.cause == recorded.cause


def test_who_resumed_it_stands_in_the_next_attempt() -> None:
    job = build_job(generation=3, annotations=signed("resumed", 3))
    status = build_status(job, Phase.SUSPENDED, cause=cause("Suspended", NOW, who="bob"))
    found = plan(job, status, observe(job, ()), NOW)
    assert found.status.cause == cause("Resumed", NOW, who="ada")
    assert explain(found.status.cause) == "resumed by ada: starting all ranks again"
    assert "resumed by ada" in found.events[0].message


def test_a_suspension_by_kubectl_has_no_name_whatever_was_written_before() -> None:
    job = build_job(suspend=True, generation=5, annotations=signed("suspended", 2))
    assert plan(job, build_status(job), observe(job), NOW).status.cause == cause("Suspended", NOW)
