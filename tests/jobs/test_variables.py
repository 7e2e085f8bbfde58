"""Variables that a user's container sets beside Paddock's: what the program finds, as the kubelet computes it, and what
`validate` and the events say about it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from jobs.samples import read_any, read_manifest
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Job, Settings
from paddock.jobs.objects import pods
from paddock.jobs.policies.ports import FIRST_PORT
from paddock.kube.meta import Manifest, name_of
from paddock.manifests.yaml_nodes import Document
from paddock.node.runtime.container_env import Configs, build_environment
from paddock.node.runtime.images import Image
from paddock.preflight import check
from paddock.words.problems import Problem

LAPTOP = Settings(output_root="/home/ada/outputs", shared_network=True)
FLEET = "batch.paddlepaddle.org"
MEETING = "kubeflow.org"
WITH_SERVERS = "batch.paddlepaddle.org with servers"
TORCH = "PyTorchJob of kubeflow.org"
SAMPLES = {MEETING: "kubeflow_distributed", TORCH: "pytorch_mnist"}
POD_IP = {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
INDEX = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}}}


def build_manifest(kind: str, env: list[Manifest], **role: Any) -> Manifest:
    """Two workers, and two servers in the third kind, all of whose containers set `env`."""
    container = {"name": "paddle", "image": "paddle:3", "command": ["python", "train.py"], "env": env}
    part = {"replicas": 2, "template": {"spec": {"containers": [container]}}} | role
    sample = read_manifest(SAMPLES.get(kind, "resnet"))
    spec: Manifest = {"worker": part}
    if kind == MEETING:
        spec = {"paddleReplicaSpecs": {"Worker": part}}
    elif kind == TORCH:
        container["name"] = "pytorch"
        spec = {"pytorchReplicaSpecs": {"Worker": part}}
    elif kind == WITH_SERVERS:
        spec = {"ps": part, "worker": part, "withGloo": 1}
    metadata = {"name": "demo", "namespace": "team", "uid": "a-uid", "generation": 1}
    return {"apiVersion": sample["apiVersion"], "kind": sample["kind"], "metadata": metadata, "spec": spec}


def read_environments(job: Job, port: int | None = None, settings: Settings = Settings()) -> dict[str, dict[str, str]]:  # noqa: B008
    """By rank, the environment of the program, as the kubelet computes it from the pod and the ConfigMap."""
    addresses = {rank: f"10.0.0.{number}" for number, rank in enumerate(job.ranks(), 2)}
    maps = {}
    if pods.needs_config_map(job):
        shared = pods.build_config_map(job, 0, addresses, port)
        maps[name_of(shared)] = shared
    found = {}
    for rank in job.ranks():
        pod = pods.build_pod(job, rank, 0, port, settings) | {"status": {"podIP": addresses[rank]}}
        container = pod["spec"]["containers"][0]
        configs = Configs("team", config_maps=maps)
        found[str(rank)], _ = build_environment(pod, container, Image("any"), configs, inherited={}, capacity={})
    return found


def validate(manifest: Manifest) -> list[Problem]:
    """The problems of the manifest as a user sends it."""
    metadata = {"name": "demo", "namespace": "team"}
    return list(check(Document(manifest | {"metadata": metadata})))


def warnings_of(job: Job) -> dict[str, str]:
    return {each.path: each.message for each in job.warnings}


ENV = "spec.worker.template.spec.containers[0].env[0].name"
MEETING_ENV = "spec.paddleReplicaSpecs.Worker.template.spec.containers[0].env[0].name"
TORCH_ENV = "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].env[0].name"
RANK = "is overwritten: Paddock sets {} for each rank; remove the entry"
SHARED = (
    "is overwritten: Paddock sets {} for all ranks, as it must agree with the endpoints of the job; remove the entry"
)
KEPT = "is kept: it takes the place of the {} that Paddock sets for all ranks"
ITSELF = (
    "is overwritten: localhost is each pod itself, and the ranks meet at one; remove the entry, as Paddock sets {} for "
    "all"
)
Row = tuple[str, str, Mapping[str, Any], tuple[str, str], str]
ROWS: list[Row] = [
    (FLEET, "PADDLE_TRAINER_ID", {"value": "7"}, ("0", "1"), RANK),
    (FLEET, "POD_IP", {"value": "127.0.0.1"}, ("10.0.0.2", "10.0.0.3"), RANK),
    (FLEET, "POD_IP", POD_IP, ("10.0.0.2", "10.0.0.3"), ""),
    (FLEET, "TRAINING_ROLE", {"value": "PSERVER"}, ("TRAINER", "TRAINER"), RANK),
    (FLEET, "TRAINING_ROLE", {"value": "TRAINER"}, ("TRAINER", "TRAINER"), ""),
    (FLEET, "PADDOCK_ATTEMPT", {"value": "7"}, ("0", "0"), RANK),
    (FLEET, "PADDLE_PORT", {"value": "6170"}, ("36000", "36000"), SHARED),
    (FLEET, "PADDLE_PORT", {"value": "36000"}, ("36000", "36000"), ""),
    (FLEET, "PADDLE_TRAINERS_NUM", {"value": "9"}, ("2", "2"), SHARED),
    (FLEET, "PADDLE_TRAINERS_NUM", {"value": "2"}, ("2", "2"), ""),
    (FLEET, "PADDLE_TRAINERS", {"value": "a,b"}, ("10.0.0.2,10.0.0.3",) * 2, SHARED),
    (FLEET, "PADDLE_TRAINER_ENDPOINTS", {"value": "a:1"}, ("10.0.0.2:36000,10.0.0.3:36000",) * 2, SHARED),
    (FLEET, "TRAINER_PORTS_NUM", {"value": "8"}, ("8", "8"), KEPT),
    (FLEET, "PADDLE_PSERVERS_IP_PORT_LIST", {"value": "far:1"}, ("far:1", "far:1"), ""),
    (FLEET, "PADDLE_WITH_GLOO", {"value": "1"}, ("1", "1"), ""),
    (FLEET, "PADDLE_MASTER", {"value": "demo-worker-0:6170"}, ("demo-worker-0:6170",) * 2,
     "is kept, and `paddle.distributed.launch` does not read it here: ranks meet at the first of "
     "PADDLE_TRAINER_ENDPOINTS, which Paddock sets"),
    (FLEET, "PADDLE_NNODES", {"value": "2"}, ("2", "2"),
     "is kept, and `paddle.distributed.launch` does not read it here: it counts the hosts in "
     "PADDLE_TRAINER_ENDPOINTS, which Paddock sets"),
    (FLEET, "PADDLE_RANK", {"value": "0"}, ("0", "0"),
     "is kept, and `paddle.distributed.launch` does not read it here: PADDLE_TRAINER_ID, which Paddock sets, comes "
     "before it"),
    (FLEET, "LEARNING_RATE", {"value": "0.1"}, ("0.1", "0.1"), ""),
    (MEETING, "PADDLE_MASTER", {"value": "me:6170"}, ("10.0.0.2:36543", "demo-worker-0:36543"), RANK),
    (MEETING, "PADDLE_NNODES", {"value": "1"}, ("2", "2"), RANK),
    (MEETING, "PADDLE_NNODES", {"value": "2"}, ("2", "2"), ""),
    (MEETING, "PADDLE_RANK", {"value": "0"}, ("0", "1"), RANK),
    (MEETING, "PADDLE_TRAINER_ID", {"value": "0"}, ("0", "1"),
     "is overwritten: each rank gets a PADDLE_TRAINER_ID of its own, its index"),
    (MEETING, "PADDLE_TRAINER_ID", INDEX, ("0", "1"), ""),
    (MEETING, "PADDLE_JOB_ID", {"value": "mine"}, ("demo", "demo"), RANK),
    (MEETING, "PYTHONUNBUFFERED", {"value": "1"}, ("1", "1"), ""),
    (MEETING, "PADDLE_PORT", {"value": "6170"}, ("6170", "6170"), ""),
    (MEETING, "PADDLE_TRAINER_ENDPOINTS", {"value": "a:1,b:1"}, ("a:1,b:1", "a:1,b:1"),
     "is kept, and `paddle.distributed.launch` takes the master and the number of nodes from it, not from "
     "PADDLE_MASTER and PADDLE_NNODES, which Paddock sets"),
    (TORCH, "RANK", {"value": "7"}, ("0", "1"), RANK),
    (TORCH, "PET_NODE_RANK", {"value": "7"}, ("0", "1"), RANK),
    (TORCH, "WORLD_SIZE", {"value": "8"}, ("8", "8"), KEPT),
    (TORCH, "WORLD_SIZE", {"value": "2"}, ("2", "2"), ""),
    (TORCH, "WORLD_SIZE", {"value": "1"}, ("2", "2"),
     "is overwritten: 1 is less than the 2 pods that train; remove the entry, as Paddock sets {} for all"),
    (TORCH, "MASTER_ADDR", {"value": "localhost"}, ("demo-worker-0", "demo-worker-0"), ITSELF),
    (TORCH, "PET_MASTER_ADDR", {"value": "localhost"}, ("demo-worker-0", "demo-worker-0"), ITSELF),
    (TORCH, "MASTER_ADDR", {"value": "far"}, ("far", "far"), KEPT),
    (TORCH, "MASTER_PORT", {"value": "29500"}, ("29500", "29500"), KEPT),
    (TORCH, "PET_NPROC_PER_NODE", {"value": "4"}, ("4", "4"), KEPT),
    (TORCH, "PET_RDZV_CONF", {"value": "is_host=1"}, ("is_host=1", "is_host=1"), ""),
    (TORCH, "LOCAL_RANK", {"value": "0"}, ("0", "0"), ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "entry", "found", "said"), ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_what_a_program_finds_and_what_is_said_of_it(
    kind: str, name: str, entry: Mapping[str, Any], found: tuple[str, str], said: str
) -> None:
    job = read_any(build_manifest(kind, [{"name": name, **entry}]))
    environments = read_environments(job)
    assert (environments["worker-0"][name], environments["worker-1"][name]) == found
    path = {MEETING: MEETING_ENV, TORCH: TORCH_ENV}.get(kind, ENV)
    assert warnings_of(job) == ({path: said.format(name)} if said else {})


@pytest.mark.parametrize("port", [None, 20_020])
@pytest.mark.parametrize("kind", [FLEET, WITH_SERVERS])
def test_each_rank_is_where_the_endpoints_say_whatever_the_user_sets(kind: str, port: int | None) -> None:
    """A server looks for its own POD_IP:PADDLE_PORT in the list, and exits without it."""
    names = ("PADDLE_PORT", "POD_IP", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_PSERVERS_IP_PORT_LIST")
    job = read_any(build_manifest(kind, [{"name": name, "value": "6170"} for name in names]))
    for rank, environment in read_environments(job, port).items():
        role, _, index = rank.rpartition("-")
        own = f"{environment['POD_IP']}:{environment['PADDLE_PORT']}"
        listed = environment["PADDLE_PSERVERS_IP_PORT_LIST" if role == "ps" else "PADDLE_TRAINER_ENDPOINTS"]
        assert listed.split(",")[int(index)] == own
        assert environment.get("PADDLE_TRAINER_ID") == (None if role == "ps" else index)
        assert environment["PADDLE_TRAINERS_NUM"] == "2"
        assert environment["PADDLE_PORT"] == str(port or 36_000)


def test_a_trainers_number_is_left_out_of_servers_and_heter_ranks_which_would_fail_with_it() -> None:
    """A file's roles often are one YAML anchor; paddle-operator put its own number over this one in every role."""
    manifest = build_manifest(WITH_SERVERS, [{"name": "PADDLE_TRAINER_ID", "value": "0"}])
    manifest["spec"]["heter"] = manifest["spec"]["worker"]
    job = read_any(manifest)
    found = {rank: each.get("PADDLE_TRAINER_ID") for rank, each in read_environments(job).items()}
    assert found == {"ps-0": None, "ps-1": None, "worker-0": "0", "worker-1": "1", "heter-0": None, "heter-1": None}
    said = warnings_of(job)
    assert said[ENV.replace("worker", "ps")] == (
        "is left out here: a parameter server with it ends by an IndexError where no worker has this number; remove "
        "the entry, PADDLE_PSERVER_ID has the server's number"
    )
    assert said[ENV.replace("worker", "heter")].startswith("is left out here: a heter rank with it ends")
    assert said[ENV] == RANK.format("PADDLE_TRAINER_ID")


def test_a_heter_rank_has_no_gloo_even_where_its_template_asks_for_it() -> None:
    manifest = build_manifest(WITH_SERVERS, [{"name": "PADDLE_WITH_GLOO", "value": "1"}])
    manifest["spec"]["heter"] = manifest["spec"]["worker"]
    job = read_any(manifest)
    found = {rank: each["PADDLE_WITH_GLOO"] for rank, each in read_environments(job).items()}
    assert found == dict.fromkeys(("ps-0", "ps-1", "worker-0", "worker-1"), "1") | {"heter-0": "0", "heter-1": "0"}
    assert warnings_of(job)[ENV.replace("worker", "heter")] == RANK.format("PADDLE_WITH_GLOO")


@pytest.mark.parametrize(("name", "value"), [("PADDLE_GLOO_RENDEZVOUS", "2"), ("FLAGS_enable_pir_api", "1")])
def test_what_ranks_need_not_agree_on_is_kept_beside_servers(name: str, value: str) -> None:
    job = read_any(build_manifest(WITH_SERVERS, [{"name": name, "value": value}]))
    assert {each[name] for each in read_environments(job).values()} == {value}
    assert warnings_of(job) == {path: KEPT.format(name) for path in (ENV.replace("worker", "ps"), ENV)}


def test_one_rank_with_the_value_that_paddock_would_set_is_told_nothing() -> None:
    env = [{"name": "PADDLE_TRAINER_ID", "value": "0"}, {"name": "PADDLE_TRAINERS_NUM", "value": "1"}]
    assert warnings_of(read_any(build_manifest(FLEET, env, replicas=1))) == {}
    assert [*warnings_of(read_any(build_manifest(FLEET, env, replicas=2)))] == [ENV, ENV.replace("0].name", "1].name")]


@pytest.mark.parametrize("kind", [FLEET, MEETING])
def test_the_users_variables_may_refer_to_paddocks(kind: str) -> None:
    """The kubelet expands `$(NAME)` from earlier entries and from `envFrom`, and leaves any other as it is."""
    name = "PADDLE_TRAINER_ID" if kind == FLEET else "PADDLE_RANK"
    env = [{"name": "OUT", "value": f"/out/$({name})"}, {"name": name, "value": "7"}]
    found = read_environments(read_any(build_manifest(kind, env)))
    assert [found[f"worker-{index}"]["OUT"] for index in range(2)] == ["/out/0", "/out/1"]


def test_a_directory_of_outputs_that_the_user_sets_is_kept_everywhere() -> None:
    job = read_any(build_manifest(FLEET, [{"name": "PADDOCK_OUTPUT_DIR", "value": "/mine"}]))
    assert read_environments(job)["worker-0"]["PADDOCK_OUTPUT_DIR"] == "/mine"
    laptop = read_environments(job, 20_000, LAPTOP)["worker-0"]
    assert laptop["PADDOCK_OUTPUT_DIR"] == "/mine"
    assert laptop["PADDOCK_CHECKPOINT_DIR"].startswith("/home/ada/outputs/")
    assert warnings_of(job) == {}


@pytest.mark.parametrize("kind", [FLEET, MEETING, WITH_SERVERS])
def test_where_jobs_share_a_machine_free_ports_lie_below_those_of_outgoing_connections(kind: str) -> None:
    """The launcher chooses a port seconds before a rank binds it, and any program may connect in between."""
    job = read_any(build_manifest(kind, []))
    ranges = {each.get("PORT_RANGE") for each in read_environments(job, 20_000, LAPTOP).values()}
    assert len(ranges) == 1
    first, last = map(int, str(*ranges).split(":"))
    assert 1024 < first < last < FIRST_PORT < 32_768
    assert "PORT_RANGE" not in read_environments(job, 20_000)["worker-0"]
    own = read_any(build_manifest(kind, [{"name": "PORT_RANGE", "value": "40000:40100"}]))
    assert read_environments(own, 20_000, LAPTOP)["worker-0"]["PORT_RANGE"] == "40000:40100"
    assert warnings_of(own) == {}


def test_a_side_car_has_the_users_variables_alone() -> None:
    manifest = build_manifest(FLEET, [])
    side_car = {"name": "logs", "image": "fluent", "env": [{"name": "PADDLE_PORT", "value": "1"}]}
    manifest["spec"]["worker"]["template"]["spec"]["containers"].append(side_car)
    job = read_any(manifest)
    pod = pods.build_pod(job, job.ranks()[0], 0, None, Settings())
    assert pod["spec"]["containers"][1] == side_car
    assert warnings_of(job) == {}


def test_what_takes_the_place_of_paddocks_in_one_role_alone_is_told_with_the_advice() -> None:
    manifest = build_manifest(TORCH, [])
    roles = manifest["spec"]["pytorchReplicaSpecs"]
    roles["Master"] = deepcopy(roles["Worker"]) | {"replicas": 1}
    roles["Master"]["template"]["spec"]["containers"][0]["env"] = [{"name": "MASTER_PORT", "value": "29500"}]
    ((path, said),) = warnings_of(read_any(manifest)).items()
    assert path == TORCH_ENV.replace("Worker", "Master")
    assert said == f"{KEPT.format('MASTER_PORT')}; give every role the same"


def test_one_pod_may_meet_itself() -> None:
    job = read_any(build_manifest(TORCH, [{"name": "MASTER_ADDR", "value": "localhost"}], replicas=1))
    assert read_environments(job)["worker-0"]["MASTER_ADDR"] == "localhost"
    assert warnings_of(job) == {TORCH_ENV: KEPT.format("MASTER_ADDR")}


def test_validate_says_it_once_for_roles_that_set_the_same() -> None:
    manifest = build_manifest(WITH_SERVERS, [{"name": "PADDLE_PORT", "value": "6170"}])
    (problem,) = validate(manifest)
    assert (problem.severity, problem.path) == ("warning", ENV.replace("worker", "ps"))
    assert problem.message == f"{SHARED.format('PADDLE_PORT')} (the same in worker)"


# backoffLimit beside restartPolicy Never.

DOES_NOTHING = (
    "does nothing: with restartPolicy Never a failed rank fails the job at once; set {} to OnFailure, "
    "or remove the limit"
)
WORKER = "spec.worker.template.spec.restartPolicy"
SERVER = "spec.ps.template.spec.restartPolicy"
PARTLY = (
    f"does nothing for ps: with restartPolicy Never a failed rank fails the job at once; set {SERVER} to OnFailure to "
    "restart the job then too"
)


@pytest.mark.parametrize(
    ("kind", "policies", "limit", "said"),
    [
        (FLEET, {"worker": None}, 3, DOES_NOTHING.format(WORKER)),
        (FLEET, {"worker": "Never"}, 3, DOES_NOTHING.format(WORKER)),
        (FLEET, {"worker": "OnFailure"}, 3, ""),
        (FLEET, {"worker": "Never"}, 0, ""),
        (FLEET, {"worker": "Never"}, None, ""),
        (WITH_SERVERS, {"ps": "Never", "worker": "OnFailure"}, 3, PARTLY),
        (WITH_SERVERS, {"ps": None, "worker": None}, 3, DOES_NOTHING.format(f"{SERVER} and {WORKER}")),
        (MEETING, {"Worker": "Never"}, 3, DOES_NOTHING.format("spec.paddleReplicaSpecs.Worker.restartPolicy")),
        (MEETING, {"Worker": None}, 3, ""),
        (MEETING, {"Worker": "ExitCode"}, 3, ""),
    ],
)
def test_a_limit_of_restarts_without_restarts_is_told(
    kind: str, policies: dict[str, str | None], limit: int | None, said: str
) -> None:
    manifest = build_manifest(kind, [])
    manifest["spec"]["runPolicy"] = {} if limit is None else {"backoffLimit": limit}
    for role, policy in policies.items():
        container = {"name": "paddle", "image": "paddle:3", "command": ["python", "train.py"]}
        template: Manifest = {"spec": {"containers": [container]}}
        part: Manifest = {"replicas": 2, "template": template}
        if policy is not None:
            (part if kind == MEETING else template["spec"])["restartPolicy"] = policy
        (manifest["spec"]["paddleReplicaSpecs"] if kind == MEETING else manifest["spec"])[role] = part
    expected = {"spec.runPolicy.backoffLimit": said} if said else {}
    assert warnings_of(read_any(manifest)) == expected
    assert {each.path: each.message for each in validate(manifest)} == expected


def test_the_documents_jobs_are_told_nothing_of_it() -> None:
    for name in ("wide_and_deep", "resnet", "wide_and_deep_service"):
        assert not any("restartPolicy" in each.message for each in PADDLEPADDLE.read_job(read_manifest(name)).warnings)
