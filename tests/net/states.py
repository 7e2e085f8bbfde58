"""The states of jobs that the net looks at, as a user brings them about: a manifest, a command, what is waited for.

`net.record` makes them once on a real local cluster and writes what is there then to `places/laptop`; the tests read
that and start nothing. Each state has a namespace of its own, named as it is, so that `get -n STATE` shows it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from e2e.manifests import build_light_job

ALIVE = "echo ready; exec sleep 100000"
STEPS = "for i in 1 2 3 4 5 6; do echo epoch 0 step $i/6 loss $((7 - i)).25 acc 0.$i; done"
TRACEBACK = """\
cat >&2 <<END
Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 33, in main
    loss = model(batch)
RuntimeError: shapes (8, 3) and (4, 2) do not fit
END
exit 1
"""
Edit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class State:
    """One job, or several of a namespace."""

    jobs: Sequence[Mapping[str, Any]]
    """Their manifests, created in this order as kubectl would."""
    until: str
    """The phase of the last job, or a part of what `explain` says of it."""
    then: Sequence[tuple[Sequence[str], str]] = ()
    """Commands of `paddock`, `-n STATE` behind each, and what is waited for as in `until`."""
    phases: Mapping[str, str] = field(default_factory=dict)
    """What the jobs before the last are waited for."""
    patch: Mapping[str, Any] | None = None
    """Merged into the last job once `until` holds."""
    pause: float = 0
    """Seconds that the last job then goes on."""
    ends: bool = True
    """Whether `paddock run` of it ends by itself, so that the net shows its end."""


def job(name: str, script: str, *edits: Edit, **more: Any) -> dict[str, Any]:
    made = build_light_job(name, script, **more)
    for edit in edits:
        edit(made)
    return made


def container(made: dict[str, Any], role: str = "worker") -> dict[str, Any]:
    found: dict[str, Any] = made["spec"][role]["template"]["spec"]["containers"][0]
    return found


def policy(**fields: Any) -> Edit:
    return lambda made: made["spec"].update(runPolicy=fields)


def restart(word: str) -> Edit:
    return lambda made: made["spec"]["worker"]["template"]["spec"].update(restartPolicy=word)


def annotated(**more: str) -> Edit:
    named = {f"paddock.dev/{name.replace('_', '-')}": text for name, text in more.items()}
    return lambda made: made["metadata"].setdefault("annotations", {}).update(named)


def limits(**amounts: Any) -> Edit:
    named = {name.replace("gpu", "nvidia.com/gpu"): amount for name, amount in amounts.items()}
    return lambda made: container(made).update(resources={"limits": named})


def requests(**amounts: Any) -> Edit:
    return lambda made: container(made).update(resources={"requests": amounts})


def with_container(**fields: Any) -> Edit:
    return lambda made: container(made).update(fields)


def with_pod(**fields: Any) -> Edit:
    return lambda made: made["spec"]["worker"]["template"]["spec"].update(fields)


def beside(name: str, script: str) -> Edit:
    more = {"name": name, "image": "busybox", "command": ["sh", "-c", script]}
    return lambda made: made["spec"]["worker"]["template"]["spec"]["containers"].append(more)


def no_replicas(made: dict[str, Any]) -> None:
    made["spec"]["worker"]["replicas"] = 0


def pytorch(name: str, master: str, worker: str = "", workers: int = 0, **run_policy: Any) -> dict[str, Any]:
    def role(script: str, replicas: int) -> dict[str, Any]:
        trains = {"name": "pytorch", "image": "python:3", "command": ["sh", "-c", script]}
        return {"replicas": replicas, "restartPolicy": "Never", "template": {"spec": {"containers": [trains]}}}

    roles = {"Master": role(master, 1), **({"Worker": role(worker, workers)} if workers else {})}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None", **run_policy}, "pytorchReplicaSpecs": roles},
    }  # fmt: skip


def kubeflow_paddle(name: str, script: str) -> dict[str, Any]:
    trains = {"name": "paddle", "image": "python:3", "command": ["sh", "-c", script]}
    worker = {"replicas": 2, "restartPolicy": "Never", "template": {"spec": {"containers": [trains]}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob", "metadata": {"name": name},
            "spec": {"paddleReplicaSpecs": {"Worker": worker}}}  # fmt: skip


BY_RANK = 'case "$PADDLE_TRAINER_ID" in 1) {one} ;; *) {other} ;; esac'
STATES: Mapping[str, State] = {
    # Jobs that completed.
    "completed": State([job("done", f"{STEPS}; echo trained", workers=2)], "Completed"),
    "completed-with-servers": State(
        [job("served", f"sleep 1; {STEPS}", ps="echo listens; exec sleep 100000", clean="Always")], "Completed"
    ),
    "completed-and-silent": State([job("quiet", "true")], "Completed"),
    "completed-though-a-rank-failed": State(
        [pytorch("partly", "sleep 1; echo trained", "sleep 13; echo not me; exit 4", 1)],
        "Completed",
        then=[(("wait", "partly", "--timeout", "40s"), "Completed")],
    ),
    "completed-after-a-restart": State(
        [
            job(
                "again",
                f"if [ -e $PADDOCK_OUTPUT_DIR/was ]; then {STEPS}; else touch $PADDOCK_OUTPUT_DIR/was; "
                "echo first; exit 7; fi",
                restart("OnFailure"),
            )
        ],
        "Completed",
    ),
    "completed-pytorch": State([pytorch("torch-done", f"{STEPS}", f"{STEPS}; sleep 1", 2)], "Completed"),
    "completed-kubeflow-paddle": State([kubeflow_paddle("kube-done", STEPS)], "Completed"),
    "completed-with-outputs": State(
        [
            job(
                "writes",
                f"{STEPS}; printf 'a,b\\n1,2\\n' > $PADDOCK_OUTPUT_DIR/history.csv; "
                "mkdir $PADDOCK_OUTPUT_DIR/model; echo weights > $PADDOCK_OUTPUT_DIR/model/final.pdparams",
            )
        ],
        "Completed",
    ),
    "completed-twice": State(
        [job("twice", f"{STEPS} # --lr 0.1")],
        "Completed",
        [(("delete", "twice"), "gone"), (("submit", "FILE"), "Completed")],
    ),
    # Jobs that failed.
    "failed": State([job("failed", "echo last words; exit 3")], "Failed"),
    "failed-silently": State([job("mute", "exit 3")], "Failed"),
    "failed-by-an-exception": State(
        [
            job(
                "raises",
                BY_RANK.format(one=TRACEBACK, other="sleep 2; echo Connection closed by peer; exit 250"),
                workers=2,
            )
        ],
        "Failed",
    ),
    "failed-without-its-program": State([job("missing", "", with_container(command=["no-such-program"]))], "Failed"),
    "failed-without-a-module": State(
        [job("lacks-module", "", with_container(image="python:3", command=["python3", "-c", "import no_such_module"]))],
        "Failed",
    ),
    "failed-by-a-kill": State([job("killed", "echo ready; kill -9 $$$$")], "Failed"),
    "failed-by-a-segfault": State([job("segfault", "echo ready; kill -SEGV $$$$")], "Failed"),
    "failed-after-restarts": State(
        [job("thrice", "echo try; exit 9", restart("OnFailure"), policy(backoffLimit=1))], "Failed"
    ),
    "failed-by-its-deadline": State([job("late", ALIVE, policy(activeDeadlineSeconds=2))], "Failed"),
    "failed-by-its-server": State([job("server-ends", ALIVE, ps="echo port taken; exit 5")], "Failed"),
    "failed-pytorch": State(
        [pytorch("torch-failed", "sleep 2; echo Connection closed by peer; exit 1", TRACEBACK, 1)], "Failed"
    ),
    "failed-for-memory": State(
        [job("cuda", "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB' >&2; exit 1")],
        "Failed",
    ),
    "failed-with-foreign-text": State(
        [job("foreign", "printf '\\033[31m第 1 轮 损失: 0.5\\033[0m\\n<script>alert(1)</script>\\n'; exit 1")], "Failed"
    ),
    "cancelled": State([job("ended", ALIVE)], "Running", [(("cancel", "ended"), "Failed")], ends=False),
    # Jobs that rest or run.
    "suspended": State([job("rests", ALIVE)], "Running", [(("suspend", "rests"), "Suspended")], ends=False),
    "running": State([job("going", f"{STEPS}; {ALIVE}", workers=2)], "Running", ends=False),
    "running-many": State([job("many", ALIVE, requests(cpu="10m"), workers=10)], "Running", ends=False),
    "running-pytorch": State([pytorch("torch-going", ALIVE, ALIVE, 1)], "Running", ends=False),
    "running-again": State(
        [
            job(
                "renewed",
                f"if [ -e $PADDOCK_OUTPUT_DIR/was ]; then {ALIVE}; else touch $PADDOCK_OUTPUT_DIR/was; "
                "echo first; exit 7; fi",
                restart("OnFailure"),
            )
        ],
        "Running",
        pause=15,
        ends=False,
    ),
    "running-with-a-wrong-edit": State(
        [job("edited", ALIVE)], "Running", patch={"spec": {"worker": {"replicas": 0}}}, ends=False
    ),
    "restarting": State([job("fails-on", "echo try; exit 9", restart("OnFailure"))], "restart 2", ends=False),
    "not-ready": State(
        [
            job(
                "unready",
                ALIVE,
                with_container(
                    readinessProbe={"exec": {"command": ["sh", "-c", "echo no model; exit 1"]}, "periodSeconds": 1}
                ),
            )
        ],
        "is not ready by its probe",
        ends=False,
    ),
    "waiting-for-a-side-car": State(
        [
            job(
                "beside",
                "echo trained",
                annotated(success="AllRanks:600"),
                beside("metrics", "echo listens; exec sleep 100000"),
                clean="Always",
            )
        ],
        "container metrics of worker-0 still runs",
        ends=False,
    ),
    "many-kinds": State(
        [job("twin", "echo mine; exit 3"), pytorch("twin", "true", suspend=True)],
        "Suspended",
        phases={"twin": "Failed"},
        ends=False,
    ),
    # Jobs that wait.
    "waiting-for-gpus": State([job("wants-gpus", "true", limits(gpu=4))], "cannot start here", ends=False),
    "waiting-for-processors": State([job("wants-cpus", "true", requests(cpu="10000"))], "cannot start", ends=False),
    "waiting-for-a-node": State(
        [job("wants-node", "true", with_pod(nodeSelector={"zone": "far"}))], "Pending", ends=False
    ),
    "waiting-for-a-config-map": State(
        [job("wants-config", "true", with_container(envFrom=[{"configMapRef": {"name": "nowhere"}}]))],
        "cannot be started as it is written",
        ends=False,
    ),
    "waiting-for-a-dataset": State(
        [job("wants-data", "cat /words/*", annotated(datasets="words:/words"))], "lacks", ends=False
    ),
    "waiting-for-an-environment": State(
        [job("wants-env", "true", annotated(environment="no-such-environment"))], "no-such-environment", ends=False
    ),
    "waiting-for-a-claim": State(
        [
            job(
                "wants-claim",
                "true",
                with_pod(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]),
                with_container(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
            )
        ],
        "Pending",
        ends=False,
    ),
    "waiting-for-a-quota": State([job("over-quota", "true", requests(cpu="1"))], "quota", ends=False),
    "invalid": State([job("invalid", "true", no_replicas)], "the manifest is wrong", ends=False),
    "of-another-manager": State(
        [job("theirs", ALIVE, policy(managedBy="kueue.x-k8s.io/multikueue"))], "managed", ends=False
    ),
    # Jobs that are gone.
    "gone": State([job("past", f"{STEPS}; echo trained")], "Completed", [(("delete", "past"), "gone")], ends=False),
    "gone-while-it-ran": State([job("stopped", ALIVE)], "Running", [(("delete", "stopped"), "gone")], ends=False),
    "gone-after-it-failed": State(
        [job("lost", "echo last words; exit 3", policy(ttlSecondsAfterFinished=1))], "gone", ends=False
    ),
}
"""`FILE` in `then`: the file of the job of before, with another argument."""
