"""The CustomResourceDefinitions of the kinds of job, and that they accept the manifests that worked before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.samples import SAMPLES, find_kind, read_manifest
from paddock.apiserver.schema.json_path import find
from paddock.install.crd import build_crd, build_crds, build_old_crd
from paddock.install.field_sentences import ANY, SENTENCES
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_JAX, KUBEFLOW_PADDLE, KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import CauseRecord, Counts, Phase, PodRef, Status
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest, name_of
from paddock.manifests.structure import check_structure


def version(api: JobApi) -> Manifest:
    found: Manifest = build_crd(api)["spec"]["versions"][0]
    return found


def schema(api: JobApi) -> Manifest:
    found: Manifest = version(api)["schema"]["openAPIV3Schema"]
    return found


def columns(api: JobApi, *, wide: bool = False) -> dict[str, str]:
    """The columns of `kubectl get`, and with `-o wide` those too that it hides else."""
    found = version(api)["additionalPrinterColumns"]
    return {column["name"]: column["jsonPath"] for column in found if wide or not column.get("priority")}


def test_there_is_one_of_each_kind() -> None:
    assert [name_of(crd) for crd in build_crds()] == [
        "paddlejobs.batch.paddlepaddle.org",
        "paddlejobs.kubeflow.org",
        "pytorchjobs.kubeflow.org",
        "jaxjobs.kubeflow.org",
    ]


def test_the_names_and_columns_are_those_that_the_documents_show() -> None:
    assert build_crd(PADDLEPADDLE)["spec"]["names"]["shortNames"] == ["pdj"]
    assert columns(PADDLEPADDLE) == {
        "Status": ".status.phase",
        "Mode": ".status.mode",
        "PS": ".status.ps.ready",
        "Worker": ".status.worker.ready",
        "Age": ".metadata.creationTimestamp",
    }
    scale = {"specReplicasPath": ".spec.worker.replicas", "statusReplicasPath": ".status.worker.running"}
    assert version(PADDLEPADDLE)["subresources"] == {"status": {}, "scale": scale}


WAITING = CauseRecord("WaitingForPods", {"missing": 2, "wanted": 2}, 3.0)
WRONG = CauseRecord("InvalidJob", {"problems": ["spec.worker: is missing"]}, 3.0)
ENDED = CauseRecord("RankFailed", {"ranks": ["worker-0"], "code": 1}, 3.0)


@pytest.mark.parametrize("api", [PADDLEPADDLE, KUBEFLOW_PADDLE], ids=["paddlepaddle", "kubeflow"])
@pytest.mark.parametrize(
    ("status", "states"),
    [
        (Status(Phase.INVALID, cause=WRONG), ("Invalid", "Invalid")),
        (Status(Phase.PENDING, cause=WAITING), ("Pending", "Created")),
        (Status(Phase.FAILED, cause=ENDED), ("Failed", "Failed")),
    ],
    ids=lambda value: value.phase.value if isinstance(value, Status) else "",
)
def test_kubectl_prints_the_state_of_a_job_and_why_with_o_wide(
    api: JobApi, status: Status, states: tuple[str, str]
) -> None:
    job = {"status": api.write_status({}, status, 3.0)}
    cells = {name: find(path, job) for name, path in columns(api, wide=True).items()}
    assert cells["Status" if "Status" in cells else "State"] == [states[api is KUBEFLOW_PADDLE]]
    assert status.cause is not None
    assert cells["Why"] == [explain(status.cause)]


EDIT = "the manifest was edited and is wrong: spec.worker: is missing; the job goes on by what was written before"


@pytest.mark.parametrize("api", [PADDLEPADDLE, KUBEFLOW_PADDLE], ids=["paddlepaddle", "kubeflow"])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status(Phase.RUNNING, problem=WRONG), EDIT),
        (Status(Phase.PENDING, cause=WAITING, problem=WRONG), f"{explain(WAITING)}; {EDIT}"),
        (Status(Phase.FAILED, cause=ENDED, problem=WRONG), explain(ENDED)),
    ],
    ids=lambda value: value.phase.value if isinstance(value, Status) else "",
)
def test_an_edit_that_is_not_followed_is_told_to_who_types_kubectl(api: JobApi, status: Status, said: str) -> None:
    """As `kubectl scale --replicas=0` of a job that runs."""
    job = {"status": api.write_status({}, status, 3.0)}
    (why,) = find(columns(api, wide=True)["Why"], job)
    assert why.removeprefix("all ranks run; ") == said
    mended = api.write_status(job["status"], status.with_(problem=None), 4.0)
    assert EDIT not in find(columns(api, wide=True)["Why"], {"status": {**job["status"], **mended}})


@pytest.mark.parametrize(
    ("api", "kind", "specs"),
    [
        (KUBEFLOW_PADDLE, "PaddleJob", "paddleReplicaSpecs"),
        (KUBEFLOW_PYTORCH, "PyTorchJob", "pytorchReplicaSpecs"),
        (KUBEFLOW_JAX, "JAXJob", "jaxReplicaSpecs"),
    ],
)
def test_kubeflows_names_and_columns_are_its_own(api: JobApi, kind: str, specs: str) -> None:
    """training-operator's definitions have no short names."""
    names = build_crd(api)["spec"]["names"]
    assert names == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": f"{kind}s".lower(),
        "singular": kind.lower(),
    }
    assert columns(api) == {
        "State": ".status.conditions[-1:].type",
        "Age": ".metadata.creationTimestamp",
    }
    assert version(api)["subresources"]["scale"] == {
        "specReplicasPath": f".spec.{specs}.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
    }
    assert schema(api)["properties"]["spec"]["required"] == [specs]


@pytest.mark.parametrize("crd", build_crds(), ids=name_of)
def test_kubectl_apply_can_keep_it_in_an_annotation(crd: Manifest) -> None:
    assert len(json.dumps(crd, separators=(",", ":"))) < 256 * 1024


def own_fields(schema: Any, path: str = "") -> Iterator[str]:
    """The paths of a kind's own fields: the pod template, and what every object has, are Kubernetes'."""
    yield path
    for name, inner in (schema.get("properties") or {}).items():
        if name == "template" or (not path and name in ("apiVersion", "kind", "metadata")):
            continue
        yield from own_fields(inner, f"{path}.{name}" if path else name)
    for word in ("items", "additionalProperties"):
        inner = schema.get(word)
        if isinstance(inner, dict) and (inner.get("properties") or word == "items"):
            yield from own_fields(inner, f"{path}.{ANY}")


def described(schema: Any) -> int:
    if isinstance(schema, dict):
        mine = isinstance(schema.get("description"), str)
        return mine + sum(described(inner) for inner in schema.values())
    return 0


def test_kubectl_explain_has_a_sentence_for_every_field_of_a_kinds_own() -> None:
    fields = {path for api in KINDS.values() for path in own_fields(api.build_schema())}
    assert fields - SENTENCES.keys() == set(), "each wants its sentence in install/field_sentences.py"
    templates = {path for path in SENTENCES if path.endswith(".template")}
    assert SENTENCES.keys() - fields - templates == set(), "there are no such fields"
    for api in KINDS.values():
        paths = set(own_fields(api.build_schema()))
        assert described(schema(api)) >= len(paths)


def test_sentences_are_short_and_whole() -> None:
    wrong = [text for text in SENTENCES.values() if not (text.endswith(".") and text[0].isupper() and len(text) < 120)]
    assert wrong == []


def test_the_template_is_shared_and_has_no_sentences() -> None:
    """Described, it would not fit into the annotation of `kubectl apply`; shared, it is in memory once."""
    roles = schema(PADDLEPADDLE)["properties"]["spec"]["properties"]
    assert described(roles["worker"]["properties"]["template"]["properties"]) == 0


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_old_clusters_get_the_same_definition_as_v1beta1(api: JobApi) -> None:
    new, old = build_crd(api)["spec"], build_old_crd(api)["spec"]
    assert build_old_crd(api)["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    assert (old["version"], [each["name"] for each in old["versions"]]) == ("v1", ["v1"])
    assert {name: old[name] for name in ("group", "names", "scope")} == {
        name: new[name] for name in ("group", "names", "scope")
    }
    of_version = new["versions"][0]
    assert old["subresources"] == of_version["subresources"]
    columns = [{**column, "JSONPath": column["jsonPath"]} for column in of_version["additionalPrinterColumns"]]
    assert old["additionalPrinterColumns"] == [
        {name: value for name, value in column.items() if name != "jsonPath"} for column in columns
    ]
    assert '"default":' not in json.dumps(old["validation"])


def test_a_property_may_be_called_default() -> None:
    """Only keywords of schemas are removed from a v1beta1 definition."""
    api = KUBEFLOW_PADDLE
    assert (
        "suspend"
        in build_old_crd(api)["spec"]["validation"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["runPolicy"][
            "properties"
        ]
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_the_documents_jobs_fit_the_schema(name: str) -> None:
    manifest = read_manifest(name)
    assert list(check_structure(schema(find_kind(manifest)), manifest)) == []


def test_values_that_paddle_operator_took_can_still_be_stored() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"] |= {"cleanPodPolicy": "OnFailed", "intranet": "any", "elastic": 0}
    manifest["spec"]["ps"] |= {"replicas": 0, "requests": 1, "limits": 3}
    assert list(check_structure(schema(PADDLEPADDLE), manifest)) == []


def test_values_that_kubeflow_took_can_still_be_stored() -> None:
    manifest = read_manifest("kubeflow_distributed")
    policy: dict[str, Any] = {"cleanPodPolicy": "", "managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    policy["schedulingPolicy"] = {"queue": "q", "minResources": {"cpu": "1"}, "scheduleTimeoutSeconds": 9}
    metrics = [{"type": "Resource", "resource": {"name": "cpu"}}]
    manifest["spec"] |= {"runPolicy": policy, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4, "metrics": metrics}}
    manifest["spec"]["paddleReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"
    assert list(check_structure(schema(KUBEFLOW_PADDLE), manifest)) == []


@pytest.mark.parametrize(
    ("api", "roles"),
    [(PADDLEPADDLE, ("ps", "worker", "heter")), (KUBEFLOW_PADDLE, ("master", "worker"))],
    ids=["paddle", "kf"],
)
def test_no_field_of_a_status_is_dropped(api: JobApi, roles: tuple[str, ...]) -> None:
    counts = dict.fromkeys(roles, Counts(9, 1, 2, 3, 4, 5))
    cause = CauseRecord("Reason", {"any": ["thing", {"at": "all"}]}, 1.0)
    refs = {role: (PodRef("team", f"demo-{role}-0", "uid"),) for role in roles}
    status = Status(Phase.RUNNING, "PS", 1, 2, counts, cause, 3.0, 4.0, 5, refs, 6)
    assert list(check_structure(schema(api), {"status": api.write_status({}, status, 0.0)})) == []
