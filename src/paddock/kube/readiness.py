"""Which container of a pod runs and is not ready, and by which probe. Pure.

A kubelet that is not told of a probe takes a container for ready as soon as it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import is_deleting
from paddock.kube.side_cars import list_side_cars
from paddock.kube.times import Moment, read_time


def find_unready(pod: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first container that runs and is not ready, and the probe by which it is not; None where each is."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    side_cars = list_side_cars(spec)
    beside = [each for each in spec.get("initContainers") or () if each.get("name") in side_cars]
    told = {
        each.get("name"): each
        for key in ("initContainerStatuses", "containerStatuses")
        for each in status.get(key) or ()
    }
    for each in (*beside, *(spec.get("containers") or ())):
        shown = told.get(each.get("name")) or {}
        if "running" not in (shown.get("state") or {}) or shown.get("ready"):
            continue
        # `started` is false until its startupProbe has passed; the readinessProbe is asked from then on.
        order = ("startupProbe", "readinessProbe")
        wanted = order if shown.get("started") is False else order[::-1]
        if probe := next((name for name in wanted if each.get(name)), ""):
            return str(each.get("name")), probe
    return None


_DEFAULTS = (("initialDelaySeconds", 0), ("periodSeconds", 10), ("failureThreshold", 3))
"""Of a probe, as Kubernetes has them."""


def is_overdue(pod: Mapping[str, Any], now: Moment) -> bool:
    """Whether a container runs and is not ready although its probes have had their time: before that it is early."""
    if (pod.get("status") or {}).get("phase") != "Running" or is_deleting(pod) or (found := find_unready(pod)) is None:
        return False
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    container = _find(spec, ("initContainers", "containers"), found[0])
    shown = _find(status, ("initContainerStatuses", "containerStatuses"), found[0])
    begun = read_time(((shown.get("state") or {}).get("running") or {}).get("startedAt"))
    patience = sum(_read_patience(container.get(each) or {}) for each in ("startupProbe", "readinessProbe"))
    return begun is None or now - begun > patience


def _find(told: Mapping[str, Any], kinds: tuple[str, ...], name: str) -> Mapping[str, Any]:
    return next((each for kind in kinds for each in told.get(kind) or () if each.get("name") == name), {})


def _read_patience(probe: Mapping[str, Any]) -> float:
    """Seconds until a probe that never passes has failed; 0 for none."""
    if not probe:
        return 0.0
    delay, period, failures = (float(probe.get(name) or default) for name, default in _DEFAULTS)
    return delay + period * failures
