"""The embedded API answers as a real kube-apiserver does, but for the differences that are told (docs/differences.md).

The goldens are of a real one, which tests/kubernetes/test_conformance.py asks again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from manual.differences import DIFFERENCES, parts_of

from apiserver.conformance.answers import Answer, ask_embedded, compare, list_messages
from apiserver.conformance.corpus import CASES, OWN_WORDS, ROOMS, write_lines
from apiserver.conformance.verdict import find_surprises, own_words, wanted


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Mapping[str, Sequence[Answer]]:
    found = ask_embedded(tmp_path_factory.mktemp("conformance"), list(CASES.values()))
    if request.config.getoption("--rewrite-goldens"):
        write_lines(OWN_WORDS, find_own_words(found))
        own_words.cache_clear()
    return found


def find_own_words(answers: Mapping[str, Sequence[Answer]]) -> dict[str, list[object]]:
    """Of the cases in which the sentences alone are others, what the embedded API says."""
    return {
        name: list_messages(found)
        for name, found in answers.items()
        if "message" in compare(found, wanted()[name]) and "status" not in parts_of(name)
    }


@pytest.mark.parametrize("name", CASES)
def test_the_embedded_api_answers_as_a_real_one(name: str, answers: Mapping[str, Sequence[Answer]]) -> None:
    """But for the parts that a difference names, and those do differ: a difference that is gone is to be taken away."""
    surprises = find_surprises(name, answers[name])
    assert not surprises, f"{sorted(surprises)}: {answers[name]}\nin place of {wanted()[name]}"


def test_no_two_cases_have_one_name() -> None:
    assert len(CASES) == sum(map(len, ROOMS.values()))
    assert len(CASES) >= 300


def test_each_difference_is_of_cases() -> None:
    named = {name for each in DIFFERENCES for name in each.cases}
    assert named <= set(CASES)
    assert set(own_words()) <= set(CASES)


def test_each_case_has_answers_to_be_compared_with() -> None:
    """`pytest -m kubernetes --rewrite-goldens tests/kubernetes/test_conformance.py` records them."""
    assert set(wanted()) == set(CASES)
    assert not [name for name, told in wanted().items() if any(answer["status"] == 0 for answer in told)]
