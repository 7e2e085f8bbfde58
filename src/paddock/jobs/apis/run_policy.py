"""`runPolicy`, in the shape that Kubeflow gave it, as every API group reads it.

Absent means no limit. Seconds are whole, as in Kubeflow.
"""

from __future__ import annotations

from enum import StrEnum

from paddock.jobs.fields import Fields
from paddock.jobs.model import CleanPods, Policies

_LARGEST = 2**31 - 1


class _Clean(StrEnum):
    """paddle-operator's words, and those of Kubeflow's that mean the same."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"
    ALL = "All"
    NONE = "None"


_OF_KUBEFLOW = {_Clean.ALL: CleanPods.ALWAYS, _Clean.NONE: CleanPods.NEVER}


def read_run_policy(policy: Fields, clean_pods: CleanPods | None) -> Policies:
    """`clean_pods` is what the manifest says elsewhere, which wins; None where it says nothing."""
    deadline = policy.whole("activeDeadlineSeconds", 1, _LARGEST)
    ttl = policy.whole("ttlSecondsAfterFinished", 0, _LARGEST)
    clean = policy.choice("cleanPodPolicy", _Clean, _Clean.ON_COMPLETION)
    return Policies(
        backoff_limit=policy.whole("backoffLimit", 0, _LARGEST),
        active_deadline=None if deadline is None else float(deadline),
        ttl=None if ttl is None else float(ttl),
        suspend=policy.flag("suspend"),
        clean_pods=clean_pods or _OF_KUBEFLOW.get(clean) or CleanPods(clean),
    )
