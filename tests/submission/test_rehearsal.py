"""From a job's manifest to that of its rehearsal: what stays, what is taken out, what is replaced; for all kinds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.kube.meta import Manifest
from paddock.manifests.yaml_texts import write_yaml
from paddock.submission.documents import Checked
from paddock.submission.reading import read_manifests
from paddock.submission.rehearsal import Asked, Rehearsal, count_all_processes, find_roles, plan_rehearsal
from paddock.submission.rehearsed_pods import Here, name_brought, name_rehearsal

SEEDS = sorted((Path(__file__).parent / "rehearsed").glob("*.yaml"))
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
HERE = Here(namespaces={"default"})
ASKED = Asked(2, 300, directory="/own")


def read(*manifests: Manifest) -> list[Checked]:
    reading = read_manifests("job.yaml", write_yaml(list(manifests)).encode(), "default")
    assert not reading.wrong, reading.problems
    return list(reading.placed)


def plan(*manifests: Manifest, asked: Asked = ASKED, here: Here = HERE) -> Rehearsal:
    return plan_rehearsal(read(*manifests), asked, here)


def build_pod(**more: Any) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "trainer:1",
        "command": ["python", "train.py"],
        **more.pop("container", {}),
    }
    return {"containers": [container], **more}


def build_batch(pod: dict[str, Any] | None = None, workers: int = 2, **spec: Any) -> Manifest:
    role = {"replicas": workers, "template": {"spec": pod or build_pod()}}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": "resnet"},
        "spec": {"worker": role, **spec},
    }  # fmt: skip


def build_pytorch(pod: dict[str, Any] | None = None, workers: int = 2, master: bool = False, **spec: Any) -> Manifest:
    role = {"replicas": workers, "restartPolicy": "OnFailure", "template": {"spec": pod or build_pod()}}
    roles = {"Worker": role} | ({"Master": copy.deepcopy(role) | {"replicas": 1}} if master else {})
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "resnet"},
        "spec": {"pytorchReplicaSpecs": roles, **spec},
    }  # fmt: skip


def pod_of(found: Rehearsal, role: str = "worker") -> dict[str, Any]:
    pod: dict[str, Any] = dict(find_roles(found.job.manifest["spec"]))[role]["template"]["spec"]
    return pod


def read_all(path: Path) -> list[Checked]:
    reading = read_manifests(path.name, path.read_bytes(), "default")
    return [] if reading.wrong else list(reading.placed)


@pytest.mark.parametrize("path", [*SEEDS, *EXAMPLES], ids=lambda path: path.name)
def test_each_job_of_the_documents_has_a_rehearsal_without_a_mistake(path: Path) -> None:
    documents = read_all(path)
    if sum(each.is_job for each in documents) != 1:
        return
    (written,) = (each for each in documents if each.is_job)
    before = copy.deepcopy(written.manifest)
    found = plan_rehearsal(documents, ASKED, HERE)
    assert written.manifest == before  # nothing of the arguments is changed
    job, asked = found.job.job, written.job
    assert job is not None and asked is not None
    assert job.key.name == f"{asked.key.name}-rehearsal"
    assert (job.resource, job.framework, job.mode) == (asked.resource, asked.framework, asked.mode)
    assert [(role.name, role.replicas) for role in job.roles] == [(role.name, role.replicas) for role in asked.roles]
    assert job.network == asked.network
    assert job.policies.backoff_limit == 0 and job.policies.active_deadline == 900
    for role in job.roles:
        for container in role.template["spec"]["containers"]:
            assert "resources" not in container
            assert {"name": "PADDOCK_REHEARSAL", "value": "2"} in container["env"]
    again = read_manifests("again.yaml", write_yaml([found.job.manifest]).encode(), "default")
    assert not again.wrong, again.problems


def test_the_seeds_are_there() -> None:
    assert len(SEEDS) >= 8


PLACES = {
    "nodeSelector": {"accelerator": "a100"},
    "nodeName": "node-1",
    "affinity": {"nodeAffinity": {}, "podAffinity": {}},
    "tolerations": [{"operator": "Exists"}],
    "schedulerName": "volcano",
    "priorityClassName": "high",
    "runtimeClassName": "nvidia",
    "serviceAccountName": "trainer",
    "imagePullSecrets": [{"name": "registry"}],
}


@pytest.mark.parametrize("build", [build_batch, build_pytorch])
@pytest.mark.parametrize("field", PLACES)
def test_what_only_a_cluster_has_is_taken_out_and_told(field: str, build: Callable[..., Manifest]) -> None:
    found = plan(build(build_pod(**{field: PLACES[field]})))
    assert field not in pod_of(found)
    assert found.taken_out == (field,)


@pytest.mark.parametrize("build", [build_batch, build_pytorch])
def test_requests_are_taken_out_and_counted_over_all_pods(build: Callable[..., Manifest]) -> None:
    resources = {"limits": {"nvidia.com/gpu": 8, "memory": "64Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    found = plan(build(build_pod(container={"resources": resources}), workers=4))
    assert {name: float(amount) for name, amount in found.resources.items()} == {
        "nvidia.com/gpu": 32, "memory": 4 * 64 * 2**30, "cpu": 2,
    }  # fmt: skip
    assert list(found.devices) == ["nvidia.com/gpu"]


@pytest.mark.parametrize(
    ("before", "taken_out"),
    [
        ({"metadata": {"name": "resnet", "labels": {"kueue.x-k8s.io/queue-name": "q"}}}, "kueue.x-k8s.io/queue-name"),
        (
            {"metadata": {"name": "resnet", "annotations": {"scheduling.volcano.sh/queue-name": "q"}}},
            "scheduling.volcano.sh/queue-name",
        ),
        ({"metadata": {"name": "resnet", "annotations": {"paddock.dev/elastic": "1-4"}}}, "paddock.dev/elastic"),
        ({"metadata": {"name": "resnet", "annotations": {"paddock.dev/share-gpu": "4"}}}, "paddock.dev/share-gpu"),
        ({"metadata": {"name": "resnet", "annotations": {"paddock.dev/hold": "10m"}}}, "paddock.dev/hold"),
        ({"metadata": {"name": "resnet", "annotations": {"paddock.dev/silent": "30m=Restart"}}}, "paddock.dev/silent"),
    ],
)
def test_queues_and_restarts_are_taken_out_of_labels_and_annotations(before: dict[str, Any], taken_out: str) -> None:
    found = plan(build_batch() | before)
    assert found.taken_out == (taken_out,)
    assert "labels" not in found.job.manifest["metadata"]
    assert "annotations" not in found.job.manifest["metadata"]


def test_other_labels_stay() -> None:
    found = plan(build_batch() | {"metadata": {"name": "resnet", "labels": {"team": "a"}}})
    assert found.job.manifest["metadata"]["labels"] == {"team": "a"} and not found.taken_out


def test_the_first_failure_ends_it_and_nobody_leaves_one_behind() -> None:
    policy = {"backoffLimit": 9, "ttlSecondsAfterFinished": 1, "suspend": True, "schedulingPolicy": {"queue": "q"}}
    found = plan(build_pytorch(runPolicy={**policy, "cleanPodPolicy": "All"}, master=True))
    spec = found.job.manifest["spec"]
    assert spec["runPolicy"] == {
        "backoffLimit": 0, "activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 600, "cleanPodPolicy": "None",
    }  # fmt: skip
    assert [role["restartPolicy"] for _, role in find_roles(spec)] == ["Never", "Never"]
    assert found.taken_out == ("schedulingPolicy",)


@pytest.mark.parametrize("words", [["--max-restarts=3"], ["--max_restarts", "3"]])
def test_a_launcher_starts_nothing_again(words: list[str]) -> None:
    found = plan(build_pytorch(build_pod(container={"command": ["torchrun", *words, "train.py", "--n=3"]})))
    assert " ".join(pod_of(found)["containers"][0]["command"]).replace("=", " ").split()[2:] == [
        "0", "train.py", "--n", "3",
    ]  # fmt: skip
    assert found.taken_out == ("--max_restarts",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["python", "train.py", "--max_restarts", "3", "--nnodes=4"], None),
        (["sh", "-c", "python train.py --max_restarts 3 --nnodes 4"], None),
        (["torchrun", "train.py", "--max_restarts=3", "--nnodes", "4"], None),
        (
            ["torchrun", "--nnodes", "4", "--max_restarts", "3", "train.py", "--nnodes", "4", "--max_restarts", "3"],
            ["torchrun", "--nnodes", "2", "--max_restarts", "0", "train.py", "--nnodes", "4", "--max_restarts", "3"],
        ),
        (
            ["sh", "-c", "cd /app; torchrun --nnodes=4 --max_restarts 3 train.py --nnodes=4 --max_restarts 3"],
            ["sh", "-c", "cd /app; torchrun --nnodes=2 --max_restarts 0 train.py --nnodes=4 --max_restarts 3"],
        ),
        (
            ["torchrun", "--nnodes=4", "-m", "own.train", "--nnodes=4"],
            ["torchrun", "--nnodes=2", "-m", "own.train", "--nnodes=4"],
        ),
    ],
)
def test_an_option_of_the_program_stays(before: list[str], after: list[str] | None) -> None:
    job = build_pytorch(build_pod(container={"command": before}), workers=4)
    found = plan(job, asked=Asked(2, 300, workers=2))
    assert pod_of(found)["containers"][0]["command"] == (after or before)
    assert ("--max_restarts" in found.taken_out) == (
        after is not None and any("max_restarts" in each for each in after)
    )


def test_jobs_of_jax_have_rehearsals_too() -> None:
    job = build_pytorch(build_pod(nodeSelector={"tpu": "v5"}))
    spec = {"jaxReplicaSpecs": {"Worker": job["spec"]["pytorchReplicaSpecs"]["Worker"]}}
    found = plan({**job, "kind": "JAXJob", "spec": spec})
    assert found.taken_out == ("nodeSelector",) and found.job.manifest["spec"]["runPolicy"]["backoffLimit"] == 0


def test_of_paddle_operators_kind_the_policies_stand_elsewhere() -> None:
    pod = build_pod(restartPolicy="OnFailure")
    found = plan(build_batch(pod, elastic=1, cleanPolicy="Always", schedulingPolicy={"minAvailable": 2}))
    spec = found.job.manifest["spec"]
    assert (spec["cleanPodPolicy"], pod_of(found)["restartPolicy"]) == ("Never", "Never")
    assert found.taken_out == ("elastic", "schedulingPolicy")
    assert "elastic" not in spec and "cleanPolicy" not in spec


# Volumes


def build_with_volume(volume: dict[str, Any], workers: int = 2) -> Manifest:
    mounts = [{"name": "data", "mountPath": "/data"}]
    return build_batch(build_pod(container={"volumeMounts": mounts}, volumes=[{"name": "data", **volume}]), workers)


CLAIM = {"persistentVolumeClaim": {"claimName": "imagenet"}}
HOST = {"hostPath": {"path": "/mnt/data"}}


@pytest.mark.parametrize(
    ("volume", "what"),
    [
        (CLAIM, "persistentVolumeClaim imagenet"),
        (HOST, "hostPath /mnt/data"),
        ({"nfs": {"server": "10.0.0.1", "path": "/nas"}}, "nfs 10.0.0.1:/nas"),
        ({"csi": {"driver": "nas.csi"}}, "csi data"),
    ],
)
def test_a_volume_that_is_not_here_is_a_directory(volume: dict[str, Any], what: str) -> None:
    found = plan(build_with_volume(volume))
    assert pod_of(found)["volumes"] == [{"name": "data", "hostPath": {"path": "/own/data", "type": "Directory"}}]
    (replaced,) = found.replaced
    assert (replaced.what, replaced.directory, replaced.paths) == (what, "/own/data", ("/data",))


@pytest.mark.parametrize("volume", [CLAIM, HOST, {"emptyDir": {}}, {"emptyDir": {"medium": "Memory"}}, {}])
def test_a_volume_that_is_here_stays(volume: dict[str, Any]) -> None:
    found = plan(build_with_volume(volume), here=Here({"default"}, claims={"imagenet"}, paths={"/mnt/data"}))
    assert pod_of(found)["volumes"] == [{"name": "data", **volume}] and not found.replaced


@pytest.mark.parametrize(("name", "volume"), [("data", CLAIM), ("imagenet", CLAIM), ("/mnt/data", HOST)])
def test_a_volume_that_is_here_is_replaced_where_data_names_it(name: str, volume: dict[str, Any]) -> None:
    here = Here({"default"}, claims={"imagenet"}, paths={"/mnt/data"})
    found = plan(build_with_volume(volume), asked=Asked(2, 300, named={name}, directory="/own"), here=here)
    assert [each.answers_to(name) for each in found.replaced] == [True]


def test_roles_that_mount_the_same_claim_share_its_directory() -> None:
    job = build_with_volume(CLAIM)
    job["spec"]["ps"] = copy.deepcopy(job["spec"]["worker"])
    job["spec"]["ps"]["template"]["spec"]["volumes"][0]["name"] = "other"
    job["spec"]["ps"]["template"]["spec"]["containers"][0]["volumeMounts"][0] = {"name": "other", "mountPath": "/in"}
    found = plan(job)
    paths = {pod_of(found, role)["volumes"][0]["hostPath"]["path"] for role in ("worker", "ps")}
    assert len(paths) == 1 == len(found.replaced) and set(found.replaced[0].paths) == {"/data", "/in"}


def test_volumes_of_one_name_and_two_sources_have_two_directories() -> None:
    job = build_with_volume(CLAIM)
    job["spec"]["ps"] = copy.deepcopy(job["spec"]["worker"])
    job["spec"]["ps"]["template"]["spec"]["volumes"][0] = {"name": "data", **HOST}
    assert len({each.directory for each in plan(job).replaced}) == 2


def test_the_number_that_makes_a_directory_another_is_no_volumes_name() -> None:
    """Two volumes `data` of two roles, and one that is called `data-3`."""
    job = build_with_volume(CLAIM)
    job["spec"]["ps"] = copy.deepcopy(job["spec"]["worker"])
    job["spec"]["ps"]["template"]["spec"]["volumes"][0] = {"name": "data", **HOST}
    other = {"name": "data-3", "hostPath": {"path": "/mnt/other"}}
    job["spec"]["worker"]["template"]["spec"]["volumes"].append(other)
    replaced = plan(job).replaced
    assert len(replaced) == 3 and len({each.directory for each in replaced}) == 3


def test_a_dataset_that_is_not_here_is_a_directory_at_its_path() -> None:
    metadata = {"name": "resnet", "annotations": {"paddock.dev/datasets": "words:/words, imagenet:/data"}}
    found = plan(build_batch() | {"metadata": metadata}, here=Here({"default"}, datasets={"words"}))
    assert found.job.manifest["metadata"]["annotations"] == {"paddock.dev/datasets": "words:/words"}
    assert pod_of(found)["containers"][0]["volumeMounts"] == [{"name": "rehearsal-imagenet", "mountPath": "/data"}]
    assert [each.what for each in found.replaced] == ["Dataset imagenet"]


def test_a_dataset_that_is_here_is_replaced_where_data_names_it() -> None:
    metadata = {"name": "resnet", "annotations": {"paddock.dev/datasets": "imagenet:/data"}}
    here, asked = Here({"default"}, datasets={"imagenet"}), Asked(2, 300, named={"imagenet"})
    found = plan(build_batch() | {"metadata": metadata}, asked=asked, here=here)
    assert [each.what for each in found.replaced] == ["Dataset imagenet"]
    assert "annotations" not in found.job.manifest["metadata"]


# Secrets and ConfigMaps


def test_the_name_of_a_volume_is_no_name_of_a_secret() -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "data", "key": "k"}}}]
    asked, here = Asked(2, 300, named={"data"}), Here({"default"}, secrets={"data"})
    assert not plan(build_batch(build_pod(container={"env": env})), asked=asked, here=here).missing


def test_a_secret_that_is_not_here_is_left_out_and_one_that_is_here_stays() -> None:
    env = [{"name": name, "valueFrom": {"secretKeyRef": {"name": name.lower(), "key": "k"}}} for name in ("A", "B")]
    found = plan(build_batch(build_pod(container={"env": env})), here=Here({"default"}, secrets={"b"}))
    _, first, second = pod_of(found)["containers"][0]["env"]
    assert first["valueFrom"]["secretKeyRef"] == {"name": "a", "key": "k", "optional": True}
    assert second["valueFrom"]["secretKeyRef"] == {"name": "b", "key": "k"}
    assert found.missing == ("Secret a",)


def test_what_the_file_brings_has_another_name_everywhere() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"a": "1"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"a": "1"}}
    pod = build_pod(
        container={
            "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "a"}}}],
            "envFrom": [{"secretRef": {"name": "key"}}, {"configMapRef": {"name": "conf"}}],
        },
        volumes=[
            {"name": "c", "configMap": {"name": "conf"}}, {"name": "s", "secret": {"secretName": "key"}},
            {"name": "p", "projected": {"sources": [{"secret": {"name": "key"}}]}},
        ],
    )  # fmt: skip
    found = plan(config, secret, build_batch(pod), here=Here({"default"}, secrets={"key"}, config_maps={"conf"}))
    text = write_yaml([pod_of(found)])
    assert text.count("conf-resnet-rehearsal") == 3 and text.count("key-resnet-rehearsal") == 3
    assert [each.key.name for each in found.documents] == [
        "conf-resnet-rehearsal", "key-resnet-rehearsal", "resnet-rehearsal",
    ]  # fmt: skip
    assert not found.missing


def test_names_of_what_the_file_brings_differ_and_are_no_longer_than_allowed() -> None:
    long = "x" * 252
    names = [(long + "a", "job"), (long + "b", "job"), (long + "a", "other"), ("a", "job"), ("a", "y" * 253)]
    found = [name_brought(*each) for each in names]
    assert len(set(found)) == len(names) and all(len(each) <= 253 for each in found)


@pytest.mark.parametrize("here", [(), ("torch",)])
def test_an_environment_of_the_file_replaces_none_that_is_here(here: tuple[str, ...]) -> None:
    environment = {"apiVersion": "paddock.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "torch"},
                   "spec": {"requirements": ["torch"]}}  # fmt: skip
    found = plan(environment, build_batch(), here=Here({"default"}, environments=here))
    assert found.kept == here and not found.left_out
    assert [each.key.name for each in found.documents if not each.is_job] == ([] if here else ["torch"])


def test_documents_that_only_a_cluster_needs_are_not_sent() -> None:
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "resnet"},
             "spec": {"minMember": 2}}  # fmt: skip
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "imagenet"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    found = plan(group, claim, build_with_volume(CLAIM))
    assert found.left_out == ("PodGroup resnet", "PersistentVolumeClaim imagenet")
    assert [each.is_job for each in found.documents] == [True] and len(found.replaced) == 1


# Names


def test_names_of_its_own_pods_follow() -> None:
    env = [{"name": "MASTER", "value": "resnet-worker-0.resnet-worker-0.default:29500"}]
    command = ["sh", "-c", "ping resnet-worker-0; echo my-resnet-worker-0 resnet-50 resnet-worker"]
    found = plan(build_batch(build_pod(container={"env": env, "command": command})))
    container = pod_of(found)["containers"][0]
    assert container["env"][1]["value"] == "resnet-rehearsal-worker-0.resnet-rehearsal-worker-0.default:29500"
    assert container["command"][2] == (
        "ping resnet-rehearsal-worker-0; echo my-resnet-worker-0 resnet-50 resnet-worker"
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("a", "a-rehearsal"), ("a-", "a-rehearsal"), ("x" * 253, "x" * 200 + "-rehearsal")]
)
def test_the_name(name: str, expected: str) -> None:
    assert name_rehearsal(name) == expected


def test_a_generated_name_becomes_a_fixed_one() -> None:
    found = plan(build_batch() | {"metadata": {"generateName": "resnet-"}})
    assert found.job.manifest["metadata"] == {"name": "resnet-rehearsal", "namespace": "default"}


def test_a_namespace_that_is_not_here_is_left_for_the_one_that_is() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team"}}
    job = build_batch() | {"metadata": {"name": "resnet", "namespace": "team"}}
    found = plan(config, job)
    assert {each.key.namespace for each in found.documents} == {"default"}
    assert found.taken_out == ("namespace team",)
    assert plan(job, here=Here({"default", "team"})).job.key.namespace == "team"


# Ranks


@pytest.mark.parametrize(("workers", "most", "expected"), [(4, 2, (4, 2)), (2, 2, None), (1, 4, None), (4, None, None)])
def test_fewer_workers(workers: int, most: int | None, expected: tuple[int, int] | None) -> None:
    found = plan(build_pytorch(workers=workers, master=True), asked=Asked(2, 300, workers=most))
    assert found.workers == expected
    job = found.job.job
    assert job is not None
    assert {role.name: role.replicas for role in job.roles} == {"master": 1, "worker": min(workers, most or workers)}


@pytest.mark.parametrize(
    "command",
    [
        ["torchrun", "--nnodes=4", "--x=4", "train.py"],
        ["torchrun", "--nnodes", "4", "--x=4", "train.py"],
        ["sh", "-c", "torchrun --nnodes=4 --x=4 train.py"],
        ["sh", "-c", "torchrun --nnodes 4 --x=4 train.py"],
    ],
)
def test_what_counts_the_workers_in_a_command_follows(command: list[str]) -> None:
    found = plan(build_pytorch(build_pod(container={"command": command}), workers=4), asked=Asked(2, 300, workers=2))
    words = " ".join(pod_of(found)["containers"][0]["command"])
    assert "--nnodes=2" in words or "--nnodes 2" in words
    assert "--x=4" in words


def test_sizes_of_an_elastic_job_follow() -> None:
    policy = {"minReplicas": 2, "maxReplicas": 8, "maxRestarts": 10, "rdzvBackend": "c10d", "metrics": []}
    pod = build_pod(container={"command": ["torchrun", "train.py"]})
    found = plan(build_pytorch(pod, workers=4, elasticPolicy=policy), asked=Asked(2, 300, workers=1))
    elastic = found.job.manifest["spec"]["elasticPolicy"]
    assert elastic == {"minReplicas": 1, "maxReplicas": 1, "maxRestarts": 0, "rdzvBackend": "c10d"}


GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8}}}


@pytest.mark.parametrize(
    ("command", "spec", "told", "processes"),
    [
        (["torchrun", "train.py"], {}, ("nprocPerNode", 8), 16),
        (["torchrun", "train.py"], {"nprocPerNode": "gpu"}, ("nprocPerNode", 8), 16),
        (["torchrun", "train.py"], {"nprocPerNode": "4"}, None, 8),
        (["torchrun", "--nproc-per-node=gpu", "train.py"], {}, ("--nproc_per_node", 8), 16),
        (["torchrun", "--nproc_per_node", "auto", "train.py"], {}, ("--nproc_per_node", 8), 16),
        (["torchrun", "--nproc-per-node=2", "train.py"], {}, None, 4),
        (["python", "train.py"], {}, None, 2),
    ],
)
def test_a_launcher_that_counts_devices_is_told_how_many(
    command: list[str], spec: dict[str, Any], told: tuple[str, int] | None, processes: int
) -> None:
    found = plan(build_pytorch(build_pod(container={"command": command, **GPUS}), **spec))
    assert found.processes == told
    assert found.job.job is not None and count_all_processes(found.job.job) == processes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ("PADDLE_NPROC_PER_NODE", 8)),
        (("--devices", "0,1"), ("--nproc_per_node", 2)),
        (("--nproc_per_node=2",), None),
    ],
)
def test_paddles_launcher_is_told_too(words: tuple[str, ...], told: tuple[str, int] | None) -> None:
    command = ["python", "-m", "paddle.distributed.launch", *words, "train.py"]
    found = plan(build_batch(build_pod(container={"command": command, **GPUS})))
    assert found.processes == told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--devices", "0,1", "train.py"], ["--nproc_per_node", "2", "train.py"]),
        (["--gpus=0,1", "train.py"], ["--nproc_per_node=2", "train.py"]),
    ],
)
def test_labels_of_devices_are_a_number_of_processes(words: list[str], expected: list[str]) -> None:
    launch = ["python", "-m", "paddle.distributed.launch"]
    found = plan(build_batch(build_pod(container={"command": [*launch, *words]})))
    assert pod_of(found)["containers"][0]["command"] == [*launch, *expected]
    found = plan(build_batch(build_pod(container={"command": ["sh", "-c", " ".join([*launch, *words])]})))
    assert pod_of(found)["containers"][0]["command"][2] == " ".join([*launch, *expected])


def test_the_variable_wins_over_the_users_own_and_may_stand_in_arguments() -> None:
    env = [{"name": "PADDOCK_REHEARSAL", "value": "no"}, {"name": "STEPS", "value": "$(PADDOCK_REHEARSAL)"}]
    found = plan(build_batch(build_pod(container={"env": env})), asked=Asked(7, 300))
    assert [entry["value"] for entry in pod_of(found)["containers"][0]["env"]] == ["7", "$(PADDOCK_REHEARSAL)"]


def test_yaml_of_a_seed_is_as_somebody_read_it_with_care(match_golden: Callable[[str, str], None]) -> None:
    (path,) = (path for path in SEEDS if path.name.startswith("001-6"))
    found = plan_rehearsal(read_all(path), ASKED, HERE)
    match_golden("rehearsal.yaml", yaml.safe_dump(found.job.manifest, sort_keys=False))
