"""What a definition does not say of its fields: which words are allowed, and what has no effect. Values alone.

The definitions have no enums, as `read_job` checks the words and names the nearest one. `tests/docs/test_reference.py`
reads a job with each word of `VALUES`, and with one that is none.
"""

from __future__ import annotations

from collections.abc import Mapping

_BATCH = "paddlejobs.batch.paddlepaddle.org"
_PADDLE = "paddlejobs.kubeflow.org"
_TORCH = "pytorchjobs.kubeflow.org"
REPLICA_SPECS: Mapping[str, str] = {
    "paddlejobs.kubeflow.org": "paddleReplicaSpecs",
    "pytorchjobs.kubeflow.org": "pytorchReplicaSpecs",
    "jaxjobs.kubeflow.org": "jaxReplicaSpecs",
}
_CLEAN = ("OnCompletion", "Always", "Never", "OnFailure")

VALUES: Mapping[tuple[str, str], tuple[str | int, ...]] = {
    (_BATCH, "spec.cleanPodPolicy"): _CLEAN,
    (_BATCH, "spec.cleanPolicy"): _CLEAN,
    (_BATCH, "spec.runPolicy.cleanPodPolicy"): (*_CLEAN, "All", "None", "Running"),
    (_BATCH, "spec.intranet"): ("PodIP", "Service", "Host"),
    (_BATCH, "spec.withGloo"): (0, 1, 2),
    **{(kind, "spec.runPolicy.cleanPodPolicy"): ("Running", "All", "None") for kind in REPLICA_SPECS},
    **{
        (kind, f"spec.{specs}.<NAME>.restartPolicy"): ("OnFailure", "Never", "Always", "ExitCode")
        for kind, specs in REPLICA_SPECS.items()
    },
    ("*", "spec.runPolicy.managedBy"): ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"),
    (_TORCH, "spec.elasticPolicy.rdzvBackend"): ("c10d", "etcd", "etcd-v2"),
    (_TORCH, "spec.nprocPerNode"): ("auto", "cpu", "gpu"),
}
"""By the name of the definition (`*`: all) and the path: the words that are allowed, the default first."""

_REPLICAS = "It is not read, and no version of paddle-operator read it: the number of pods is `replicas`."
_ELASTIC = "It is kept as it is. How often a PaddleJob may restart is `backoffLimit`, and no autoscaler scales it."

NO_EFFECT: Mapping[tuple[str, str], str] = {
    **{(_BATCH, f"spec.{role}.{name}"): _REPLICAS for role in ("ps", "heter") for name in ("requests", "limits")},
    **{(_PADDLE, f"spec.elasticPolicy.{name}"): _ELASTIC for name in ("maxRestarts", "metrics")},
    (_BATCH, "status.elastic"): "Written by no version; kept so that what is stored stays valid.",
    **{(_BATCH, f"status.{role}.unknown"): "Written by no version." for role in ("ps", "worker", "heter")},
}
"""Fields, with all below them, that are accepted and change nothing: what to know instead."""
