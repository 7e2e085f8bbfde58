"""--queue and --priority in the manifest of any kind of job. Pure.

A queue is Kueue's, by its label, or Volcano's, by the job's schedulingPolicy: which of them a cluster has decides
`submission.queues`, and what is written for no cluster is Kueue's. The PriorityClass stands in the pod templates, as
any pod has it; each scheduler, and Kueue, reads it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paddock.jobs.labels import KUEUE_ANNOTATION, PRIORITY_LABEL, QUEUE_LABEL
from paddock.jobs.queued import PODS, SUSPEND
from paddock.kube.meta import Manifest, annotations_of, labels_of


def with_queue(manifest: Mapping[str, Any], queue: str) -> Manifest:
    """The job in a LocalQueue of Kueue; unchanged without one. Kueue knows no job of paddle-operator's group, so it
    takes the pods of that (docs/kueue.md)."""
    if not queue:
        return dict(manifest)
    marked = _mark(manifest, "labels", {**labels_of(manifest), QUEUE_LABEL: queue})
    return marked if is_kubeflow(manifest) else by_pods(marked)


def by_pods(manifest: Mapping[str, Any]) -> Manifest:
    """The job in Kueue's queue by its pods."""
    return _mark(manifest, "annotations", {**annotations_of(manifest), KUEUE_ANNOTATION: PODS})


def by_suspend(manifest: Mapping[str, Any]) -> Manifest:
    """The job in Kueue's queue as a job that Kueue suspends, which of paddle-operator's group is not the usual way."""
    notes = _without_way(manifest)
    return _mark(manifest, "annotations", notes if is_kubeflow(manifest) else {**notes, KUEUE_ANNOTATION: SUSPEND})


def without_queue(manifest: Mapping[str, Any]) -> Manifest:
    """The job in no queue of Kueue."""
    labels = {name: text for name, text in labels_of(manifest).items() if name != QUEUE_LABEL}
    return _mark(_mark(manifest, "labels", labels), "annotations", _without_way(manifest))


def _without_way(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: text for name, text in annotations_of(manifest).items() if name != KUEUE_ANNOTATION}


def with_volcano(manifest: Mapping[str, Any], queue: str, priority: str) -> Manifest:
    """The job in a queue of Volcano and in none of Kueue, its PodGroup with the PriorityClass; empty for none."""
    policy = {name: text for name, text in (("queue", queue), ("priorityClass", priority)) if text}
    manifest = without_queue(manifest)
    if not policy:
        return manifest
    spec = dict(manifest["spec"])
    if is_kubeflow(manifest):
        run = dict(spec.get("runPolicy") or {})
        spec["runPolicy"] = run | {"schedulingPolicy": {**(run.get("schedulingPolicy") or {}), **policy}}
    else:
        spec["schedulingPolicy"] = {**(spec.get("schedulingPolicy") or {}), **policy}
    return {**manifest, "spec": spec}


def with_workload_priority(manifest: Mapping[str, Any], name: str) -> Manifest:
    """The job with a WorkloadPriorityClass of Kueue."""
    return _mark(manifest, "labels", {**labels_of(manifest), PRIORITY_LABEL: name})


def with_priority(manifest: Mapping[str, Any], name: str) -> Manifest:
    """Each rank with a PriorityClass, in place of the one that it had; unchanged for an empty name."""
    if not name:
        return dict(manifest)
    return {**manifest, "spec": _change_pods(manifest["spec"], lambda spec: {**spec, "priorityClassName": name})}


def without_priority(manifest: Mapping[str, Any]) -> Manifest:
    def drop(spec: Mapping[str, Any]) -> Manifest:
        return {name: value for name, value in spec.items() if name != "priorityClassName"}

    return {**manifest, "spec": _change_pods(manifest["spec"], drop)}


def is_kubeflow(manifest: Mapping[str, Any]) -> bool:
    """Whether its API is Kubeflow's, with its policies in `spec.runPolicy`; paddle-operator's has them in `spec`."""
    return str(manifest.get("apiVersion")).startswith("kubeflow.org/")


def _mark(manifest: Mapping[str, Any], field: str, texts: Mapping[str, str]) -> Manifest:
    metadata = {name: value for name, value in (manifest.get("metadata") or {}).items() if name != field}
    return {**manifest, "metadata": metadata | ({field: dict(texts)} if texts else {})}


def _change_pods(value: Any, change: Callable[[Mapping[str, Any]], Manifest]) -> Any:
    """Pod templates are found by their shape, as their place depends on the API group."""
    if not isinstance(value, Mapping):
        return value
    spec = value.get("spec")
    if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
        return {**value, "spec": change(spec)}
    return {name: _change_pods(item, change) for name, item in value.items()}
