"""Every verb against a real local cluster, as a user types it. What trains, fails and is killed is in tests/e2e."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import commands
from e2e.commands import PADDOCK, Cluster, Ended, open_cluster, until
from e2e.manifests import build_light_job
from environments.packages import make_wheel
from paddock.cli.cluster.kinds import name_for_kubectl
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord
from paddock.views.flags import LOCAL
from paddock.views.steps import build_steps
from support.printed import type_printed
from support.programs import need


def call(cluster: Cluster, *words: str, directory: Path | None = None, **variables: str) -> Ended:
    """Runs a command in a directory, with additional environment variables."""
    environment = {**cluster.environment, **variables}
    return commands.call(*PADDOCK, *words, environment=environment, directory=directory)


def build_kubeflow_job(name: str, *command: str, namespace: str = "kubeflow") -> dict[str, Any]:
    container = {"name": "paddle", "image": "python:3", "command": list(command)}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"paddleReplicaSpecs": {"Worker": worker}},
    }


def run_advised(cluster: Cluster, command: str, status: int = 0) -> Ended:
    """Runs an advised command; editors change nothing."""
    need("kubectl")
    ended = type_printed(cluster, command)
    assert ended.code == status, f"{command}: {ended}"
    return ended


def find_advice(said: str) -> list[str]:
    """Commands in backticks, and those behind `next:` and `then:`."""
    steps = re.findall(r"^(?:next|then): (.*)$", said, re.MULTILINE)
    return [*re.findall(r"`([^`]+)`", said), *(step.partition("  # ")[0] for step in steps)]


JOBS = tuple(f"/apis/{group}/v1/{{}}paddlejobs" for group in ("batch.paddlepaddle.org", "kubeflow.org"))
PHASES = {"done": "Completed", "failed": "Failed", "going": "Running"}
PODS = {"failed-worker-0", "going-worker-0"}


@pytest.fixture(scope="module")
def served() -> Iterator[Cluster]:
    """One cluster with a job that has completed, one that has failed and one that runs."""
    with open_cluster("auto") as cluster:
        notify = "for i in 1 2 3; do echo line $i; done; echo"
        jobs = [
            build_light_job("done", notify, workers=2, clean="Always"),
            build_light_job("failed", "echo last words; exit 3"),
            build_light_job("going", "echo ready; exec sleep 1000"),
        ]
        jobs[1]["metadata"]["labels"] = {"team": "a"}
        for job in jobs:
            submitted = cluster.paddock("submit", cluster.write(job))
            assert submitted.out == f"paddlejob/{job['metadata']['name']} created\n", str(submitted)
        for name, phase in PHASES.items():
            until(f"{name} {phase}", lambda name=name, phase=phase: cluster.phase(name) == phase)
        yield cluster


@pytest.fixture
def cluster(served: Cluster) -> Iterator[Cluster]:
    """With these three jobs and no other: what a test adds is gone before the next one begins."""
    yield served
    served.stop_commands()
    for path in JOBS:
        for job in served.read(path.format(""))["items"]:
            name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
            if path is not JOBS[0] or name not in PHASES:
                served.delete(f"{path.format(f'namespaces/{namespace}/')}/{name}")
    until(
        "the three jobs and their pods alone",
        lambda: _phases(served) == PHASES and _pods(served) == PODS,
        tell=lambda: json.dumps([served.read(path)["items"] for path in (JOBS[0].format(""), "/api/v1/pods")]),
    )


def _phases(cluster: Cluster) -> dict[str, str]:
    jobs = [job for path in JOBS for job in cluster.read(path.format(""))["items"]]
    return {job["metadata"]["name"]: job["status"].get("phase") for job in jobs}


def _pods(cluster: Cluster) -> set[str]:
    return {pod["metadata"]["name"] for pod in cluster.read("/api/v1/pods")["items"]}


@pytest.mark.sandbox
def test_get_prints_the_jobs_and_why(cluster: Cluster) -> None:
    assert cluster.paddock("get", "failed").lines[0].split() == ["NAME", "STATUS", "WORKER", "AGE", "WHY"]
    ended = cluster.paddock("get")
    rows = [line.split() for line in ended.lines]
    assert rows[0] == ["NAME", "STATUS", "MODE", "WORKER", "AGE", "WHY"]
    assert [(row[0], row[1]) for row in rows[1:4]] == [
        ("done", "Completed"),
        ("failed", "Failed"),
        ("going", "Running"),
    ]
    assert "failed: worker-0 ended with exit code 3" in ended.lines[2]


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("jobs", "-o", "name"), "paddlejob/done\npaddlejob/failed\npaddlejob/going\n"),
        (("jobs", "going", "done", "-o", "name"), "paddlejob/done\npaddlejob/going\n"),
        pytest.param(("pdj", "-l", "team=a", "-o", "name"), "paddlejob/failed\n", marks=pytest.mark.slow),
        pytest.param(("pods", "-o", "name"), "pod/failed-worker-0\npod/going-worker-0\n", marks=pytest.mark.slow),
        pytest.param(("jobs", "-n", "kube-system", "-o", "name"), "", marks=pytest.mark.slow),
    ],
)
def test_get_chooses(cluster: Cluster, words: tuple[str, ...], out: str) -> None:
    assert cluster.paddock("get", *words).out == out


def test_get_writes_the_object_itself(cluster: Cluster) -> None:
    one = json.loads(cluster.paddock("get", "jobs", "failed", "-o", "json").out)
    assert (one["kind"], one["metadata"]["name"]) == ("PaddleJob", "failed")
    listed = yaml.safe_load(cluster.paddock("get", "-o", "yaml").out)
    assert listed["kind"] == "List" and one in listed["items"]


def test_get_says_more_with_wide_and_of_every_namespace(cluster: Cluster) -> None:
    wide = cluster.paddock("get", "pods", "-o", "wide", "-A").lines
    assert wide[0].split() == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "WHY"]
    assert wide[2].split()[:4] == ["default", "going-worker-0", "1/1", "Running"]
    assert "host" in cluster.paddock("get", "env").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get", "jobs", "dome"), "there is no job 'dome' here; did you mean 'done'?"),
        (("describe", "goin"), "there is no job 'goin' in namespace default; did you mean 'going'?"),
        pytest.param(
            ("delete", "going", "nothing-like-it"),
            "there is no job 'nothing-like-it' in namespace default",
            marks=pytest.mark.slow,
        ),
        pytest.param(("logs", "done", "--role", "ps"), "done has no role ps; it has worker", marks=pytest.mark.slow),
        pytest.param(("get", "-l", "a==="), "a===", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_name_exits_2_and_nothing_happens(cluster: Cluster, words: tuple[str, ...], said: str) -> None:
    ended = cluster.paddock(*words)
    assert ended.code == 2 and said in ended.err and ended.out == "", str(ended)
    assert cluster.phase("going") == "Running"


def test_nothing_found_is_said_on_stderr(cluster: Cluster) -> None:
    ended = cluster.paddock("get", "-n", "kube-system")
    assert (ended.code, ended.out) == (0, "")
    said = r"no jobs in namespace kube-system(; \d+ in other namespaces: `paddock get -A`)?\n"  # of the other tests
    assert re.fullmatch(said, ended.err), ended.err


def test_logs_of_a_job_whose_pods_are_gone(cluster: Cluster) -> None:
    lines = cluster.paddock("logs", "done").lines
    assert lines == [f"worker-{rank} │ {text}" for rank in (0, 1) for text in ("line 1", "line 2", "line 3", "")]
    assert cluster.paddock("logs", "done", "--tail", "2", "--rank", "1").out == "line 3\n\n"
    assert cluster.paddock("logs", "done", "-f", "--rank", "0").lines == ["line 1", "line 2", "line 3", ""]


def test_another_managers_job_is_refused_and_one_that_is_there_is_not_waited_for(cluster: Cluster) -> None:
    job = build_light_job("theirs", "true")
    job["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    file, managed = cluster.write(job), "managed by kueue.x-k8s.io/multikueue, not by Paddock"
    for verb in ("run", "submit"):
        refused = cluster.paddock(verb, file)
        assert refused.code == 2
        assert f"the job is {managed}" in refused.err and refused.err.endswith("nothing was submitted\n")
    explained = cluster.paddock("explain", "--why-not", file)
    assert (explained.code, "would be refused" in explained.out) == (1, True)
    assert cluster.kubectl("create", "-f", file).code == 0
    assert managed in cluster.paddock("get", "jobs", "theirs").out
    assert cluster.paddock("explain", "theirs").lines[1].startswith(managed)
    assert f"Why:       {managed}" in cluster.paddock("describe", "theirs").lines
    logs = cluster.paddock("logs", "theirs", "-f")
    assert (logs.code, managed in logs.err) == (2, True)


def test_logs_that_are_followed_can_be_left(cluster: Cluster) -> None:
    follow = cluster.start("logs", "going", "-f")
    follow.until_it_prints("ready\n")
    follow.interrupt()
    ended = follow.end()
    assert (ended.code, ended.out) == (130, "ready\n")
    assert ended.err == "the job goes on; `paddock delete going` ends it\n"
    assert cluster.phase("going") == "Running"


def test_describe_has_the_cause_the_pods_and_the_events(cluster: Cluster) -> None:
    text = cluster.paddock("describe", "failed").out
    for part in (
        "Name:      failed\n",
        "Status:    Failed\n",
        "Why:       failed: worker-0 ended with exit code 3",
        "Attempt:   0 (the first), restarts 0 (no limit)\n",
        "  failed-worker-0   0/1     Error",
        "Warning  Failed",
    ):
        assert part in text, text
    assert "Pods:      none" in cluster.paddock("describe", "done").out


def test_status_says_what_is_up(cluster: Cluster) -> None:
    facts = json.loads(cluster.paddock("status", "-o", "json").out)
    assert facts["up"] and facts["pinned"] and facts["home"] == str(cluster.home)
    assert facts["jobs"] == {"Completed": 1, "Failed": 1, "Running": 1}
    assert 0 <= facts["longestStall"] < 300
    text = cluster.paddock("status").out
    assert "until `paddock down`" in text and "s at most, in the last 5 minutes" in text


def test_kubeconfig_is_a_path_and_nothing_else(cluster: Cluster) -> None:
    ended = cluster.paddock("kubeconfig")
    assert ended.out == f"{cluster.home}/api/kubeconfig\n"
    assert Path(ended.out.strip()).stat().st_mode & 0o777 == 0o600


def test_submit_and_run_replace_a_finished_job_and_refuse_to_replace_one_that_goes_on(cluster: Cluster) -> None:
    again = cluster.write(build_light_job("again", "echo first"))
    assert cluster.paddock("run", again).code == 0
    cluster.write(build_light_job("again", "exec sleep 1000"))
    submitted = cluster.paddock("submit", again)
    assert submitted.code == 0 and submitted.err.startswith("replacing PaddleJob again, Completed ("), submitted
    for verb in ("submit", "run"):
        refused = cluster.paddock(verb, again)
        assert refused.code == 2
        assert "PaddleJob again exists already, " in refused.err and "`paddock delete again`" in refused.err
    cluster.paddock("delete", "again", "--now")
    cluster.write(build_light_job("again", "echo first"))
    assert cluster.paddock("run", again).code == 0
    ran = cluster.paddock("run", again)
    assert ran.code == 0 and ran.err.startswith("replacing PaddleJob again, Completed ("), str(ran)
    assert cluster.paddock("delete", "again").out == "paddlejob/again deleted\n"


def test_run_creates_what_stands_beside_the_job_and_brings_it_up_to_date(cluster: Cluster) -> None:
    job = build_light_job("beside", 'echo "value $WORD"')
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "words"}}]
    path = cluster.directory / "beside.yaml"
    for word in ("one", "two"):
        words = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"WORD": word}}
        group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "beside"}}
        path.write_text(yaml.safe_dump_all([words, {**group, "spec": {"minMember": 1}}, job]))
        ran = cluster.paddock("run", str(path))
        assert (ran.code, ran.out) == (0, f"value {word}\n"), str(ran)
    refused = cluster.paddock("submit", str(path))
    removal = "KUBECONFIG=$(paddock kubeconfig) kubectl delete configmap words"
    assert f"`{removal}` removes it" in refused.err
    assert cluster.phase("beside") == "Completed", "what is refused replaces nothing"
    assert "deleted" in run_advised(cluster, removal).out
    cluster.paddock("delete", "beside")


def test_of_several_documents_one_of_which_the_server_refuses_none_is_made(cluster: Cluster) -> None:
    path = cluster.directory / "several.yaml"
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"}}
    path.write_text(yaml.safe_dump_all([build_light_job("harmless", "true"), wrong]))
    ended = cluster.paddock("submit", str(path))
    assert ended.code == 2 and "Not_A_Name" in ended.err and "nothing was submitted" in ended.err, str(ended)
    assert "harmless" not in cluster.paddock("get", "-o", "name").out


@pytest.mark.sandbox
def test_a_program_that_is_not_there_fails_at_once_and_is_named(cluster: Cluster) -> None:
    job = build_light_job("missing", "")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = ["no-such-program"]
    ended = cluster.paddock("run", cluster.write(job))
    assert ended.code == 1
    assert 'worker-0 was not started: exec: "no-such-program": executable file not found' in ended.err, str(ended)
    assert "its log has the reason" not in ended.err and ended.err.count("no-such-program") == 2
    assert ended.out == ""


@pytest.mark.slow
def test_a_script_that_no_image_has_is_taken_from_here_and_found_in_every_namespace(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The documents' kubeflow.org job: `train.py` by a relative path, in a namespace of its own."""
    path = cluster.write(build_kubeflow_job("scripted", "python3", "train.py"))
    here, near = tmp_path / "here", tmp_path / "mnist"
    here.mkdir()
    near.mkdir()
    refused = call(cluster, "run", path, directory=here)
    assert refused.code == 2 and f"train.py is not in the image python:3 nor in {here}: call paddock" in refused.err
    (near / "train.py").write_text("print('trained')\n")
    refused = call(cluster, "run", path, directory=here)
    assert refused.code == 2 and f"nor in {here}, but in ../mnist: `--workdir ../mnist` starts it there" in refused.err
    ran = call(cluster, "run", path, directory=near)
    assert (ran.code, ran.out) == (0, "trained\n"), str(ran)
    assert ran.said[1] == f"runs {near}/train.py (python3 train.py), environment host"
    assert "logs: paddock logs scripted -n kubeflow" in ran.said[-1]
    assert cluster.paddock("logs", "scripted", "-n", "kubeflow", "--rank", "0").out == "trained\n"
    everywhere = [line.split()[:3] for line in cluster.paddock("get", "-A").lines]
    assert ["kubeflow", "scripted", "Completed"] in everywhere
    assert cluster.paddock("get", "-n", "kubeflow", "-o", "name").out == "paddlejob.kubeflow.org/scripted\n"


def test_jobs_of_two_groups_with_one_name_are_told_apart(cluster: Cluster) -> None:
    """`paddock submit` would replace the one that is finished: their pods would have the same names."""
    theirs = build_kubeflow_job("done", "true", namespace="default")
    theirs["spec"]["runPolicy"] = {"suspend": True}
    cluster.create(JOBS[1].format("namespaces/default/"), theirs)
    refused = cluster.paddock("describe", "done")
    assert refused.code == 2 and "two jobs in namespace default are called 'done'" in refused.err
    gone = cluster.paddock("delete", "paddlejob.kubeflow.org/done")
    assert gone.out == "paddlejob.kubeflow.org/done deleted\n"


@pytest.mark.slow
def test_a_namespace_that_is_missing_is_made_by_the_command_that_is_advised(cluster: Cluster) -> None:
    job = cluster.write(build_light_job("early", "true"))
    refused = cluster.paddock("submit", job, "-n", "r023")
    (command,) = find_advice(refused.err)
    assert "namespace/r023 created" in run_advised(cluster, command).out
    assert cluster.paddock("submit", job, "-n", "r023").code == 0


@pytest.mark.slow
def test_a_name_that_is_taken_is_freed_by_the_command_that_is_advised(cluster: Cluster) -> None:
    job = cluster.write(build_light_job("taken", "exec sleep 1000"))
    assert cluster.paddock("submit", job).code == 0
    for verb in ("submit", "run"):
        refused = cluster.paddock(verb, job)
        (*_, deletion) = find_advice(refused.err)
        assert deletion.startswith("paddock delete taken"), str(refused)
    run_advised(cluster, deletion)
    assert cluster.paddock("get", "taken").code == 2


@pytest.mark.slow
def test_a_suspended_job_of_either_group_goes_on_by_the_command_that_explain_advises(cluster: Cluster) -> None:
    paused = build_light_job("paused", "true")
    theirs = build_kubeflow_job("theirs", "true", namespace="default")
    for job in (paused, theirs):
        job["spec"]["runPolicy"] = {"suspend": True}
        name = job["metadata"]["name"]
        assert cluster.paddock("submit", cluster.write(job)).code == 0
        until(f"{name} is explained", lambda name=name: "next:" in cluster.paddock("explain", name).out)
        (command,) = find_advice(cluster.paddock("explain", name).out)
        run_advised(cluster, command)
        until(f"{name} goes on", lambda name=name: "Suspended" not in cluster.paddock("explain", name).out)


@pytest.mark.parametrize("resource", [each for each in KINDS if each.kind == "PaddleJob"], ids=lambda each: each.group)
def test_what_is_advised_for_a_cause_is_a_command_that_works(cluster: Cluster, resource: Any) -> None:
    theirs = resource.group == "kubeflow.org"
    job = build_kubeflow_job("edited", "true", namespace="default") if theirs else build_light_job("edited", "true")
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    for reason in ("InvalidJob", "NoReplicas", "NoFreePort", "BuildingEnvironment"):
        (step,) = build_steps(CauseRecord(reason, {}, 0.0), "edited", "default", kind=name_for_kubectl(resource))
        command = str(LOCAL.fill(step))
        ended = run_advised(cluster, command)
        if "edit" in command:
            assert "Edit cancelled, no changes made" in ended.out + ended.err, reason
            assert ("paddlejobs.kubeflow.org" in command) is theirs, reason


@pytest.mark.slow
def test_nodes_are_labelled_by_the_command_that_is_advised(cluster: Cluster) -> None:
    message = "0/1 nodes: 1 node(s) didn't match Pod's node affinity/selector (gpu=a100; node has none)"
    steps = build_steps(CauseRecord("WaitingForScheduler", {"message": message}, 0.0), "wide", "default")
    assert "labeled" in run_advised(cluster, str(LOCAL.fill(steps[0]))).out
    run_advised(cluster, "KUBECONFIG=$(paddock kubeconfig) kubectl label nodes --all gpu-")


@pytest.mark.slow
def test_kinds_are_installed_and_listed_by_the_commands_that_are_advised(cluster: Cluster) -> None:
    """In the state after: nothing here serves fewer kinds than all."""
    kubectl = "KUBECONFIG=$(paddock kubeconfig) kubectl"
    assert "paddlejobs" in run_advised(cluster, f"{kubectl} api-resources").out
    for resource in KINDS:
        run_advised(
            cluster, f"paddock manifests crd --kinds {resource.qualified} | {kubectl} apply -f - --dry-run=server"
        )


def test_a_job_that_leaves_its_name_to_the_server_is_called_by_what_it_got(cluster: Cluster) -> None:
    job = build_light_job("unnamed", "echo mine")
    path = cluster.write(job)
    Path(path).write_text(yaml.safe_dump({**job, "metadata": {"generateName": "unnamed-"}}))
    submitted = cluster.paddock("submit", path)
    name = submitted.out.removeprefix("paddlejob/").removesuffix(" created\n")
    assert name.startswith("unnamed-") and f"paddock logs {name} -f" in submitted.err, str(submitted)
    ran = cluster.paddock("run", path)
    assert ran.code == 0 and ran.said[0].startswith("PaddleJob unnamed-"), str(ran)


def test_why_not_makes_the_checks_of_run(cluster: Cluster, tmp_path: Path) -> None:
    taken = call(cluster, "explain", "--why-not", cluster.write(build_light_job("going", "true")))
    assert taken.code == 1 and "would be refused: PaddleJob going exists already, Running for" in taken.out
    elsewhere = call(cluster, "explain", "--why-not", cluster.write(build_light_job("going", "true")), "-n", "absent")
    assert elsewhere.code == 1 and "would be refused: there is no namespace absent: `" in elsewhere.out
    nowhere = cluster.write(build_kubeflow_job("nowhere", "python3", "train.py"))
    refused = call(cluster, "explain", "--why-not", nowhere, directory=tmp_path)
    assert refused.code == 1 and "would be refused: train.py is not in the image python:3 nor in" in refused.out
    (tmp_path / "train.py").write_text("")
    assert call(cluster, "explain", "--why-not", nowhere, directory=tmp_path).code == 0
    job = build_light_job("strange", "true")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["image"] = "team.example/strange:v1"
    del container["command"]  # what the image starts is not known
    step = "next: paddock env create NAME -r requirements.txt --image 'team.example/strange:v1'\n"
    waits = cluster.paddock("explain", "--why-not", cluster.write(job))
    assert waits.code == 1 and waits.out.endswith(step), str(waits)
    for verb in ("run", "submit"):  # nobody is at a terminal who could make one
        ran = cluster.paddock(verb, cluster.write(job))
        assert ran.code == 2 and ran.err.endswith(f"{step}nothing was submitted\n"), str(ran)
        assert 'image "team.example/strange:v1" stands for no environment' in ran.err


def test_at_a_terminal_run_waits_for_an_environment_and_goes_on_when_there_is_one(
    cluster: Cluster, tmp_path: Path
) -> None:
    job = build_light_job("patient", "echo it runs")
    first = {"name": "first", "image": "team.example/patient:v1", "command": ["true"]}
    job["spec"]["worker"]["template"]["spec"]["initContainers"] = [first]
    (tmp_path / "tiny-1.0-py3-none-any.whl").write_bytes(make_wheel("tiny", "1.0")[1])
    (tmp_path / "requirements.txt").write_text(f"tiny @ file://{tmp_path}/tiny-1.0-py3-none-any.whl\n")
    shown, terminal = os.openpty()
    command = (*PADDOCK, "run", cluster.write(job))
    run = subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, stderr=terminal, text=True)
    try:
        os.close(terminal)
        seen = b""
        while b"paddock env create NAME -r requirements.txt --image 'team.example/patient:v1'" not in seen:
            seen += os.read(shown, 4096)
        made = call(cluster, "env", "create", "patience", "-r", "requirements.txt", "--image", "team.example/patient:*",
                    directory=tmp_path)  # fmt: skip
        assert made.code == 0, str(made)
        out, _ = run.communicate(timeout=120)
        assert (run.returncode, out) == (0, "it runs\n")
    finally:
        run.kill()
        os.close(shown)
        cluster.paddock("env", "rm", "patience")


STRANGE = "team.example/strange:v1"
NOTICE = (
    f"image {STRANGE} has no Environment here: its command runs in paddle, the default of this PaddleJob, without "
    f"the files of the image; `paddock env create NAME -r requirements.txt --image '{STRANGE}'` makes another one"
)


def build_strange_job(name: str) -> dict[str, Any]:
    job = build_light_job(name, "echo it runs", workers=2)
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = STRANGE
    return job


@pytest.fixture
def light_default(cluster: Cluster) -> Iterator[Cluster]:
    """The Environment `paddle` is the programs of this machine: nothing to download."""
    path = "/apis/paddock.dev/v1alpha1/environments/paddle"
    spec = cluster.read(path)["spec"]
    cluster.patch(path, {"spec": {name: None for name in spec if name != "images"}})
    yield cluster
    cluster.patch(path, {"spec": spec})


@pytest.mark.parametrize(
    "door",
    [
        "run",
        pytest.param("run at a terminal", marks=pytest.mark.slow),
        pytest.param("submit", marks=pytest.mark.slow),
        pytest.param("kubectl", marks=pytest.mark.slow),
    ],
)
def test_a_command_whose_image_has_no_environment_runs_in_the_default_through_every_door(
    light_default: Cluster, door: str
) -> None:
    cluster = light_default
    path = cluster.write(build_strange_job("strange"))
    if door == "kubectl":
        need("kubectl")
        assert cluster.kubectl("create", "-f", path).code == 0
    elif door == "run at a terminal":
        assert NOTICE in " ".join(run_at_a_terminal(cluster, path).split())
    else:
        ended = cluster.paddock(door, path)
        assert ended.code == 0 and ended.said[0] == NOTICE, str(ended)
        assert "runs sh -c 'echo it runs', environment paddle" in ended.err
    until("the end", lambda: cluster.phase("strange") == "Completed", tell=lambda: json.dumps(cluster.job("strange")))
    until("its event", lambda: "DefaultEnvironment" in cluster.paddock("describe", "strange").out)
    described = cluster.paddock("describe", "strange")
    assert f"\nImage:     {NOTICE}\n" in described.out, str(described)
    told = [line for line in described.out.splitlines() if "Warning  DefaultEnvironment" in line]
    assert len(told) == 1 and told[0].endswith(NOTICE), "one for the job, whatever the number of its pods"
    assert cluster.paddock("logs", "strange", "--rank", "1").out == "it runs\n"


def run_at_a_terminal(cluster: Cluster, path: str) -> str:
    """What `run` prints on its standard error, which is a terminal."""
    shown, terminal = os.openpty()
    run = subprocess.Popen((*PADDOCK, "run", path), env=cluster.environment, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    said = b""
    try:
        while chunk := os.read(shown, 4096):
            said += chunk
    except OSError:  # the other side is closed
        assert run.wait(60) == 0
    finally:
        run.kill()
        os.close(shown)
    return said.decode()


@pytest.mark.slow
def test_the_environment_that_the_notice_advises_is_taken_by_the_next_run(
    light_default: Cluster, tmp_path: Path
) -> None:
    cluster = light_default
    path = cluster.write(build_strange_job("narrowed"))
    (tmp_path / "tiny-1.0-py3-none-any.whl").write_bytes(make_wheel("tiny", "1.0")[1])
    (tmp_path / "requirements.txt").write_text(f"tiny @ file://{tmp_path}/tiny-1.0-py3-none-any.whl\n")
    foretold = cluster.paddock("explain", "--why-not", path)
    assert foretold.code == 0 and foretold.lines[1:] == [NOTICE], str(foretold)
    (advised,) = find_advice(foretold.out)
    run_advised(cluster, f"cd {tmp_path} && {advised.replace('NAME', 'narrow')}")
    try:
        ran = cluster.paddock("run", path)
        assert ran.code == 0 and "environment narrow" in ran.err and "has no Environment" not in ran.err, str(ran)
        assert "DefaultEnvironment" not in cluster.paddock("describe", "narrowed").out
    finally:
        cluster.paddock("env", "rm", "narrow")


@pytest.mark.slow
def test_an_environment_follows_its_file_and_its_owner(cluster: Cluster, tmp_path: Path) -> None:
    """A changed file, env update, and a package that is missing."""
    for version in ("1.0", "2.0"):
        name, wheel = make_wheel("tiny", version)
        (tmp_path / "index" / "tiny").mkdir(parents=True, exist_ok=True)
        (tmp_path / "index" / "tiny" / name).write_bytes(wheel)
    page = tmp_path / "index" / "tiny" / "index.html"
    page.write_text("".join(f'<a href="{each.name}">{each.name}</a>' for each in page.parent.glob("*.whl")))
    file = tmp_path / "requirements.txt"
    file.write_text("tiny==1.0\n")
    index = ("--index-url", (tmp_path / "index").as_uri())
    made = cluster.paddock("env", "create", "kept", "-r", str(file), *index, "--image", "team.example/kept:*")
    assert made.code == 0, str(made)
    job = build_light_job("kept", "python3 -c 'import tiny, yaml; print(tiny.version)'")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "team.example/kept:v1"
    job["spec"]["runPolicy"] = {"backoffLimit": 0}
    missed = call(cluster, "run", cluster.write(job), directory=tmp_path)
    assert missed.code == 1, str(missed)
    assert "yaml is not in environment kept: it comes from the package pyyaml\n" in missed.err
    assert "next: echo pyyaml >> requirements.txt\n" in missed.err
    assert cluster.paddock("env", "update", "kept").out == "environment/kept unchanged\n"
    again = cluster.paddock("env", "update", "kept", "-r", str(file))
    assert again.out == "environment/kept unchanged\n", str(again)
    backend = cluster.paddock("env", "update", "kept", "--torch-backend", "default")
    assert backend.code == 0, str(backend)

    file.write_text("# the newer one\ntiny==2.0\n")
    assert "requirements.txt changed since" in cluster.paddock("env", "list").out
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = [
        "python3",
        "-c",
        "import tiny; print(tiny.version)",
    ]
    ran = cluster.paddock("run", cluster.write(job))
    assert (ran.code, ran.out) == (0, "2.0\n"), str(ran)
    assert "requirements.txt has changed: environment kept is rebuilt (+tiny==2.0 and -tiny==1.0)\n" in ran.err

    added = cluster.paddock("env", "update", "kept", "--add", "tinier")
    assert added.code == 1 and "requirements: +tinier\n" in added.err, str(added)
    assert "the package index of spec.indexURL does not have tinier" in added.err
    assert added.err.endswith("undo: paddock env update kept --remove=tinier\n")
    undone = cluster.paddock("env", "update", "kept", "--remove", "tinier")
    assert undone.code == 0 and "requirements: -tinier\n" in undone.err, str(undone)
    refused = cluster.paddock("env", "update", "kept", "--add", "tiny==3", "--python", "3.11")
    assert refused.code == 2 and refused.err.splitlines()[-1] == "nothing was changed", str(refused)
    assert f"--add tiny==3: {file}:2 names it already: change it there\n" in refused.err
    assert "was made of no file that can be read again" in cluster.paddock("env", "update", "host").err
    assert cluster.paddock("delete", "kept").code == 0
    assert cluster.paddock("env", "rm", "kept").code == 0


@pytest.mark.slow
def test_the_queue_says_what_runs_what_waits_and_in_which_order(cluster: Cluster) -> None:
    """The room is this machine's: the first job takes all of its CPUs, two more ask for as much, one of them later."""
    cpus = json.loads(cluster.paddock("queue", "-o", "json").out)["resources"]["cpu"]["has"]
    for place, name in enumerate(("takes-all", "waits", "behind")):
        begun = int(time.time())  # Kubernetes' times have no fractions: of two jobs of one second the name decides
        until("the next second", lambda begun=begun: int(time.time()) > begun)
        job = build_light_job(name, "exec sleep 1000")
        container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
        container["resources"] = {"requests": {"cpu": cpus}}
        assert cluster.paddock("submit", cluster.write(job)).code == 0
        until(f"{place} jobs waiting", lambda place=place: len(_waiting(cluster)) == place)
        if name == "takes-all":
            until("it runs", lambda: cluster.phase("takes-all") == "Running")
    until("the reason", lambda: "Insufficient cpu" in str(_waiting(cluster)[1]["cause"]))
    ended = cluster.paddock("queue")
    assert ended.code == 0 and ended.err == "", str(ended)
    assert ended.lines[0].startswith(f"{cpus} CPU") and ": 0 free; " in ended.lines[0]
    assert ended.lines[1].split() == ["POSITION", "NAME", "PHASE", "RANKS", "NEEDS", "WAITS", "WHY"]
    rows = {line.split()[1]: line.split() for line in ended.lines[2:]}
    assert list(rows) == ["going", "takes-all", "waits", "behind"], str(ended)
    assert [row[0] for row in rows.values()] == ["-", "-", "1", "2"]
    assert rows["going"][2:6] == ["Running", "1", "-", "-"] and rows["behind"][2:5] == ["Pending", "1", cpus]
    assert " needs " in ended.lines[4] and "takes-all holds " in ended.lines[4]
    everywhere = cluster.paddock("queue", "-A").lines
    assert everywhere[1].split()[:3] == ["NAMESPACE", "POSITION", "NAME"]
    assert everywhere[-1].split()[:3] == ["default", "2", "behind"]
    assert cluster.paddock("delete", "takes-all").code == 0
    until("the first of them runs", lambda: cluster.phase("waits") == "Running")
    names = cluster.paddock("queue", "-o", "name").out
    assert names == "paddlejob/going\npaddlejob/waits\npaddlejob/behind\n"
    assert [(each["name"], each["position"]) for each in _waiting(cluster)] == [("behind", 1)]
    said = "nothing waits or runs in namespace kube-system; 3 in other namespaces: `paddock queue -A`\n"
    empty = cluster.paddock("queue", "-n", "kube-system")
    assert (empty.code, empty.err) == (0, said), str(empty)
    assert cluster.paddock("queue", "-n", "kube-system", "-o", "json").err == ""


def _waiting(cluster: Cluster) -> list[dict[str, Any]]:
    jobs = json.loads(cluster.paddock("queue", "-o", "json").out)["jobs"]
    return [job for job in jobs if job["position"]]


@pytest.mark.slow
def test_a_timeout_says_why_and_what_becomes_of_the_job(cluster: Cluster) -> None:
    job = build_light_job("late", "true")
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["nodeSelector"] = {"accelerator": "nvidia-tesla-p100"}
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    ended = cluster.paddock("run", cluster.write(job), "--timeout", "8s")
    assert ended.code == 1, str(ended)
    (said,) = (
        line for line in ended.said if line.startswith("Not completed in 8 s (--timeout): waiting for room for 1")
    )
    assert "1 has not enough GPUs free (needs 4; none is free)" in said and "accelerator=nvidia-tesla-p100" in said
    assert any(line.startswith("then: paddock run ") and "--without nvidia.com/gpu" in line for line in ended.said)
    assert ended.err.endswith(
        "the job is suspended, it holds no pods: `paddock resume late` lets it go on, `paddock delete late` "
        "removes it\n"
    )
    assert cluster.phase("late") == "Suspended"


@pytest.mark.slow
def test_a_timeout_keeps_what_a_job_that_hangs_has_printed_and_the_next_run_replaces_it(cluster: Cluster) -> None:
    path = cluster.write(build_light_job("hangs", "echo before the hang; exec sleep 1000"))
    ended = cluster.paddock("run", path, "--timeout", "2s")
    assert (ended.code, ended.out) == (1, "before the hang\n") and "outputs" not in ended.err, str(ended)
    assert cluster.paddock("get", "pods", "-o", "name").out.count("hangs") == 0
    assert cluster.paddock("logs", "hangs").out == "before the hang\n"
    Path(path).write_text(yaml.safe_dump(build_light_job("hangs", "echo again")))
    again = cluster.paddock("run", path)
    assert again.code == 0 and "replacing PaddleJob hangs, which --timeout suspended" in again.err, str(again)


def test_a_job_that_a_user_suspended_is_not_replaced(cluster: Cluster) -> None:
    job = build_light_job("resting", "true")
    job["spec"].setdefault("runPolicy", {})["suspend"] = True
    path = cluster.write(job)
    assert cluster.paddock("submit", path).code == 0
    until("it is suspended", lambda: cluster.phase("resting") == "Suspended")
    refused = cluster.paddock("run", path)
    assert refused.code == 2 and "resting exists already, Suspended" in refused.err, str(refused)


def test_a_chinese_locale_gets_chinese(cluster: Cluster) -> None:
    zh = {"LANG": "zh_CN.UTF-8", "LC_ALL": ""}
    described = call(cluster, "describe", "failed", **zh).out
    assert "状态：     失败\n" in described and "原因：     失败：worker-0 以退出码 3 结束" in described
    assert call(cluster, "get", "jobs", "failed", "-o", "json", **zh).out == (
        cluster.paddock("get", "jobs", "failed", "-o", "json").out
    )


@pytest.mark.slow
def test_an_environment_of_ones_own(cluster: Cluster) -> None:
    """From requirements.txt to a job that names it, by its annotation and by its image."""
    name, wheel = make_wheel("tiny", "1.0")
    page = cluster.directory / "index" / "tiny"
    page.mkdir(parents=True)
    (page / name).write_bytes(wheel)
    (page / "index.html").write_text(f'<html><body><a href="{name}">{name}</a></body></html>')
    requirements = cluster.directory / "requirements.txt"
    requirements.write_text("tiny==1.0  # ours\n")
    index = ("--index-url", page.parent.as_uri())
    made = cluster.paddock(
        "env",
        "create",
        "mine",
        "-r",
        str(requirements),
        *index,
        "--env",
        "GREETING=hello",
        "--image",
        "team.example/mine:*",
    )
    assert (made.code, made.out) == (0, "environment/mine created\n"), str(made)
    assert (
        "`paddock env update mine` changes it" in cluster.paddock("env", "create", "mine", "-r", str(requirements)).err
    )
    built = cluster.paddock("env", "build", "mine")
    assert built.code == 0 and built.out.startswith("environment mine: ready (tiny 1.0, Python 3."), str(built)
    by_image = build_light_job("by-image", 'echo "$GREETING $(tiny)"')
    by_image["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "team.example/mine:v2"
    by_name = build_light_job("by-name", 'echo "$GREETING $(tiny)"; exec sleep 1000')
    by_name["metadata"]["annotations"] = {"paddock.dev/environment": "mine"}
    assert cluster.paddock("run", cluster.write(by_image)).out == "hello 1.0\n"
    run = cluster.start("run", cluster.write(by_name))
    run.until_it_prints("hello 1.0\n")
    refused = cluster.paddock("env", "rm", "mine")
    assert refused.code == 2 and "in use by PaddleJob default/by-name and 1 more" in refused.err, str(refused)
    assert cluster.paddock("delete", "by-name", "by-image", "--now").code == 0
    run.end()
    (row,) = (
        each
        for each in json.loads(cluster.paddock("env", "list", "-o", "json").out)["items"]
        if each["metadata"]["name"] == "mine"
    )
    assert row["status"]["phase"] == "Ready"
    gone = cluster.paddock("env", "rm", "mine")
    assert gone.code == 0 and gone.out.startswith("environment/mine deleted; ") and "came free" in gone.out, str(gone)
    assert not Path(row["status"]["path"]).exists()


@pytest.mark.slow
def test_lines_of_ranks_that_end_within_a_moment_are_not_lost(cluster: Cluster) -> None:
    """Their pods are deleted before anybody can ask for their logs."""
    path = cluster.write(build_light_job("fast", "echo one; echo two", workers=4, clean="Always"))
    for _ in range(3):
        ended = cluster.paddock("run", path)
        printed = [f"worker-{rank} │ {word}" for rank in range(4) for word in ("one", "two")]
        assert sorted(ended.lines) == printed, str(ended)


@pytest.mark.slow
def test_delete_says_what_it_waits_for(cluster: Cluster) -> None:
    path = cluster.write(build_light_job("stubborn", "trap '' TERM; echo ready; while :; do sleep 0.2; done"))
    manifest = yaml.safe_load(Path(path).read_text())
    manifest["spec"]["worker"]["template"]["spec"]["terminationGracePeriodSeconds"] = 4
    Path(path).write_text(yaml.safe_dump(manifest))
    run = cluster.start("run", path)
    run.until_it_prints("ready")
    deleted = cluster.paddock("delete", "stubborn")
    assert (deleted.code, deleted.out) == (0, "paddlejob/stubborn deleted\n")
    assert deleted.err == "waiting up to 4 s for its ranks to end; --now kills them\n"
    run.end()


@pytest.mark.sandbox
def test_a_job_deleted_while_it_is_followed_ends_the_run(cluster: Cluster) -> None:
    run = cluster.start("run", cluster.write(build_light_job("deleted", "echo ready; exec sleep 1000")))
    run.until_it_prints("ready")
    assert cluster.paddock("delete", "deleted", "--now").code == 0
    ended = run.end()
    assert ended.code == 1 and ended.err.endswith("the job was deleted while it ran\n"), str(ended)


@pytest.mark.slow
def test_a_device_that_the_machine_lacks_is_left_out_and_said(cluster: Cluster) -> None:
    job = build_light_job("device", "echo trained")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"example.com/card": 2}}
    ended = cluster.paddock("run", cluster.write(job))
    assert ended.code == 0, str(ended)
    assert "asks for 2 example.com/card and this machine has none" in ended.err
    assert "example.com/card" in cluster.paddock("describe", "device").out


@pytest.mark.parametrize(
    ("line", "place", "offered"),
    [
        ("paddock logs g", 2, "plain,going\n"),
        pytest.param("paddock explain g", 2, "plain,going\n", marks=pytest.mark.slow),
        pytest.param("paddock get pods f", 3, "plain,failed-worker-0\n", marks=pytest.mark.slow),
        pytest.param("paddock get po", 2, "plain,pods\n", marks=pytest.mark.slow),
        pytest.param("paddock desc", 1, "plain,describe\n", marks=pytest.mark.slow),
    ],
)
def test_names_are_completed(cluster: Cluster, line: str, place: int, offered: str) -> None:
    # A shell must not wait: on a busy machine nothing is offered, and the user presses the key again.
    tries = (complete(cluster.environment, line, place) for _ in range(30))
    assert next((found for found in tries if found != ("\n", "")), None) == (offered, "")


def test_completion_starts_no_cluster_and_says_nothing(tmp_path: Path) -> None:
    assert complete({**os.environ, "PADDOCK_HOME": str(tmp_path / "home")}, "paddock logs g", 2) == ("\n", "")
    assert not (tmp_path / "home").exists()


def complete(environment: dict[str, str], line: str, place: int) -> tuple[str, str]:
    asked = {"_PADDOCK_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(place)}
    ended = commands.call(*PADDOCK, environment={**environment, **asked})
    return ended.out, ended.err


@pytest.mark.slow
def test_down_in_the_middle_ends_the_run_and_the_next_cluster_goes_on_with_the_job() -> None:
    with open_cluster("none") as cluster:
        path = cluster.write(build_light_job("paused", "echo ready; exec sleep 1000"))
        run = cluster.start("run", path)
        run.until_it_prints("ready")
        assert cluster.paddock("down").err == (
            "local cluster stopped; 1 unfinished job (paused) starts again with it: `paddock delete paused` removes "
            "it\n"
        )
        ended = run.end()
        assert ended.code == 1
        assert ended.said[0] == "PaddleJob paused: 1 worker"
        assert ended.said[2:] == ["the cluster was stopped; the job begins a new attempt at the next `paddock up`"]
        down = cluster.paddock("status")
        assert down.code == 1 and "is not up" in down.out
        assert cluster.paddock("get", "-o", "name").out == "paddlejob/paused\n", "asking starts it again"


@pytest.mark.slow
def test_interrupted_while_the_cluster_is_dead_it_still_ends_the_job() -> None:
    with open_cluster("none") as cluster:
        run = cluster.start("run", cluster.write(build_light_job("orphan", "echo ready; exec sleep 1000")))
        run.until_it_prints("ready")
        cluster.kill_cluster()
        run.interrupt()
        ended = run.end()
        assert ended.code == 130, str(ended)
        assert cluster.paddock("get", "-o", "name").out == ""


@pytest.mark.slow
def test_run_gives_up_a_job_that_always_fails_alike(cluster: Cluster) -> None:
    job = build_light_job("hopeless", "exit 4")
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    ended = cluster.paddock("run", cluster.write(job), seconds=100)
    assert ended.code == 1, str(ended)
    assert "it has failed alike 2 times: once more, and the job is given up" in ended.err
    assert cluster.job("hopeless")["spec"]["runPolicy"] == {"backoffLimit": 2}
    assert "after 2 restarts" in ended.said[-3]
    assert ended.said[-2].startswith("(paddock run gives up after three failures alike; runPolicy.backoffLimit in ")


@pytest.mark.slow
def test_kubectl_that_only_warns_and_paddock_name_the_same_unknown_fields(cluster: Cluster) -> None:
    need("kubectl")
    job = build_light_job("unknown-fields", "true")
    job["spec"] |= {"sampleSetRef": {"name": "criteo"}, "runPolicy": {"backofLimit": 1}, "tasks": []}
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["imge"] = "a"
    job["metadata"]["lables"] = {"a": "b"}
    path = cluster.write(job)
    problems = json.loads(cluster.paddock("validate", path, "-o", "json").out)["problems"]
    ended = run_advised(cluster, f"KUBECONFIG=$(paddock kubeconfig) kubectl create --validate=warn -f {path}")
    assert set(re.findall(r'unknown field "([^"]+)"', ended.err)) == {each["path"] for each in problems}


@pytest.mark.slow
def test_a_run_that_asks_begins_with_the_checkpoints_of_the_run_before(cluster: Cluster) -> None:
    program = "echo x >>$PADDOCK_CHECKPOINT_DIR/epochs; echo after $(wc -l <$PADDOCK_CHECKPOINT_DIR/epochs) epochs"
    job = build_light_job("resumed", program)
    path = cluster.write(job)
    assert cluster.paddock("run", path).out == "after 1 epochs\n"
    anew = cluster.paddock("run", path)
    assert anew.out == "after 1 epochs\n" and "resumes" not in anew.err, str(anew)
    job["metadata"]["annotations"] = {"paddock.dev/resume": "true"}
    resumed = cluster.paddock("run", cluster.write(job))
    assert resumed.out == "after 2 epochs\n", str(resumed)
    assert "resumes from the checkpoints of run 2 (1 file, 2 B)\n" in resumed.err
    outputs = cluster.paddock("outputs", "resumed")
    assert (outputs.code, outputs.err) == (0, "run 3: 1 file, 4 B\n")
    assert (Path(outputs.out.strip()) / "checkpoint" / "epochs").read_text() == "x\nx\n"
    left = Path(cluster.paddock("outputs", "resumed", "--run", "2").out.strip())
    assert [path.name for path in left.iterdir()] == [".metrics"]
    first = cluster.paddock("run", path, "--resume=1")
    assert first.out == "after 2 epochs\n", str(first)
    assert "resumes from the checkpoints of run 1 (1 file, 2 B)\n" in first.err
    refused = cluster.paddock("run", "--resume=1", path)
    assert refused.code == 2 and "run 1 of resumed has no checkpoints" in refused.err, str(refused)
    assert "runs 3 and 4 have some: --resume=4\nnothing was submitted\n" in refused.err, str(refused)
    for number in ("0", "last", ""):
        wrong = cluster.paddock("run", f"--resume={number}", path)
        assert wrong.code == 2 and "Invalid value for '--resume'" in wrong.err, str(wrong)
    assert cluster.phase("resumed") == "Completed", "it was not replaced"


@pytest.mark.slow
def test_what_a_rank_writes_to_paddock_metrics_is_in_the_history_and_what_is_not_read_is_told(cluster: Cluster) -> None:
    program = (
        """echo 'step 1 loss: n/a'; echo '{"step": 3, "loss": 0.25, "tokens": 4096}' >>$PADDOCK_METRICS; """
        "echo oops >>$PADDOCK_METRICS"
    )
    ended = cluster.paddock("run", cluster.write(build_light_job("written", program)))
    told = "not all of what worker-0 wrote to PADDOCK_METRICS was read: `oops` is no JSON object"
    assert ended.code == 0 and told in ended.err, str(ended)
    assert "outputs:" not in ended.err, "what the history tells is no result"
    history = cluster.paddock("history", "written")
    assert "step 3 loss 0.25" in history.out and told in history.out, str(history)
    (run,) = json.loads(cluster.paddock("history", "written", "-o", "json").out)
    assert run["metrics"] == {"worker-0": {"step": 3, "loss": 0.25, "tokens": 4096.0}}
    near = cluster.paddock("run", cluster.write(build_light_job("near", "echo 'step 1 loss: n/a'")))
    assert near.code == 0
    said = "no metric was read; the nearest line: `step 1 loss: n/a`; no number stands after `loss`"
    assert said in cluster.paddock("history", "near").out
    assert said in cluster.paddock("doctor", "near").out
