"""The rights of users, by the roles and bindings that there are."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.apiserver.access.attributes import Attributes
from paddock.apiserver.access.bootstrap import build_defaults
from paddock.apiserver.access.rights import Rights
from paddock.apiserver.access.users import OWNER, User, account_user
from paddock.kube.meta import Key, Manifest

BOB = account_user(Key("team", "bob"))
ANN = User("ann", ("dev", "system:authenticated"))


def role(name: str, verb: str, namespace: str = "", resource: str = "pods", **more: Any) -> tuple[str, Manifest]:
    rules = [{"verbs": [verb], "apiGroups": [""], "resources": [resource]}]
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return ("roles" if namespace else "clusterroles"), {"metadata": meta | more, "rules": rules}


def bind(kind: str, name: str, subject: Manifest, namespace: str = "") -> tuple[str, Manifest]:
    meta = {"name": f"b-{name}", **({"namespace": namespace} if namespace else {})}
    made = {"metadata": meta, "roleRef": {"kind": kind, "name": name}, "subjects": [subject]}
    return ("rolebindings" if namespace else "clusterrolebindings"), made


TO_BOB = {"kind": "ServiceAccount", "name": "bob", "namespace": "team"}
TO_DEV = {"kind": "Group", "name": "dev"}


def build(*objects: tuple[str, Manifest]) -> Rights:
    rights = Rights()
    for plural, manifest in objects:
        rights.put(plural, manifest)
    return rights


def ask(verb: str, namespace: str, resource: str = "pods") -> Attributes:
    return Attributes(verb, "", resource, "", namespace)


CASES: dict[str, tuple[list[tuple[str, Manifest]], User, Attributes, bool]] = {
    "nothing bound": ([role("r", "get", "team")], BOB, ask("get", "team"), False),
    "a role of the namespace": (
        [role("r", "get", "team"), bind("Role", "r", TO_BOB, "team")], BOB, ask("get", "team"), True
    ),
    "not in another namespace": (
        [role("r", "get", "team"), bind("Role", "r", TO_BOB, "team")], BOB, ask("get", "other"), False
    ),
    "not of the cluster": (
        [role("r", "get", "team"), bind("Role", "r", TO_BOB, "team")], BOB, ask("get", ""), False
    ),
    "a role of another namespace": (
        [role("r", "get", "other"), bind("Role", "r", TO_BOB, "team")], BOB, ask("get", "team"), False
    ),
    "a cluster's role, in the namespace": (
        [role("r", "get"), bind("ClusterRole", "r", TO_BOB, "team")], BOB, ask("get", "team"), True
    ),
    "a cluster's role, in the namespace alone": (
        [role("r", "get"), bind("ClusterRole", "r", TO_BOB, "team")], BOB, ask("get", "other"), False
    ),
    "a cluster's role, everywhere": (
        [role("r", "get"), bind("ClusterRole", "r", TO_BOB)], BOB, ask("get", "other"), True
    ),
    "an account of that name in another namespace": (
        [role("r", "get"), bind("ClusterRole", "r", {**TO_BOB, "namespace": "other"})], BOB, ask("get", "team"), False
    ),
    "a group": ([role("r", "get"), bind("ClusterRole", "r", TO_DEV)], ANN, ask("get", "team"), True),
    "a user of the group's name": (
        [role("r", "get"), bind("ClusterRole", "r", {"kind": "User", "name": "dev"})], ANN, ask("get", "team"), False
    ),
    "all accounts of a namespace": (
        [role("r", "get"), bind("ClusterRole", "r", {"kind": "Group", "name": "system:serviceaccounts:team"})],
        BOB, ask("get", "x"), True,
    ),
    "a role of no namespace": (
        [role("r", "get"), bind("Role", "r", TO_DEV)], ANN, ask("get", "team"), False
    ),
    "what is no role": ([role("r", "get"), bind("Pod", "r", TO_DEV, "team")], ANN, ask("get", "team"), False),
    "a subject of somebody else's": (
        [role("r", "get"), bind("ClusterRole", "r", {**TO_DEV, "apiGroup": "example.org"})], ANN, ask("get", "t"), False
    ),
    "a role that is not there": ([bind("ClusterRole", "r", TO_DEV)], ANN, ask("get", "team"), False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_user_may_do(case: str) -> None:
    objects, user, asked, allowed = CASES[case]
    for order in (objects, objects[::-1]):
        decision = build(*order).decide(user, asked)
        assert decision.allowed is allowed and bool(decision.reason) is allowed


def test_the_reason_names_binding_and_role() -> None:
    rights = build(role("r", "get", "team"), bind("Role", "r", TO_BOB, "team"))
    assert rights.decide(BOB, ask("get", "team")).reason == 'RBAC: allowed by RoleBinding "b-r/team" of Role "r"'


def test_rights_follow_each_change() -> None:
    of_role, binding = role("r", "get", "team"), bind("Role", "r", TO_BOB, "team")
    rights = build(of_role, binding)
    rights.put(*role("r", "list", "team"))
    assert not rights.decide(BOB, ask("get", "team")).allowed and rights.decide(BOB, ask("list", "team")).allowed
    rights.put(*bind("Role", "r", TO_DEV, "team"))
    assert not rights.decide(BOB, ask("list", "team")).allowed and rights.decide(ANN, ask("list", "team")).allowed
    rights.remove("rolebindings", Key("team", "b-r"))
    assert not rights.decide(ANN, ask("list", "team")).allowed
    rights.put(*binding)
    rights.remove("roles", Key("team", "r"))
    assert not rights.decide(BOB, ask("list", "team")).allowed


def test_a_role_takes_over_those_of_its_labels() -> None:
    selector = {"clusterRoleSelectors": [{"matchLabels": {"to-view": "true"}}]}
    whole = "clusterroles", {"metadata": {"name": "view"}, "rules": [], "aggregationRule": selector}
    rights = build(whole, bind("ClusterRole", "view", TO_DEV))
    assert not rights.decide(ANN, ask("get", "team")).allowed
    rights.put(*role("more", "get", labels={"to-view": "true"}))
    assert rights.decide(ANN, ask("get", "team")).allowed
    rights.put(*role("more", "get", labels={}))
    assert not rights.decide(ANN, ask("get", "team")).allowed


def aggregate(name: str, label: str, **labels: str) -> tuple[str, Manifest]:
    selector = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    meta = {"name": name, "labels": labels}
    return "clusterroles", {"metadata": meta, "rules": [], "aggregationRule": selector}


def test_a_role_takes_over_what_the_roles_that_it_takes_over_do() -> None:
    """As in Kubernetes, whose controller writes the rules into each; a circle is no fault."""
    bound = bind("ClusterRole", "top", TO_DEV)
    rights = build(aggregate("top", "a"), aggregate("middle", "b", a="true"), aggregate("low", "c", b="true"), bound)
    assert not rights.decide(ANN, ask("get", "team")).allowed
    rights.put(*role("leaf", "get", labels={"c": "true"}))
    assert rights.decide(ANN, ask("get", "team")).allowed
    rights.put(*aggregate("low", "a", b="true", c="true"))
    assert not rights.decide(ANN, ask("get", "team")).allowed
    rights.put(*role("leaf", "get", labels={"a": "true"}))
    assert rights.decide(ANN, ask("get", "team")).allowed


@pytest.mark.parametrize(("most", "found"), [(100, 0), (2000, 1)])
def test_roles_that_take_over_each_other_cost_no_more_than_a_bound(most: int, found: int) -> None:
    """Thirty roles, each of which asks for all: what is beyond the bound grants nothing."""
    rights = Rights(most)
    for number in range(30):
        rights.put(*aggregate(f"r{number}", f"a{number + 1}", **{f"a{number}": "true"}))
    rights.put(*role("leaf", "get", labels={"a30": "true"}))
    assert len(rights.find_rules(Key("", "r0"))) == found


def test_a_selector_that_cannot_be_asked_takes_over_nothing() -> None:
    for selector in ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, {"matchExpressions": 5}, "all", None):
        whole = {"metadata": {"name": "view"}, "rules": [], "aggregationRule": {"clusterRoleSelectors": [selector]}}
        rights = build(("clusterroles", whole), role("more", "get"), bind("ClusterRole", "view", TO_DEV))
        assert not rights.decide(ANN, ask("get", "team")).allowed


def test_bindings_of_other_namespaces_and_more_of_one_role_cost_nothing() -> None:
    rights = build(role("r", "get", "team"))
    for number in range(50):
        for namespace in ("team", "other"):
            _, made = bind("Role", "r", TO_DEV, namespace)
            made["metadata"]["name"] = f"b-{number}"
            rights.put("rolebindings", made)
    assert len(list(rights._find_bindings(ANN, "team"))) == 1


def test_who_is_nobody_may_look_at_what_is_served_and_ask_about_themselves() -> None:
    rights = build(*build_defaults())
    for path in ("/api", "/apis/apps/v1", "/openapi/v3", "/version"):
        assert rights.decide(BOB, Attributes("get", path=path)).allowed
    review = Attributes("create", "authorization.k8s.io", "selfsubjectaccessreviews")
    assert rights.decide(BOB, review).allowed
    for asked in (ask("list", "team"), ask("get", "team", "secrets"), Attributes("get", path="/metrics")):
        assert not rights.decide(BOB, asked).allowed


@pytest.mark.parametrize(
    ("name", "secrets", "writes", "grants"),
    [("view", False, False, False), ("edit", True, True, False), ("admin", True, True, True)],
)
def test_the_roles_that_everybody_binds(name: str, secrets: bool, writes: bool, grants: bool) -> None:
    rights = build(*build_defaults(), bind("ClusterRole", name, TO_DEV, "team"))
    assert rights.decide(ANN, ask("list", "team")).allowed
    assert rights.decide(ANN, ask("get", "team", "secrets")).allowed is secrets
    assert rights.decide(ANN, ask("create", "team")).allowed is writes
    binding = Attributes("create", "rbac.authorization.k8s.io", "rolebindings", "", "team")
    assert rights.decide(ANN, binding).allowed is grants
    assert not rights.decide(ANN, ask("list", "")).allowed


def test_the_owner_is_in_the_group_that_may_everything() -> None:
    assert OWNER.may_everything and not BOB.may_everything
    assert build(*build_defaults()).decide(OWNER, ask("delete", "team", "secrets")).allowed


def test_roles_of_a_namespace_take_no_rights_from_others() -> None:
    """The roles of namespaces are no more asked whether they are taken over than bindings of others."""
    rights = Rights(most_asked=100)
    for number in range(1000):
        rights.put(*role(f"r{number}", "get", "team"))
    taker: Manifest = {"clusterRoleSelectors": [{"matchLabels": {"to": "edit"}}]}
    rights.put("clusterroles", {"metadata": {"name": "edit"}, "aggregationRule": taker})
    rights.put(*role("more", "get", labels={"to": "edit"}))
    rights.put(*bind("ClusterRole", "edit", TO_BOB))
    assert rights.decide(BOB, ask("get", "team")).allowed


def test_a_role_that_changes_is_read_anew() -> None:
    rights = build(role("r", "get", "team"), bind("Role", "r", TO_BOB, "team"))
    assert rights.decide(BOB, ask("get", "team")).allowed and rights.has(Key("team", "r"))
    rights.put(*role("r", "list", "team"))
    assert not rights.decide(BOB, ask("get", "team")).allowed
    rights.remove("roles", Key("team", "r"))
    assert not rights.decide(BOB, ask("list", "team")).allowed and not rights.has(Key("team", "r"))
