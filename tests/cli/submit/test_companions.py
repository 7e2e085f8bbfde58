"""What stands beside a job in its file: a namespace comes first; what a laptop does not run is left out, and told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import Submission, refuse
from paddock.cli.submit.submission import create_all
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PYTORCH
from paddock.jobs.model import Phase, Status
from paddock.kube.errors import NotFound
from paddock.kube.meta import (
    CLAIMS,
    CONFIG_MAPS,
    ENVIRONMENTS,
    NAMESPACES,
    labels_of,
    name_of,
    uid_of,
)
from paddock.preflight import format_problem
from paddock.submission.documents import Checked
from paddock.submission.dry_run import fetch_refusal
from paddock.submission.reading import Reading, read_manifests
from paddock.words.phrases import render
from support.worlds import World

JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: team-y}
spec:
  pytorchReplicaSpecs:
    Master:
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: "python:3.11", command: [python, -c, "print(1)"]}]}}
"""
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-y, labels: {own: label}}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team-y}\ndata: {a: b}\n"
BESIDE = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: dd}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: SIZE}}}
---
apiVersion: v1
kind: Service
metadata: {name: dd}
spec: {selector: {app: x}, ports: [{port: PORT}]}
---
apiVersion: v1
kind: Secret
metadata: {name: dd}
stringData: {KEY: value}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dd}
data: {KEY: value}
"""
OTHERS = {
    "Role": "rbac.authorization.k8s.io/v1",
    "LocalQueue": "kueue.x-k8s.io/v1beta1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
}


def build(kind: str) -> str:
    return f"apiVersion: {OTHERS[kind]}\nkind: {kind}\nmetadata: {{name: other, namespace: team-y}}\n"


def read(*documents: str) -> Reading:
    return read_manifests("job.yaml", "---\n".join(documents).encode(), "default")


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    for each in build_defaults():
        await opened.create(ENVIRONMENTS, each)
    yield opened
    await opened.close()


async def send(api: LocalApi, root: Path, *documents: str) -> tuple[list[str], list[str]]:
    """What is created of the documents, in that order, and what is told."""
    told: list[str] = []
    place = Local(Home(root / "home", root / "cache"))
    reading = read(*documents)
    assert not reading.wrong, reading.problems
    submission = Submission(api, place, list(reading.placed), lambda said: told.append(render(said)), runs=True)
    await refuse(submission)
    made = await create_all(api, submission.checked, update=True)
    return [f"{each['kind']} {name_of(each)}" for each in made], told


@pytest.mark.parametrize("order", [(SPACE, MAP, JOB), (JOB, MAP, SPACE)], ids=["first", "last"])
async def test_a_namespace_is_created_before_what_lies_in_it(
    order: tuple[str, ...], api: LocalApi, tmp_path: Path
) -> None:
    made, told = await send(api, tmp_path, *order)
    assert (made[0], sorted(made[1:]), told) == ("Namespace team-y", ["ConfigMap c", "PyTorchJob train"], [])


async def test_a_namespace_that_is_there_stays_as_it_is(api: LocalApi, tmp_path: Path) -> None:
    metadata = {"name": "team-y", "labels": {"kept": "label"}}
    await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    made, told = await send(api, tmp_path, SPACE, JOB)
    assert (made, told) == (["PyTorchJob train"], ["namespace team-y is there already, and stays as it is"])
    assert labels_of(await api.get(NAMESPACES, "", "team-y"))["kept"] == "label"


async def test_a_namespace_of_nobody_is_refused_and_nothing_is_created(api: LocalApi, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no namespace team-y"):
        await send(api, tmp_path, MAP, JOB)
    with pytest.raises(NotFound):
        await api.get(CONFIG_MAPS, "team-y", "c")


@pytest.mark.parametrize("kind", [kind for kind in OTHERS if kind != "Role"])
async def test_what_a_laptop_does_not_run_is_left_out_and_told(kind: str, api: LocalApi, tmp_path: Path) -> None:
    made, told = await send(api, tmp_path, SPACE, build(kind), JOB)
    assert made == ["Namespace team-y", "PyTorchJob train"]
    assert told == [f"{kind} team-y/other is left out: a laptop runs no {kind}"]


async def test_a_quota_is_created_beside_the_job_that_it_counts(api: LocalApi, tmp_path: Path) -> None:
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: other, namespace: team-y}\nspec: {hard: {pods: 2}}\n"
    assert await send(api, tmp_path, SPACE, quota, JOB) == (
        ["Namespace team-y", "ResourceQuota other", "PyTorchJob train"],
        [],
    )


async def test_rights_are_created_with_the_job(api: LocalApi, tmp_path: Path) -> None:
    assert await send(api, tmp_path, SPACE, build("Role"), JOB) == (
        ["Namespace team-y", "Role other", "PyTorchJob train"],
        [],
    )


def fill(size: str = "1Gi", port: int = 80, key: str = "old") -> str:
    return BESIDE.replace("SIZE", size).replace("PORT", str(port)).replace("KEY", key)


async def test_what_stands_beside_a_job_is_merged_as_kubectl_apply_does(world: World) -> None:
    api, space = world.api, world.namespace

    def place(text: str) -> list[Checked]:
        return list(read_manifests("job.yaml", text.encode(), space).placed)

    await create_all(api, place(fill()), update=True)
    # What others add to a claim: who binds it names its volume.
    bound = {"spec": {"volumeName": "pv"}, "metadata": {"annotations": {"bound": "yes"}}}
    await api.patch(CLAIMS, space, "dd", bound)
    for again in (fill(), fill(port=81, key="new")):
        assert [await fetch_refusal(api, each, merges=True) for each in place(again)] == [None] * 4
        claim, service, secret, config = await create_all(api, place(again), update=True)
    assert claim["spec"]["volumeName"] == "pv" and claim["metadata"]["annotations"]["bound"] == "yes"
    assert [each["port"] for each in service["spec"]["ports"]] == [81]
    assert (list(secret["data"]), list(config["data"])) == (["new"], ["new"])
    (changed, *_) = place(fill("500Mi"))
    refusal = await fetch_refusal(api, changed, merges=True)
    assert refusal is not None and "spec is immutable after creation" in refusal.message


async def test_what_a_server_refuses_beside_a_job_deletes_and_changes_nothing(api: LocalApi, tmp_path: Path) -> None:
    job = JOB.replace("team-y", "default")
    await send(api, tmp_path, fill(), job)
    stored = await api.get(KUBEFLOW_PYTORCH.resource, "default", "train")
    ended = KINDS[KUBEFLOW_PYTORCH.resource].write_status(stored, Status(Phase.COMPLETED), 1e9)
    await api.patch(KUBEFLOW_PYTORCH.resource, "default", "train", {"status": ended}, subresource="status")
    with pytest.raises(UserError, match=r"is immutable(.|\n)*nothing was submitted, changed or deleted"):
        await send(api, tmp_path, fill("500Mi", key="new"), job)
    assert uid_of(await api.get(KUBEFLOW_PYTORCH.resource, "default", "train")) == uid_of(stored)
    assert list((await api.get(CONFIG_MAPS, "default", "dd"))["data"]) == ["old"]


def test_a_kind_that_nobody_knows_is_left_out_beside_a_job_and_refused_without_one() -> None:
    other = "apiVersion: secrets-store.csi.x-k8s.io/v1\nkind: SecretProviderClass\nmetadata: {name: other}\n"
    beside = read(other, JOB)
    assert [each.resource.kind for each in beside.placed] == ["PyTorchJob"]
    (problem,) = beside.problems
    assert "warning" in format_problem(problem, "f") and "is left out" in problem.message
    assert read(other).wrong


@pytest.mark.parametrize("kind", ["MPIJob", "TFJob"])
def test_another_kind_of_training_is_never_left_out(kind: str) -> None:
    assert read(f"apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: other}}\n", JOB).wrong


def test_a_misspelt_job_beside_a_job_is_no_stranger() -> None:
    assert read(JOB, JOB.replace("kind: PyTorchJob", "kind: PytorchJob").replace("name: train", "name: two")).wrong


def test_a_deployment_alone_is_told_what_trains() -> None:
    (problem,) = read(build("Deployment")).problems
    assert "training is a PaddleJob" in problem.message


@pytest.mark.parametrize(
    ("version", "kind"), [("serving.knative.dev/v1", "Service"), ("example.com/v1", "ServiceX"), ("x.io/v1", "Podding")]
)
def test_a_kind_of_another_group_is_not_taken_for_one_of_kubernetes(version: str, kind: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n"
    (problem,) = read(text).problems
    assert f"{kind} of {version} does not run here" in problem.message
    assert not read(text, JOB).wrong
