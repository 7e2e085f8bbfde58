"""OpenAPI v3: every reference resolves, and kubectl finds the fields it reads."""

import copy
import json

import pytest

from apiserver.embedded import widget_crd
from paddock.apiserver.kinds import openapi
from paddock.apiserver.kinds.refused import explain_refused, list_refused
from paddock.apiserver.kinds.registry import Registry, read_kinds

CRD = widget_crd(subresources={"status": {}})
CRD["spec"]["group"], CRD["metadata"]["name"] = "shop.example.org", "widgets.shop.example.org"
REGISTRY = Registry().with_kinds(read_kinds(CRD))
ALL = [(group, version) for group in REGISTRY.groups() for version in REGISTRY.versions(group)]
REFUSED = [(each.resource.group, each.resource.version) for each in list_refused(REGISTRY)]


def document(group, version):
    return json.loads(openapi.build_document(REGISTRY, group, version))


def references(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.parametrize(("group", "version"), list(dict.fromkeys((*ALL, *REFUSED))))
def test_every_reference_resolves_to_a_schema(group, version):
    found = document(group, version)
    schemas = found["components"]["schemas"]
    assert {name.removeprefix("#/components/schemas/") for name in references(found)} <= set(schemas)


@pytest.mark.parametrize(("group", "version"), ALL)
def test_every_kind_has_operations_with_field_validation(group, version):
    paths = document(group, version)["paths"]
    kinds = {kind.resource.kind for kind in REGISTRY.group_version(group, version)}
    for method in ("post", "patch", "put"):
        promised = {
            path[method]["x-kubernetes-group-version-kind"]["kind"]
            for path in paths.values()
            if method in path
            and {"fieldValidation", "dryRun", "fieldManager"} <= {one["name"] for one in path[method]["parameters"]}
        }
        assert promised == kinds


@pytest.mark.parametrize(("group", "version"), ALL)
def test_strategic_merge_patch_is_not_offered(group, version):
    """kubectl reads merge keys from a document that offers strategic patches, and these schemas have none."""
    for path in document(group, version)["paths"].values():
        assert "strategic" not in json.dumps(path.get("patch", {}))


def test_paths_are_those_of_the_server():
    paths = document("shop.example.org", "v1")["paths"]
    assert set(paths) == {
        "/apis/shop.example.org/v1/widgets",
        "/apis/shop.example.org/v1/namespaces/{namespace}/widgets",
        "/apis/shop.example.org/v1/namespaces/{namespace}/widgets/{name}",
        "/apis/shop.example.org/v1/namespaces/{namespace}/widgets/{name}/status",
    }
    assert "/api/v1/nodes/{name}" in document("", "v1")["paths"]


def test_a_schema_has_the_name_and_the_fields_of_its_kind():
    schema = document("shop.example.org", "v1")["components"]["schemas"]["org.example.shop.v1.Widget"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "shop.example.org", "version": "v1", "kind": "Widget"}
    ]
    assert schema["properties"]["spec"]["properties"]["size"] == {"type": "integer", "default": 3}
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec", "status"}


def test_the_index_changes_only_with_a_document():
    before = openapi.build_index(REGISTRY)["paths"]
    changed = copy.deepcopy(CRD)
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["more"] = {
        "type": "string"
    }
    after = openapi.build_index(REGISTRY.with_kinds(read_kinds(changed)))["paths"]
    assert {path for path in before if before[path] != after[path]} == {"apis/shop.example.org/v1"}
    assert before["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_a_kind_that_is_not_served_is_described_by_what_to_do_instead():
    """`kubectl explain` finds the schema by the kind of an operation, and shows the description."""
    index = openapi.build_index(REGISTRY)["paths"]
    for each in list_refused(REGISTRY):
        resource = each.resource
        assert f"{'apis' if resource.group else 'api'}/{resource.api_version}" in index
        found = document(resource.group, resource.version)
        gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        schemas = found["components"]["schemas"].values()
        (schema,) = [one for one in schemas if one.get("x-kubernetes-group-version-kind") == [gvk]]
        said = explain_refused(REGISTRY, resource.group, resource.version, resource.plural)
        assert (schema["description"], schema["x-kubernetes-preserve-unknown-fields"]) == (said, True)
        namespace = "{namespace}" if resource.namespaced else ""
        assert set(found["paths"][resource.path(namespace, "{name}")]) == {"get"}


def test_a_kind_that_a_definition_brings_is_described_by_it():
    crd = copy.deepcopy(CRD)
    crd["spec"] |= {"group": "kubeflow.org", "names": {"plural": "tfjobs", "kind": "TFJob"}}
    crd["metadata"]["name"] = "tfjobs.kubeflow.org"
    found = json.loads(openapi.build_document(Registry().with_kinds(read_kinds(crd)), "kubeflow.org", "v1"))
    assert "description" not in found["components"]["schemas"]["org.kubeflow.v1.TFJob"]
