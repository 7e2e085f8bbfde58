"""Selectors of labels and fields."""

from __future__ import annotations

import pytest

from paddock.kube.selectors import MOST_TERMS, match_fields, match_labels, read_fields

LABELS = {"app": "web", "tier": "front", "example.org/x": ""}

SELECTORS = {
    "": True,
    "app": True,
    "!app": False,
    "!none": True,
    "app=web": True,
    "app == web , tier!=back": True,
    "app!=web": False,
    "none!=web": True,
    "app in (web,api)": True,
    "app in ( api )": False,
    "app notin (web)": False,
    "none notin (web)": True,
    "example.org/x=": True,
    " app = web ": True,
}


@pytest.mark.parametrize("selector", SELECTORS)
def test_labels_are_selected(selector: str) -> None:
    assert match_labels(selector)(LABELS) is SELECTORS[selector]


WRONG = ["a b", "a in x", "a in (x", "=b", "a=b c", "a=(", ",a", "a,,b", "a" + " " * 3_000 + "!"]


@pytest.mark.parametrize("selector", WRONG)
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="unable to parse requirement"):
        match_labels(selector)


def test_fields_are_selected() -> None:
    assert match_fields("metadata.name=x,spec.nodeName!=n")({"metadata": {"name": "x"}})
    assert not match_fields("metadata.name!=x")({"metadata": {"name": "x"}})


def test_a_selector_has_only_so_many_requirements() -> None:
    most = ",".join(f"!k{i}" for i in range(MOST_TERMS))
    assert match_labels(most)(LABELS)
    with pytest.raises(ValueError, match=f"at most {MOST_TERMS}"):
        match_labels(f"{most},a")
    with pytest.raises(ValueError, match=f"at most {MOST_TERMS}"):
        read_fields(",".join(["a=b"] * (MOST_TERMS + 1)))
