"""Jobs and pods as rows and sentences for the screen. Pure: manifests and a moment in, text out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.explain import explain
from paddock.jobs.labels import ROLE_LABEL
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest, Resource, annotations_of, labels_of, metadata, name_of, namespace_of
from paddock.kube.times import Moment, format_duration, read_time

JOB_HEADER = ("NAME", "STATUS", "MODE", "PS", "WORKER", "AGE", "WHY")
POD_HEADER = ("NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "WHY")
ENVIRONMENT_HEADER = ("NAME", "STATUS", "PROGRESS", "AGE", "WHAT")


GIVEN_UP = "paddock.dev/timed-out"
"""The annotation of a job that `paddock run` has suspended, with the reason: empty for --timeout, else a cause as JSON
(`write_given_up`). One that a user suspended has none."""


def write_given_up(cause: CauseRecord) -> str:
    return json.dumps({"reason": cause.reason, "args": dict(cause.args), "since": cause.since}, ensure_ascii=False)


def read_given_up(job: Mapping[str, Any]) -> CauseRecord | None:
    """Why `paddock run` suspended it; None where it did not, or by its --timeout."""
    try:
        kept = json.loads(annotations_of(job).get(GIVEN_UP) or "null")
        return CauseRecord(str(kept["reason"]), dict(kept["args"]), kept["since"]) if kept else None
    except (ValueError, KeyError, TypeError):  # somebody else's words
        return None


def read_status(resource: Resource, job: Mapping[str, Any]) -> Status:
    """As it is recorded; but of a job that `paddock run` has given up, the cause is why, not that it is suspended."""
    status = KINDS[resource].read_status(job)
    given_up = read_given_up(job) if status.phase is Phase.SUSPENDED else None
    return replace(status, cause=given_up) if given_up else status


def age(manifest: Mapping[str, Any], now: Moment) -> str:
    created = read_time(metadata(manifest).get("creationTimestamp"))
    return "<unknown>" if created is None else format_duration(now - created)


def job_row(resource: Resource, job: Mapping[str, Any], now: Moment, language: str = "en") -> list[str]:
    """A line of `paddock get`; WHY is the recorded cause's sentence. PS has the parameter servers under either of their
    names: kubeflow.org calls the role Master."""
    status = read_status(resource, job)
    roles = {name.lower(): counts for name, counts in status.roles.items()}
    if "master" in roles:
        roles.setdefault("ps", roles["master"])
    why = explain(status.cause, language) if status.cause else ""
    return [
        name_of(job),
        status.phase or "Pending",
        status.mode,
        *(roles[role].ready if role in roles else "" for role in ("ps", "worker")),
        age(job, now),
        why,
    ]


def pod_row(pod: Mapping[str, Any], now: Moment) -> list[str]:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    ready = sum(1 for each in containers if each.get("ready"))
    wanted = len((pod.get("spec") or {}).get("containers") or ())
    reason, message = _pod_state(pod)
    restarts = sum(int(each.get("restartCount") or 0) for each in containers)
    return [
        name_of(pod),
        f"{ready}/{wanted}",
        reason,
        str(restarts),
        age(pod, now),
        str(status.get("podIP") or "<none>"),
        str((pod.get("spec") or {}).get("nodeName") or "<none>"),
        " ".join(message.split()),
    ]


def _pod_state(pod: Mapping[str, Any]) -> tuple[str, str]:
    """What kubectl shows as STATUS, and the sentence behind it."""
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if metadata(pod).get("deletionTimestamp"):
        return "Terminating", ""
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        if waiting := state.get("waiting"):
            return str(waiting.get("reason") or phase), str(waiting.get("message") or "")
        if (ended := state.get("terminated")) and ended.get("exitCode"):
            return str(ended.get("reason") or "Error"), str(ended.get("message") or f"exit code {ended['exitCode']}")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return phase, str(condition.get("message") or "")
    return {"Succeeded": "Completed"}.get(phase, phase), str(status.get("message") or "")


def ended_message(pod: Mapping[str, Any]) -> str:
    """What an ended container left as its last word, or the kubelet about it; empty if nobody said anything."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        if message := ((each.get("state") or {}).get("terminated") or {}).get("message"):
            return " ".join(str(message).split())
    return ""


def environment_row(environment: Mapping[str, Any], now: Moment) -> list[str]:
    status = environment.get("status") or {}
    progress = status.get("progress")
    spec = environment.get("spec") or {}
    what = str(status.get("message") or ", ".join(spec.get("requirements") or ()) or "programs of this machine")
    return [
        name_of(environment),
        str(status.get("phase") or "Pending"),
        "" if progress is None else f"{progress} %",
        age(environment, now),
        " ".join(what.split()),
    ]


def rank_name(pod: Mapping[str, Any]) -> str:
    """`worker-0`: the pod's name without the job's."""
    role = labels_of(pod).get(ROLE_LABEL) or annotations_of(pod).get("paddle-resource")
    name = name_of(pod)
    return f"{role}-{name.rpartition('-')[2]}" if role else name


def with_namespace(
    objects: Sequence[Manifest], header: Sequence[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """The same table with NAMESPACE first, for `-A`."""
    placed = [[namespace_of(each), *row] for each, row in zip(objects, rows, strict=True)]
    return ["NAMESPACE", *header], placed


def read_environment(message: str) -> str:
    """The environment that a pod's waiting message names while it is built, or cannot be; empty where it names none
    (`environments.states` writes it)."""
    named = re.match(r"environment (\S+):", message)
    return named[1] if named else ""
