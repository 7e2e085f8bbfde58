"""The claim that a command fills, and the pod that fills it. Pure.

The pod runs as the job's pods do (image, user, nodes), without a token, a capability, a GPU or the job's Secrets. It
has the name of its claim and belongs to it: the API's names see to it that one pod at a time fills a claim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.app.filled_claims.contents import Content, Kind, list_variables
from paddock.app.filled_claims.mounts import MOUNT
from paddock.app.pods_beside import (
    IDENTITY,
    NO_SIDECAR,
    OF_NODES,
    SCRATCH,
    build_bounds,
    build_container_security,
    copy_fields,
)
from paddock.jobs.labels import CONTENT_ANNOTATION, FILL_LABEL, FILLED_ANNOTATION, USED_ANNOTATION
from paddock.kube.meta import CLAIMS, Manifest, annotations_of, is_deleting, labels_of, name_of, namespace_of, uid_of

PROGRAM = Path(__file__).with_name("paddock_fill.py")
TARGET = "/paddock/code"
CONTAINER = "fill"
REQUIREMENTS_VARIABLE = "PADDOCK_REQUIREMENTS"
PROGRAM_VARIABLE = "PADDOCK_FILL"
_BEGIN = f"import os; exec(os.environ['{PROGRAM_VARIABLE}'])"
"""The program is a variable of the container, as a command of exec is part of an address, which proxies cut."""
HOLD_SECONDS = 1800
"""How long a pod waits for a directory."""
_LONGEST_SECONDS = {Kind.PACKAGES: 4 * 3600, Kind.CODE: HOLD_SECONDS + 300}
_GROUP = 65532
"""The group that a new volume gets where the job's pods have none: it belongs to root, and the image's user may be
another."""
_VOLUME = "claim"


@dataclass(frozen=True, slots=True)
class Held:
    """A claim with one of our names, as it is."""

    name: str
    kind: str
    digest: str
    about: str
    size: str
    modes: tuple[str, ...]
    used: str
    """A time of the API; empty if it is not told."""
    report: Mapping[str, Any] | None
    """What its pod told when all was in it; None of a claim that is not filled."""
    is_going: bool = False
    """Deleted, and there until its last pod is gone."""

    def is_of(self, content: Content) -> bool:
        return self.kind == content.kind and self.digest == content.digest


def build_claim(
    content: Content, namespace: str, modes: Sequence[str], storage_class: str | None, now: str
) -> Manifest:
    """`storage_class`: None for the cluster's default, and an empty one for a volume of none."""
    said = {"digest": content.digest, "about": content.about}
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "name": content.name,
            "namespace": namespace,
            "labels": _build_labels(content),
            "annotations": {CONTENT_ANNOTATION: json.dumps(said, sort_keys=True), USED_ANNOTATION: now},
        },
        "spec": {
            "accessModes": list(modes),
            **({} if storage_class is None else {"storageClassName": storage_class}),
            "resources": {"requests": {"storage": content.size}},
        },
    }


def _build_labels(content: Content) -> dict[str, str]:
    return {FILL_LABEL: str(content.kind), "app.kubernetes.io/managed-by": "paddock"}


def read_claim(claim: Mapping[str, Any]) -> Held | None:
    """None of a claim that no command of ours has made."""
    kind = labels_of(claim).get(FILL_LABEL, "")
    said = _read_json(annotations_of(claim).get(CONTENT_ANNOTATION))
    if not kind or said is None:
        return None
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    asked = (spec.get("resources") or {}).get("requests") or {}
    return Held(
        name_of(claim), kind, str(said.get("digest") or ""), str(said.get("about") or ""),
        str(asked.get("storage") or ""), tuple(status.get("accessModes") or spec.get("accessModes") or ()),
        annotations_of(claim).get(USED_ANNOTATION, ""), _read_json(annotations_of(claim).get(FILLED_ANNOTATION)),
        is_going=is_deleting(claim),
    )  # fmt: skip


def _read_json(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def build_used(now: str, report: Mapping[str, Any] | None = None) -> Manifest:
    """A patch of the claim. `report`: where it has just been filled."""
    filled = {} if report is None else {FILLED_ANNOTATION: json.dumps(report, sort_keys=True)}
    return {"metadata": {"annotations": {USED_ANNOTATION: now, **filled}}}


def name_pod(claim: str) -> str:
    return f"{claim}-fill"


def build_receiving(content: Content, size: int, digest: str) -> tuple[str, ...]:
    """The command by which a pod that holds the claim takes an archive of `size` bytes."""
    return (content.python, "-c", _BEGIN, "receive", TARGET, str(size), digest)


def build_pod(content: Content, claim: Mapping[str, Any]) -> Manifest:
    template = content.template.get("spec") or {}
    mount = MOUNT if content.kind is Kind.PACKAGES else TARGET
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name_pod(content.name),
            "namespace": namespace_of(claim),
            "labels": {**_build_labels(content), **NO_SIDECAR},
            "ownerReferences": [
                {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "name": name_of(claim), "uid": uid_of(claim)}
            ],
        },
        "spec": {
            **copy_fields(template, OF_NODES),
            **_build_affinity(template),
            **build_bounds(_LONGEST_SECONDS[content.kind]),
            "securityContext": _build_pod_security(template.get("securityContext") or {}),
            "containers": [_build_container(content, mount)],
            "volumes": [
                {"name": _VOLUME, "persistentVolumeClaim": {"claimName": name_of(claim)}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    }


def _build_container(content: Content, mount: str) -> Manifest:
    container = content.container
    words = ["install", mount] if content.kind is Kind.PACKAGES else ["hold", mount, str(HOLD_SECONDS)]
    return {
        "name": CONTAINER,
        "image": content.image,
        **copy_fields(container, ("imagePullPolicy",)),
        "command": [content.python, "-c", _BEGIN, *words],
        "workingDir": "/",
        "env": _build_variables(content),
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"cpu": "2", "memory": "4Gi"},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": build_container_security(container),
        "volumeMounts": [{"name": _VOLUME, "mountPath": mount}, {"name": "scratch", "mountPath": SCRATCH}],
    }


def _build_variables(content: Content) -> list[Manifest]:
    # Where NVIDIA's runtime is the default, an image of CUDA has all GPUs of its node unless it says otherwise.
    # HOME is that of the image's user: what pip is told there, counts.
    values = {"PADDOCK_SCRATCH": SCRATCH, "NVIDIA_VISIBLE_DEVICES": "void", "PYTHONUNBUFFERED": "1"}
    values[PROGRAM_VARIABLE] = PROGRAM.read_text(encoding="utf-8")
    if content.kind is Kind.PACKAGES:
        values[REQUIREMENTS_VARIABLE] = content.requirements
    values = {name: value.replace("$", "$$") for name, value in values.items()}  # Kubernetes replaces $(NAME)
    own = [{"name": name, "value": value} for name, value in values.items()]
    return [*(list_variables(content.container) if content.kind is Kind.PACKAGES else ()), *own]


def _build_pod_security(context: Mapping[str, Any]) -> dict[str, Any]:
    """What is in the volume is not gone through again where its root has the group."""
    return {
        **copy_fields(context, (*IDENTITY, "supplementalGroups")),
        "fsGroup": context.get("fsGroup") or _GROUP,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _build_affinity(template: Mapping[str, Any]) -> dict[str, Any]:
    """To nodes alone: what a job says of pods is about its own."""
    wanted = (template.get("affinity") or {}).get("nodeAffinity")
    return {"affinity": {"nodeAffinity": wanted}} if wanted else {}
