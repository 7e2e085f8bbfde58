"""The claim of `paddock.dev/outputs` in the pods of a job, and the program that prepares it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.gangs import build_job
from paddock.jobs.apis.outputs import OUTPUT_PATH, read_outputs
from paddock.jobs.labels import OUTPUTS_CONTAINER
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.outputs import run_path
from paddock.jobs.objects.outputs_program import read_program
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import Manifest
from paddock.manifests.fields import Fields

PYTHON = read_program()
UIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(1, 6)]
RANK = Rank("worker", 0)


def build_spec(job: Job, settings: Settings | None = None) -> Manifest:
    spec: Manifest = build_pod(job, RANK, 0, None, settings or Settings())["spec"]
    return spec


def with_container(job: Job, container: Mapping[str, Any], **spec: Any) -> Job:
    def change(template: Mapping[str, Any]) -> Manifest:
        first, *others = template["spec"]["containers"]
        return {**template, "spec": {**template["spec"], **spec, "containers": [{**first, **container}, *others]}}

    return replace(job, roles=tuple(replace(role, template=change(role.template)) for role in job.roles))


def read_env(container: Manifest) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container.get("env") or ()}


def test_each_rank_has_the_directory_of_its_run_and_no_other() -> None:
    job = replace(build_job(outputs="results"), uid=UIDS[0])
    spec = build_spec(job)
    (container,) = spec["containers"]
    assert spec["volumes"][-1] == {"name": "paddock-output", "persistentVolumeClaim": {"claimName": "results"}}
    assert container["volumeMounts"] == [
        {"name": "paddock-output", "mountPath": "/paddock/output", "subPath": f"{job.key.name}/{UIDS[0]}"}
    ]
    env = read_env(container)
    assert env["PADDOCK_OUTPUT_DIR"] == "/paddock/output"
    assert env["PADDOCK_CHECKPOINT_DIR"] == "/paddock/output/checkpoint"
    assert [each["volumeMounts"] for each in spec["initContainers"]] == [
        [{"name": "paddock-output", "mountPath": "/paddock/claim"}]
    ]


def test_a_laptop_and_a_job_without_the_annotation_are_as_they_were() -> None:
    local = Settings(output_root="/outputs")
    assert build_spec(build_job(outputs="results"), local) == build_spec(build_job(), local)
    assert "initContainers" not in build_spec(build_job())
    assert "PADDOCK_OUTPUT_DIR" not in read_env(build_spec(build_job())["containers"][0])


def test_a_variable_of_the_template_wins_and_its_own_volumes_stay() -> None:
    own = {"name": "paddock-output", "persistentVolumeClaim": {"claimName": "results"}}
    mount = {"name": "paddock-output", "mountPath": "/mine"}
    job = with_container(
        build_job(outputs="results"),
        {"env": [{"name": "PADDOCK_OUTPUT_DIR", "value": "/mine"}], "volumeMounts": [mount]},
        volumes=[own], initContainers=[{"name": OUTPUTS_CONTAINER, "image": "own"}],
    )  # fmt: skip
    spec = build_spec(job)
    env = [each for each in spec["containers"][0]["env"] if each["name"] == "PADDOCK_OUTPUT_DIR"]
    assert env == [{"name": "PADDOCK_OUTPUT_DIR", "value": "/mine"}]
    assert [each["name"] for each in spec["volumes"]] == ["paddock-output", "paddock-output-2"]
    assert spec["containers"][0]["volumeMounts"][0] == mount
    assert [each["name"] for each in spec["initContainers"]] == ["paddock-outputs-2", "paddock-outputs"]


def test_the_first_container_is_of_the_jobs_image_and_user_and_asks_for_no_device() -> None:
    job = with_container(
        build_job(outputs="results"),
        {
            "image": "team/train:7",
            "imagePullPolicy": "Always",
            "resources": {"requests": {"cpu": "4", "nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}},
            "securityContext": {
                "runAsUser": 1000, "privileged": True, "capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}
            },
        },
    )  # fmt: skip
    (first,) = build_spec(job)["initContainers"]
    assert (first["image"], first["imagePullPolicy"]) == ("team/train:7", "Always")
    assert first["resources"] == {"requests": {"cpu": "4"}}
    assert first["securityContext"] == {"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}}
    assert "env" not in first


@pytest.mark.parametrize(("asked", "told"), [("true", "true"), ("3", "3"), ("no", ""), ("0", ""), ("", "")])
def test_it_is_told_from_which_run_to_resume(asked: str, told: str) -> None:
    job = build_job(outputs="results", annotations={"paddock.dev/resume": asked})
    (first,) = build_spec(job)["initContainers"]
    assert first["command"][-2:] == [told, "results"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("results", ""),
        ("", ""),
        ("My_Claim", 'did you mean "my-claim"?'),
        ("team/results", "in the job's namespace"),
        ("../x", "no name of a claim"),
        ("a" * 254, "at most 253"),
    ],
)
def test_a_name_that_no_claim_can_have_is_refused(value: str, said: str) -> None:
    metadata = Fields({"annotations": {"paddock.dev/outputs": value}}, "metadata", {})
    assert read_outputs(metadata, {}) == ("" if said else value)
    problems = list(metadata.problems.values())
    assert [each.severity for each in problems] == (["error"] if said else [])
    assert all(said in str(each.message) for each in problems)


def test_a_volume_of_the_jobs_own_in_its_place_is_refused() -> None:
    spec = {"worker": {"template": {"spec": {"containers": [{"volumeMounts": [{"mountPath": "/paddock/output/"}]}]}}}}
    metadata = Fields({"annotations": {"paddock.dev/outputs": "results"}}, "metadata", {})
    assert read_outputs(metadata, spec) == ""
    (problem,) = metadata.problems.values()
    assert "volumeMounts[0].mountPath" in str(problem.message) and OUTPUT_PATH in str(problem.message)


# What the first container runs


def prepare(claim: Path, uid: str, resume: str = "", kind: str = "PaddleJob.x") -> list[str]:
    """The command, as the container of the run `uid` has it."""
    job = replace(build_job(outputs="results", annotations={"paddock.dev/resume": resume}), uid=uid)
    (first,) = build_spec(job)["initContainers"]
    words = list(first["command"])
    place = words.index("/paddock/claim")
    words[place] = str(claim)
    words[place + 3] = kind
    words[place + 4] = f"2026-11-30T00:00:{UIDS.index(uid):02}Z"
    return words


def run(words: list[str], **environment: str) -> tuple[int, str]:
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return ended.returncode, (ended.stdout + ended.stderr).strip()


def name_job() -> str:
    return build_job().key.name


def find_run(claim: Path, uid: str) -> Path:
    return claim / name_job() / uid


def read_facts(claim: Path, uid: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((claim / name_job() / f"{uid}.json").read_text())
    return facts


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    """With a run 1 that has written a checkpoint, and a run 2 that has not."""
    for uid in UIDS[:2]:
        assert run(prepare(tmp_path, uid)) == (0, "")
    (find_run(tmp_path, UIDS[0]) / "checkpoint/step-1").write_text("one")
    return tmp_path


def test_the_program_reads_as_python_3_6_and_no_kubelet_puts_a_variable_into_it() -> None:
    ast.parse(PYTHON, feature_version=(3, 6))
    assert "$(" not in PYTHON
    assert len(PYTHON) < 8192, "it is in each pod"


def test_the_path_is_the_one_that_the_pods_mount(tmp_path: Path) -> None:
    assert run(prepare(tmp_path, UIDS[0])) == (0, "")
    assert (tmp_path / run_path(replace(build_job(), uid=UIDS[0])) / "checkpoint").is_dir()


def test_directories_have_the_mode_of_the_claim(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    assert run(prepare(tmp_path, UIDS[0])) == (0, "")
    run_directory = find_run(tmp_path, UIDS[0])
    made = (run_directory.parent, run_directory, run_directory / "checkpoint")
    assert [each.stat().st_mode & 0o7777 for each in made] == [0o2775] * 3


def test_runs_are_numbered_and_a_new_one_begins_with_nothing(claim: Path) -> None:
    assert [read_facts(claim, uid)["run"] for uid in UIDS[:2]] == [1, 2]
    assert list((find_run(claim, UIDS[1]) / "checkpoint").iterdir()) == []


@pytest.mark.slow
def test_the_number_of_a_run_that_was_removed_is_not_given_twice(claim: Path) -> None:
    shutil.rmtree(find_run(claim, UIDS[1]))
    assert run(prepare(claim, UIDS[2])) == (0, "")
    assert read_facts(claim, UIDS[2])["run"] == 3


def test_a_run_resumes_from_the_newest_that_has_checkpoints_which_are_moved(claim: Path) -> None:
    assert run(prepare(claim, UIDS[2], "true")) == (0, "resumes from the checkpoints of run 1")
    assert (find_run(claim, UIDS[2]) / "checkpoint/step-1").read_text() == "one"
    assert not (find_run(claim, UIDS[0]) / "checkpoint").exists()
    assert read_facts(claim, UIDS[2])["resumed"] == 1


@pytest.mark.parametrize(
    "step", ["os.rename(source, checkpoints)", pytest.param("os.rename(fresh, path)", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("order", ["{other}; {step}", pytest.param("{step}; {other}", marks=pytest.mark.slow)])
def test_what_is_resumed_is_recorded_whichever_rank_comes_between(claim: Path, step: str, order: str) -> None:
    """Another rank runs from its begin to its end right before, or right after, a step of the one that moves."""
    words = prepare(claim, UIDS[2], "true")
    other = f"__import__('subprocess').run({words!r}, check=True, stdout=-3)"
    assert step in PYTHON
    between = [PYTHON.replace(step, order.format(other=other, step=step)) if word == PYTHON else word for word in words]
    assert run(between)[0] == 0
    assert read_facts(claim, UIDS[2])["resumed"] == 1
    assert not [each for each in (claim / name_job()).iterdir() if ".json." in each.name]


def test_an_attempt_that_follows_finds_what_is_there_and_resumes_nothing_again(claim: Path) -> None:
    assert run(prepare(claim, UIDS[2], "true"))[0] == 0
    for each in (find_run(claim, UIDS[2]) / "checkpoint").iterdir():
        each.unlink()  # the program's own business
    (find_run(claim, UIDS[1]) / "checkpoint/late").write_text("two")
    assert run(prepare(claim, UIDS[2], "true")) == (0, "")
    assert list((find_run(claim, UIDS[2]) / "checkpoint").iterdir()) == []


@pytest.mark.slow
def test_a_run_that_is_named_is_taken_or_nothing_begins(claim: Path) -> None:
    assert run(prepare(claim, UIDS[2], "2")) == (
        3, f"run 2 of {name_job()} has no checkpoints in the claim results; those that have some: 1"
    )  # fmt: skip
    assert run(prepare(claim, UIDS[2], "1")) == (0, "resumes from the checkpoints of run 1")


def test_nothing_to_resume_is_said_and_the_run_begins(tmp_path: Path) -> None:
    said = f"nothing to resume: no earlier run of {name_job()} has checkpoints in the claim results"
    assert run(prepare(tmp_path, UIDS[0], "true")) == (0, said)
    assert (find_run(tmp_path, UIDS[0]) / "checkpoint").is_dir()


@pytest.mark.slow
def test_the_checkpoints_of_another_kind_are_left_alone(claim: Path) -> None:
    assert run(prepare(claim, UIDS[2], "true", kind="PyTorchJob.y"))[1].startswith("nothing to resume")
    assert (find_run(claim, UIDS[0]) / "checkpoint/step-1").exists()


@pytest.mark.slow
def test_many_ranks_that_begin_at_once_agree(claim: Path) -> None:
    (find_run(claim, UIDS[1]) / "checkpoint/step-9").write_text("nine")
    words = prepare(claim, UIDS[2], "true")
    ranks = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(5)]
    assert [each.wait() for each in ranks] == [0] * 5
    assert [each.name for each in (find_run(claim, UIDS[2]) / "checkpoint").iterdir()] == ["step-9"]
    assert (find_run(claim, UIDS[0]) / "checkpoint/step-1").exists()
    assert read_facts(claim, UIDS[2])["resumed"] == 2 and read_facts(claim, UIDS[2])["run"] == 3
    assert not [each for each in (claim / name_job()).iterdir() if ".json." in each.name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        pytest.param("{", marks=pytest.mark.slow),
        pytest.param('{"run": "x", "started": 3}', marks=pytest.mark.slow),
        pytest.param("\x00", marks=pytest.mark.slow),
    ],
)
def test_a_record_that_cannot_be_read_harms_nobody(claim: Path, text: str) -> None:
    (claim / name_job() / f"{UIDS[1]}.json").write_text(text)
    assert run(prepare(claim, UIDS[2], "true"))[0] == 0
    assert read_facts(claim, UIDS[2])["run"] == 2


@pytest.mark.slow
def test_checkpoints_that_are_a_link_are_never_moved(claim: Path, tmp_path: Path) -> None:
    place = find_run(claim, UIDS[1]) / "checkpoint"
    place.rmdir()
    place.symlink_to(find_run(claim, UIDS[0]) / "checkpoint")
    assert run(prepare(claim, UIDS[2], "true")) == (0, "resumes from the checkpoints of run 1")


@pytest.mark.skipif(not os.getuid(), reason="root may write everywhere")
def test_a_claim_that_the_user_may_not_write_is_told_with_the_cure(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    code, said = run(prepare(tmp_path, UIDS[0]))
    tmp_path.chmod(0o755)
    assert code == 3 and "securityContext.fsGroup" in said and "mode 555" in said


def build_path(place: Path) -> str:
    """A PATH with a shell's programs and no Python."""
    place.mkdir()
    for each in ("mkdir", "sh"):
        (place / each).symlink_to(str(shutil.which(each)))
    return str(place)


def test_an_image_without_python_has_its_directories_and_resumes_nothing(tmp_path: Path) -> None:
    claim, path = tmp_path / "claim", build_path(tmp_path / "bin")
    claim.mkdir()
    assert run(prepare(claim, UIDS[0]), PATH=path) == (0, "")
    assert (find_run(claim, UIDS[0]) / "checkpoint").is_dir()
    assert run(prepare(claim, UIDS[0]), PATH=path) == (0, "")
    code, said = run(prepare(claim, UIDS[1], "true"), PATH=path)
    assert code == 3 and said.startswith("the image has no Python 3") and "in the claim results" in said
