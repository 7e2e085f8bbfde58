"""Well-known labels and annotations in a place where their program does not look: they do nothing, and nobody says so.

A job has two places of metadata: its own, and that of each role's pod template, which its pods get. `READERS` says
where each key acts; `_KEYS_OF_NOBODY` has those that no present program reads. A key that stands where it acts, too, is
not told. Sources: the pages of each program, and what Paddock writes itself (`jobs.objects.pods`, `jobs.queued`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from paddock.jobs import labels
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.manifests.parts import Part, mapping
from paddock.words.phrases import Names, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told


class Owner(StrEnum):
    """Whose metadata it is."""

    JOB = "job"
    POD = "pod"


class Form(StrEnum):
    """The field of metadata."""

    LABEL = "labels"
    ANNOTATION = "annotations"


@dataclass(frozen=True, slots=True)
class Reader:
    """A program, the keys that it reads, and where."""

    name: str
    keys: tuple[str, ...]
    """Whole keys, or the beginning of keys, which ends in `/`."""
    owner: Owner
    forms: tuple[Form, ...] = (Form.ANNOTATION,)
    """The first one is what its pages advise."""
    elsewhere: Phrase | None = None
    """What the key does on the other owner, where that is more than nothing."""


_ANY = (Form.ANNOTATION, Form.LABEL)
READERS: tuple[Reader, ...] = (
    Reader("Istio", ("sidecar.istio.io/inject",), Owner.POD, (Form.LABEL, Form.ANNOTATION)),
    Reader("Istio", ("sidecar.istio.io/", "traffic.sidecar.istio.io/", "proxy.istio.io/"), Owner.POD),
    Reader("Linkerd", ("linkerd.io/inject", "config.linkerd.io/"), Owner.POD),
    Reader("Dapr", ("dapr.io/",), Owner.POD),
    Reader("Vault", ("vault.hashicorp.com/",), Owner.POD),
    Reader("Prometheus", ("prometheus.io/",), Owner.POD),
    Reader("Datadog", ("admission.datadoghq.com/",), Owner.POD, _ANY),
    Reader("Datadog", ("ad.datadoghq.com/",), Owner.POD),
    Reader("Fluent Bit", ("fluentbit.io/",), Owner.POD),
    Reader("OpenTelemetry", ("instrumentation.opentelemetry.io/", "sidecar.opentelemetry.io/"), Owner.POD),
    Reader("Calico", ("cni.projectcalico.org/",), Owner.POD),
    Reader("Koordinator", ("gang.scheduling.koordinator.sh/",), Owner.POD),
    Reader("the cluster autoscaler", ("cluster-autoscaler.kubernetes.io/",), Owner.POD),
    Reader("Karpenter", ("karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict"), Owner.POD),
    Reader("the descheduler", ("descheduler.alpha.kubernetes.io/",), Owner.POD),
    Reader("Multus", ("k8s.v1.cni.cncf.io/networks",), Owner.POD),
    Reader("the kubelet", ("container.apparmor.security.beta.kubernetes.io/",), Owner.POD),
    Reader("the network plug-in", ("kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"), Owner.POD),
    Reader("kube2iam", ("iam.amazonaws.com/role",), Owner.POD),
    Reader("GKE", ("gke-gcsfuse/",), Owner.POD),
    Reader("Azure", ("azure.workload.identity/use",), Owner.POD, (Form.LABEL,)),
    Reader("HAMi", ("nvidia.com/use-gputype", "nvidia.com/nouse-gputype", "nvidia.com/use-gpuuuid"), Owner.POD),
    Reader("Volcano", ("scheduling.k8s.io/group-name",), Owner.POD),
    Reader("the scheduler-plugins", ("scheduling.x-k8s.io/pod-group",), Owner.POD, (Form.LABEL,)),
    Reader(
        "Kueue",
        ("kueue.x-k8s.io/queue-name",),
        Owner.JOB,
        (Form.LABEL,),
        phrase(
            "Kueue queues a job by its own label, in metadata.labels: on a pod the label does nothing, or each pod "
            "waits for itself, so a gang may stay half started"
        ),
    ),
    Reader(
        "Kueue", ("kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/max-exec-time-seconds"), Owner.JOB, (Form.LABEL,)
    ),
    Reader("Kueue", ("provreq.kueue.x-k8s.io/",), Owner.JOB),
    Reader("Kueue", ("kueue.x-k8s.io/pod-group-name",), Owner.POD, (Form.LABEL,)),
    Reader("Kueue", ("kueue.x-k8s.io/pod-group-total-count",), Owner.POD),
    Reader("Argo CD", ("argocd.argoproj.io/",), Owner.JOB, _ANY),
    Reader("Helm", ("helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"), Owner.JOB),
    Reader(
        "Kueue",
        tuple(f"kueue.x-k8s.io/podset-{name}-topology" for name in ("required", "preferred", "unconstrained")),
        Owner.POD,
    ),
    Reader(
        "Paddock",
        (
            labels.SUBSTITUTE_ANNOTATION,
            labels.RESTART_SCOPE_ANNOTATION,
            labels.SUCCESS_ANNOTATION,
            labels.SILENT_ANNOTATION,
            labels.IDLE_ANNOTATION,
            HOLD_ANNOTATION,
            labels.ELASTIC_ANNOTATION,
            labels.KUEUE_ANNOTATION,
            labels.CANCEL_ANNOTATION,
            labels.WORKING_DIRECTORY_ANNOTATION,
            labels.RESUME_ANNOTATION,
            labels.OUTPUTS_ANNOTATION,
            labels.SERVERS_FIRST_ANNOTATION,
            labels.REQUIREMENTS_ANNOTATION,
        ),
        Owner.JOB,
    ),
)
"""Of several that fit a key, the first counts."""

QUEUE_KEYS = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Volcano reads the queue of a PodGroup's spec; of pods, those alone that have no PodGroup, and Paddock's have one."""

_OLD_GROUPS = phrase(
    "is no longer read by the scheduler-plugins (Alibaba Cloud's ACK and Koordinator read it, and Arena writes it): "
    "they read the PodGroup of the job, which the operator makes with --scheduling=scheduler-plugins; then remove the "
    "line"
)
_OLD_NAMES = phrase(
    "does nothing: operators before training-operator 1.4 wrote it on pods themselves; pods have the labels "
    "training.kubeflow.org/job-name, -replica-type and -replica-index now; remove the line"
)
_ACCOUNTS = phrase(
    "does nothing here: it is read on the ServiceAccount of the pods; write it there, and name that account in "
    "serviceAccountName"
)
_KEYS_OF_NOBODY: Mapping[str, Phrase] = {
    "pod-group.scheduling.sigs.k8s.io": _OLD_GROUPS,
    "pod-group.scheduling.sigs.k8s.io/": _OLD_GROUPS,
    "scheduling.sigs.k8s.io/": _OLD_GROUPS,
    "tf-job-name": _OLD_NAMES,
    "tf-replica-type": _OLD_NAMES,
    "tf-replica-index": _OLD_NAMES,
    "pytorch-job-name": _OLD_NAMES,
    "pytorch-replica-type": _OLD_NAMES,
    "pytorch-replica-index": _OLD_NAMES,
    "eks.amazonaws.com/role-arn": _ACCOUNTS,
    "iam.gke.io/gcp-service-account": _ACCOUNTS,
}
"""What is wrong with a key in any metadata of a job; a name that ends in `/` stands for all that begin with it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One field of metadata."""

    owner: Owner
    form: Form
    path: str
    """`spec.worker.template.metadata.labels`."""
    keys: Mapping[str, Any]


class _Places:
    """The metadata of one job, of which each question is answered once: a job may have a thousand keys, and roles."""

    def __init__(self, parts: Sequence[Part], manifest: Mapping[str, Any]) -> None:
        self._metadata = {
            Owner.JOB: [("metadata", mapping(manifest.get("metadata")))],
            Owner.POD: [(f"{part.path}.template.metadata", mapping(part.template.get("metadata"))) for part in parts],
        }
        self._shared: dict[Reader, frozenset[str]] = {}
        self._paths: dict[Reader, Phrase] = {}

    def __iter__(self) -> Iterator[_Place]:
        for owner, found in self._metadata.items():
            for path, metadata in found:
                for form in Form:
                    yield _Place(owner, form, f"{path}.{form}", mapping(metadata.get(form)))

    def acts(self, key: str, reader: Reader, place: _Place) -> bool:
        """Whether the key acts in this place, or all that it is for have it where it acts."""
        return (place.owner is reader.owner and place.form in reader.forms) or key in self._find_shared(reader)

    def _find_shared(self, reader: Reader) -> frozenset[str]:
        if reader not in self._shared:
            each = [
                {key for form in reader.forms for key in mapping(metadata.get(form))}
                for _, metadata in self._metadata[reader.owner]
            ]
            self._shared[reader] = frozenset(set.intersection(*each) if each else ())
        return self._shared[reader]

    def explain(self, reader: Reader, place: _Place) -> Phrase:
        """Where the key acts, and what it does in this place."""
        if reader.elsewhere is not None and place.owner is not reader.owner and place.form in reader.forms:
            return reader.elsewhere
        if reader not in self._paths:
            self._paths[reader] = self._explain_path(reader)
        return self._paths[reader]

    def _explain_path(self, reader: Reader) -> Phrase:
        paths = tuple(f"{path}.{reader.forms[0]}" for path, _ in self._metadata[reader.owner])
        if reader.owner is Owner.JOB:
            return phrase("does nothing here: {reader} reads it in {path}", reader=reader.name, path=paths[0])
        return phrase(
            "does nothing here: {reader} reads it on pods, so in {paths}", reader=reader.name, paths=Names(paths)
        )


def check_keys(parts: Sequence[Part], manifest: Mapping[str, Any], policy: str) -> Iterator[Problem]:
    """A warning for each key that does nothing where it stands. `policy`: the path of the kind's scheduling policy."""
    places = _Places(parts, manifest)
    queue = None if _find(manifest, f"{policy}.queue") else _explain_queue(policy)
    for place in places:
        for key in place.keys:
            if isinstance(key, str) and (said := _explain(key, place, places, queue)) is not None:
                yield told(join_path(place.path, key), said, severity="warning", about_key=True)


def _explain(key: str, place: _Place, places: _Places, queue: Phrase | None) -> Phrase | None:
    if key in QUEUE_KEYS:
        return queue
    begin = f"{key.partition('/')[0]}/"
    if said := _KEYS_OF_NOBODY.get(key) or _KEYS_OF_NOBODY.get(begin):
        return said
    reader = next((each for each in READERS if key in each.keys or begin in each.keys), None)
    return None if reader is None or places.acts(key, reader, place) else places.explain(reader, place)


def _find(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = mapping(value).get(step)
    return value


def _explain_queue(policy: str) -> Phrase:
    return phrase(
        "does nothing here: Volcano reads the queue of the job's PodGroup, which Paddock takes from {path}",
        path=f"{policy}.queue",
    )
