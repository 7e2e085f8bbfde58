"""Kinds of Kubernetes and of other systems that are known here and not served: where clients find them, and what they
are told. Pure; the sentences are `words.other_kinds`.

kubectl sends nothing about a kind that discovery does not have ("no matches for kind"), so nobody could say what to do
instead. Discovery therefore lists these kinds with no verbs, which is what it means: they can be named, and nothing can
be done with them. `kubectl api-resources`, `get all`, and all that look for kinds that they can list pass over them.
Some clients list kinds of Kubernetes without looking there, as each cluster has them (`kubectl apply --prune`,
`cluster-info dump`, `rollout undo`): such a list is empty and not refused, with the sentence as a warning.
A kind that a stored CRD defines is served, and is none of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.apiserver.kinds.registry import Registry
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.meta import Resource
from paddock.words.other_kinds import explain_other_kind

# Group/version, then the kinds: the kind, its plural, its short names; * has no namespaces.
_TABLE = """
v1                           ReplicationController/replicationcontrollers/rc
apps/v1                      StatefulSet/statefulsets/sts DaemonSet/daemonsets/ds ReplicaSet/replicasets/rs
batch/v1                     Job/jobs CronJob/cronjobs/cj
networking.k8s.io/v1         Ingress/ingresses/ing NetworkPolicy/networkpolicies/netpol *IngressClass/ingressclasses
autoscaling/v2               HorizontalPodAutoscaler/horizontalpodautoscalers/hpa
autoscaling/v1               HorizontalPodAutoscaler/horizontalpodautoscalers/hpa
policy/v1                    PodDisruptionBudget/poddisruptionbudgets/pdb
storage.k8s.io/v1            *StorageClass/storageclasses/sc
kubeflow.org/v1              TFJob/tfjobs MPIJob/mpijobs XGBoostJob/xgboostjobs MXJob/mxjobs Notebook/notebooks
kubeflow.org/v2beta1         MPIJob/mpijobs
trainer.kubeflow.org/v1alpha1 TrainJob/trainjobs TrainingRuntime/trainingruntimes
trainer.kubeflow.org/v1alpha1 *ClusterTrainingRuntime/clustertrainingruntimes
batch.volcano.sh/v1alpha1    Job/jobs/vcjob/vj CronJob/cronjobs
flow.volcano.sh/v1alpha1     JobFlow/jobflows JobTemplate/jobtemplates
scheduling.volcano.sh/v1beta1 *Queue/queues
kueue.x-k8s.io/v1beta1       *ClusterQueue/clusterqueues LocalQueue/localqueues *ResourceFlavor/resourceflavors
kueue.x-k8s.io/v1beta1       Workload/workloads *WorkloadPriorityClass/workloadpriorityclasses
kueue.x-k8s.io/v1beta2       *ClusterQueue/clusterqueues LocalQueue/localqueues *ResourceFlavor/resourceflavors
jobset.x-k8s.io/v1alpha2     JobSet/jobsets
leaderworkerset.x-k8s.io/v1  LeaderWorkerSet/leaderworkersets/lws
ray.io/v1                    RayJob/rayjobs RayCluster/rayclusters RayService/rayservices
elastic.pytorch.org/v1alpha1 ElasticJob/elasticjobs
paddlepaddle.org/v1          TrainingJob/trainingjobs
batch.paddlepaddle.org/v1alpha1 SampleSet/samplesets SampleJob/samplejobs
"""


def _read_table(text: str) -> Iterator[ServedResource]:
    for line in text.split("\n"):
        version, _, kinds = line.partition(" ")
        group, _, number = version.rpartition("/")
        for each in kinds.split():
            kind, plural, *short_names = each.lstrip("*").split("/")
            resource = Resource(group, number, kind, plural, namespaced=not each.startswith("*"))
            yield ServedResource(resource, kind.lower(), tuple(short_names), verbs=())


REFUSED: tuple[ServedResource, ...] = tuple(_read_table(_TABLE))
"""They have names and no verbs, schema or columns."""


def list_refused(registry: Registry) -> tuple[ServedResource, ...]:
    """Those that this registry does not serve, in no version."""
    served = {(each.resource.group, each.resource.plural) for each in registry.all()}
    return tuple(each for each in REFUSED if (each.resource.group, each.resource.plural) not in served)


def is_of_kubernetes(resource: Resource) -> bool:
    """Whether each cluster has the kind, and not only those where somebody has installed it."""
    return "." not in resource.group or resource.group.endswith(".k8s.io")


def find_listed(registry: Registry, group: str, version: str, plural: str) -> ServedResource | None:
    """The kind that is not served, where clients may list it: one of Kubernetes itself, in a version that discovery
    names. None for all others: where a kind of another system is missing, each cluster answers 404, and that is how
    programs learn that the system is not installed."""
    for each in list_refused(registry):
        resource = each.resource
        if (resource.group, resource.version, resource.plural) == (group, version, plural):
            return each if is_of_kubernetes(resource) else None
    return None


def explain_refused(registry: Registry, group: str, version: str, plural: str) -> str:
    """What to do instead of a kind that is not served; "" where nothing is known of it. The version is not looked at:
    clients of other ages ask for others."""
    for each in list_refused(registry):
        if (each.resource.group, each.resource.plural) == (group, plural):
            api_version = f"{group}/{version}" if group else version
            return str(explain_other_kind(api_version, each.resource.kind, _name_jobs(registry)) or "")
    return ""


def _name_jobs(registry: Registry) -> tuple[str, ...]:
    """What runs programs to their end here: the custom kinds that call themselves jobs, or pods."""
    custom = {each.resource.kind for each in registry.all() if each.custom}
    return tuple(sorted(kind for kind in custom if kind.endswith("Job"))) or ("Pod",)
