"""What a typed command becomes: the job, its command, its name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import read_definition
from paddock.environments.images import choose_definition
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import (
    OUTPUTS_ANNOTATION,
    RESUME_ANNOTATION,
    SUCCESS_ANNOTATION,
    WORKING_DIRECTORY_ANNOTATION,
)
from paddock.jobs.model import CleanPods, Job
from paddock.kube.downward import expand
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.validation.names import DNS1035_LABEL
from paddock.preflight import Document, check, find_api
from paddock.script.escapes import escape, unescape
from paddock.script.manifest import build_command, build_manifest
from paddock.script.names import LONGEST, build_name
from paddock.script.paddle_job import COLLECTIVE_IMAGE, GPU_IMAGE, SERVERS_IMAGE
from paddock.script.plain_job import IMAGE as PLAIN_IMAGE
from paddock.script.pytorch_job import IMAGE
from paddock.script.request import ScriptRequest

TRAIN = ("python", "train.py")
LAUNCH = ["-m", "paddle.distributed.launch"]


def read(request: ScriptRequest) -> Job:
    manifest = build_manifest(request)
    document = Document(manifest)
    assert check(document) == (), "neither errors nor warnings"
    api = find_api(document)
    assert api is not None
    return KINDS[api.resource].read_job(manifest)


def container_of(request: ScriptRequest, role: str = "worker") -> dict[str, Any]:
    (found,) = build_manifest(request)["spec"][role]["template"]["spec"]["containers"]
    return dict(found)


def test_the_least_is_one_worker_that_is_not_restarted() -> None:
    manifest = build_manifest(ScriptRequest(TRAIN))
    assert manifest == {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "train", "annotations": {SUCCESS_ANNOTATION: "AllRanks"}},
        "spec": {
            "runPolicy": {"backoffLimit": 0},
            "worker": {
                "replicas": 1,
                "template": {
                    "spec": {"containers": [{"name": "paddle", "image": COLLECTIVE_IMAGE, "command": list(TRAIN)}]}
                },
            },
        },
    }
    assert read(ScriptRequest(TRAIN)).mode == "Single"


@pytest.mark.parametrize("framework", ["paddle", "none", "pytorch", "jax"])
def test_on_a_cluster_pods_that_have_ended_stay_with_their_logs(framework: str) -> None:
    kept, before = (read(ScriptRequest(TRAIN, framework=framework, keeps_pods=each)) for each in (True, False))
    assert kept.policies.clean_pods is CleanPods.RUNNING
    kubeflow = framework in ("pytorch", "jax")
    assert before.policies.clean_pods is (CleanPods.RUNNING if kubeflow else CleanPods.ON_COMPLETION)
    if framework == "paddle":
        servers = read(ScriptRequest(TRAIN, servers=1, keeps_pods=True))
        assert servers.policies.clean_pods is CleanPods.RUNNING, "servers are ended"


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        (["python", "train.py", "--lr", "1"], ["python", *LAUNCH, "train.py", "--lr", "1"]),
        (["python3.11", "-u", "train.py"], ["python3.11", "-u", *LAUNCH, "train.py"]),
        # the launcher's own interpreter has none of these options
        (["python", "-O", "train.py"], ["python", *LAUNCH, "python", "-O", "train.py"]),
        (["python", "-m", "pkg.train", "-x"], ["python", *LAUNCH, "python", "-m", "pkg.train", "-x"]),
        # what starts others by itself has none before it
        (["bash", "run.sh"], ["bash", "run.sh"]),
        (["./train"], ["./train"]),
        (["accelerate", "launch", "train.py"], ["accelerate", "launch", "train.py"]),
        (["numactl", "-N", "0", "python", "train.py"], ["numactl", "-N", "0", "python", *LAUNCH, "train.py"]),
        (["uv", "run", "train.py"], ["uv", "run", "python", *LAUNCH, "train.py"]),
        (["coverage", "run", "train.py"], ["coverage", "run", *LAUNCH, "train.py"]),
        (["python", *LAUNCH, "--log_dir", "x", "train.py"], ["python", *LAUNCH, "--log_dir", "x", "train.py"]),
        (["fleetrun", "train.py"], ["fleetrun", "train.py"]),
    ],
)
def test_several_workers_start_by_the_launcher_and_one_does_not(typed: list[str], run: list[str]) -> None:
    assert build_command(ScriptRequest(typed, workers=2)) == run
    assert build_command(ScriptRequest(typed, workers=1)) == typed
    assert build_command(ScriptRequest(typed, workers=2, servers=1)) == typed, "parameter servers need none"


def test_parameter_servers_run_the_same_command_in_an_environment_that_has_them() -> None:
    request = ScriptRequest(TRAIN, workers=2, servers=3, gpus=1)
    job = read(request)
    assert job.mode == "PS" and {role.name: role.replicas for role in job.roles} == {"ps": 3, "worker": 2}
    servers, workers = container_of(request, "ps"), container_of(request)
    assert servers["command"] == workers["command"] == list(TRAIN)
    assert servers["image"] == SERVERS_IMAGE
    assert workers["resources"] == {"limits": {"nvidia.com/gpu": 1}} and "resources" not in servers
    assert job.network.gloo == 1
    assert read(ScriptRequest(TRAIN, servers=1)).network.gloo == 0, "one worker waits for no other"


@pytest.mark.parametrize(
    ("image", "name"),
    [(COLLECTIVE_IMAGE, "paddle"), (GPU_IMAGE, "paddle"), (SERVERS_IMAGE, "paddle-ubuntu"), (IMAGE, "pytorch")],
)
def test_the_default_images_stand_for_environments_without_a_program_of_ours(image: str, name: str) -> None:
    found = choose_definition(image, map(read_definition, build_defaults()))
    assert found is not None and (found.name, found.program) == (name, "")


@pytest.mark.parametrize(
    ("request_", "image"),
    [
        (ScriptRequest(TRAIN, workers=2), COLLECTIVE_IMAGE),
        (ScriptRequest(TRAIN, workers=2, servers=1), SERVERS_IMAGE),
        (ScriptRequest(("python", "train.py"), framework="pytorch"), IMAGE),
        (ScriptRequest(TRAIN, workers=2, framework="none"), PLAIN_IMAGE),
    ],
)
def test_a_manifest_with_an_image_of_no_environment_runs_where_a_typed_command_runs(
    request_: ScriptRequest, image: str
) -> None:
    job = read(request_)
    typed = choose_definition(image, map(read_definition, build_defaults()))
    assert typed is not None and FRAMEWORKS[job.framework].find_default_environment(job) == typed.name


def test_a_program_of_no_framework_has_no_mode_of_paddlepaddle() -> None:
    assert read(ScriptRequest(TRAIN, workers=2)).mode == "Collective"
    assert read(ScriptRequest(TRAIN, workers=2, framework="none")).mode == "Distributed"
    assert read(ScriptRequest(TRAIN, framework="none")).mode == "Single"


@pytest.mark.parametrize("framework", ["paddle", "pytorch", "jax", "none"])
def test_a_job_with_gpus_has_the_memory_that_validate_asks_for(framework: str) -> None:
    for role in read(ScriptRequest(TRAIN, workers=2, gpus=2, framework=framework)).roles:
        spec = role.template["spec"]
        assert spec["volumes"] == [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
        assert spec["containers"][0]["volumeMounts"] == [{"name": "dshm", "mountPath": "/dev/shm"}]
    (role,) = read(ScriptRequest(TRAIN, framework="none")).roles
    assert "volumes" not in role.template["spec"] and "volumeMounts" not in role.template["spec"]["containers"][0]


def test_options_stand_where_they_belong() -> None:
    request = ScriptRequest(
        TRAIN, name="mine", namespace="team", restarts=3, resume="true", image="me/train:1", environment="own",
        outputs="results",
        directory="/home/me/a b", end_wait=600,
    )  # fmt: skip
    manifest = build_manifest(request)
    assert manifest["metadata"] == {
        "name": "mine",
        "namespace": "team",
        "annotations": {
            ENVIRONMENT_ANNOTATION: "own", RESUME_ANNOTATION: "true", OUTPUTS_ANNOTATION: "results",
            WORKING_DIRECTORY_ANNOTATION: "/home/me/a b",
            SUCCESS_ANNOTATION: "AllRanks:600",
        },
    }  # fmt: skip
    job = read(request)
    assert job.policies.backoff_limit == 3 and job.roles[0].restart == "OnFailure"
    assert container_of(request)["image"] == "me/train:1"


def test_values_of_secrets_stand_in_no_job() -> None:
    request = ScriptRequest(TRAIN, variables=[("A", "1"), ("B", "$(A)")], secrets=[("TOKEN", "hidden"), ("A", "deep")])
    entries = container_of(request)["env"]
    assert entries == [
        {"name": "B", "value": "$$(A)"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "train-env", "key": "TOKEN"}}},
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "train-env", "key": "A"}}},
    ]
    assert "hidden" not in str(build_manifest(request)) and "hidden" not in repr(request)


@pytest.mark.parametrize("word", ["a b", '"q"', "'", "$HOME", "$", "$$", "$$$", "$(X)", "$$(X)", "$(", "a\nb", "", "é"])
def test_a_word_reaches_the_program_as_it_was_typed(word: str) -> None:
    (_, _, written) = build_command(ScriptRequest([*TRAIN, word]))
    assert expand(written, {"X": "replaced"}) == word


@given(st.text("$()Xa{}\\", max_size=12))
def test_any_word_reaches_the_program_as_it_was_typed(word: str) -> None:
    assert expand(escape(word), {"X": "1", "": "2", "a": "3"}) == word
    assert unescape(escape(word)) == word


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("train", "train"),
        ("Train_V2", "train-v2"),
        ("my.model", "my-model"),
        ("__main__", "main"),
        ("01-mnist", "job-01-mnist"),
        ("", "job"),
        ("---", "job"),
    ],
)
def test_the_name_of_a_script_becomes_the_name_of_a_job(text: str, name: str) -> None:
    assert build_name(text) == name


def test_where_letters_are_lost_a_hash_keeps_two_scripts_apart() -> None:
    assert build_name("训练") != build_name("测试")
    assert re.fullmatch(r"train-[0-9a-f]{6}", build_name("train训练"))
    assert build_name("a" * 50 + "1") != build_name("a" * 50 + "2")


@given(st.text(max_size=80))
def test_every_name_names_pods_and_services(text: str) -> None:
    name = build_name(text)
    assert DNS1035_LABEL.allows(name) and len(name) <= LONGEST
