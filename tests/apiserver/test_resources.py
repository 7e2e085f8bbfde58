"""The registry of served kinds, and how custom kinds are added and removed."""

import pytest

from paddock.apiserver.kinds.registry import BUILT_INS, Registry, read_kinds


def crd(plural, kind, group="example.org", versions=("v1",)):
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": name, "served": True, "storage": name == versions[0], "schema": schema} for name in versions
            ],
        },
    }


@pytest.mark.parametrize(
    ("group", "version", "plural", "short", "namespaced", "subresources"),
    [
        (
            "",
            "v1",
            "pods",
            "po",
            True,
            {"status", "log", "stacks", "binding", "exec", "attach", "portforward", "eviction"},
        ),
        ("", "v1", "nodes", "no", False, {"status"}),
        ("", "v1", "services", "svc", True, {"status"}),
        ("", "v1", "configmaps", "cm", True, set()),
        ("", "v1", "namespaces", "ns", False, {"status"}),
        ("", "v1", "events", "ev", True, set()),
        ("", "v1", "serviceaccounts", "sa", True, {"token"}),
        ("", "v1", "persistentvolumes", "pv", False, {"status"}),
        ("", "v1", "persistentvolumeclaims", "pvc", True, {"status"}),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "crd", False, {"status"}),
        ("apps", "v1", "deployments", "deploy", True, {"status", "scale"}),
        ("scheduling.k8s.io", "v1", "priorityclasses", "pc", False, set()),
    ],
)
def test_built_in_kinds_have_the_names_of_kubernetes(group, version, plural, short, namespaced, subresources):
    found = Registry().find(group, version, plural)
    assert short in found.short_names
    assert found.resource.namespaced is namespaced
    assert found.subresources == subresources


def test_every_kind_has_a_schema_and_a_unique_path():
    places = {(kind.resource.group, kind.resource.version, kind.resource.plural) for kind in BUILT_INS}
    assert len(places) == len(BUILT_INS)
    assert all(kind.schema["type"] == "object" for kind in BUILT_INS)


def test_what_is_not_served_is_not_found():
    assert Registry().find("", "v1", "widgets") is None
    assert Registry().find("batch", "v1", "jobs") is None


def test_new_custom_kinds_replace_the_old_ones_and_leave_the_old_registry_unchanged():
    empty = Registry()
    first = empty.with_kinds(read_kinds(crd("widgets", "Widget")))
    second = first.with_kinds(read_kinds(crd("gadgets", "Gadget")))
    assert first.find("example.org", "v1", "widgets").custom
    assert second.find("example.org", "v1", "widgets") is None
    assert second.find_kind("example.org", "v1", "Gadget").resource.plural == "gadgets"
    assert empty.find("example.org", "v1", "widgets") is None


def test_an_invalid_crd_does_not_affect_the_others():
    bad = {"metadata": {"name": "bad"}, "spec": {"versions": 7}}
    registry = Registry().with_kinds((*read_kinds(bad), *read_kinds(crd("widgets", "Widget"))))
    assert registry.find("example.org", "v1", "widgets")


def test_versions_are_in_the_order_of_kubernetes():
    versions = ("v1alpha1", "v2", "v1", "v10", "v1beta2", "v1beta11", "odd")
    registry = Registry().with_kinds(read_kinds(crd("widgets", "Widget", versions=versions)))
    assert registry.versions("example.org") == ("v10", "v2", "v1", "v1beta11", "v1beta2", "v1alpha1", "odd")


def test_groups_of_custom_kinds_are_in_the_order_of_their_names():
    """`kubectl get widgets` means the first group that has them; CRDs are read by their names, so by the plural."""
    found = [crd("apples", "Apple", "b.org"), crd("widgets", "Widget", "a.org"), crd("widgets", "Widget", "b.org")]
    registry = Registry().with_kinds(kind for each in found for kind in read_kinds(each))
    own = Registry().groups()
    assert registry.groups() == (*own, "a.org", "b.org")
    assert own[0] == ""
