"""What keeps a deleted job, or a pod that should have ended, from being gone: a sentence with what to do. Pure.

Kubernetes removes an object when its finalizers are gone and, for a pod, when its node has said that it has ended. The
pods of a deleted job are deleted by the cluster's garbage collector, which may be off or slow. Nothing here forces
anything: a pod whose node does not answer may still train and write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.kube.meta import Manifest, metadata, name_of, namespace_of
from paddock.words.phrases import Names, Phrase, phrase

DEFAULT_GRACE = 30
"""Seconds: Kubernetes' terminationGracePeriodSeconds."""


def find_grace(pod: Mapping[str, Any]) -> int:
    """Seconds that the pod has to end in: those of its deletion, else those of its spec."""
    found = metadata(pod).get("deletionGracePeriodSeconds")
    if found is None:
        found = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE if found is None else int(found)


def find_longest(pods: Sequence[Mapping[str, Any]]) -> int:
    """Seconds; 0 without pods."""
    return max(map(find_grace, pods), default=0)


def explain_pod(pod: Manifest, kubectl: str) -> Phrase:
    """Why a pod that should be gone is there. `kubectl`: with the options that reach the cluster."""
    name, place = name_of(pod), f"-n {namespace_of(pod)}"
    if finalizers := _find_finalizers(pod):
        return phrase(
            "pod {pod} is held by {finalizers}: whoever set this finalizer is to remove it (`{command}` shows the pod)",
            pod=name, finalizers=finalizers, command=f"{kubectl} get pod {name} {place} -o yaml",
        )  # fmt: skip
    if not metadata(pod).get("deletionTimestamp"):
        return phrase(
            "pod {pod} is not being deleted: the cluster's garbage collector, a part of kube-controller-manager, has "
            "not done it (`{command}` does)",
            pod=name, command=f"{kubectl} delete pod {name} {place}",
        )  # fmt: skip
    return phrase(
        "pod {pod} has not ended in its {time} s: its node, {node}, has not said so (`{command}` shows the node)",
        pod=name, time=find_grace(pod), node=_find_node(pod), command=f"{kubectl} get node {_find_node(pod)}",
    ) if _find_node(pod) else phrase("pod {pod} is on no node and is still listed", pod=name)  # fmt: skip


def explain_object(job: Manifest, word: str, kubectl: str) -> Phrase:
    """Why a deleted job, `word` in commands, is there."""
    if finalizers := _find_finalizers(job):
        return phrase(
            "{job} is held by {finalizers}: whoever set this finalizer is to remove it (`{command}` shows it)",
            job=word, finalizers=finalizers, command=f"{kubectl} get {word} -n {namespace_of(job)} -o yaml",
        )  # fmt: skip
    return phrase("{job} is still listed by the API server", job=word)


def explain_running(pods: Sequence[Manifest], kubectl: str, killing: str) -> Phrase:
    """Why pods of a job that was suspended or cancelled run on; `pods`: at least one; `killing`: the command that kills
    them."""
    held = [pod for pod in pods if metadata(pod).get("deletionTimestamp")]
    if held:
        return explain_pod(held[0], kubectl)
    return phrase(
        "nothing ends {pods}, as the job's cleanPodPolicy keeps pods: `{command}` kills them",
        pods=Names(tuple(map(name_of, pods))), command=killing,
    )  # fmt: skip


def explain_holders(job: Manifest | None, word: str, pods: Sequence[Manifest], kubectl: str) -> Phrase | None:
    """What holds a deleted job: itself, where it is still there (`job`), and its first pods; None if all is gone."""
    found: list[Phrase] = [] if job is None else [explain_object(job, word, kubectl)]
    found += [explain_pod(pod, kubectl) for pod in pods[:_MOST]]
    if len(pods) > _MOST:
        found.append(phrase("{count} more of its pods are there", count=len(pods) - _MOST))
    if not found:
        return None
    said = found[0]
    for each in found[1:]:
        said = phrase("{first}; {second}", first=said, second=each)
    return said


_MOST = 3
"""Pods that are told; others are counted."""


def _find_finalizers(found: Mapping[str, Any]) -> Names | None:
    names = metadata(found).get("finalizers")
    return Names(tuple(map(str, names))) if isinstance(names, list) and names else None


def _find_node(pod: Mapping[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
