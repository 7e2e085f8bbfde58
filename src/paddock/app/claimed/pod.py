"""The pod that reads what runs have written into a claim. Pure.

It has the claim read-only, an image with python3, and the user and groups of the job's pods, whose files it reads; no
token, no capability, no variable of the job's. It ends by itself when nothing was run in it for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.app.pods_beside import (
    NO_SIDECAR,
    OF_NODES,
    SCRATCH,
    Pin,
    build_affinity,
    build_bounds,
    build_container_security,
    build_pod_security,
    build_variables,
    copy_fields,
    find_container,
    refer_to,
)
from paddock.jobs.apis.outputs import OUTPUT_PATH
from paddock.jobs.model import Job
from paddock.jobs.names import LONGEST_NAME, job_label
from paddock.jobs.objects.outputs import run_path
from paddock.kube.meta import Manifest, is_deleting, name_of

PROGRAM = Path(__file__).with_name("paddock_pod_files.py")
CLAIM_PATH = "/paddock/claim"
CONTAINER = "files"
NAME = "paddock-outputs"
LONGEST_SECONDS = 8 * 3600
IDLE_SECONDS = 60
_SUFFIX = "-outputs-"


@dataclass(frozen=True, slots=True)
class Source:
    """Of which job a pod takes image, user and nodes."""

    job: Job | None
    """None where the namespace has none, and the image alone is known."""
    image: str


def read_program() -> str:
    return PROGRAM.read_text(encoding="utf-8")


_RECEIVE = "import sys; exec(sys.stdin.buffer.read(int(sys.argv[3])))"


def build_command(root: str) -> tuple[str, ...]:
    """The words of exec that answer requests about the files below `root`, once they have read `read_program` from
    their input: words of exec are part of an address, and servers and proxies take one of 8 KiB at most."""
    return ("python3", "-c", _RECEIVE, "serve", root, str(len(read_program().encode())))


def name_pod(job: str, mark: str) -> str:
    """`mark`: a random part, as two commands may read one job's files at once."""
    return job[: LONGEST_NAME - len(_SUFFIX) - len(mark)].rstrip("-.") + _SUFFIX + mark


def build_pod(
    namespace: str, job: str, claim: str, source: Source, mark: str, owner: Job | None = None, pin: Pin | None = None
) -> Manifest:
    """`owner`: the job, with which it goes; None for one that is deleted. `pin`: where the claim has to be read."""
    template, container = _read_template(source.job)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name_pod(job, mark),
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/name": NAME,
                "app.kubernetes.io/instance": job_label(job),
                "app.kubernetes.io/managed-by": "paddock",
                **NO_SIDECAR,
            },
            **({"ownerReferences": [refer_to(owner)]} if owner is not None else {}),
        },
        "spec": {
            **copy_fields(template, OF_NODES),
            **({"affinity": build_affinity(pin)} if pin else {}),
            **build_bounds(LONGEST_SECONDS),
            "securityContext": build_pod_security(template.get("securityContext") or {}),
            "containers": [
                {
                    "name": CONTAINER,
                    "image": source.image,
                    **copy_fields(container, ("imagePullPolicy",)),
                    "command": ["python3", "-c", read_program(), "wait", str(IDLE_SECONDS)],
                    "workingDir": "/",
                    "env": build_variables(),
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "512Mi"},
                    },
                    "securityContext": build_container_security(container),
                    "volumeMounts": [
                        {"name": "claim", "mountPath": CLAIM_PATH, "readOnly": True},
                        {"name": "scratch", "mountPath": SCRATCH},
                    ],
                }
            ],
            "volumes": [
                {"name": "claim", "persistentVolumeClaim": {"claimName": claim}},
                {"name": "scratch", "emptyDir": {"sizeLimit": "16Mi"}},
            ],
        },
    }


def _read_template(job: Job | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The spec of the pods of its first role, and their container that trains."""
    return (job.roles[0].template["spec"], find_container(job, job.roles[0])) if job is not None else ({}, {})


def read_image(job: Job) -> str:
    """That of the pods of its first role; empty where it names none, as on a laptop."""
    return str(find_container(job, job.roles[0]).get("image") or "")


def choose_source(job: Job | None, others: Iterable[Job], claim: str, image: str) -> Source | None:
    """Of whose image and user the pod is: the job's; where it is deleted, those of the newest job of the namespace that
    writes into the same claim, else of the newest one. `image`: of the command line, empty without. None where nothing
    says an image."""
    ranked = sorted(others, key=lambda each: (each.outputs == claim, each.created or 0.0), reverse=True)
    found = next((each for each in ([job] if job else ranked) if image or read_image(each)), None)
    chosen = image or (read_image(found) if found is not None else "")
    return Source(found, chosen) if chosen else None


def find_running(job: Job, pods: Iterable[Manifest]) -> tuple[str, str] | None:
    """A pod of the job that runs and has the directory of its run, and the container that has it: the files are read
    in it then. None where there is none."""
    for pod in sorted(pods, key=name_of):
        if is_deleting(pod) or (pod.get("status") or {}).get("phase") != "Running":
            continue
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        running = {each.get("name") for each in statuses if "running" in (each.get("state") or {})}
        for container in pod["spec"]["containers"]:
            if container.get("name") in running and _has_run(job, container):
                return name_of(pod), str(container["name"])
    return None


def _has_run(job: Job, container: Mapping[str, object]) -> bool:
    mounts = container.get("volumeMounts")
    return any(
        each.get("mountPath") == OUTPUT_PATH and each.get("subPath") == run_path(job)
        for each in (mounts if isinstance(mounts, list) else ())
    )
