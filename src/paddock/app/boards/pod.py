"""The pod of a board on a cluster: beside the job's files and without its rights. Pure.

It has the job's image (or another), the claim read-only where the job has it, no token of a service account, no
capability and no GPU, and the user and groups of the job's pods, whose files it reads. It listens on its loopback
alone, so that only who may forward its ports sees the board.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

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
from paddock.jobs.model import Job, Role
from paddock.jobs.names import LONGEST_NAME, job_label
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of, is_deleting, labels_of, metadata

PROGRAM = Path(__file__).with_name("paddock_pod_board.py")
LONGEST_SECONDS = 8 * 3600
IDLE_MINUTES = 10
STEP_SECONDS = 15
ANY = "any"
"""In place of a program: the one that the files call for."""
SUFFIX = "-board"
ANNOTATION = "paddock.dev/board"
"""On the pod of a board: JSON of what it shows, and the secret part of the path of its pages."""
NAME_LABEL = "app.kubernetes.io/name"
NAME = "paddock-board"
_CONTAINER = "board"
_VOLUME = "files"
_PLACE = re.compile(r"[A-Za-z0-9_-]{16,64}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a board shows: two commands that ask for the same share a pod."""

    claim: str
    path: str
    """mountPath, the job's own."""
    below: str
    """subPath."""
    directory: str
    image: str
    wanted: str
    """`tensorboard`, `visualdl` or `ANY`."""


def read_program() -> str:
    return PROGRAM.read_text(encoding="utf-8")


def find_role(job: Job, path: str) -> Role:
    """The first role whose pods have something mounted there."""
    having = (
        role
        for role in job.roles
        if any(each.get("mountPath") == path for each in find_container(job, role).get("volumeMounts") or ())
    )
    return next(having, job.roles[0])


def name_board(job: str) -> str:
    """Of the pod; a job's name may be as long as a pod's."""
    return job[: LONGEST_NAME - len(SUFFIX)].rstrip("-.") + SUFFIX


def choose_image(job: Job, path: str, image: str) -> str:
    """`image`, or else that of the pods that have the claim at `path`; empty where the job names none, as on a
    laptop."""
    return image or str(find_container(job, find_role(job, path)).get("image") or "")


def build_pod(job: Job, asked: Asked, *, place: str, language: str, idle: int, pin: Pin | None = None) -> Manifest:
    """`place`: a secret part of the path of its pages. `idle`: seconds."""
    role = find_role(job, asked.path)
    template, container = role.template["spec"], find_container(job, role)
    first = "visualdl" if job.framework == "paddle" else "tensorboard"
    words = [asked.wanted, first, build_prefix(place), language, str(idle), str(STEP_SECONDS), asked.directory]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name_board(job.key.name),
            "namespace": job.key.namespace,
            "labels": {
                NAME_LABEL: NAME,
                "app.kubernetes.io/instance": job_label(job.key.name),
                "app.kubernetes.io/managed-by": "paddock",
                **NO_SIDECAR,
            },
            "annotations": {
                ANNOTATION: json.dumps({**asdict(asked), "place": place}, sort_keys=True),
                **copy_fields(annotations_of(role.template), (ENVIRONMENT_ANNOTATION,)),
            },
            "ownerReferences": [refer_to(job)],
        },
        "spec": {
            **copy_fields(template, OF_NODES),
            **({"affinity": build_affinity(pin)} if pin else {}),
            **build_bounds(LONGEST_SECONDS),
            "securityContext": build_pod_security(template.get("securityContext") or {}),
            "containers": [
                {
                    "name": _CONTAINER,
                    **({"image": asked.image} if asked.image else {}),
                    **copy_fields(container, ("imagePullPolicy",)),
                    "command": ["python3", "-c", read_program(), *words],
                    "workingDir": "/",
                    "env": build_variables(),
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "256Mi"},
                        "limits": {"cpu": "1", "memory": "2Gi"},
                    },
                    "securityContext": build_container_security(container),
                    "volumeMounts": [
                        {
                            "name": _VOLUME,
                            "mountPath": asked.path,
                            "readOnly": True,
                            **({"subPath": asked.below} if asked.below else {}),
                        },
                        {"name": "scratch", "mountPath": SCRATCH},
                    ],
                }
            ],
            "volumes": [
                # readOnly stands at the mount: here it would ask the storage for another way to attach the volume
                {"name": _VOLUME, "persistentVolumeClaim": {"claimName": asked.claim}},
                {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
            ],
        },
    }


def build_prefix(place: str) -> str:
    """The path of all pages of a board, as `proxy.Access.root` has it."""
    return f"/s/{place}"


@dataclass(frozen=True, slots=True)
class Found:
    """A pod of the board's name."""

    asked: Asked | None
    """None for a pod that is no board of this job."""
    place: str
    ended: bool
    """Or about to be."""


def read_board(pod: Manifest, job: Job) -> Found:
    """Whether a pod is a board of this job, and of what."""
    ended = is_deleting(pod) or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    owned = any(each.get("uid") == job.uid for each in metadata(pod).get("ownerReferences") or ())
    try:
        told = json.loads(annotations_of(pod).get(ANNOTATION) or "null")
        place = str(told.pop("place"))
        asked = Asked(**told)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Found(None, "", ended)
    is_board = labels_of(pod).get(NAME_LABEL) == NAME and _PLACE.fullmatch(place) is not None
    return Found(asked if is_board and (owned or ended) else None, place, ended)
