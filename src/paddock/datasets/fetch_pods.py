"""The pods of a Job that fetches: what the last one says, why it has not started, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.datasets.fetching import Failed, Fetched, Report, read_report
from paddock.kube.meta import Manifest, metadata, name_of
from paddock.words.phrases import phrase

_LONGEST = 400
"""Characters of another program's sentence that are shown."""
_STARTING = ("", "ContainerCreating", "PodInitializing")
_SIGNALS = 128
_OUT_OF_MEMORY = "OOMKilled"


def find_last(pods: Iterable[Manifest]) -> Manifest | None:
    """The youngest pod; a Job makes one after the other."""
    return max(pods, key=lambda pod: (str(metadata(pod).get("creationTimestamp") or ""), name_of(pod)), default=None)


def read_phase(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def has_ended(pod: Mapping[str, Any]) -> bool:
    return read_phase(pod) in ("Succeeded", "Failed")


def read_last_report(text: bytes) -> Report | None:
    """The last report among lines of a log."""
    return next((found for line in reversed(text.splitlines()) if (found := read_report(line))), None)


def read_end(pod: Mapping[str, Any]) -> Fetched | Failed | None:
    """The report with which the child has ended, as the kubelet keeps it; None if there is none."""
    found = read_last_report(str(_state(pod, "terminated").get("message") or "").encode())
    return found if isinstance(found, Fetched | Failed) else None


def read_finish(pod: Mapping[str, Any]) -> str:
    """When its container ended, as Kubernetes writes times; empty if it has not."""
    return str(_state(pod, "terminated").get("finishedAt") or "")


def explain_waiting(pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str:
    """Why a pod has not started. `events`: its own, the last one last."""
    waiting = _state(pod, "waiting")
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    if reason not in _STARTING:
        return str(phrase("its pod cannot start: {why}", why=cut(message or reason)))
    if unplaced := _explain_unplaced(pod):
        return str(phrase("its pod has no place: {why}", why=cut(unplaced)))
    if warned := find_warning(events):
        return str(phrase("its pod cannot start yet: {why}", why=warned))
    return str(phrase("its pod is starting"))


def find_warning(events: Sequence[Mapping[str, Any]]) -> str:
    """The sentence of the last warning; empty if there is none."""
    found = (str(event.get("message") or "") for event in reversed(events) if event.get("type") == "Warning")
    return cut(next(found, ""))


def _explain_unplaced(pod: Mapping[str, Any]) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    found = (each for each in conditions if each.get("type") == "PodScheduled" and each.get("status") == "False")
    return next((str(each.get("message") or "") for each in found), "")


def explain_end(pod: Mapping[str, Any] | None) -> str:
    """How a pod ended whose child said nothing: `it used more memory than its limit`."""
    if pod is None:
        return str(phrase("it was deleted"))
    status: Mapping[str, Any] = pod.get("status") or {}
    if status.get("reason"):
        if not status.get("message"):
            return cut(str(phrase("{why}: no message", why=str(status["reason"]))))
        return cut(f"{status['reason']}: {status['message']}")
    ended = _state(pod, "terminated")
    if ended.get("reason") == _OUT_OF_MEMORY:
        return str(phrase("it used more memory than its limit"))
    if not ended:
        return str(phrase("it was deleted"))
    code = int(ended.get("exitCode") or 0)
    if code > _SIGNALS:
        return str(phrase("it was ended by signal {signal}", signal=code - _SIGNALS))
    if said := str(ended.get("message") or "").strip().splitlines():
        return str(phrase("it ended with exit code {code}: {why}", code=code, why=cut(said[-1])))
    return str(phrase("it ended with exit code {code}", code=code))


def cut(text: str) -> str:
    """The text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _state(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """`waiting`, `running` or `terminated` of its one container; empty if it is in another state."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return ((statuses[0].get("state") or {}).get(name) or {}) if statuses else {}
