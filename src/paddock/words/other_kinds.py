"""What is written in place of other systems' kinds, by their API group: a Job of Volcano is no Job of Kubernetes. Pure.

`preflight` says it of a file before it is sent, and the embedded API of what clients ask it for (`kinds.refused`).
"""

from __future__ import annotations

from paddock.words.phrases import Phrase, phrase

_ENDLESS = phrase(
    "{kind} runs programs that never end, and is not served here: training is a PaddleJob, whose spec.worker has the "
    "same replicas and template",
)
_ONE = phrase(
    "{kind} is not served here: `paddock run -- COMMAND` runs a program to its end; in a file, a PaddleJob with one "
    "worker does so as well, and the template goes to spec.worker.template",
)
_OLD = phrase(
    "{kind} is of an operator that PaddlePaddle has given up: write a PaddleJob of batch.paddlepaddle.org/v1, with "
    "pserver as spec.ps and trainer as spec.worker",
)
_OTHER_FRAMEWORK = phrase(
    "{kind} trains with a framework that does not run here; what runs is {kinds}",
)
_RUNTIME = phrase(
    "{kind} has its pods from a runtime of Kubeflow's Trainer, and is not served here: write a PyTorchJob or a "
    "PaddleJob of kubeflow.org/v1, with the runtime's template and trainer.numNodes replicas in all",
)
_MPI = phrase(
    "{kind} is not served: mpirun and hostfiles need a launcher that signs in to its workers, and Paddock makes none. "
    "Start the program with torchrun in each rank of a PyTorchJob; DeepSpeed needs no hostfile there",
)
_CACHE = phrase(
    "{kind} is of a branch of paddle-operator that was never merged, and no operator runs it: mount the data as a "
    "volume, such as a persistentVolumeClaim in spec.worker.template.spec.volumes",
)
_TASKS = phrase(
    "{kind} of {group} is not served here: {roles}, with the same replicas and template. Plug-ins and policies need "
    "nothing in their place; `paddock init --help` shows how a command becomes a file",
)
_RAY = phrase(
    "{kind} starts a cluster of Ray, which Paddock does not: a program that trains without Ray is a PyTorchJob of "
    "kubeflow.org/v1, with the entrypoint as the command of each rank; one that uses Ray needs KubeRay",
)
_TIMETABLE = phrase(
    "{kind} starts jobs by a timetable, and is not served here: cron can start a job with `paddock run FILE`; the "
    "template goes to spec.worker.template of a PaddleJob",
)
_STEPS = phrase(
    "{kind} of {group} runs steps, and is not served here: a step that trains is a job in a file of its own, and a "
    "script of lines `paddock run FILE` runs one after the other",
)
_SERVING = phrase("{kind} of {group} serves, and does not train: what runs is {kinds}")
_TEMPLATE = phrase(
    "{kind} is a template for TrainJobs of Kubeflow's Trainer, which are not served here: write a PyTorchJob or a "
    "PaddleJob of kubeflow.org/v1, with its pod template in each role",
)
_TORCH_ELASTIC = phrase(
    "{kind} is of an operator that PyTorch has given up: write a PyTorchJob of kubeflow.org/v1, with minReplicas and "
    "maxReplicas in spec.elasticPolicy",
)
_PROGRAMS: tuple[tuple[str, str, Phrase], ...] = (
    ("apps/", "Deployment StatefulSet DaemonSet ReplicaSet", _ENDLESS),
    ("v1", "ReplicationController", _ENDLESS),
    ("batch/", "Job", _ONE),
    ("batch/", "CronJob", _TIMETABLE),
    ("batch.volcano.sh/", "Job", _TASKS),
    ("batch.volcano.sh/", "CronJob", _TIMETABLE),
    ("flow.volcano.sh/", "JobFlow JobTemplate", _STEPS),
    ("jobset.x-k8s.io/", "JobSet", _TASKS),
    ("leaderworkerset.x-k8s.io/", "LeaderWorkerSet", _SERVING),
    ("paddlepaddle.org/", "TrainingJob", _OLD),
    ("batch.paddlepaddle.org/", "SampleSet SampleJob", _CACHE),
    ("kubeflow.org/", "MPIJob", _MPI),
    ("kubeflow.org/", "TFJob MXJob XGBoostJob", _OTHER_FRAMEWORK),
    ("kubeflow.org/", "Notebook", _SERVING),
    ("trainer.kubeflow.org/", "TrainJob", _RUNTIME),
    ("trainer.kubeflow.org/", "TrainingRuntime ClusterTrainingRuntime", _TEMPLATE),
    ("elastic.pytorch.org/", "ElasticJob", _TORCH_ELASTIC),
    ("ray.io/", "RayJob RayCluster", _RAY),
    ("ray.io/", "RayService", _SERVING),
    ("serving.kserve.io/", "InferenceService", _SERVING),
    ("argoproj.io/", "Workflow CronWorkflow WorkflowTemplate ClusterWorkflowTemplate", _STEPS),
    ("tekton.dev/", "Task TaskRun Pipeline PipelineRun", _STEPS),
)
"""Prefix of apiVersion, the kinds that run programs, and the sentence for them if they are not served."""

_NETWORK = phrase(
    "{kind} is not served here: programs have the network of this machine, and `kubectl port-forward` or "
    "`paddock forward JOB PORT` leads to a port of a pod",
)
_SCALING = phrase(
    "{kind} is not served here: a job has the workers that it asks for, and `kubectl scale` changes how many",
)
_STORAGE = phrase(
    "{kind} is not served here: a PersistentVolumeClaim is a directory of this machine, whatever its class is",
)
_EVICTIONS = phrase(
    "{kind} is not served here: pods are evicted only when somebody asks for it, with `kubectl drain` or by deleting "
    "them",
)
_ADMISSION = phrase(
    "{kind} is not served here: no webhook or policy of others is asked before an object is stored",
)
_QUEUES = phrase(
    "{kind} of {group} is not served here: `paddock queue` shows who waits for room and why, and a job's "
    "PriorityClass says who comes first",
)
_AROUND: tuple[tuple[str, str, Phrase], ...] = (
    ("networking.k8s.io/", "Ingress IngressClass NetworkPolicy", _NETWORK),
    ("gateway.networking.k8s.io/", "Gateway GatewayClass HTTPRoute", _NETWORK),
    ("autoscaling/", "HorizontalPodAutoscaler", _SCALING),
    ("storage.k8s.io/", "StorageClass CSIDriver CSINode VolumeAttachment", _STORAGE),
    ("policy/", "PodDisruptionBudget", _EVICTIONS),
    (
        "admissionregistration.k8s.io/",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy",
        _ADMISSION,
    ),
    ("kueue.x-k8s.io/", "ClusterQueue LocalQueue ResourceFlavor Workload WorkloadPriorityClass", _QUEUES),
    ("scheduling.volcano.sh/", "Queue", _QUEUES),
)
"""The same of kinds that run no program: what stands around programs on a cluster."""


def explain_program(version: str, kind: str, jobs: tuple[str, ...], roles: Phrase | None = None) -> Phrase | None:
    """What to write in place of a kind of another system that runs programs; None for any other kind. `jobs`: the kinds
    of job that are served, never empty; `roles`: which of their roles the tasks of a manifest are, where it is at
    hand."""
    return _explain(_PROGRAMS, version, kind, jobs, roles or ROLES)


def explain_other_kind(version: str, kind: str, jobs: tuple[str, ...]) -> Phrase | None:
    """`explain_program`, and what is in place of kinds that stand around programs."""
    return explain_program(version, kind, jobs) or _explain(_AROUND, version, kind, jobs, ROLES)


ROLES = phrase("each of its tasks is a role of a PaddleJob or of a PyTorchJob")


def _explain(
    table: tuple[tuple[str, str, Phrase], ...], version: str, kind: str, jobs: tuple[str, ...], roles: Phrase
) -> Phrase | None:
    for prefix, kinds, said in table:
        if version.startswith(prefix) and kind in kinds.split():
            return phrase(said.text, kind=kind, kinds=jobs, group=version.partition("/")[0], roles=roles)
    return None
