"""`paddock rehearse`: a job of a cluster as processes of a laptop, for two steps. Whatever ends it, nothing stays."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import PADDOCK, Cluster, Ended, call, until
from e2e.manifests import RESNET, WIDE_AND_DEEP, build_light_job
from support.printed import take_printed

STEPS = "i=0; while true; do i=$((i+1)); echo step $i loss 0.5; sleep 0.2; done"
EXAMPLE = Path(__file__).parents[2] / "examples" / "pytorch"


def build_cluster_job(name: str, script: str, workers: int = 3) -> dict[str, Any]:
    """As a platform team's: devices, places, a queue, a claim and a Secret that no laptop has."""
    job = build_light_job(name, script, workers=workers)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    job["metadata"]["namespace"] = "team-a"
    pod = job["spec"]["worker"]["template"]["spec"]
    pod |= {
        "nodeSelector": {"accelerator": "a100"}, "schedulerName": "volcano", "serviceAccountName": "trainer",
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}],
    }  # fmt: skip
    pod["containers"][0] |= {
        "resources": {"limits": {"nvidia.com/gpu": 8, "cpu": 64, "memory": "512Gi"}},
        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "k"}}}],
        "volumeMounts": [{"name": "data", "mountPath": f"/tmp/paddock-{name}"}],
    }
    return job


def build_config(name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": {"word": value}}  # fmt: skip


MAPS = "/api/v1/namespaces/default/configmaps"


def rehearse(cluster: Cluster, job: dict[str, Any], *words: str) -> tuple[Ended, dict[str, Any]]:
    ended = cluster.paddock("rehearse", cluster.write(job), *words, "-o", "json")
    return ended, json.loads(ended.out)


def assert_gone(cluster: Cluster, name: str) -> None:
    """No job, no pod, no directory of a volume."""
    assert f"{name}-rehearsal" not in cluster.paddock("get", "-A").out
    assert f"{name}-rehearsal" not in cluster.paddock("get", "pods", "-A").out
    assert list((cluster.home / "rehearsals").iterdir()) == []


def test_a_job_of_a_cluster_starts_here_with_small_data(shared: Cluster) -> None:
    small = shared.directory / "small"
    small.mkdir(exist_ok=True)
    (small / "part.txt").write_text("two images")
    job = build_cluster_job("big", f"cat /tmp/paddock-big/part.txt; echo key=$KEY; {STEPS}")
    ended = shared.paddock("rehearse", shared.write(job), "--data", str(small))
    assert ended.code == 0, str(ended)
    assert ended.lines[-1].startswith("it starts: worker-"), str(ended)
    for said in (
        "not asked for: 24 nvidia.com/gpu, 192 cpu, 1536 GiB memory",
        "taken out: kueue.x-k8s.io/queue-name, nodeSelector, schedulerName, serviceAccountName, namespace team-a",
        "not here, so containers do without: Secret wandb",
    ):
        assert said in ended.err, str(ended)
    assert "what runs on nvidia.com/gpu: kernels, device memory, NCCL" in ended.out
    assert_gone(shared, "big")
    logs = shared.paddock("logs", "big-rehearsal", "--rank", "0").out
    assert "two images" in logs and "key=\n" in logs
    assert (small / "part.txt").read_text() == "two images"


@pytest.mark.slow
def test_a_program_that_ends_by_itself_has_been_rehearsed(shared: Cluster) -> None:
    ended, told = rehearse(shared, build_light_job("short", "echo $PADDOCK_REHEARSAL", workers=2), "--steps", "7")
    assert (ended.code, told["verdict"]) == (0, "Completed"), str(ended)
    assert told["roles"][0]["started"] == 2
    assert shared.paddock("logs", "short-rehearsal", "--rank", "0").out == "7\n"
    assert_gone(shared, "short")


@pytest.mark.slow
def test_the_word_of_another_tool_leads_to_the_rehearsal(shared: Cluster) -> None:
    told = shared.paddock("simulate", "job.yaml")
    assert told.code == 2, str(told)
    words = shlex.split(take_printed(told.err, "paddock rehearse job.yaml"))
    work = shared.directory / "work"
    work.mkdir(exist_ok=True)
    Path(shared.write(build_light_job("job", "echo done"))).rename(work / "job.yaml")
    ended = call(*PADDOCK, *words[1:], environment=shared.environment, directory=work)
    assert ended.code == 0 and "it starts, and ended by itself" in ended.out, str(ended)


def test_one_rank_that_fails_ends_it_with_its_error(shared: Cluster) -> None:
    script = f"[ $PADDLE_TRAINER_ID = 1 ] && {{ echo 'ValueError: bad shape'; exit 3; }}; {STEPS}"
    ended, told = rehearse(shared, build_light_job("breaks", script, workers=3), "--steps", "100000")
    assert (ended.code, told["verdict"], told["cause"]) == (1, "Failed", "RankFailed"), str(ended)
    (role,) = told["roles"]
    assert (role["started"], role["error"]) == (3, "ValueError: bad shape")
    assert any(each["check"] == "program-failed" for each in told["findings"])
    assert_gone(shared, "breaks")


@pytest.mark.slow
def test_without_a_step_nobody_knows(shared: Cluster) -> None:
    ended, told = rehearse(shared, build_light_job("quiet", "echo working; exec sleep 600"), "--timeout", "12")
    assert (ended.code, told["verdict"]) == (3, "Unknown"), str(ended)
    assert "no metric was read" in told["message"]
    assert_gone(shared, "quiet")


@pytest.mark.slow
def test_a_rank_that_ends_while_the_others_tell_nothing_is_named(shared: Cluster) -> None:
    script = "[ $PADDLE_TRAINER_ID = 1 ] && exit 0; exec sleep 600"
    ended, told = rehearse(shared, build_light_job("leaves", script, workers=2), "--timeout", "12")
    assert (ended.code, told["verdict"]) == (3, "Unknown"), str(ended)
    assert [each["rank"] for each in told["ended"]] == ["worker-1"]
    assert told["message"].startswith("unknown: worker-1 ended with exit code 0 after "), str(ended)
    assert_gone(shared, "leaves")


@pytest.mark.slow
def test_steps_are_read_from_what_ranks_write(shared: Cluster) -> None:
    script = """for i in 1 2 3; do echo "{\\"step\\": $i, \\"loss\\": 0.1}" >> $PADDOCK_METRICS; done; exec sleep 600"""
    ended, told = rehearse(shared, build_light_job("writes", script))
    assert (ended.code, told["verdict"], told["roles"][0]["steps"]) == (0, "Stepped", 2), str(ended)


def test_it_is_interrupted_and_nothing_stays(shared: Cluster) -> None:
    job = build_cluster_job("held", "trap '' TERM; echo begun; while true; do sleep 0.1; done")
    file = shared.directory / "held.yaml"
    file.write_text("\n---\n".join(map(json.dumps, (build_config("conf", "1"), job))))
    running = shared.start("rehearse", str(file))
    pods = partial(shared.pods, "held-rehearsal")
    until("ranks that run", lambda: [pod for pod in pods().values() if pod["status"].get("phase") == "Running"])
    (owner,) = shared.read(f"{MAPS}/conf-held-rehearsal")["metadata"]["ownerReferences"]
    assert owner["name"] == "held-rehearsal"  # so that it goes with the job of a command that was killed
    running.interrupt()
    ended = running.end()
    assert ended.code == 130, str(ended)
    assert "conf-held-rehearsal" not in str(shared.read(MAPS))
    assert_gone(shared, "held")


def test_what_the_file_brings_replaces_nothing_and_is_gone_afterwards(shared: Cluster) -> None:
    shared.create(MAPS, build_config("words", "here"))
    job = build_light_job("brings", "echo word=$WORD")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "WORD", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "word"}}}]
    file = shared.directory / "brings.yaml"
    file.write_text("\n---\n".join(map(json.dumps, (build_config("words", "brought"), job))))
    ended = shared.paddock("rehearse", str(file))
    assert ended.code == 0, str(ended)
    assert "word=brought" in shared.paddock("logs", "brings-rehearsal").out
    names = [each["metadata"]["name"] for each in shared.read(MAPS)["items"]]
    assert "words" in names and "words-brings-rehearsal" not in names
    assert shared.read(f"{MAPS}/words")["data"] == {"word": "here"}

    shared.create(MAPS, build_config("words-brings-rehearsal", "mine"))
    ended = shared.paddock("rehearse", str(file))
    assert ended.code == 2 and "ConfigMap default/words-brings-rehearsal exists already" in ended.err, str(ended)
    assert shared.read(f"{MAPS}/words-brings-rehearsal")["data"] == {"word": "mine"}
    assert_gone(shared, "brings")


@pytest.mark.slow
def test_fewer_workers_are_started_where_that_is_asked_for(shared: Cluster) -> None:
    ended, told = rehearse(shared, build_light_job("many", STEPS, workers=64), "--ranks", "2")
    assert (ended.code, told["workers"]) == (0, {"manifest": 64, "started": 2}), str(ended)
    assert "ranks" in [each["what"] for each in told["notRehearsed"]]


def test_more_than_the_machine_bears_is_refused_with_what_it_bears(shared: Cluster) -> None:
    ended = shared.paddock("rehearse", shared.write(build_light_job("army", STEPS, workers=900)))
    assert ended.code == 2 and "--ranks" in ended.err, str(ended)
    assert not ended.out


@pytest.mark.slow
def test_a_directory_that_no_volume_would_have_is_refused(shared: Cluster) -> None:
    job = shared.write(build_light_job("nowhere", STEPS))
    ended = shared.paddock("rehearse", job, "--data", str(shared.directory))
    assert ended.code == 2 and "no volume is left that would have it" in ended.err, str(ended)


# Real frameworks

TORCH = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
for step in range(1, 10_000):
    mine = torch.ones(1)
    dist.all_reduce(mine)
    if dist.get_rank() == 0:
        print(f"step {step} loss {mine.item():.1f}", flush=True)
    time.sleep(0.2)
"""


@pytest.mark.paddle
@pytest.mark.slow
def test_two_pods_of_two_devices_meet_by_torchrun(shared: Cluster) -> None:
    work = shared.directory / "torch"
    work.mkdir(exist_ok=True)
    (work / "train.py").write_text(TORCH)
    (work / "requirements.txt").write_text((EXAMPLE / "requirements.txt").read_text())
    container = {
        "name": "pytorch", "image": "pytorch/pytorch:2.13.0-cuda12.6-cudnn9-runtime",
        "command": ["torchrun", "train.py"], "resources": {"limits": {"nvidia.com/gpu": 2}},
    }  # fmt: skip
    job = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ddp"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}}},
    }  # fmt: skip
    ended = shared.paddock(
        "rehearse", shared.write(job), "--workdir", str(work), "-r", str(work / "requirements.txt"), "-o", "json",
        seconds=900,
    )  # fmt: skip
    assert ended.code == 0, str(ended)
    told = json.loads(ended.out)
    assert told["processes"] == {"option": "nprocPerNode", "each": 2}
    assert told["roles"][0]["met"] is True and told["roles"][0]["started"] == 2
    assert "loss 4.0" in shared.paddock("logs", "ddp-rehearsal").out


@pytest.mark.paddle
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "roles"), [(WIDE_AND_DEEP, {"ps", "worker"}), (RESNET, {"worker"})], ids=["ps", "all"]
)
def test_the_jobs_of_paddles_documents_start(path: Path, roles: set[str], shared: Cluster) -> None:
    ended = shared.paddock("rehearse", str(path), "-o", "json", seconds=900)
    assert ended.code == 0, str(ended)
    told = json.loads(ended.out)
    assert {each["role"] for each in told["roles"] if each["started"] == each["ranks"]} == roles
