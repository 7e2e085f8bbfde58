"""What Paddock prints after a failure, while something waits and where it refuses is typed as it stands there, in the
state that printed it: it does what its sentence says, and is no command that is refused, hangs or shows nothing."""

from __future__ import annotations

import html
import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from e2e.commands import PADDOCK, Cluster, Ended, call, open_cluster, until
from e2e.manifests import build_light_job
from environments.packages import make_wheel
from support.printed import find_printed, take_printed, type_printed
from support.tiers import keep_light

JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs"
ALIVE = "echo ready; exec sleep 1000"
Make = Callable[[Cluster], Ended]


@dataclass(frozen=True, slots=True)
class Command:
    """A command that an output has, and what it does there."""

    template: str
    """As in tests/cli/printed_commands.json."""
    says: str = ""
    """A part of what it prints."""
    code: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    """For NAME, URL, FILE."""
    then: Callable[[Cluster], object] | None = None
    """True once it has had its effect."""


def submit(cluster: Cluster, name: str, words: str, phase: str, **more: Any) -> str:
    """A job in this phase; its file."""
    file = cluster.write(build_light_job(name, words, **more))
    assert cluster.paddock("submit", file).code == 0
    until(f"{name} {phase}", lambda: cluster.phase(name) == phase)
    return file


def without_room(name: str) -> dict[str, Any]:
    job = build_light_job(name, "echo trained")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    return job


def waits(cluster: Cluster, job: dict[str, Any], why: str) -> str:
    """The job as it waits for `why`, created without what `submit` looks at first; its name."""
    name: str = job["metadata"]["name"]
    cluster.create(JOBS, job)
    until(f"{name} waits", lambda: why in cluster.paddock("explain", name).out)
    return name


def on(phase: str, name: str) -> Callable[[Cluster], bool]:
    return lambda cluster: cluster.phase(name) == phase


def is_gone(name: str) -> Callable[[Cluster], bool]:
    return lambda cluster: cluster.paddock("get", "jobs", name).code == 2


# Jobs that have failed.


def _failed(cluster: Cluster) -> Ended:
    submit(cluster, "st-failed", "echo last words; exit 3", "Failed")
    return cluster.paddock("explain", "st-failed")


def _examined(cluster: Cluster) -> Ended:
    submit(cluster, "st-examined", "echo last words; exit 3", "Failed")
    return cluster.paddock("doctor", "st-examined")


def _silent(cluster: Cluster) -> Ended:
    """It has printed nothing, so no command can show it."""
    submit(cluster, "st-silent", "exit 3", "Failed")
    return cluster.paddock("doctor", "st-silent")


def _not_started(cluster: Cluster) -> Ended:
    job = build_light_job("st-missing", "")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = ["no-such-program"]
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    until("its end", lambda: cluster.phase("st-missing") == "Failed")
    return cluster.paddock("explain", "st-missing")


def _ran(cluster: Cluster) -> Ended:
    return cluster.paddock("run", cluster.write(build_light_job("st-ran", "echo last words; exit 3")))


def _interrupted(cluster: Cluster) -> Ended:
    run = cluster.start("run", cluster.write(build_light_job("st-interrupted", ALIVE)))
    run.until_it_prints("ready\n")
    until("its phase, which comes after its output", lambda: cluster.phase("st-interrupted") == "Running")
    run.interrupt()
    return run.end()


def _deleted(cluster: Cluster) -> Ended:
    submit(cluster, "st-deleted", "echo last words", "Completed")
    assert cluster.paddock("delete", "st-deleted").code == 0
    return cluster.paddock("stacks", "st-deleted")


def _of_one_run(cluster: Cluster) -> Ended:
    submit(cluster, "st-single", "echo one", "Completed")
    return cluster.paddock("compare", "st-single")


# Jobs that rest, run or wait.


def _suspended(cluster: Cluster) -> Ended:
    submit(cluster, "st-rests", ALIVE, "Running")
    assert cluster.paddock("suspend", "st-rests").code == 0
    return cluster.paddock("explain", "st-rests")


def _submitted_again(cluster: Cluster) -> Ended:
    file = submit(cluster, "st-again", ALIVE, "Running")
    assert cluster.paddock("suspend", "st-again").code == 0
    return cluster.paddock("submit", file)


def _waited_for(cluster: Cluster) -> Ended:
    submit(cluster, "st-waited", ALIVE, "Running")
    assert cluster.paddock("suspend", "st-waited").code == 0
    return cluster.paddock("wait", "st-waited", "--timeout", "1s")


def _examined_at_rest(cluster: Cluster) -> Ended:
    submit(cluster, "st-at-rest", ALIVE, "Running")
    assert cluster.paddock("suspend", "st-at-rest").code == 0
    return cluster.paddock("doctor", "st-at-rest")


def _followed_at_rest(cluster: Cluster) -> Ended:
    submit(cluster, "st-followed", ALIVE, "Running")
    assert cluster.paddock("suspend", "st-followed").code == 0
    follow = cluster.start("logs", "st-followed", "-f")
    until("that it is suspended", lambda: "suspended" in follow.err)
    follow.interrupt()
    return follow.end()


def _taken(cluster: Cluster) -> Ended:
    file = submit(cluster, "st-taken", ALIVE, "Running")
    return cluster.paddock("run", file)


def _stopped(cluster: Cluster) -> Ended:
    submit(cluster, "st-stopped", ALIVE, "Running")
    return cluster.paddock("stop", "st-stopped")


def _without_stacks(cluster: Cluster) -> Ended:
    submit(cluster, "st-ended", "true", "Completed")
    return cluster.paddock("stacks", "st-ended")


def _cloned(cluster: Cluster) -> Ended:
    submit(cluster, "st-cloned", ALIVE, "Running")
    return cluster.paddock("clone", "st-cloned", "st-cloned")


def _just_submitted(cluster: Cluster) -> Ended:
    return cluster.paddock("submit", cluster.write(build_light_job("st-new", "echo trained")))


def _for_room(cluster: Cluster) -> Ended:
    return cluster.paddock("explain", waits(cluster, without_room("st-room"), "cannot start here"))


def _for_processors(cluster: Cluster) -> Ended:
    job = without_room("st-processors")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "10000"}}
    return cluster.paddock("explain", waits(cluster, job, "cannot start here"))


def _for_configuration(cluster: Cluster) -> Ended:
    job = build_light_job("st-configuration", "echo trained")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "st-nowhere"}}]
    return cluster.paddock("explain", waits(cluster, job, "cannot be started as it is written"))


def _no_pod(cluster: Cluster) -> Ended:
    submit(cluster, "st-entered", ALIVE, "Running")
    return cluster.paddock("exec", "pod/st-entered", "--", "true")


def _timed_out(cluster: Cluster) -> Ended:
    """It never ran: nothing that it printed can be shown."""
    job = build_light_job("st-late", ALIVE)
    job["spec"]["worker"]["template"]["spec"]["nodeSelector"] = {"paddock-late": "yes"}
    return cluster.paddock("run", cluster.write(job), "--timeout", "1s")


def _timed_out_running(cluster: Cluster) -> Ended:
    return cluster.paddock("run", cluster.write(build_light_job("st-slow", ALIVE)), "--timeout", "10s")


def _invalid(cluster: Cluster) -> Ended:
    job = build_light_job("st-invalid", "true")
    job["spec"]["worker"]["replicas"] = 0
    waits(cluster, job, "the manifest is wrong")
    return cluster.paddock("logs", "st-invalid")


def two_of_a_name(cluster: Cluster, name: str) -> None:
    """A PaddleJob that failed and a PyTorchJob that rests."""
    submit(cluster, name, "echo mine; exit 3", "Failed")
    container = {"name": "pytorch", "image": "python:3", "command": ["true"]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    other = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": worker}},
    }
    cluster.create("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs", other)


def _two_of_a_name(cluster: Cluster) -> Ended:
    """The kind was typed, so what is printed names it too."""
    two_of_a_name(cluster, "st-twin")
    return cluster.paddock("explain", "paddlejob/st-twin")


def _two_examined(cluster: Cluster) -> Ended:
    two_of_a_name(cluster, "st-pair")
    return cluster.paddock("doctor", "paddlejob/st-pair")


def _invalid_suspended(cluster: Cluster) -> Ended:
    """Nothing runs of it, so nothing is waited for."""
    job = build_light_job("st-wrong", "true")
    job["spec"]["worker"]["replicas"] = 0
    waits(cluster, job, "the manifest is wrong")
    refused = cluster.paddock("suspend", "st-wrong")
    assert refused.code == 2 and "nothing of it runs" in refused.err, str(refused)
    return cluster.paddock("doctor", "st-wrong")


def _of_another_manager(cluster: Cluster) -> Ended:
    """Nobody suspends it beside the local cluster, so nobody is waited for."""
    job = build_light_job("st-theirs", ALIVE)
    job["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    cluster.create(JOBS, job)
    suspended = cluster.paddock("suspend", "st-theirs")
    assert suspended.code == 0 and "is not waited for" in suspended.err, str(suspended)
    return cluster.paddock("wait", "st-theirs", "--timeout", "1s")


def _with_servers(cluster: Cluster) -> Ended:
    """Its worker ends once the server runs: one that has not begun is not kept."""
    job = build_light_job("st-kept", 'until [ -e "$PADDOCK_OUTPUT_DIR/go" ]; do sleep 0.1; done')
    container = {"name": "paddle", "image": "python:3", "command": ["sleep", "1000"]}
    job["spec"] |= {"cleanPodPolicy": "Never", "ps": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    until("it runs", lambda: cluster.phase("st-kept") == "Running")
    cluster.let_go("st-kept")
    until("its end", lambda: cluster.phase("st-kept") == "Completed")
    return cluster.paddock("explain", "st-kept")


# Names and what is not there.


def _gone_listed(cluster: Cluster) -> Ended:
    submit(cluster, "st-past", "echo last words", "Completed")
    assert cluster.paddock("delete", "st-past").code == 0
    return cluster.paddock("get", "jobs", "st-past")


def _not_listed(cluster: Cluster) -> Ended:
    submit(cluster, "st-there", "true", "Completed")
    return cluster.paddock("get", "jobs", "no-job-has-this-name")


def _listed_elsewhere(cluster: Cluster) -> Ended:
    job = build_light_job("st-where", "true")
    job["metadata"]["labels"] = {"asked": "st-where"}
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    return cluster.paddock("get", "-n", "kube-system", "-l", "asked in (st-where)")


def _queued_elsewhere(cluster: Cluster) -> Ended:
    submit(cluster, "st-queued", ALIVE, "Running")
    return cluster.paddock("queue", "-n", "kube-system")


def _no_run(cluster: Cluster) -> Ended:
    submit(cluster, "st-run", "true", "Completed")
    return cluster.paddock("outputs", "st-run", "--run", "99")


def _one_run_named(cluster: Cluster) -> Ended:
    submit(cluster, "st-same", "true", "Completed")
    return cluster.paddock("compare", "st-same:1", "st-same:1")


def _no_datasets(cluster: Cluster) -> Ended:
    (cluster.directory / "first").mkdir()
    return cluster.paddock("dataset", "list", "-n", "kube-system")


def _dataset_in_use(cluster: Cluster) -> Ended:
    (cluster.directory / "used").mkdir()
    made = cluster.paddock("dataset", "create", "st-used", "--from", str(cluster.directory / "used"))
    assert made.code == 0, str(made)
    job = for_data("st-user", "st-used")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "1000"]
    cluster.create(JOBS, job)
    until("it runs", lambda: cluster.phase("st-user") == "Running")
    return cluster.paddock("dataset", "create", "st-used", "--from", str(cluster.directory))


def _full_disk(cluster: Cluster) -> Ended:
    (cluster.directory / "large").mkdir()
    made = cluster.paddock("dataset", "create", "st-large", "--from", str(cluster.directory / "large"))
    assert made.code == 0, str(made)
    home = cluster.directory / "full"
    home.mkdir()
    (home / "node").symlink_to("/proc")  # which has no room at all
    return call(*PADDOCK, "status", environment={**cluster.environment, "PADDOCK_HOME": str(home)})


def _dataset_made(cluster: Cluster) -> Ended:
    return cluster.paddock("dataset", "create", "st-told", "--from", "https://127.0.0.1:9/words.txt")


def _environment_taken(cluster: Cluster) -> Ended:
    file = cluster.directory / "st-taken.txt"
    file.write_text("tiny\n")
    assert cluster.paddock("env", "create", "st-env-taken", "-r", str(file)).code == 0
    return cluster.paddock("env", "create", "st-env-taken", "-r", str(file))


def _no_program(cluster: Cluster) -> Ended:
    """A word that is a program, where a manifest is wanted."""
    (cluster.directory / "st_program.py").write_text("print('trained')\n")
    return call(*PADDOCK, "run", "st_program.py", environment=cluster.environment, directory=cluster.directory)


def _file_of(name: str, text: str, *verb: str) -> Make:
    """A file that is no manifest, handed to a verb."""

    def make(cluster: Cluster) -> Ended:
        (cluster.directory / name).write_text(text)
        (cluster.directory / "train.py").write_text("print('trained')\n")
        return call(*PADDOCK, *verb, name, environment=cluster.environment, directory=cluster.directory)

    return make


def _unknown(cluster: Cluster) -> Ended:
    submit(cluster, "st-listed", "true", "Completed")
    return cluster.paddock("describe", "no-job-of-this-name")


def _no_dataset(cluster: Cluster) -> Ended:
    return cluster.paddock("dataset", "describe", "st-no-dataset")


def _no_environment(cluster: Cluster) -> Ended:
    return cluster.paddock("env", "build", "st-no-environment")


# Datasets and environments that jobs wait for.


def for_data(name: str, dataset: str) -> dict[str, Any]:
    """Each job has a path of its own: without bubblewrap, pods at one path wait for each other."""
    job = build_light_job(name, f"cat /{name}/*")
    job["metadata"]["annotations"] = {"paddock.dev/datasets": f"{dataset}:/{name}"}
    return job


def _for_dataset(cluster: Cluster) -> Ended:
    (cluster.directory / "words").mkdir(exist_ok=True)
    (cluster.directory / "words" / "words.txt").write_text("trained on words\n")
    return cluster.paddock("explain", waits(cluster, for_data("st-data", "st-words"), "lacks"))


def _examined_for_dataset(cluster: Cluster) -> Ended:
    (cluster.directory / "more").mkdir(exist_ok=True)
    (cluster.directory / "more" / "words.txt").write_text("trained on more\n")
    return cluster.paddock("doctor", waits(cluster, for_data("st-data-2", "st-more"), "lacks"))


def _for_environment(cluster: Cluster) -> Ended:
    """`run` has given it up and suspended it; its file is mended since."""
    file = cluster.directory / "st-requirements.txt"
    index = cluster.directory / "st-index"
    name, wheel = make_wheel("tiny", "1.0")
    (index / "tiny").mkdir(parents=True)
    (index / "tiny" / name).write_bytes(wheel)
    (index / "tiny" / "index.html").write_text(f'<a href="{name}">{name}</a>')
    file.write_text("tinier==1.0\n")
    made = cluster.paddock("env", "create", "st-bad", "-r", str(file), "--index-url", index.as_uri())
    assert made.code == 0, str(made)
    job = build_light_job("st-env", "python3 -c 'import tiny; print(tiny.version)'")
    job["metadata"]["annotations"] = {"paddock.dev/environment": "st-bad"}
    ran = cluster.paddock("run", cluster.write(job))
    assert ran.code == 1 and "tinier" in ran.err, str(ran)
    file.write_text("tiny==1.0\n")
    return cluster.paddock("explain", "st-env")


def _beside(cluster: Cluster) -> Ended:
    job = build_light_job("st-beside", "echo trained", clean="Always")
    job["metadata"]["annotations"] = {"paddock.dev/success": "AllRanks:600"}
    beside = {"name": "metrics", "image": "busybox", "command": ["sh", "-c", "echo listens; exec sleep 1000"]}
    job["spec"]["worker"]["template"]["spec"]["containers"].append(beside)
    return cluster.paddock("explain", waits(cluster, job, "container metrics of worker-0 still runs"))


def _not_ready(cluster: Cluster) -> Ended:
    job = build_light_job("st-unready", ALIVE)
    probe = {"exec": {"command": ["sh", "-c", "echo no model; exit 1"]}, "periodSeconds": 1}
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe
    name = waits(cluster, job, "runs, and is not ready by its probe")
    until("the probe has failed", lambda: "no model" in cluster.paddock("describe", name).out)
    return cluster.paddock("explain", name)


def _in_the_console(cluster: Cluster) -> Ended:
    """The commands of some pages, a line each."""
    submit(cluster, "st-paged", "echo last words", "Completed")
    job = "jobs/default/paddlejobs.batch.paddlepaddle.org/st-paged"
    reader, found = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()), list[str]()
    with reader.open(cluster.link()) as entered:
        home = entered.url
    for place in (job, f"{job}/runs", "queue", "usage"):
        with reader.open(home + place) as answer:
            found += map(html.unescape, re.findall('data-copy="([^"]*)"', answer.read().decode()))
    return Ended(0, "\n".join(found), "")


STATES: Mapping[str, tuple[Make, list[Command]]] = {
    "pages of the console": (
        _in_the_console,
        [
            Command("paddock logs * --run **", "last words"),
            Command("paddock clone ***", "created", then=on("Completed", "st-paged-2")),
            Command("paddock queue**"),
            Command("paddock usage --since ****", "POD-HOURS"),
        ],
    ),
    "a job that failed is explained": (
        _failed,
        [Command("paddock logs {word}{where} --role {role} --rank {index}", "last words")],
    ),
    "a job that failed is examined": (
        _examined,
        [Command("paddock logs ** --role * --rank * --first-error", "last words")],
    ),
    "a job that failed has printed nothing": (_silent, []),
    "a program that is not there": (_not_started, [Command("paddock describe {word}{where}", "no-such-program")]),
    "a run that failed": (_ran, [Command("paddock logs **", "last words")]),
    "a run that was interrupted": (_interrupted, [Command("paddock logs **", "ready")]),
    "a job that is gone": (
        _deleted,
        [Command("paddock history **", "Completed"), Command("paddock logs **", "last words")],
    ),
    "one run is compared": (_of_one_run, [Command("paddock history *", "st-single run 1: Completed")]),
    "a suspended job is explained": (
        _suspended,
        [Command("paddock resume {word}{where}", "resumed", then=on("Running", "st-rests"))],
    ),
    "a suspended job is submitted again": (
        _submitted_again,
        [
            Command("paddock resume **", "resumed", then=on("Running", "st-again")),
            Command("paddock delete **", "deleted", then=is_gone("st-again")),
        ],
    ),
    "a suspended job is waited for": (
        _waited_for,
        [
            Command("paddock resume **", "resumed", then=on("Running", "st-waited")),
            Command("paddock describe **", "Status:    Running"),
        ],
    ),
    "a suspended job is examined": (_examined_at_rest, [Command("paddock explain **", "next: paddock resume st-at-")]),
    "a suspended job is followed no more": (
        _followed_at_rest,
        [
            Command("paddock resume **", "resumed", then=on("Running", "st-followed")),
            Command("paddock delete **", "deleted", then=is_gone("st-followed")),
        ],
    ),
    "a name that is taken by a job that runs": (
        _taken,
        [Command("paddock logs * -f*", "ready"), Command("paddock delete **", "deleted", then=is_gone("st-taken"))],
    ),
    "a verb that is not there": (
        _stopped,
        [
            Command("paddock cancel {job}", "cancelled", then=on("Failed", "st-stopped")),
            Command("paddock delete {job}", "deleted", then=is_gone("st-stopped")),
        ],
    ),
    "a job that has ended has no stacks": (_without_stacks, [Command("paddock explain **", "completed")]),
    "a clone of a name that is taken": (
        _cloned,
        [Command("paddock clone * **", "created", then=on("Running", "st-cloned-2"))],
    ),
    "a job that is submitted": (
        _just_submitted,
        [Command("paddock logs * -f*", "trained"), Command("paddock describe **", "Completed")],
    ),
    "a job that waits for room": (
        _for_room,
        [Command("paddock clone {word}{where}", "created", then=on("Completed", "st-room-2"))],
    ),
    "a job that waits for processors": (_for_processors, [Command("paddock queue{where}", "st-processors")]),
    "a job whose ConfigMap is not there": (
        _for_configuration,
        [Command("paddock describe {word}{where}", "st-nowhere")],
    ),
    "a pod that no job has": (_no_pod, [Command("paddock get pods*", "st-entered-worker-0")]),
    "a run that waited for room too long": (
        _timed_out,
        [
            Command("paddock resume **", "resumed"),
            Command("paddock delete **", "deleted", then=is_gone("st-late")),
        ],
    ),
    "a run that took too long": (
        _timed_out_running,
        [Command("paddock logs **", "ready"), Command("paddock delete **", "deleted", then=is_gone("st-slow"))],
    ),
    "a job that is not valid": (_invalid, [Command("paddock explain **", "spec.worker.replicas: found 0")]),
    "two jobs of one name": (
        _two_of_a_name,
        [Command("paddock logs {word}{where} --role {role} --rank {index}", "mine")],
    ),
    "two jobs of one name are examined": (
        _two_examined,
        [Command("paddock logs ** --role * --rank * --first-error", "mine")],
    ),
    "a job that is not valid is suspended": (_invalid_suspended, [Command("paddock explain **", "found 0")]),
    "a job of another manager is suspended": (_of_another_manager, [Command("paddock describe **", "multikueue")]),
    "a job whose servers are kept": (
        _with_servers,
        [Command("paddock delete {word}{where}", "deleted", then=is_gone("st-kept"))],
    ),
    "a job that is gone is listed": (
        _gone_listed,
        [Command("paddock history **", "Completed"), Command("paddock logs **", "last words")],
    ),
    "a job that never was is listed": (_not_listed, [Command("paddock get -A*", "st-there")]),
    "jobs of another namespace": (_listed_elsewhere, [Command("paddock get -A*", "st-where")]),
    "a queue of another namespace": (_queued_elsewhere, [Command("paddock queue -A*", "st-queued")]),
    "outputs of a run that is not kept": (_no_run, [Command("paddock history *", "st-run run 1")]),
    "a run is compared with itself": (_one_run_named, [Command("paddock history *", "st-same run 1")]),
    "no dataset": (
        _no_datasets,
        [Command("paddock dataset create NAME --from URL*", "created", words={"NAME": "st-first", "URL": "first"})],
    ),
    "a dataset that a job uses": (_dataset_in_use, [Command("paddock dataset ***", "fetched again")]),
    "a disk that is full": (
        _full_disk,
        [Command("paddock dataset rm NAME", "deleted", words={"NAME": "st-large"})],
    ),
    "a dataset that is made": (_dataset_made, [Command("paddock dataset ***", "st-told")]),
    "a name of an environment that is taken": (
        _environment_taken,
        [Command("paddock env update {name}", "unchanged")],
    ),
    "a program in the place of a manifest": (_no_program, [Command("paddock run *", "trained")]),
    "a shell script in the place of a manifest": (
        _file_of("st-script.sh", "python3 train.py --lr 0.1\n", "submit"),
        [
            Command("paddock run -- bash {file}", "trained"),
            Command("paddock init --from {file}", "paddock run job.yaml"),
        ],
    ),
    "a Makefile in the place of a manifest": (
        _file_of("Makefile", "train:\n\tpython3 train.py\n", "run"),
        [Command("paddock run -- make{option} {target}", "trained")],
    ),
    "a manifest where another file is wanted": (
        _file_of(
            "st-manifest.yaml",
            yaml.safe_dump(build_light_job("st-manifest", "echo trained")),
            "init",
            "--from",
        ),
        [Command("paddock run {file}", "trained"), Command("paddock validate {file}", "no problems")],
    ),
    "a job of no such name": (_unknown, [Command("paddock get -A*", "st-listed")]),
    "a dataset of no such name": (_no_dataset, [Command("paddock dataset list*")]),
    "an environment of no such name": (_no_environment, [Command("paddock env list", "IMAGES")]),
    "a job that waits for another container of its pod": (
        _beside,
        [Command("paddock logs {word}{where} --role {role} --rank {index} --container {container}", "listens")],
    ),
    "a container that runs and is not ready": (
        _not_ready,
        [Command("paddock describe {word}{where}", "Readiness probe failed: no model")],
    ),
    "a job that waits for a dataset": (
        _for_dataset,
        [
            Command(
                "paddock dataset create {dataset}{where} --from URL",
                "created",
                words={"URL": "words"},
                then=on("Completed", "st-data"),
            )
        ],
    ),
    "a job that waits for a dataset is examined": (
        _examined_for_dataset,
        [
            Command(
                "paddock dataset create ** --from URL",
                "created",
                words={"URL": "more"},
                then=on("Completed", "st-data-2"),
            )
        ],
    ),
    "a job that was given up for its environment": (
        _for_environment,
        [
            Command("paddock env build {environment}", "ready"),
            Command("paddock resume {word}{where}", "resumed", then=on("Completed", "st-env")),
        ],
    ),
}


LIGHT = frozenset({
    "pages of the console", "a job that failed is explained", "a job that failed has printed nothing",
    "a run that failed", "a suspended job is submitted again", "a suspended job is followed no more",
    "a name that is taken by a job that runs", "a verb that is not there", "a job that waits for room",
    "a run that waited for room too long", "a job that is not valid", "two jobs of one name",
    "a job that is gone is listed", "a dataset that a job uses",
    "a shell script in the place of a manifest", "a job that waits for a dataset",
})  # fmt: skip
"""One of each sort of advice. That every printed command can be typed is tests/cli/test_printed_commands.py's."""
SANDBOXED = frozenset({"a run that failed", "a suspended job is submitted again"})
"""Run in both sandboxes: of a container that has failed, and of one that was ended. What the others print comes from
objects of the API alone; that of a program that is not there is in tests/cli/test_commands.py."""


def mark(case: Any) -> Any:
    """A case of `keep_light`, which is its name where it is light."""
    return pytest.param(case, marks=pytest.mark.sandbox) if isinstance(case, str) and case in SANDBOXED else case


@pytest.fixture(scope="module")
def stated() -> Iterator[Cluster]:
    """One cluster for all states: each has jobs of its own."""
    with open_cluster("auto") as cluster:
        yield cluster


@pytest.mark.parametrize("state", [mark(case) for case in keep_light(STATES, LIGHT)])
def test_what_is_printed_works_where_it_is_printed(stated: Cluster, state: str) -> None:
    make, expected = STATES[state]
    ended = make(stated)
    said = f"{ended.out}\n{ended.err}"
    if not expected:
        assert find_printed(said) == [], str(ended)
    for each in expected:
        command = take_printed(said, each.template)
        typed = _type(stated, command, each)
        assert typed.code == each.code, f"{command}: {typed}"
        assert each.says in typed.out + typed.err, f"{command}: {typed}"
        if (then := each.then) is not None:
            until(f"{command} has its effect", lambda then=then: then(stated))


def _type(cluster: Cluster, command: str, expected: Command) -> Ended:
    """What follows a job that goes on is left once it has printed what is expected."""
    if " -f" not in command:
        return type_printed(cluster, command, expected.words, cluster.directory)
    follow = cluster.start(*command.split()[1:])
    begun = time.monotonic()
    until(f"{command}: {expected.says}", lambda: expected.says in follow.out, tell=lambda: (follow.out, follow.err))
    assert time.monotonic() - begun < 60
    follow.interrupt()
    left = follow.end()
    return Ended(0 if left.code == 130 else left.code, left.out, left.err)
