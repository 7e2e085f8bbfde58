"""PyTorchJob: the rows of training-operator's webhook and other bad input, each one change of a good manifest."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from jobs.samples import read_manifest, with_value
from paddock.jobs.apis.registry import KUBEFLOW_PADDLE, KUBEFLOW_PYTORCH
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import Rank, RestartPolicy
from paddock.jobs.objects import pods
from paddock.kube.meta import Manifest
from paddock.preflight import check, read_documents
from paddock.words.problems import InvalidJob

Path = tuple[str | int, ...]
SPECS: Path = ("spec", "pytorchReplicaSpecs")
MASTER, WORKER = (*SPECS, "Master"), (*SPECS, "Worker")
POD: Path = (*MASTER, "template", "spec")
CONTAINER: Path = (*POD, "containers", 0)
ELASTIC: Path = ("spec", "elasticPolicy")
AT, TEMPLATE = "spec.pytorchReplicaSpecs", "spec.pytorchReplicaSpecs.Master.template.spec"


def base() -> Manifest:
    return read_manifest("pytorch_mnist")


def refused(manifest: Manifest) -> dict[str, str]:
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_PYTORCH.read_job(manifest)
    return {problem.path: problem.message for problem in caught.value.problems if problem.severity == "error"}


def warned(manifest: Manifest) -> dict[str, str]:
    return {warning.path: warning.message for warning in KUBEFLOW_PYTORCH.read_job(manifest).warnings}


def test_a_master_and_its_workers_are_read() -> None:
    job = KUBEFLOW_PYTORCH.read_job(base())
    assert [(role.name, role.replicas, role.restart, role.decides, role.trains) for role in job.roles] == [
        ("master", 1, RestartPolicy.ON_FAILURE, True, True),
        ("worker", 2, RestartPolicy.ON_FAILURE, False, True),
    ]
    assert (job.mode, job.launch, job.one_decides, job.warnings) == ("Distributed", Launch("auto"), False, ())


def test_replicas_may_be_left_out_of_a_master_too() -> None:
    """Kubeflow's webhook refuses that, as its default of one comes after it."""
    job = KUBEFLOW_PYTORCH.read_job(with_value(base(), (*MASTER, "replicas"), ...))
    assert [str(rank) for rank in job.ranks()] == ["master-0", "worker-0", "worker-1"]


READ: list[tuple[Any, Launch]] = [
    ({}, Launch("auto")),
    ({"nprocPerNode": "4"}, Launch("4")),
    ({"nprocPerNode": "9" * 5000}, Launch("9" * 5000)),  # Python converts no text of more than 4300 digits
    ({"elasticPolicy": {"metrics": []}}, Launch("auto", Elastic(2, 2, metrics=()))),
    ({"elasticPolicy": {}}, Launch("auto", Elastic(2, 2))),
    ({"elasticPolicy": {"minReplicas": 1}}, Launch("auto", Elastic(1, 1))),
    ({"elasticPolicy": {"maxReplicas": 4}}, Launch("auto", Elastic(4, 4))),
    ({"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}}, Launch("auto", Elastic(1, 4))),
    ({"elasticPolicy": {"nProcPerNode": 2}}, Launch("", Elastic(2, 2, processes=2))),
    (
        {
            "elasticPolicy": {
                "rdzvBackend": "etcd",
                "rdzvHost": "etcd.team",
                "rdzvPort": 2379,
                "rdzvId": "one",
                "rdzvConf": [{"key": "timeout", "value": "9"}, {"key": "a", "value": "b"}],
                "standalone": False,
                "maxRestarts": 3,
                "metrics": [{"type": "Resource"}],
            }
        },
        Launch(
            "auto",
            Elastic(
                2, 2, "etcd", "etcd.team", 2379, "one", (("timeout", "9"), ("a", "b")), False, None, 3,
                ({"type": "Resource"},),
            ),
        ),
    ),
    ({"elasticPolicy": {"rdzvConf": []}}, Launch("auto", Elastic(2, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "launch"), READ)
def test_how_ranks_are_launched_is_read_with_kubeflows_defaults(spec: Any, launch: Launch) -> None:
    manifest = base()
    manifest["spec"] |= spec
    job = KUBEFLOW_PYTORCH.read_job(manifest)
    written = replace(launch, elastic=launch.elastic and replace(launch.elastic, launched=False))
    assert job.launch == written, "python FILE starts no launcher"
    assert not job.one_decides  # a Master decides
    del manifest["spec"]["pytorchReplicaSpecs"]["Master"]
    assert KUBEFLOW_PYTORCH.read_job(manifest).one_decides is ("elasticPolicy" in spec)


@pytest.mark.parametrize(
    ("name", "told"), [("mnist", False), ("a" * 63, False), ("a" * 64, True), ("my.job", True), ("1st", True)]
)
def test_a_name_that_kubeflows_webhook_refuses_is_taken_with_a_warning(name: str, told: bool) -> None:
    manifest = base()
    manifest["metadata"]["name"] = name
    said = warned(manifest).get("metadata.name", "")
    assert said.startswith("Kubeflow's operator refuses this name: ") is told


NEEDED = "a mapping with Master, Worker or both is"
REPLICAS = "a whole number from 1 to 10000"
ONE_MASTER = "1 is allowed; there is one Master, rank 0, and further ranks are Workers"
PAUSE = "to stop the job for a while, set spec.runPolicy.suspend to true"
REMOVE = "remove Worker if the other role trains alone, or, "
ONE_POD = {"spec": {"containers": [{"name": "pytorch", "image": "registry.example/train:1"}]}}
REFUSED: list[tuple[Path, Any, str, str]] = [
    (SPECS, ..., AT, f"is missing: {NEEDED} needed"),
    (SPECS, None, AT, f"is missing: {NEEDED} needed"),
    (SPECS, {}, AT, f"found an empty mapping, {NEEDED} allowed"),
    ((*SPECS, "Chief"), {}, f"{AT}.Chief", 'found "Chief", Master or Worker is allowed'),
    ((*CONTAINER, "image"), "", f"{TEMPLATE}.containers[0].image", 'found "", the name of an image is allowed'),
    ((*MASTER, "replicas"), 2, f"{AT}.Master.replicas", f"found 2, {ONE_MASTER}"),
    ((*MASTER, "replicas"), 0, f"{AT}.Master.replicas", f"found 0, {ONE_MASTER}"),
    ((*MASTER, "replicas"), -1, f"{AT}.Master.replicas", f"found -1, {ONE_MASTER}"),
    ((*WORKER, "replicas"), 0, f"{AT}.Worker.replicas", f"found 0, {REPLICAS} is allowed; {REMOVE}{PAUSE}"),
    (SPECS, {"Worker": {"replicas": 0, "template": ONE_POD}}, f"{AT}.Worker.replicas",
     f"found 0, {REPLICAS} is allowed; {PAUSE}"),
    ((*WORKER, "replicas"), -3, f"{AT}.Worker.replicas", f"found -3, {REPLICAS} is allowed"),
    (("spec", "nprocPerNode"), 2, "spec.nprocPerNode", 'found 2, text is allowed; write "2"'),
    (ELASTIC, {"minReplicas": 4, "maxReplicas": 2}, "spec.elasticPolicy.minReplicas",
     "found 4, a whole number of at most maxReplicas, 2, is allowed"),
    (ELASTIC, {"minReplicas": 0}, "spec.elasticPolicy.minReplicas",  # torchrun: min_nodes must be > 0
     "found 0, a whole number from 1 to 2147483647 is allowed"),
    (ELASTIC, {"metrics": ["cpu"]}, "spec.elasticPolicy.metrics[0]", 'found "cpu", a mapping is allowed'),
    (ELASTIC, {"rdzvPort": 0}, "spec.elasticPolicy.rdzvPort", "found 0, a whole number from 1 to 65535 is allowed"),
    (ELASTIC, {"rdzvConf": {"a": "b"}}, "spec.elasticPolicy.rdzvConf", 'found a mapping, a list of mappings is '
     'allowed; write "- " before its first field and indent the others by two'),
    ((*CONTAINER, "resources"), {"limits": {"nvidia.com/gpu": None}},
     f"{TEMPLATE}.containers[0].resources.limits[nvidia.com/gpu]",
     'is missing: an amount like 2, "500m" or "1Gi" is needed'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "at", "message"), REFUSED)
def test_what_kubeflow_refuses_or_could_never_run_is_refused_with_where_what_and_what_is_allowed(
    path: Path, value: Any, at: str, message: str
) -> None:
    assert refused(with_value(base(), path, value)) == {at: message}


def test_an_elastic_job_needs_workers() -> None:
    manifest = with_value(with_value(base(), WORKER, ...), ELASTIC, {})
    allowed = "a role with replicas and a template, beside an elasticPolicy,"
    assert refused(manifest) == {f"{AT}.Worker": f"is missing: {allowed} is needed"}


@pytest.mark.parametrize("elastic", [{}, {"minReplicas": 2}, {"minReplicas": 1, "maxReplicas": 1}])
def test_nothing_is_said_of_the_bounds_where_there_are_no_workers(elastic: Manifest) -> None:
    manifest = with_value(with_value(base(), WORKER, ...), ELASTIC, elastic)
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_PYTORCH.read_job(manifest)
    assert [problem.path for problem in caught.value.problems] == [f"{AT}.Worker"]


def test_one_pod_is_told_as_one() -> None:
    manifest = with_value(with_value(base(), MASTER, ...), (*WORKER, "replicas"), 1)
    found = warned(with_value(manifest, ELASTIC, {"minReplicas": 2}))["spec.elasticPolicy"]
    assert found == "the job has 1 pod, and torchrun waits until there are 2 (minReplicas)"


def test_the_number_of_processes_is_said_once() -> None:
    manifest = with_value(with_value(base(), ELASTIC, {"nProcPerNode": 2}), ("spec", "nprocPerNode"), "2")
    said = "must not stand beside spec.nprocPerNode, which says the same: remove this one"
    assert refused(manifest) == {"spec.elasticPolicy.nProcPerNode": said}


STEPPED = "WORLD_SIZE counts 2 processes in each pod, and the command starts one, without torchrun"
WARNED: list[tuple[Path, Any, str, str]] = [
    ((*CONTAINER, "name"), "main", f"{TEMPLATE}.containers", "none is called pytorch, so the first, main, is the one "),
    ((*POD, "restartPolicy"), "Never", f"{TEMPLATE}.restartPolicy", "is not read: the one beside the template counts"),
    (ELASTIC, {"nProcPerNode": 2}, "spec.elasticPolicy.nProcPerNode", "is deprecated: write it as spec.nprocPerNode"),
    (ELASTIC, {"rdzvBackend": "c10"}, "spec.elasticPolicy.rdzvBackend", 'found "c10", which torchrun may not know: '
     'there is c10d, etcd or etcd-v2; did you mean "c10d"?'),
    (ELASTIC, {"minReplicas": 9}, "spec.elasticPolicy", "the job has 3 pods, and torchrun waits until there are 9"),
    (ELASTIC, {"minReplicas": 1, "maxReplicas": 2}, "spec.elasticPolicy", "the job has 3 pods; at most "
     "2 take part"),
    (ELASTIC, {"minReplicas": 2, "maxReplicas": 3, "standalone": True}, "spec.elasticPolicy", "with standalone each "
     "pod has a rendezvous of its own, where it waits without end for 2 pods"),
    (ELASTIC, {"minReplicas": 1, "maxReplicas": 3}, "spec.elasticPolicy", "the command starts one process, without "
     "torchrun, which alone forms the group anew"),
    (("spec", "nprocPerNode"), "gpus", "spec.nprocPerNode", 'found "gpus", which torchrun may not know: there is auto, '
     'cpu or gpu, or a number from 1 on in quotes; did you mean "gpu"?'),
    (("spec", "nprocPerNode"), "0", "spec.nprocPerNode", 'found "0", which torchrun may not know'),
    (("spec", "nprocPerNode"), "9" * 5000, "spec.nprocPerNode", 'found "9999'),
    (("spec", "nprocPerNode"), "2", "spec.nprocPerNode", STEPPED),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "at", "message"), WARNED)
def test_what_kubeflow_takes_and_would_not_do_as_it_seems_is_a_warning(
    path: Path, value: Any, at: str, message: str
) -> None:
    (found,) = [said for where, said in warned(with_value(base(), path, value)).items() if where == at]
    assert found.startswith(message)


@pytest.mark.parametrize("policy", [{"minReplicas": 0, "maxReplicas": 5}, {"minReplicas": 1, "maxReplicas": 0}])
def test_counts_that_are_refused_are_not_warned_of_as_well(policy: dict[str, int]) -> None:
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_PYTORCH.read_job(with_value(base(), ELASTIC, policy))
    assert all(problem.severity == "error" for problem in caught.value.problems)


def test_the_cause_of_an_invalid_job_has_no_warnings() -> None:
    manifest = with_value(with_value(base(), ELASTIC, {"minReplicas": 0}), (*POD, "restartPolicy"), "Never")
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_PYTORCH.read_job(manifest)
    assert {problem.severity for problem in caught.value.problems} == {"error", "warning"}
    assert str(caught.value).startswith("spec.elasticPolicy.minReplicas: found 0") and "; " not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        ["torchrun", "train.py"],
        ["python", "-m", "torch.distributed.run", "train.py"],
        ["sh", "-c", "torchrun train.py"],
        ["bash", "train.sh"],
        ["accelerate", "launch", "train.py"],
        [],
    ],
)
def test_a_command_that_may_start_several_processes_has_no_warning(command: list[str]) -> None:
    manifest = with_value(base(), ("spec", "nprocPerNode"), "2")
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][-1] |= {"command": command, "args": []}
    assert warned(manifest) == {}


@pytest.mark.parametrize("command", [["python3", "train.py"], ["sh", "-c", "python train.py"], ["python", "-c", "1"]])
def test_a_command_that_starts_one_process_has_one(command: list[str]) -> None:
    manifest = with_value(base(), ("spec", "nprocPerNode"), "2")
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][-1] |= {"command": command, "args": []}
    assert list(warned(manifest)) == ["spec.nprocPerNode"]


@pytest.mark.parametrize("length", [63, 64])
@pytest.mark.parametrize("kind", ["pytorch_mnist", "kubeflow_distributed"])
def test_a_long_name_gives_services_and_addresses_that_are_valid(kind: str, length: int) -> None:
    """Kubeflow appends `-worker-0` to a name of up to 63 characters, and its API server refuses the Service."""
    manifest = read_manifest(kind)
    manifest["metadata"]["name"] = "a" * length
    api = KUBEFLOW_PYTORCH if kind == "pytorch_mnist" else KUBEFLOW_PADDLE
    job = api.read_job(manifest)
    services = [pods.build_service(job, rank)["metadata"]["name"] for rank in job.ranks()]
    assert len(set(services)) == job.size and all(len(name) <= 63 for name in services)
    env = pods.build_pod(job, job.ranks()[-1], 0, None, pods.Settings())["spec"]["containers"][-1]["env"]
    values = {entry["name"]: entry.get("value", "") for entry in env}
    assert (values.get("MASTER_ADDR") or values["PADDLE_MASTER"].partition(":")[0]) == services[0]


PORTS: list[tuple[list[Manifest], list[Manifest]]] = [
    ([], [{"name": "pytorchjob-port", "port": 23456}]),
    ([{"containerPort": 9090}], [{"name": "pytorchjob-port", "port": 23456}, {"name": "port-9090", "port": 9090}]),
    ([{"name": "mine", "containerPort": 23456}], [{"name": "pytorchjob-port", "port": 23456}]),
    (
        [{"name": "pytorchjob-port", "containerPort": 7000}, {"name": "web", "containerPort": 80, "protocol": "TCP"}],
        [{"name": "pytorchjob-port", "port": 7000}, {"name": "web", "port": 80}],
    ),
    ([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}], [
        {"name": "pytorchjob-port", "port": 23456}, {"name": "port-53", "port": 53},
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "served"), PORTS)
def test_a_service_is_valid_whatever_ports_the_container_has(declared: list[Manifest], served: list[Manifest]) -> None:
    """Kubeflow's has each name and number as declared, and is refused: then ranks have no names and no status."""
    job = KUBEFLOW_PYTORCH.read_job(with_value(base(), (*CONTAINER, "ports"), declared))
    assert pods.build_service(job, Rank("master", 0))["spec"]["ports"] == served
    ports = pods.build_pod(job, Rank("master", 0), 0, None, pods.Settings())["spec"]["containers"][0]["ports"]
    assert [port for port in ports if port not in declared] == (
        [] if any(port["containerPort"] == served[0]["port"] for port in declared)
        else [{"name": "pytorchjob-port", "containerPort": 23456}]
    )  # fmt: skip


ALIASED = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: aliased}
spec:
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      template:
        spec:
          containers:
            - {name: pytorch, image: torch, command: [python, train.py], env: [{name: A, value: b}]}
    Worker: *role
"""


def test_roles_of_one_yaml_anchor_have_each_their_own_variables() -> None:
    (document,) = read_documents(ALIASED)
    assert [problem for problem in check(document) if problem.severity == "error"] == []
    manifest = document.manifest
    before = copy.deepcopy(manifest)
    job = KUBEFLOW_PYTORCH.read_job(manifest)
    built = [pods.build_pod(job, rank, 0, None, pods.Settings()) for rank in (*job.ranks(), *job.ranks())]
    envs = [pod["spec"]["containers"][0]["env"] for pod in built]
    assert [[each["value"] for each in env if each["name"] == "RANK"] for env in envs] == [["0"], ["1"], ["0"], ["1"]]
    assert manifest == before


def test_a_number_that_must_be_text_is_told_once_before_it_is_sent() -> None:
    (document,) = read_documents(ALIASED.replace("spec:\n  py", "spec:\n  nprocPerNode: 2\n  py"))
    told = [(problem.path, problem.message) for problem in check(document) if problem.severity == "error"]
    assert told == [("spec.nprocPerNode", 'found 2, text is allowed; write "2"')]


LABELS = "training.kubeflow.org"


def roles_of(manifest: Manifest) -> dict[str, str | None]:
    job = KUBEFLOW_PYTORCH.read_job(manifest)
    labels = {rank: KUBEFLOW_PYTORCH.build_pod_labels(job, rank).labels for rank in job.ranks()}
    assert {each[f"{LABELS}/operator-name"] for each in labels.values()} == {"pytorchjob-controller"}
    return {str(rank): each.get(f"{LABELS}/job-role") for rank, each in labels.items()}


def test_the_pod_that_leads_is_labelled_as_master() -> None:
    assert roles_of(base()) == {"master-0": "master", "worker-0": None, "worker-1": None}
    assert roles_of(with_value(base(), MASTER, ...)) == {"worker-0": "master", "worker-1": None}
