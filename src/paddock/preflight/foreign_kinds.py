"""What is written in place of other systems' kinds, by their API group: a Job of Volcano is no Job of Kubernetes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Resource
from paddock.manifests.parts import mapping, mappings
from paddock.words.phrases import Names, Phrase, phrase

_ENDLESS = phrase(
    "{kind} runs programs that never end, and is not served here: training is a PaddleJob, whose spec.worker has the "
    "same replicas and template",
)
_ONE = phrase(
    "{kind} is not served here: a PaddleJob with one worker runs a program to its end as well; the template goes to "
    "spec.worker.template",
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
_FOREIGN: tuple[tuple[str, str, Phrase], ...] = (
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
"""Prefix of apiVersion, kinds, and the sentence for them if they are not served."""

_TASK_LISTS = ("tasks", "replicatedJobs")
"""Where kinds of several roles list them: Volcano's Job, JobSet."""
_OF_PADDLE = {
    **dict.fromkeys(("ps", "pserver", "server"), "spec.ps"),
    **dict.fromkeys(("worker", "trainer"), "spec.worker"),
}
_OF_PYTORCH = {"master": "Master", "worker": "Worker"}
"""The roles that tasks of these names are."""


def explain_foreign(
    version: str, kind: str, known: Collection[Resource], manifest: Mapping[str, Any] | None = None
) -> Phrase | None:
    """What to write in place of a kind of another system; None for any other kind. `manifest`: where it is at hand."""
    for prefix, kinds, said in _FOREIGN:
        if version.startswith(prefix) and kind in kinds.split():
            roles = _place_roles(mapping((manifest or {}).get("spec")))
            group = version.partition("/")[0]
            return phrase(said.text, kind=kind, kinds=name_jobs(known), group=group, roles=roles)
    return None


def name_jobs(known: Collection[Resource]) -> tuple[str, ...]:
    """The kinds of job among them."""
    return tuple(sorted({each.kind for each in known if each in KINDS})) or ("none",)


def _place_roles(spec: Mapping[str, Any]) -> Phrase:
    """Which roles the tasks are, by their names."""
    names = {str(task.get("name") or "") for key in _TASK_LISTS for _, task in mappings(spec.get(key), key)}
    paddle = {name: role for name, role in _OF_PADDLE.items() if name in names}
    if "spec.ps" in paddle.values():
        return phrase(
            "with PaddlePaddle its tasks {tasks} are {roles} of a PaddleJob of batch.paddlepaddle.org/v1",
            tasks=Names(tuple(paddle)), roles=Names(tuple(paddle.values())),
        )  # fmt: skip
    if "master" in names:
        pytorch = {name: role for name, role in _OF_PYTORCH.items() if name in names}
        return phrase(
            "with PyTorch its tasks {tasks} are {roles} in spec.pytorchReplicaSpecs of a PyTorchJob of "
            "kubeflow.org/v1",
            tasks=Names(tuple(pytorch)), roles=Names(tuple(pytorch.values())),
        )  # fmt: skip
    return phrase("each of its tasks is a role of a PaddleJob or of a PyTorchJob")
