"""Paddock's labels and annotations, on jobs, their pods and ConfigMaps, and the operators' Lease.

Labels of an API group (`paddle-res-name`, `training.kubeflow.org/…`) are in that group's module (`jobs.apis`).
"""

from __future__ import annotations

from paddock.kube.described import CREATED_BY_ANNOTATION as CREATED_BY_ANNOTATION

# On pods; selectors and other tools may rely on them.
JOB_LABEL = "paddock.dev/job"
ROLE_LABEL = "paddock.dev/role"
INDEX_LABEL = "paddock.dev/index"
ATTEMPT_LABEL = "paddock.dev/attempt"
RENEWAL_LABEL = "paddock.dev/renewal"
"""On pods that replaced the pod of their rank within an attempt: their number, from 1 (`Status.renewals`)."""
KIND_LABEL = "paddock.dev/kind"
"""On Secrets of --env-file and --secret: the kind of the job that they are of (`paddlejobs.batch.paddlepaddle.org`);
jobs of two kinds may have one name."""
SIZE_ANNOTATION = "paddock.dev/size"
"""On pods: how many ranks their gang has, by role (`ps=1,worker=2`)."""
PORT_ANNOTATION = "paddock.dev/port"
"""On pods: the first port of the block that the operator chose for the job (`PORTS_IN_BLOCK` ports)."""
SPARE_LABEL = "paddock.dev/spare"
"""On pods that hold room for a larger gang and run nothing (`jobs.policies.spares`)."""
WOKEN_ANNOTATION = "paddock.dev/woken"
"""On pods: the name of the ConfigMap for which a kubelet has to look again (`policies.wake`)."""
CONFIG_MAP_ANNOTATION = "paddock.dev/config-map"
"""On pods: the name of the ConfigMap with the endpoints of their attempt."""
ADDRESSES_ANNOTATION = "paddock.dev/addresses"
"""On ConfigMaps: a hash of the pods' addresses in its endpoints (`jobs.objects.children`)."""
AUTOSCALER_ANNOTATION = "paddock.dev/autoscaler"
"""On HorizontalPodAutoscalers: a hash of the spec that was asked for (`jobs.objects.children`)."""
POD_GROUP_ANNOTATION = "paddock.dev/pod-group"
"""On PodGroups: a hash of the spec that was asked for (`jobs.objects.pod_groups`)."""

# Annotations that a job may carry.
SUBSTITUTE_ANNOTATION = "paddock.dev/substitute"
"""`"true"` switches substitutions on, `"false"` off (`jobs.substitutions`)."""
RESTART_SCOPE_ANNOTATION = "paddock.dev/restart-scope"
"""`Gang` or `Pod`: what restarts when a rank fails (`model.RestartScope`)."""
SUCCESS_ANNOTATION = "paddock.dev/success"
"""Who decides whether the job has succeeded (`apis.success`). Without it the kind does: of a PyTorchJob the Master.

`AllRanks`: each rank that trains must end well, and none is ended for being the last.
`AllRanks:600`: the same, but ranks that still run 600 seconds after the first has ended well are ended.
"""
SILENT_ANNOTATION = "paddock.dev/silent"
"""What becomes of a job whose ranks print nothing for so long (`apis.silent`): `30m=Tell`, `30m=Restart`
or `30m=Fail`."""
IDLE_ANNOTATION = "paddock.dev/idle"
"""What becomes of a job whose GPUs do nothing for so long (`apis.idle`): `1h=Tell` or `1h=Suspend`."""
IDLE_SUSPENDED_ANNOTATION = "paddock.dev/idle-suspended"
"""Written by Paddock with the suspension of such a job: `{"attempt": 2, "seconds": 3600}` (`policies.idle_gpus`)."""
ELASTIC_ANNOTATION = "paddock.dev/elastic"
"""`1-4`: the sizes at which the workers may train (`jobs.apis.elastic`)."""
KUEUE_ANNOTATION = "paddock.dev/kueue"
"""By which way Kueue admits the job (`jobs.queued`). `Pods`: the pods of each attempt as a group of plain pods, which
is the way of a batch PaddleJob without the annotation too. `Suspend`: Kueue, or a controller like it, suspends the
job."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Kueue's label, on jobs and pods: their LocalQueue."""
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
"""Kueue's label, on jobs: the WorkloadPriorityClass that orders its queue."""
CANCEL_ANNOTATION = "paddock.dev/cancel"
"""Ends the job for good (`jobs.cancelling`); its text says who asked for that."""
CHANGED_BY_ANNOTATION = "paddock.dev/changed-by"
"""JSON, who changed the job last, and what they did: `{"who": "ada", "what": "suspended", "generation": 3}`
(`jobs.people.Change`). Paddock writes it; a change by another program leaves it as it was."""
AVOID_ANNOTATION = "paddock.dev/avoid-nodes"
"""`"false"`: attempts of the job avoid no node on which earlier ones have failed (`policies.suspects`)."""
HALTED_ANNOTATION = "paddock.dev/halted"
"""Written by the operator: why it does not reconcile this job, if the API server prunes the status."""
WORKING_DIRECTORY_ANNOTATION = "paddock.dev/working-directory"
"""On a laptop: the absolute path of the directory in which the job's programs start (`jobs.objects.pods`)."""
RESUME_ANNOTATION = "paddock.dev/resume"
"""`"true"`: the job begins with the checkpoints of the last run of its name; `"3"`: of run 3 (`jobs.resuming`). On a
cluster that is of the runs in the claim of `OUTPUTS_ANNOTATION`."""
OUTPUTS_ANNOTATION = "paddock.dev/outputs"
"""On a cluster: the claim (PersistentVolumeClaim) in which each run of the job has a directory of its own, the value of
PADDOCK_OUTPUT_DIR (`jobs.objects.outputs`). On a laptop each run has one anyway (`app.outputs`)."""
OUTPUTS_CONTAINER = "paddock-outputs"
"""The container that comes first in a pod of such a job; with a number behind it where the template has that name."""
SERVERS_FIRST_ANNOTATION = "paddock.dev/servers-first"
"""`"true"`: workers and heter ranks start their program when each parameter server answers at its port
(`jobs.frameworks.paddle_servers`)."""
SERVERS_CONTAINER = "paddock-servers"
"""The container that waits for them, the last of a pod's init containers; named as that of the outputs."""
REQUIREMENTS_ANNOTATION = "paddock.dev/requirements"
"""On a laptop: the requirements file of the job's environment, relative to the manifest's directory. `paddock run` and
`paddock submit` make the Environment and name it (`kube.environments`); on a cluster it means nothing."""
FRAMEWORK_ANNOTATION = "paddock.dev/framework"
"""`none`: the program trains with no framework, whatever the kind of the job, so on a laptop none is added to
the packages of its requirements file, and `host` is its default Environment (`Job.is_plain`)."""
RANK_VARIABLES_ANNOTATION = "paddock.dev/rank-variables"
"""`"false"`: the one rank of a PyTorchJob gets none of RANK, WORLD_SIZE, MASTER_ADDR and the others, as in a shell
(`jobs.frameworks.pytorch`). Of several ranks it does nothing."""
REQUIREMENTS_DIGEST_ANNOTATION = "paddock.dev/requirements-digest"
"""On a laptop, written when the job is submitted: what the requirements files of its Environments said then, JSON:
`{"requirements.txt": DIGEST, "--add": "six, tqdm"}`. `history.settings` reads it: the path of a file stays the same
when its content changes."""

FILL_LABEL = "paddock.dev/fill"
"""On claims of a cluster that `paddock run` has made, and on the pods that fill them: `packages` of -r, or the `code`
of a directory (`app.filled_claims`)."""
CONTENT_ANNOTATION = "paddock.dev/content"
"""On claims that `paddock run` has made: JSON, the digest of what is to be in it, and in a few words what that is."""
FILLED_ANNOTATION = "paddock.dev/filled"
"""On claims that `paddock run` has made, once all is in it: JSON, what its pod has told. A claim without it is filled
before a job mounts it."""
USED_ANNOTATION = "paddock.dev/used"
"""On claims that `paddock run` has made: when a job was last sent that mounts it."""

SHARDS_LABEL = "paddock.dev/shards"
"""Of the Leases of operators that share the namespaces out: into how many shards (`operator.shares`)."""

# Annotations of the Lease, written by the leader.
VERSION_ANNOTATION = "paddock.dev/version"
SETTINGS_ANNOTATION = "paddock.dev/settings"
"""JSON: the settings of the leader (`app.cluster.build_lease_annotations`)."""
