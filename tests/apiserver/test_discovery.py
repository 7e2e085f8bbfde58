"""Discovery: the legacy and the aggregated form must agree."""

from apiserver.embedded import widget_crd
from paddock.apiserver.kinds import discovery
from paddock.apiserver.kinds.registry import Registry, read_kinds

REGISTRY = Registry().with_kinds(read_kinds(widget_crd()))


def entries(group, version):
    found = discovery.build_resource_list(REGISTRY, group, version)
    return {entry["name"]: entry for entry in found["resources"]}


def test_pods_are_listed_with_their_subresources():
    core = entries("", "v1")
    assert core["pods"]["shortNames"] == ["po"]
    assert core["pods"]["categories"] == ["all"]
    assert set(core["pods"]["verbs"]) == {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
    }  # fmt: skip
    assert core["pods/log"]["verbs"] == ["get"]
    stacks = core["pods/stacks"]
    assert (stacks["group"], stacks["version"], stacks["kind"], stacks["verbs"]) == (
        "paddock.dev", "v1alpha1", "PodStacks", ["get"],
    )  # fmt: skip
    assert (core["pods/binding"]["kind"], core["pods/binding"]["verbs"]) == ("Binding", ["create"])
    assert core["pods/status"]["verbs"] == ["get", "patch", "update"]


def test_scale_is_listed_with_its_own_group():
    scale = entries("apps", "v1")["deployments/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


def test_custom_kinds_are_listed_beside_built_in_ones():
    groups = {group["name"]: group for group in discovery.build_group_list(REGISTRY)["groups"]}
    assert groups["example.org"]["preferredVersion"] == {"groupVersion": "example.org/v1", "version": "v1"}
    assert {"apps", "coordination.k8s.io", "apiextensions.k8s.io"} < set(groups)
    assert "" not in groups
    assert entries("example.org", "v1")["widgets/status"]["kind"] == "Widget"
    assert discovery.build_group(REGISTRY, "example.org")["kind"] == "APIGroup"


def test_both_forms_list_the_same_resources():
    told = set()
    for core in (True, False):
        answer = discovery.build_aggregated(REGISTRY, core)
        assert (answer["kind"], answer["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
        for group in answer["items"]:
            name = group["metadata"].get("name", "")
            assert (not name) is core
            for version in group["versions"]:
                for entry in version["resources"]:
                    told.add((name, version["version"], entry["resource"], entry["scope"] == "Namespaced"))
                    for sub in entry.get("subresources", ()):
                        plural = f"{entry['resource']}/{sub['subresource']}"
                        told.add((name, version["version"], plural, entry["scope"] == "Namespaced"))
    groups = {
        group["name"]: [version["version"] for version in group["versions"]]
        for group in discovery.build_group_list(REGISTRY)["groups"]
    }
    legacy = {
        (group, version, entry["name"], entry["namespaced"])
        for group, versions in ({"": ["v1"]} | groups).items()
        for version in versions
        for entry in discovery.build_resource_list(REGISTRY, group, version)["resources"]
    }
    assert told == legacy


def test_clients_can_parse_the_version():
    version = discovery.build_version()
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert discovery.build_core_versions()["versions"] == ["v1"]


async def test_a_document_is_built_once_whatever_its_path_looks_like(widgets, http, monkeypatch):
    """Paths that mean the same are without number, and each document stays in memory."""
    built = []

    def build(registry, group):
        built.append(group)
        return {"group": group}

    monkeypatch.setattr(discovery, "build_group", build)
    for path in ("/apis/example.org", "/apis//example.org", "/apis/example.org/", "/apis///example.org//"):
        assert (await http.ask("GET", path))[:2] == (200, {"group": "example.org"})
    assert built == ["example.org"]
