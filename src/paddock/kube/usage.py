"""What pods and nodes use, as metrics.k8s.io has it: cores and bytes. Pure.

Source: k8s.io/metrics, v1beta1 (NodeMetrics, PodMetrics). Who measures gives `Usage`s, whatever serves the API builds
objects of them, and who reads the API of any cluster gets `Usage`s back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.kube.meta import Manifest, Resource, labels_of, name_of, namespace_of
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment, format_time

GROUP = "metrics.k8s.io"
NODE_METRICS = Resource(GROUP, "v1beta1", "NodeMetrics", "nodes", namespaced=False)
POD_METRICS = Resource(GROUP, "v1beta1", "PodMetrics", "pods")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container or pod uses."""

    at: Moment  # the moment of the measurement
    window: float  # seconds before it
    cpu: float  # cores, on average over the window
    memory: float  # bytes, at that moment


def read_usage(usage: Mapping[str, Any]) -> tuple[float, float]:
    """Cores and bytes of a `usage` (`{"cpu": "12345n", "memory": "4Ki"}`). Raises `ValueError`."""
    return float(read_quantity(usage.get("cpu", 0))), float(read_quantity(usage.get("memory", 0)))


def build_node_metrics(node: Mapping[str, Any], usage: Usage) -> Manifest:
    return _build(NODE_METRICS, node, usage) | {"usage": _build_usage(usage)}


def build_pod_metrics(pod: Mapping[str, Any], containers: Mapping[str, Usage]) -> Manifest:
    """`containers`: one or more. The time of the pod is that of the container that was measured first."""
    first = min(containers.values(), key=lambda each: each.at)
    found = [{"name": name, "usage": _build_usage(usage)} for name, usage in sorted(containers.items())]
    return _build(POD_METRICS, pod, first) | {"containers": found}


def _build(resource: Resource, about: Mapping[str, Any], usage: Usage) -> Manifest:
    meta: Manifest = {"name": name_of(about), "creationTimestamp": format_time(usage.at)}
    if resource.namespaced:
        meta["namespace"] = namespace_of(about)
    if labels := labels_of(about):
        meta["labels"] = dict(labels)
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": meta,
        "timestamp": format_time(usage.at),
        "window": f"{usage.window:.3f}s",
    }


def _build_usage(usage: Usage) -> Manifest:
    # In the units of metrics-server, so that other tools find what they know.
    return {"cpu": f"{round(usage.cpu * 1e9)}n", "memory": f"{round(usage.memory / 1024)}Ki"}
