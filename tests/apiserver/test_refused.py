"""Kinds that are known and not served: discovery names them without verbs, a list of one of Kubernetes' own is empty,
and all other requests are told what to do instead.
"""

from urllib.parse import quote

import pytest

from apiserver.embedded import Http, widget_crd
from paddock.apiserver.http.server import Server
from paddock.apiserver.kinds import discovery
from paddock.apiserver.kinds.refused import REFUSED, explain_refused, is_of_kubernetes, list_refused
from paddock.apiserver.kinds.registry import Registry, read_kinds
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.meta import CRDS, Manifest

REGISTRY = Registry()


def define(group: str, kind: str, plural: str) -> Manifest:
    crd = widget_crd()
    crd["metadata"]["name"] = f"{plural}.{group}"
    crd["spec"] |= {"group": group, "names": {"kind": kind, "plural": plural, "singular": kind.lower()}}
    return crd


def entries(registry: Registry, group: str, version: str) -> dict[str, Manifest]:
    found = discovery.build_resource_list(registry, group, version)
    return {each["name"]: each for each in found["resources"]} if found else {}


@pytest.mark.parametrize("refused", REFUSED, ids=lambda each: name_of(each))
def test_each_has_a_sentence_that_names_it_and_discovery_gives_it_no_verb(refused) -> None:
    resource = refused.resource
    said = explain_refused(REGISTRY, resource.group, resource.version, resource.plural)
    assert said.startswith(f"{resource.kind} ")
    assert any(each in said for each in ("Job of", "a PaddleJob", "a PyTorchJob", "is Pod", "`", "volume", "directory"))
    entry = entries(REGISTRY, resource.group, resource.version)[resource.plural]
    assert (entry["kind"], entry["verbs"], "categories" in entry) == (resource.kind, [], False)


def test_names_of_one_group_are_each_somebodys_alone() -> None:
    served = [each for each in REGISTRY.all() if not each.custom]
    names: dict[tuple[str, str, str], str] = {}
    for each in (*served, *REFUSED):
        for name in {each.resource.plural, each.singular, *each.short_names}:
            key = (each.resource.group, each.resource.version, name)
            assert names.setdefault(key, each.resource.kind) == each.resource.kind


def test_both_forms_of_discovery_have_them() -> None:
    told = {
        (group["metadata"].get("name", ""), version["version"], each["resource"])
        for core in (True, False)
        for group in discovery.build_aggregated(REGISTRY, core)["items"]
        for version in group["versions"]
        for each in version["resources"]
        if not each["verbs"]
    }
    assert told == {(each.resource.group, each.resource.version, each.resource.plural) for each in REFUSED}
    groups = [each["name"] for each in discovery.build_group_list(REGISTRY)["groups"]]
    assert groups[0] == REGISTRY.groups()[1]
    assert {"batch", "kubeflow.org"} < set(groups)


def test_a_served_version_is_preferred() -> None:
    crd = define("kubeflow.org", "Other", "others")
    crd["spec"]["versions"][0]["name"] = "v1alpha1"
    group = discovery.build_group(REGISTRY.with_kinds(read_kinds(crd)), "kubeflow.org")
    assert group is not None
    assert group["preferredVersion"]["version"] == "v1alpha1"


def test_a_kind_that_a_definition_brings_is_served_and_not_refused() -> None:
    registry = REGISTRY.with_kinds(read_kinds(define("kubeflow.org", "TFJob", "tfjobs")))
    kept = {(each.resource.group, each.resource.kind) for each in list_refused(registry)}
    assert ("kubeflow.org", "TFJob") not in kept
    assert ("kubeflow.org", "MPIJob") in kept
    assert entries(registry, "kubeflow.org", "v1")["tfjobs"]["verbs"]
    assert explain_refused(registry, "kubeflow.org", "v1beta1", "tfjobs") == ""


def test_what_runs_instead_is_what_is_served() -> None:
    assert explain_refused(REGISTRY, "kubeflow.org", "v1", "xgboostjobs").endswith("what runs is Pod")
    registry = REGISTRY.with_kinds(read_kinds(define("kubeflow.org", "PyTorchJob", "pytorchjobs")))
    assert explain_refused(registry, "kubeflow.org", "v1", "xgboostjobs").endswith("what runs is PyTorchJob")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/apis/batch/v1/namespaces/default/jobs"),
        ("GET", "/apis/batch/v1/jobs?watch=1"),
        ("GET", "/apis/batch/v1/namespaces/default/jobs?watch=true&resourceVersion=1"),
        ("GET", "/apis/batch/v1beta1/namespaces/default/jobs"),
        ("DELETE", "/apis/batch/v1/namespaces/default/jobs"),
        ("GET", "/apis/batch/v1/namespaces/default/jobs/x"),
        ("PATCH", "/apis/batch/v1/namespaces/default/jobs/x"),
        ("DELETE", "/apis/batch/v1/namespaces/default/jobs/x"),
        ("POST", "/apis/batch/v1beta1/namespaces/default/jobs"),
    ],
)
async def test_every_request_for_one_is_told_what_to_do(http: Http, method: str, path: str) -> None:
    """A body is not read, so that one in Protobuf is told the same."""
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    code, answer, _ = await http.ask(method, path, data=b"k8s\0", headers=headers)
    assert (code, answer["reason"], answer["details"]["kind"]) == (404, "NotFound", "jobs")
    assert "Job is not served here: `paddock run -- COMMAND`" in answer["message"]


OF_KUBERNETES = [each for each in REFUSED if is_of_kubernetes(each.resource)]


def name_of(served: ServedResource) -> str:
    return f"{served.resource.kind}.{served.resource.api_version}"


def test_kinds_of_other_systems_are_none_of_kubernetes() -> None:
    groups = {each.resource.group for each in OF_KUBERNETES}
    assert groups == {"", "apps", "batch", "networking.k8s.io", "autoscaling", "policy", "storage.k8s.io"}


@pytest.mark.parametrize("refused", OF_KUBERNETES, ids=name_of)
async def test_a_list_of_a_kind_of_kubernetes_is_empty_and_warns(http: Http, refused: ServedResource) -> None:
    resource = refused.resource
    for path in [resource.path()] + ([resource.path("default")] if resource.namespaced else []):
        code, answer, headers = await http.ask("GET", f"{path}?labelSelector=a%3Db&limit=500")
        assert (code, answer["kind"], answer["apiVersion"], answer["items"]) == (
            200, f"{resource.kind}List", resource.api_version, [],
        )  # fmt: skip
        assert int(answer["metadata"]["resourceVersion"]) > 0
        (warning,) = headers.getall("Warning")
        assert warning == f'299 - "{explain_refused(REGISTRY, resource.group, resource.version, resource.plural)}"'


@pytest.mark.parametrize(
    ("shape", "kind", "holds"),
    [("Table", "Table", "rows"), ("PartialObjectMetadataList", "PartialObjectMetadataList", "items")],
)
async def test_it_is_empty_in_each_form_of_a_list(http: Http, shape: str, kind: str, holds: str) -> None:
    headers = {"Accept": f"application/json;as={shape};v=v1;g=meta.k8s.io"}
    code, answer, got = await http.ask("GET", "/apis/batch/v1/jobs", headers=headers)
    assert (code, answer["kind"], answer[holds], "Warning" in got) == (200, kind, [], True)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"fieldSelector={quote('spec.x=1')}", 400), (f"labelSelector={quote('a in')}", 400), ("limit=x", 400),
        ("continue=x", 400), ("resourceVersion=x", 400), ("watch=perhaps", 400),
        (f"fieldSelector={quote('metadata.name=x')}", 200),
    ],
)  # fmt: skip
async def test_what_is_wrong_in_the_query_is_wrong_here_too(http: Http, query: str, code: int) -> None:
    assert (await http.ask("GET", f"/apis/batch/v1/namespaces/default/jobs?{query}"))[0] == code


async def test_a_kind_without_namespaces_is_in_none(http: Http) -> None:
    assert (await http.ask("GET", "/apis/storage.k8s.io/v1/namespaces/default/storageclasses"))[0] == 404


OTHERS = [each for each in REFUSED if each not in OF_KUBERNETES]


@pytest.mark.parametrize("refused", OTHERS, ids=name_of)
async def test_a_list_of_another_system_is_refused_as_where_it_is_not_installed(
    http: Http, refused: ServedResource
) -> None:
    """`paddock explain` learns so that a cluster has no Kueue."""
    code, answer, headers = await http.ask("GET", refused.resource.path())
    assert (code, answer["reason"], "Warning" in headers) == (404, "NotFound", False)
    assert answer["message"].partition(": ")[2].startswith(f"{refused.resource.kind} ")


async def test_of_what_nobody_knows_the_path_is_told(http: Http) -> None:
    code, answer, _ = await http.ask("GET", "/apis/nobody.org/v1/things")
    assert code == 404
    assert "/apis/nobody.org/v1/things is not served here" in answer["message"]


async def test_a_definition_takes_the_place_while_it_is_there(server: Server, http: Http, widgets: LocalApi) -> None:
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
    assert (await http.ask("GET", path))[0] == 404
    await widgets.create(CRDS, define("kubeflow.org", "TFJob", "tfjobs"))
    assert (await http.ask("GET", path))[0] == 200
    await widgets.delete(CRDS, "", "tfjobs.kubeflow.org")
    code, answer, _ = await http.ask("GET", path)
    assert (code, "what runs is" in answer["message"]) == (404, True)
