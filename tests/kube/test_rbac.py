"""The forms of RBAC: what is written is read as what was meant, and what has another form means nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.meta import Key
from paddock.kube.rbac import (
    RoleReference,
    Rule,
    Subject,
    read_role_reference,
    read_rules,
    read_subjects,
    write_account,
    write_group,
    write_path_rule,
    write_role_reference,
    write_rule,
)

WORDS = st.lists(st.sampled_from(["*", "a", "b/c", "*/c"]), max_size=3)


@given(st.sampled_from(["", "apps", "*"]), WORDS, WORDS, WORDS)
def test_a_rule_that_is_written_is_read_as_it_was_meant(
    group: str, resources: list[str], verbs: list[str], names: list[str]
) -> None:
    (rule,) = read_rules([write_rule(group, resources, verbs, names=names)])
    assert rule == Rule(frozenset(verbs), frozenset({group}), frozenset(resources), frozenset(names))
    assert read_rules([rule.build()]) == (rule,)


def test_a_rule_of_paths_is_of_nothing_else() -> None:
    (rule,) = read_rules([write_path_rule(["/healthz/*"], ["get"])])
    assert rule.allows_path("get", "/healthz/etcd")
    assert not rule.allows_path("post", "/healthz/etcd")
    assert not rule.concerns("get", "", "pods")


def test_a_rule_of_some_names_concerns_all_and_allows_those() -> None:
    (rule,) = read_rules([write_rule("", ["pods"], ["get"], names=["p"])])
    assert rule.concerns("get", "", "pods")
    assert [rule.allows("get", "", "pods", name) for name in ("p", "q", "")] == [True, False, False]


def test_subjects_and_a_role_are_read_as_they_were_written() -> None:
    binding = {
        "roleRef": write_role_reference("Role", "r"),
        "subjects": [write_account(Key("team", "bob")), write_group("dev")],
    }
    assert read_role_reference(binding) == RoleReference("Role", "r")
    assert list(read_subjects(binding, "x")) == [Subject("ServiceAccount", "bob", "team"), Subject("Group", "dev")]


@pytest.mark.parametrize(
    "subjects",
    [
        None, "all", [None, 5], [{"kind": "Robot", "name": "x"}],
        [{"kind": "User", "name": "x", "apiGroup": "example.org"}],
        [{"kind": "ServiceAccount", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}],
    ],
)  # fmt: skip
def test_what_is_no_subject_is_nobody(subjects: Any) -> None:
    assert not list(read_subjects({"subjects": subjects}, "x"))


def test_a_role_of_another_group_grants_nothing() -> None:
    binding = {"roleRef": {"apiGroup": "example.org", "kind": "ClusterRole", "name": "cluster-admin"}}
    assert read_role_reference(binding).kind == ""
