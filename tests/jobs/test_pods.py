"""Manifests to Kubernetes objects (goldens), and pods read back, row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from jobs.samples import JAX_JOBS, KUBEFLOW_JOBS, PYTORCH_JOBS, SAMPLES, read_any, read_manifest, read_sample
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Exit, Job, PodPhase, Rank, Settings
from paddock.jobs.objects import pods
from paddock.jobs.objects.observed import NO_EXIT_CODE
from paddock.kube.environments import DEFAULT_ANNOTATION
from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Manifest

LOCAL = Settings(
    pod_groups=POD_GROUPS, output_root="/home/ada/outputs", shared_network=True, substitutes=True, environments=True
)
CLUSTER = Settings()
WORKER = Rank("worker", 1)
ENVIRONMENT = "paddock.dev/environment"


@pytest.mark.parametrize(
    ("job", "template", "pod"),
    [({}, {}, None), ({ENVIRONMENT: "mine"}, {}, "mine"), ({ENVIRONMENT: "mine"}, {ENVIRONMENT: "role"}, "role")],
)
def test_a_job_names_the_environment_of_its_pods_and_a_role_its_own(
    job: dict[str, str], template: dict[str, str], pod: str | None
) -> None:
    manifest = read_manifest("resnet")
    manifest["metadata"]["annotations"] = job
    manifest["spec"]["worker"]["template"]["metadata"] = {"annotations": template}
    made = pods.build_pod(PADDLEPADDLE.read_job(manifest), WORKER, 0, None, LOCAL)
    assert made["metadata"]["annotations"].get(ENVIRONMENT) == pod


@pytest.mark.parametrize(
    ("sample", "rank", "default"),
    [
        ("resnet", WORKER, "paddle=paddle"),
        ("wide_and_deep", WORKER, "paddle=paddle-ubuntu"),
        ("wide_and_deep", Rank("ps", 0), "paddle=paddle-ubuntu"),
        ("pytorch_mnist", Rank("master", 0), "pytorch=pytorch"),
        ("jax_spmd", WORKER, "jax=jax"),
    ],
)
def test_on_a_laptop_the_container_that_trains_has_the_default_environment_of_its_framework(
    sample: str, rank: Rank, default: str
) -> None:
    job = read_sample(sample)
    own = {"annotations": {DEFAULT_ANNOTATION: "paddle=other"}}  # the operator's alone
    job = replace(job, roles=tuple(replace(each, template={**each.template, "metadata": own}) for each in job.roles))
    made, elsewhere = (pods.build_pod(job, rank, 0, None, each)["metadata"]["annotations"] for each in (LOCAL, CLUSTER))
    assert made[DEFAULT_ANNOTATION] == default
    assert DEFAULT_ANNOTATION not in elsewhere


@pytest.mark.parametrize(("said", "made"), [(None, "FallbackToLogsOnError"), ("File", "File")])
def test_the_kubelet_reports_the_end_of_a_failed_log_unless_the_template_says_otherwise(
    said: str | None, made: str
) -> None:
    manifest = read_manifest("resnet")
    (container,) = manifest["spec"]["worker"]["template"]["spec"]["containers"]
    container |= {"terminationMessagePolicy": said} if said else {}
    pod = pods.build_pod(PADDLEPADDLE.read_job(manifest), WORKER, 0, None, LOCAL)
    assert pod["spec"]["containers"][0]["terminationMessagePolicy"] == made


class PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def build_all(job: Job, port: int | None, settings: Settings) -> list[Manifest]:
    addresses = {rank: f"127.1.0.{number}" for number, rank in enumerate(job.ranks(), start=1)}
    groups = [pods.build_pod_group(job, settings.pod_groups)] if settings.pod_groups else []
    return [
        *groups,
        pods.build_service(job, job.ranks()[0]),
        *(pods.build_pod(job, rank, 0, port, settings) for rank in job.ranks()),
        *([pods.build_config_map(job, 0, addresses, port)] if pods.needs_config_map(job) else []),
    ]


def as_text(objects: list[Manifest]) -> str:
    return yaml.dump_all(objects, Dumper=PlainDumper, sort_keys=False, default_flow_style=None, width=120)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_job_of_the_documents_becomes_these_objects(name: str, match_golden: Callable[[str, str], None]) -> None:
    match_golden(f"{name}.yaml", as_text(build_all(read_sample(name), None, CLUSTER)))


@pytest.mark.parametrize("name", ["wide_and_deep", "pytorch_mnist"])
def test_a_job_with_datasets_becomes_these(name: str, match_golden: Callable[[str, str], None]) -> None:
    manifest = read_manifest(name)
    manifest["metadata"]["annotations"] = {"paddock.dev/datasets": "imagenet:/data, v1.2:/data/words"}
    objects = build_all(read_any(manifest), None, CLUSTER)
    match_golden(f"{name}.datasets.yaml", as_text([each for each in objects if each["kind"] == "Pod"]))


def test_a_job_with_heter_becomes_these(match_golden: Callable[[str, str], None]) -> None:
    """The variables that PaddlePaddle 2.3 to 3.0 read in a pipeline of workers and heter ranks."""
    container = {"name": "paddle", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    heter = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    job = read_sample("wide_and_deep", heter=heter, withGloo=0)
    match_golden("wide_and_deep_heter.yaml", as_text(build_all(job, None, CLUSTER)))


@pytest.mark.parametrize("name", ["wide_and_deep", "resnet", *KUBEFLOW_JOBS, *PYTORCH_JOBS, *JAX_JOBS])
def test_on_a_laptop_it_becomes_these(name: str, match_golden: Callable[[str, str], None]) -> None:
    match_golden(f"{name}.laptop.yaml", as_text(build_all(read_sample(name), 40020, LOCAL)))


def build(name: str = "resnet", settings: Settings = CLUSTER, port: int | None = None, **spec: Any) -> Manifest:
    job = read_sample(name, **spec)
    return pods.build_pod(job, WORKER, 2, port, settings)


def with_template(spec: dict[str, Any], metadata: dict[str, Any] | None = None, **job: Any) -> Manifest:
    manifest = read_manifest("resnet")
    manifest["spec"] |= job
    manifest["spec"]["worker"]["template"]["spec"] |= spec
    manifest["spec"]["worker"]["template"]["metadata"] = metadata or {}
    return pods.build_pod(PADDLEPADDLE.read_job(manifest), WORKER, 2, None, CLUSTER)


def test_the_ranks_variables_and_those_of_the_endpoints_override_the_users() -> None:
    env = [{"name": "PADDLE_TRAINER_ID", "value": "9"}, {"name": "PADDLE_PORT", "value": "1"}]
    container = with_template({"containers": [{"name": "paddle", "image": "i", "env": env}]})["spec"]["containers"][0]
    assert [entry["name"] for entry in container["env"]].count("PADDLE_TRAINER_ID") == 1
    assert {"name": "PADDLE_TRAINER_ID", "value": "1"} in container["env"]
    assert "PADDLE_PORT" not in [entry["name"] for entry in container["env"]], "env would beat envFrom in Kubernetes"


def test_the_users_names_labels_and_unknown_fields_are_kept() -> None:
    spec = {"hostname": "mine", "subdomain": "ours", "schedulerName": "mine", "futureField": {"a": 1}}
    pod = with_template(spec, {"labels": {"team": "a"}, "annotations": {"note": "b"}})
    assert {key: pod["spec"][key] for key in spec} == spec
    assert pod["metadata"]["labels"]["team"] == "a" and pod["metadata"]["annotations"]["note"] == "b"


def test_a_pod_never_restarts_by_itself() -> None:
    assert with_template({"restartPolicy": "OnFailure"})["spec"]["restartPolicy"] == "Never"


def test_host_network_has_a_dns_policy_that_resolves_services() -> None:
    spec = build(intranet="Host")["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert with_template({"dnsPolicy": "Default"}, intranet="Host")["spec"]["dnsPolicy"] == "Default"


@pytest.mark.parametrize(
    ("name", "rank", "declared"),
    [
        ("wide_and_deep", Rank("ps", 0), True),
        ("wide_and_deep", Rank("worker", 0), False),
        ("resnet", Rank("worker", 1), True),
    ],
)
def test_with_host_network_ranks_with_the_same_port_declare_it_for_the_scheduler(
    name: str, rank: Rank, declared: bool
) -> None:
    spec = pods.build_pod(read_sample(name, intranet="Host"), rank, 0, 20040, CLUSTER)["spec"]
    assert spec["containers"][0].get("ports", []) == [{"containerPort": 20040}] * declared


def test_by_service_the_container_declares_the_jobs_port() -> None:
    assert build(intranet="Service", port=40020)["spec"]["containers"][0]["ports"] == [{"containerPort": 40020}]
    assert "ports" not in build()["spec"]["containers"][0]


def test_the_output_directory_is_the_jobs_own_and_shared_by_its_attempts() -> None:
    pod = build(settings=LOCAL)
    env = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
    assert env["PADDOCK_OUTPUT_DIR"] == "/home/ada/outputs/default/resnet-01234567"
    assert env["PADDOCK_CHECKPOINT_DIR"] == "/home/ada/outputs/default/resnet-01234567/checkpoint"
    assert env["PADDOCK_ATTEMPT"] == "2"
    assert not any("paddock-output" in str(part) for part in build()["spec"].values())


WORK = "paddock.dev/working-directory"


def started_in(path: Any, settings: Settings = LOCAL, **container: Any) -> Manifest:
    manifest = read_manifest("kubeflow_distributed")
    manifest["metadata"]["annotations"] = {WORK: path}
    manifest["spec"]["paddleReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0] |= container
    return pods.build_pod(read_any(manifest), WORKER, 0, 20000, settings)["spec"]


def test_on_a_laptop_programs_start_in_the_directory_that_the_job_names_and_log_elsewhere() -> None:
    spec = started_in("/home/ada/src/")
    container = spec["containers"][0]
    mount = {"name": "paddock-working-directory", "mountPath": "/home/ada/src"}
    volume = {"name": "paddock-working-directory", "hostPath": {"path": "/home/ada/src", "type": "Directory"}}
    logs = "/home/ada/outputs/kubeflow/paddle-distributed-job-01234567/log/worker-1"
    assert container["workingDir"] == "/home/ada/src"
    assert mount in container["volumeMounts"] and volume in spec["volumes"]
    assert {"name": "PADDLE_LOG_DIR", "value": logs} in container["env"]


NOT_THERE: list[tuple[str, Settings, dict[str, Any]]] = [
    ("/home/ada/src", CLUSTER, {}),
    ("src", LOCAL, {}),
    ("/", LOCAL, {}),
    ("/home/ada/src", LOCAL, {"workingDir": "/models"}),
]


@pytest.mark.parametrize(("path", "settings", "container"), NOT_THERE)
def test_a_cluster_a_relative_path_and_a_working_directory_of_ones_own_change_nothing(
    path: str, settings: Settings, container: dict[str, Any]
) -> None:
    spec = started_in(path, settings, **container)
    assert "paddock-working-directory" not in str(spec)
    assert spec["containers"][0].get("workingDir") == container.get("workingDir")


def test_the_users_directory_of_launcher_logs_is_kept() -> None:
    mine = {"name": "PADDLE_LOG_DIR", "value": "/mine"}
    entries = started_in("/home/ada/src", env=[mine])["containers"][0]["env"]
    assert [entry for entry in entries if entry["name"] == "PADDLE_LOG_DIR"] == [mine]


def test_pods_name_their_gang_in_the_schedulers_form() -> None:
    assert build(settings=LOCAL)["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "resnet"
    volcano = build(settings=Settings(VOLCANO_POD_GROUPS, "volcano"), schedulingPolicy={"queue": "night"})
    assert volcano["spec"]["schedulerName"] == "volcano"
    assert volcano["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "resnet"
    assert volcano["metadata"]["annotations"]["volcano.sh/queue-name"] == "night"


def test_building_a_pod_changes_nothing_of_the_job() -> None:
    manifest = read_manifest("resnet")
    job = PADDLEPADDLE.read_job(manifest)
    build_all(job, 40020, LOCAL)
    assert manifest == read_manifest("resnet")


TERMINATED = {"exitCode": 7, "reason": "Error", "finishedAt": "1970-01-01T00:01:00Z"}
RUNNING = {"name": "paddle", "ready": True, "state": {"running": {}}}
ENDED = {"name": "paddle", "state": {"terminated": TERMINATED}}
DONE = {"name": "paddle", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
SIDE_CAR = {"name": "a-side-car", "ready": True, "state": {"running": {}}}
FAILED_SIDE_CAR = {"name": "a-side-car", "state": {"terminated": TERMINATED}}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "for b"}
INIT = {"name": "init", "state": {"running": {}}}

P = PodPhase
Row = tuple[dict[str, Any], str, PodPhase, Exit | None, tuple[str, str] | None]


def waits(reason: str, message: str = "") -> dict[str, Any]:
    return {"name": "paddle", "ready": False, "state": {"waiting": {"reason": reason, "message": message}}}


def status(phase: str, *containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"phase": phase, "containerStatuses": list(containers), **more}


PODS: list[Row] = [
    ({}, "", P.PENDING, None, None),
    (status("Pending", conditions=[UNSCHEDULABLE]), "", P.PENDING, None, ("Unschedulable", "0/1 nodes")),
    (
        status("Pending", waits("EnvironmentBuilding", "61 %")),
        "node",
        P.PENDING,
        None,
        ("EnvironmentBuilding", "61 %"),
    ),
    (status("Pending", waits("ContainerCreating")), "node", P.PENDING, None, ("ContainerCreating", "")),
    (
        status("Pending", waits("PodInitializing"), initContainerStatuses=[INIT]),
        "node",
        P.STARTING,
        None,
        ("PodInitializing", ""),
    ),
    (
        status(
            "Pending",
            waits("ImagePullBackOff", "none"),
            initContainerStatuses=[waits("ContainerCreating")],
        ),
        "node",
        P.PENDING,
        None,
        ("ImagePullBackOff", "none"),
    ),
    (
        status("Pending", waits("PodInitializing"), initContainerStatuses=[waits("ErrImagePull", "no init")]),
        "node",
        P.PENDING,
        None,
        ("ErrImagePull", "no init"),
    ),
    (status("Running", RUNNING), "node", P.RUNNING, None, None),
    (status("Running", RUNNING, SIDE_CAR), "node", P.RUNNING, None, None),
    (
        status("Running", waits("CrashLoopBackOff", "back-off")),
        "node",
        P.STARTING,
        None,
        ("CrashLoopBackOff", "back-off"),
    ),
    (status("Running", RUNNING | {"ready": False}), "node", P.STARTING, None, None),
    (status("Running", DONE, SIDE_CAR), "node", P.SUCCEEDED, Exit(0, "Completed"), None),
    (status("Running", ENDED, SIDE_CAR), "node", P.FAILED, Exit(7, "Error", "", 60.0), None),
    # Whatever its side-cars end with, before it or after it.
    (status("Running", RUNNING, FAILED_SIDE_CAR), "node", P.RUNNING, None, None),
    (status("Failed", DONE, FAILED_SIDE_CAR), "node", P.SUCCEEDED, Exit(0, "Completed"), None),
    (
        status("Failed", DONE, FAILED_SIDE_CAR, reason="Evicted"),
        "node",
        P.FAILED,
        Exit(0, "Evicted"),
        None,
    ),
    (status("Succeeded", DONE), "node", P.SUCCEEDED, Exit(0, "Completed"), None),
    (status("Failed", SIDE_CAR, ENDED), "node", P.FAILED, Exit(7, "Error", "", 60.0), None),
    (
        status("Failed", {"name": "paddle", "state": {"terminated": {"exitCode": 0, "signal": 9}}}),
        "node",
        P.FAILED,
        Exit(137),
        None,
    ),
    (
        status("Failed", reason="Evicted", message="low on memory"),
        "node",
        P.FAILED,
        Exit(NO_EXIT_CODE, "Evicted", "low on memory"),
        None,
    ),
    (
        status("Failed", ENDED, conditions=[PREEMPTED]),
        "node",
        P.FAILED,
        Exit(7, "PreemptionByScheduler", "for b", 60.0),
        None,
    ),
    (
        status("Failed", waits("PodInitializing"), initContainerStatuses=[{"state": {"terminated": TERMINATED}}]),
        "node",
        P.FAILED,
        Exit(7, "Error", "", 60.0, initial=True),
        None,
    ),
]


@pytest.mark.parametrize(("raw", "node", "phase", "exit", "waiting"), PODS)
def test_a_pods_status_is_read(
    raw: dict[str, Any], node: str, phase: PodPhase, exit: Exit | None, waiting: tuple[str, str] | None
) -> None:
    manifest = build() | {"status": raw}
    manifest["spec"]["containers"].append({"name": "a-side-car"})
    manifest["spec"]["nodeName"] = node
    pod = pods.read_pod(manifest)
    assert pod is not None
    assert (pod.phase, pod.exit, pod.waiting) == (phase, exit, waiting)


@pytest.mark.parametrize(
    ("raw", "phase"),
    [
        (status("Running", ENDED), P.STARTING),  # the kubelet starts it again
        (status("Running", ENDED, SIDE_CAR), P.STARTING),
        (status("Running", DONE, SIDE_CAR), P.RUNNING),  # it stays ended, until the kubelet starts it again
    ],
)
def test_a_container_that_its_kubelet_restarts_has_not_ended(raw: dict[str, Any], phase: PodPhase) -> None:
    """A pod of training-operator between two starts: its gang is not to be restarted for it."""
    manifest = build() | {"status": raw}
    manifest["spec"] = {**manifest["spec"], "restartPolicy": "OnFailure"}
    pod = pods.read_pod(manifest)
    assert pod is not None
    assert (pod.phase, pod.exit, pod.lingers) == (phase, None, False)


@pytest.mark.parametrize(
    ("claims", "message", "said"),
    [
        (["results"], "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: no",
         "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims (results). preemption: no"),
        (["code", "results"], "pod has unbound immediate PersistentVolumeClaims",
         "pod has unbound immediate PersistentVolumeClaims (code, results)"),
        (["results", "scratch"], "pod has unbound immediate PersistentVolumeClaims",
         "pod has unbound immediate PersistentVolumeClaims (results, resnet-worker-1-scratch)"),
        (["results"], "pod has unbound immediate PersistentVolumeClaims (code: no room)",
         "pod has unbound immediate PersistentVolumeClaims (code: no room)"),
        ([], "pod has unbound immediate PersistentVolumeClaims", "pod has unbound immediate PersistentVolumeClaims"),
        (["results"], "0/3 nodes are available: 3 Insufficient cpu.", "0/3 nodes are available: 3 Insufficient cpu."),
    ],
)  # fmt: skip
def test_the_claims_of_a_pod_are_named_where_the_scheduler_names_none(
    claims: list[str], message: str, said: str
) -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    manifest = build() | {"status": {"phase": "Pending", "conditions": [unplaced]}}
    template = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    volumes = [
        {"name": each, "ephemeral": {"volumeClaimTemplate": template}} if each == "scratch"
        else {"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims
    ]  # fmt: skip
    manifest["spec"] = {**manifest["spec"], "volumes": [{"name": "x", "emptyDir": {}}, *volumes]}
    pod = pods.read_pod(manifest)
    assert pod is not None and pod.waiting == ("Unschedulable", said)


def read_with_side_car(raw: dict[str, Any]) -> Any:
    manifest = build() | {"status": raw}
    init = {"name": "mount", "image": "x", "restartPolicy": "Always"}
    manifest["spec"] = {**manifest["spec"], "nodeName": "node", "initContainers": [init]}
    return pods.read_pod(manifest)


def test_no_end_of_a_side_car_is_the_end_of_its_rank() -> None:
    broken = {"name": "mount", "state": {"terminated": TERMINATED}}
    pod = read_with_side_car(status("Failed", waits("PodInitializing"), initContainerStatuses=[broken]))
    assert (pod.phase, pod.exit) == (P.FAILED, Exit(NO_EXIT_CODE))
    restarts = [{**waits("CrashLoopBackOff", "back-off"), "name": "mount"}]
    pod = read_with_side_car(status("Running", RUNNING, initContainerStatuses=restarts))
    assert (pod.phase, pod.waiting) == (P.RUNNING, None)
    pod = read_with_side_car(status("Running", DONE, initContainerStatuses=restarts))
    assert (pod.phase, pod.exit) == (P.SUCCEEDED, Exit(0, "Completed"))
    pod = read_with_side_car(status("Pending", waits("PodInitializing"), initContainerStatuses=restarts))
    assert (pod.phase, pod.waiting) == (P.PENDING, ("CrashLoopBackOff", "back-off"))


@pytest.mark.parametrize(
    ("raw", "lingering"),
    [
        (status("Running", RUNNING, SIDE_CAR), ()),
        (status("Running", DONE, SIDE_CAR), ("a-side-car",)),
        (status("Running", ENDED, SIDE_CAR), ("a-side-car",)),
        (status("Running", DONE, FAILED_SIDE_CAR), ()),
        (status("Running", DONE, {"name": "late", "state": {"waiting": {"reason": "ContainerCreating"}}}), ("late",)),
        (status("Running", DONE), ()),  # a kubelet reports the end of a container before the pod's
        (status("Running", DONE, initContainerStatuses=[SIDE_CAR]), ()),  # it ends with the others
        (status("Succeeded", DONE), ()),
        (
            status("Running", DONE, *({**SIDE_CAR, "name": f"proxy-{i}"} for i in range(9))),
            tuple(f"proxy-{i}" for i in range(4)),
        ),
    ],
)
def test_a_pod_whose_program_has_ended_holds_its_devices_while_a_side_car_runs(
    raw: dict[str, Any], lingering: tuple[str, ...]
) -> None:
    pod = pods.read_pod(build() | {"status": raw})
    assert pod is not None and (pod.lingering, pod.lingers) == (lingering, bool(lingering))


@pytest.mark.parametrize(
    ("sample", "rank", "names", "trains"),
    [
        ("pytorch_workers", Rank("worker", 0), ["jax", "pytorch"], "pytorch"),
        ("pytorch_workers", Rank("worker", 0), ["paddle", "proxy"], "paddle"),
        ("jax_spmd", Rank("worker", 0), ["pytorch", "jax"], "jax"),
        ("resnet", Rank("worker", 1), ["pytorch", "paddle"], "paddle"),
        ("resnet", Rank("worker", 1), ["main", "logs"], "main"),
    ],
)
def test_the_container_that_trains_is_the_one_that_got_the_variables(
    sample: str, rank: Rank, names: list[str], trains: str
) -> None:
    """Whatever other containers are called, and whatever `kubectl logs` is told to show."""
    job = read_sample(sample)
    containers = [{"name": name, "image": "i"} for name in names]
    metadata = {"annotations": {pods.DEFAULT_CONTAINER_ANNOTATION: names[-1]}}
    roles = [replace(role, template={"metadata": metadata, "spec": {"containers": containers}}) for role in job.roles]
    made = pods.build_pod(replace(job, roles=tuple(roles)), rank, 0, None, CLUSTER)
    assert [each["name"] for each in made["spec"]["containers"] if each.get("env")] == [trains]
    ends = {name: {"name": name, "state": {"terminated": {"exitCode": int(name == trains) * 3}}} for name in names}
    found = pods.read_pod(made | {"status": status("Failed", *ends.values())})
    assert found is not None and found.exit is not None and found.exit.code == 3


def test_a_pod_of_paddle_operator_is_a_rank_of_attempt_0() -> None:
    metadata = {"name": "wide-and-deep-ps-12", "uid": "u", "annotations": {"paddle-resource": "ps"}}
    pod = pods.read_pod({"metadata": metadata, "status": {"podIP": "10.0.0.7"}})
    assert pod is not None
    assert (pod.rank, pod.attempt, pod.address, pod.port) == (Rank("ps", 12), 0, "10.0.0.7", None)


def test_a_pod_of_kubeflows_operator_is_a_rank_of_attempt_0() -> None:
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "3"}
    pod = pods.read_pod({"metadata": {"name": "demo-worker-3", "uid": "u", "labels": labels}})
    assert pod is not None
    assert (pod.rank, pod.attempt) == (Rank("worker", 3), 0)


NOT_RANKS: list[Manifest] = [
    {},
    {"metadata": {"name": "web-0"}},
    {"metadata": {"name": "web", "annotations": {"paddle-resource": "ps"}}},
    {"metadata": {"name": "a-worker-1", "annotations": {"paddle-resource": "ps"}}},
    {"metadata": {"name": "a", "labels": {"paddock.dev/role": "worker", "paddock.dev/index": "x"}}},
]


@pytest.mark.parametrize("manifest", NOT_RANKS)
def test_a_pod_of_no_job_is_none(manifest: Manifest) -> None:
    assert pods.read_pod(manifest) is None


READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:02:00Z"}


@pytest.mark.parametrize(
    ("found", "unheard"),
    [
        (status("Running", RUNNING, conditions=[READY]), None),
        (status("Running", RUNNING, conditions=[UNREADY]), 120.0),  # the node lifecycle controller gives no reason
        (status("Running", RUNNING, conditions=[UNREADY | {"reason": "ContainersNotReady"}]), None),  # the kubelet does
        (status("Running", RUNNING, conditions=[UNREADY | {"reason": "ReadinessGatesNotReady"}]), None),
        (status("Running", waits("ContainerCreating"), conditions=[UNREADY]), None),  # it has not run
        (status("Succeeded", DONE, conditions=[UNREADY]), None),
        (status("Running", RUNNING, conditions=["soon"]), None),
    ],
)
def test_a_running_pod_whose_node_is_lost_says_since_when(found: dict[str, Any], unheard: float | None) -> None:
    pod = pods.build_pod(read_sample("resnet"), WORKER, 0, None, CLUSTER)
    pod["metadata"]["uid"] = "u"
    read = pods.read_pod(pod | {"status": found})
    assert read is not None
    assert read.unheard == unheard


def test_a_template_cannot_make_its_pods_spare_or_renewed() -> None:
    """Such pods are in no gang: they would be deleted and made again for ever."""
    job = read_sample("wide_and_deep")
    marks = {"paddock.dev/spare": "true", "paddock.dev/renewal": "7", "team": "vision"}
    role = replace(job.roles[0], template={**job.roles[0].template, "metadata": {"labels": marks}})
    marked = replace(job, roles=(role, *job.roles[1:]))
    labels = pods.build_pod(marked, Rank(role.name, 0), 0, None, Settings())["metadata"]["labels"]
    assert labels["team"] == "vision"
    assert "paddock.dev/spare" not in labels and "paddock.dev/renewal" not in labels
