"""What a rule of RBAC allows, and which rules cover others."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.access.attributes import Attributes, find_verb, list_questions
from paddock.apiserver.access.rules import allows, find_uncovered
from paddock.kube.rbac import Rule, read_rules


def rule(verbs: str, resources: str = "", groups: str = "", names: str = "", paths: str = "") -> Rule:
    """Each word is one: an empty group is the core group."""
    parts = [frozenset(each.split()) for each in (verbs, resources, names, paths)]
    return Rule(parts[0], frozenset(groups.split(" ")), parts[1], parts[2], parts[3])


PODS = Attributes("get", "", "pods", "", "default", "p")
CASES: dict[str, tuple[Rule, Attributes, bool]] = {
    "the same": (rule("get", "pods"), PODS, True),
    "another verb": (rule("list watch", "pods"), PODS, False),
    "every verb": (rule("*", "pods"), PODS, True),
    "another resource": (rule("get", "secrets"), PODS, False),
    "every resource": (rule("get", "*"), PODS, True),
    "another group": (rule("get", "pods", "apps"), PODS, False),
    "every group": (rule("get", "pods", "*"), PODS, True),
    "its name": (rule("get", "pods", names="p q"), PODS, True),
    "another name": (rule("get", "pods", names="q"), PODS, False),
    "a name, where none is asked for": (rule("list", "pods", names="p"), Attributes("list", "", "pods"), False),
    "a subresource": (rule("get", "pods/log"), Attributes("get", "", "pods", "log"), True),
    "the object is not its subresource": (rule("get", "pods"), Attributes("get", "", "pods", "log"), False),
    "a subresource is not the object": (rule("get", "pods/log"), PODS, False),
    "that subresource of all": (rule("update", "*/scale"), Attributes("update", "apps", "deployments", "scale"), False),
    "that subresource of all groups": (
        rule("update", "*/scale", "*"), Attributes("update", "apps", "deployments", "scale"), True
    ),
    "a path": (rule("get", paths="/healthz"), Attributes("get", path="/healthz"), True),
    "another path": (rule("get", paths="/healthz"), Attributes("get", path="/healthz/etcd"), False),
    "all below a path": (rule("get", paths="/healthz/*"), Attributes("get", path="/healthz/etcd"), True),
    "a rule of resources has no paths": (rule("*", "*", "*"), Attributes("get", path="/metrics"), False),
    "a rule of paths has no resources": (rule("*", paths="*"), PODS, False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_rule_allows(case: str) -> None:
    found, asked, allowed = CASES[case]
    assert allows(found, asked) is allowed


@pytest.mark.parametrize(
    "role",
    [{}, {"rules": None}, {"rules": "all"}, {"rules": [None, "x", 7]}, {"rules": [{"verbs": "get"}]}],
)  # fmt: skip
def test_what_is_no_rule_allows_nothing(role: dict[str, Any]) -> None:
    assert not any(allows(each, PODS) for each in read_rules(role.get("rules")))


def test_a_role_is_read_field_by_field() -> None:
    fields = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}
    (found,) = read_rules([fields])
    assert found.build() == fields and allows(found, PODS)


COVERED: dict[str, tuple[list[Rule], list[Rule], bool]] = {
    "the same": ([rule("get", "pods")], [rule("get", "pods")], True),
    "nothing": ([], [], True),
    "of nothing": ([rule("get", "pods")], [], False),
    "in parts": ([rule("get list", "pods secrets")], [rule("get list", "pods"), rule("get list", "secrets")], True),
    "in parts but one": ([rule("get list", "pods secrets")], [rule("get list", "pods"), rule("get", "secrets")], False),
    "of all verbs": ([rule("*", "pods")], [rule("get list watch create update patch delete", "pods")], False),
    "of a subresource": ([rule("get", "pods/log")], [rule("get", "pods")], False),
    "of a subresource by all": ([rule("get", "pods/log")], [rule("get", "*")], True),
    "of a subresource by that of all": ([rule("get", "pods/log")], [rule("get", "*/log")], True),
    "of all names by some": ([rule("get", "pods")], [rule("get", "pods", names="p")], False),
    "of some names by all": ([rule("get", "pods", names="p")], [rule("get", "pods")], True),
    "of one name more": ([rule("get", "pods", names="p q")], [rule("get", "pods", names="p")], False),
    "of a path": ([rule("get", paths="/metrics")], [rule("get", paths="/*")], True),
    "of all below a path": ([rule("get", paths="/*")], [rule("get", paths="/metrics")], False),
}


@pytest.mark.parametrize("case", COVERED)
def test_who_grants_must_hold_what_is_granted(case: str) -> None:
    wanted, have, covered = COVERED[case]
    assert (find_uncovered(wanted, have) is None) is covered


WORDS = st.frozensets(st.sampled_from(["*", "a", "b"]), min_size=1, max_size=2)
RULES = st.lists(st.builds(Rule, WORDS, WORDS, WORDS, st.frozensets(st.sampled_from("pq"), max_size=2)), max_size=3)


@given(wanted=RULES, have=RULES)
def test_what_is_covered_allows_no_more(wanted: list[Rule], have: list[Rule]) -> None:
    """Whatever the wanted rules allow is allowed without them, where they are covered."""
    if find_uncovered(wanted, have) is not None:
        return
    for verb, group, resource, name in product("abc", "abc", "abc", ("", "p", "q", "r")):
        asked = Attributes(verb, group, resource, "", "default", name)
        if any(allows(each, asked) for each in wanted):
            assert any(allows(each, asked) for each in have)


def test_a_role_of_too_many_parts_counts_as_not_covered_at_once() -> None:
    many = frozenset(map(str, range(3_000)))
    huge = Rule(many, many, many)
    assert find_uncovered([huge], [Rule(many | {"more"}, many, many)]) is not None
    assert find_uncovered([huge], [huge]) is None, "as it stands: nothing is to be compared"


@pytest.mark.parametrize(
    ("method", "one", "watches", "verb"),
    [
        ("GET", True, False, "get"), ("HEAD", True, False, "get"), ("GET", False, False, "list"),
        ("GET", True, True, "watch"), ("GET", False, True, "watch"), ("POST", False, False, "create"),
        ("POST", False, True, "create"), ("PUT", True, False, "update"), ("PATCH", True, False, "patch"),
        ("DELETE", True, False, "delete"), ("DELETE", False, False, "deletecollection"),
        ("OPTIONS", True, False, "options"),
    ],
)  # fmt: skip
def test_the_verb_of_a_request(method: str, one: bool, watches: bool, verb: str) -> None:
    assert find_verb(method, one=one, watches=watches) == verb


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
def test_who_reads_a_pod_does_not_enter_it(subresource: str) -> None:
    """WebSocket clients enter by GET."""
    asked = Attributes("get", "", "pods", subresource, "default", "p")
    assert [each.verb for each in list_questions(asked)] == ["get", "create"]
    assert list_questions(PODS) == (PODS,)
