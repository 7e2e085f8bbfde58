"""The descriptions of a job's fields for `kubectl explain`: one sentence for each path in the schemas of `jobs.apis`.

Only the CRDs have them (`install.crd`). The pod template has none: with its descriptions a CRD would exceed the
256 KiB of annotations, which limit `kubectl apply`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.kube.meta import Manifest

ANY = "*"
"""The step of a path that means any key of a mapping, or any item of a list."""

_ROLE = {
    "replicas": "How many pods the role has.",
    "template": "The pod of each rank, with any field that Kubernetes has. Its main container is the one that trains.",
}
_ENDS = {
    "backoffLimit": "How often a job whose program fails is started anew before it is Failed; absent, without limit.",
    "activeDeadlineSeconds": "The job is Failed so many seconds after it started, if it is not done by then.",
    "ttlSecondsAfterFinished": "The job is deleted so many seconds after its end; absent, it stays.",
    "suspend": "While true the job has no pods; set to false, it starts as a new attempt.",
}
_GANG = {
    "minAvailable": "How many pods must find a place at once; absent, all of them.",
    "queue": "The scheduler's queue that the job waits in.",
    "priorityClass": "The PriorityClass of the job's PodGroup.",
    "minResources": "What must be free for the job to start; absent, the sum over its pods.",
    "scheduleTimeoutSeconds": "How long pods that have a place wait for the other pods; Volcano has no such field.",
}
_COUNTS = {
    "pending": "Pods that wait for a node or for their images.",
    "starting": "Pods on a node of which not every container is up.",
    "succeeded": "Pods that ended with exit code 0.",
    "failed": "Pods that ended otherwise.",
    "ready": "Running pods of those that are wanted, as in 2/2.",
}
_UP = "Pods of which every container is up."
_CONDITION = {
    "type": "Created, Running, Restarting, Suspended, Succeeded, Failed or Invalid.",
    "status": "True, False or Unknown.",
    "reason": "Why, as one word for programs.",
    "message": "Why, as a sentence.",
    "lastUpdateTime": "When it was written last.",
    "lastTransitionTime": "When its status changed last.",
}

_REPLICA_SPECS = ("paddleReplicaSpecs", "pytorchReplicaSpecs", "jaxReplicaSpecs")
_RESTART = "Whether a failed rank restarts the job: Never, OnFailure, Always or ExitCode."
_ELASTIC = {
    "minReplicas": "The least number of pods with which training goes on.",
    "maxReplicas": "The largest number of pods that take part.",
    "maxRestarts": "How often torchrun starts the processes of a pod anew.",
    "metrics": "Of a PyTorchJob, by which a HorizontalPodAutoscaler chooses the number of workers.",
    f"metrics.{ANY}": "One metric, as in autoscaling/v2.",
    "rdzvBackend": "Where torchrun's agents meet: c10d (the default), etcd or etcd-v2.",
    "rdzvHost": "The host of the rendezvous; absent, the first worker.",
    "rdzvPort": "The port of the rendezvous; absent, the first worker's pytorchjob-port.",
    "rdzvId": "The name of the rendezvous.",
    "rdzvConf": "Further options of the rendezvous.",
    f"rdzvConf.{ANY}": "One option.",
    f"rdzvConf.{ANY}.key": "Its name.",
    f"rdzvConf.{ANY}.value": "Its value.",
    "standalone": "Whether each pod trains alone, without a rendezvous with the others.",
    "nProcPerNode": "Deprecated: spec.nprocPerNode says it.",
}

SENTENCES: Mapping[str, str] = {
    "": "A training job: its ranks start, restart and end together.",
    "spec": "What is to be trained, and how.",
    "spec.cleanPodPolicy": "Which pods are deleted at the end: Always, Never, OnFailure or OnCompletion (the default).",
    "spec.cleanPolicy": "Another spelling of cleanPodPolicy, read alike.",
    "spec.intranet": "How ranks address each other: PodIP (the default), Service or Host.",
    "spec.withGloo": "Gloo of parameter-server jobs: 0 off (the default), 1 a ring of the workers, 2 also one of all.",
    "spec.elastic": "Any number restarts what fails and lets fewer workers train: see worker.requests and limits.",
    "spec.schedulingPolicy": "The job's gang, for schedulers that place all pods or none.",
    "spec.runPolicy": "How long the job may run, how often it restarts, and what is left of it.",
    "spec.ps": "The parameter servers. With them the job is of mode PS, and it is done when its workers are.",
    "spec.worker": "The workers. Without servers, more than one make the job Collective and one Single.",
    "spec.heter": "The heterogeneous workers of Paddle's Heter mode.",
    **{f"spec.{specs}": "The roles of the job by name: Worker, or Master too." for specs in _REPLICA_SPECS},
    "spec.nprocPerNode": "How many processes torchrun starts in each pod: auto (the default), cpu, gpu or a number.",
    "spec.elasticPolicy": "How torchrun forms and keeps a group of pods; of a PaddleJob its number of workers.",
    "status": "What is recorded of the job; the operator writes it.",
    "status.phase": "Pending, Starting, Running, Restarting, Suspended, Completed, Failed, Invalid or Terminating.",
    "status.mode": "PS, Collective or Single.",
    "status.elastic": "Written by no version; kept so that what is stored stays valid.",
    "status.startTime": "When every rank ran for the first time.",
    "status.completionTime": "When the job ended, well or not.",
    "status.observedGeneration": "The metadata.generation that the status was made from.",
    "status.attempt": "Which gang of pods this is: 0 the first, one more at every restart, whatever its reason.",
    "status.restarts": "How many attempts were ended by the program's own fault; backoffLimit counts these alone.",
    "status.losses": "How many gangs in a row were lost through no fault of the program, such as preemption.",
    "status.renewals": "How often a rank's pod was replaced alone in this attempt, by rank.",
    "status.lastRenewalTime": "When a rank's pod was last replaced alone in this attempt.",
    "status.delays": "Before when the next pod of a rank that starts again alone is not created, by rank.",
    "status.gangSize": "How many ranks of the elastic role this attempt has, where these are fewer than replicas.",
    "status.gangLoss": "Why an elastic gang lost pods the last time: a reason of Kubernetes, or the name of a cause.",
    "status.succeeded": "The ranks that have succeeded in this attempt, by role, whatever becomes of their pods.",
    f"status.succeeded.{ANY}": "Those of one role.",
    f"status.succeeded.{ANY}.attempt": "The attempt in which they have.",
    f"status.succeeded.{ANY}.indexes": "Their indexes: 0-3,7.",
    f"status.succeeded.{ANY}.firstFinishTime": "When the first of them ended.",
    f"status.succeeded.{ANY}.lastFinishTime": "When the last of them ended.",
    "status.progress": "How far the training of this attempt is, from its lines and what it has posted; on a laptop.",
    "status.progress.percent": "Of the whole training; absent where its length is not known.",
    "status.progress.remaining": "Seconds until its end, at the pace of this attempt; absent where it is not known.",
    "status.progress.metrics": "The last number of each name.",
    "status.suspects": "Nodes on which the rank that failed first has run, by name.",
    f"status.suspects.{ANY}": "What speaks against one of them.",
    f"status.suspects.{ANY}.reason": "How it failed there the last time, as one word.",
    f"status.suspects.{ANY}.attempts": "The last attempts that did.",
    f"status.suspects.{ANY}.attempts.{ANY}": "The number of one.",
    f"status.suspects.{ANY}.until": "Until when new pods avoid the node; absent where it is only noted.",
    "status.problem": "What is wrong in the last edit, which is not followed; the job goes on by the spec before it.",
    "status.problem.reason": "The reason as one word.",
    "status.problem.since": "Since when it is wrong.",
    "status.problem.args": "The fields and what is wrong with each.",
    "status.lastValidSpec": "The spec that is followed, compressed. It is for operators.",
    "status.cause": "Why the job waits, restarts or failed. `paddock explain` puts it into a sentence.",
    "status.why": "The cause as a sentence.",
    "status.cause.reason": "The reason as one word.",
    "status.cause.since": "When it became the reason.",
    "status.cause.args": "The numbers and names of the reason.",
    "status.conditions": "The states that the job is or was in.",
    "status.replicaStatuses": "Counts of pods by role.",
    "status.lastReconcileTime": "When the operator last changed the status.",
    **{f"spec.{specs}.{ANY}": "One role." for specs in _REPLICA_SPECS},
    **{f"spec.{specs}.{ANY}.restartPolicy": _RESTART for specs in _REPLICA_SPECS},
    f"status.replicaStatuses.{ANY}": "Counts of the pods of one role.",
    f"status.replicaStatuses.{ANY}.active": _UP,
    f"status.replicaStatuses.{ANY}.selector": "The labels of the role's pods, as text.",
    f"status.replicaStatuses.{ANY}.labelSelector": "The labels of the role's pods.",
    f"status.conditions.{ANY}": "One of them.",
    "spec.runPolicy.managedBy": "Who runs the job; Paddock leaves it alone unless this is absent or "
    "kubeflow.org/training-operator.",
    "spec.runPolicy.schedulingPolicy": "The job's gang, for schedulers that place all pods or none.",
    **{f"spec.elasticPolicy.{name}": text for name, text in _ELASTIC.items()},
    **{f"spec.runPolicy.{name}": text for name, text in _ENDS.items()},
    "spec.runPolicy.cleanPodPolicy": "Which pods are deleted at the end; spec.cleanPodPolicy wins over it.",
    **{f"spec.schedulingPolicy.{name}": text for name, text in _GANG.items()},
    **{f"spec.runPolicy.schedulingPolicy.{name}": text for name, text in _GANG.items()},
    **{f"spec.{role}.{name}": text for role in ("ps", "worker", "heter") for name, text in _ROLE.items()},
    **{f"spec.{role}.requests": "The least number of pods." for role in ("ps", "worker", "heter")},
    **{f"spec.{role}.limits": "The largest number of pods." for role in ("ps", "worker", "heter")},
    **{f"spec.{specs}.{ANY}.{name}": text for specs in _REPLICA_SPECS for name, text in _ROLE.items()},
    **{f"status.{role}": "Counts of the role's pods." for role in ("ps", "worker", "heter")},
    **{f"status.{role}.{name}": text for role in ("ps", "worker", "heter") for name, text in _COUNTS.items()},
    **{f"status.{role}.running": _UP for role in ("ps", "worker", "heter")},
    **{f"status.{role}.unknown": "Written by no version." for role in ("ps", "worker", "heter")},
    **{f"status.{role}.refs": "The role's pods." for role in ("ps", "worker", "heter")},
    **{f"status.{role}.refs.{ANY}": "One pod." for role in ("ps", "worker", "heter")},
    **{f"status.replicaStatuses.{ANY}.{name}": text for name, text in _COUNTS.items()},
    **{f"status.conditions.{ANY}.{name}": text for name, text in _CONDITION.items()},
}


def with_sentences(schema: Mapping[str, Any], path: str = "") -> Manifest:
    """A copy of the schema of one kind, in which each field of `SENTENCES` has a `description`. Parts without
    descriptions are shared with `schema`, not copied."""
    described: Manifest = dict(schema)
    if path in SENTENCES:
        described = {"description": SENTENCES[path], **described}
    if isinstance(properties := schema.get("properties"), Mapping):
        described["properties"] = {
            name: with_sentences(inner, below) if (below := _join(path, name)) in _PARENTS else inner
            for name, inner in properties.items()
        }
    for word in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(word), Mapping) and (below := _join(path, ANY)) in _PARENTS:
            described[word] = with_sentences(inner, below)
    return described


def _join(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def _parents() -> Iterator[str]:
    """Every path with a sentence at it or below it."""
    for path in SENTENCES:
        steps = path.split(".")
        yield from (".".join(steps[:count]) for count in range(1, len(steps) + 1))


_PARENTS = frozenset(_parents())
