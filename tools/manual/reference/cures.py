"""What to do about each cause of `jobs.causes`: one row for each, in the groups of the page. Values alone.

A cure is what somebody reads at night: what is so, whose move it is, and the commands that look closer or mend. JOB,
POD, NODE, NAME, NEW_NAME and IMAGE are the reader's own. `tests/docs/test_reference.py` fails for a cause without a row
here, and for a text without its Chinese in `zh.json`.
"""

from __future__ import annotations

from collections.abc import Mapping

from manual.reference.cure import Cure, Move

WAITING: Mapping[str, Cure] = {
    "InvalidJob": Cure(
        Move.YOU,
        "The manifest that was sent last has the mistakes that the sentence names. A job that ran before goes on by its"
        " last valid spec. Mend the file until `validate` finds nothing, then send it again.",
        ("paddock validate job.yaml", "paddock run job.yaml"),
    ),
    "NoReplicas": Cure(
        Move.YOU,
        "All roles have 0 replicas, so there is nothing to start. Give one role 1 or more, then send the file again.",
        ("paddock get jobs JOB -o yaml", "paddock run job.yaml"),
    ),
    "ObjectInTheWay": Cure(
        Move.YOU,
        "An object that is not of this job has a name that the job needs, and Paddock never deletes what it has not"
        " made. Look whose it is. Delete it if nobody needs it, or give the job another name. Where the sentence speaks"
        " of a former job of this name, wait: Kubernetes is removing what is left of it.",
        ("kubectl get pods,services,configmaps -o wide", "paddock clone JOB NEW_NAME"),
    ),
    "ObjectsRefused": Cure(
        Move.YOU,
        "What stands behind the colon is the answer of the API server. `exceeded quota`: end other jobs, ask for less,"
        " or have the quota raised. `must specify`: a quota wants to know what each container takes; write it, or make"
        " a LimitRange with defaults. `is forbidden` alone: the operator lacks a right. An admission webhook says its"
        " own name. The operator asks again within a minute, so nothing has to be sent again.",
        ("kubectl describe resourcequotas", "paddock describe JOB", "paddock manifests operator --image IMAGE"),
    ),
    "QuotaExceeded": Cure(
        Move.YOU,
        "A ResourceQuota of the namespace has no room for the pods of the job. A laptop makes them all together or not"
        " at all; a cluster refuses each for itself. The sentence says what they ask for, what is used and what is"
        " allowed. End other jobs of the namespace, ask for less, or have the quota raised. The operator asks again"
        " within a minute, so nothing has to be sent again.",
        ("kubectl describe quota", "kubectl edit quota NAME", "paddock get"),
    ),
    "ObjectsNotCreated": Cure(
        Move.WATCH,
        "The API server had an error of its own, several times in a row: an admission webhook that does not answer, or"
        " too much load. The operator goes on asking. If it lasts, somebody has to mend or remove the webhook that the"
        " message names.",
        ("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations", "paddock describe JOB"),
    ),
    "NoFreePort": Cure(
        Move.YOU,
        "Each job of this machine takes a block of 20 ports, and none is free. Cancel a job that nobody needs, or stop"
        " what else listens there.",
        ("paddock get -A", "paddock cancel JOB", "ss -ltn"),
    ),
    "OwnAccountNamed": Cure(
        Move.YOU,
        "A pod that runs under a service account of Paddock itself, or reads its token, could do all that Paddock may"
        " do, so no job gets one. Name another account, or create the job in a namespace where Paddock does not run."
        " Pods that are there already stay until they end; no further one is created.",
        ("kubectl get serviceaccounts", "kubectl edit paddlejobs.batch.paddlepaddle.org JOB"),
    ),
    "WaitingForOldPods": Cure(
        Move.WATCH,
        "The pods of the attempt before still end, and the new ones have the same names. That takes their grace period"
        " at most, mostly 30 seconds. If it lasts longer, a pod has a finalizer or its node does not answer.",
        ("paddock get pods -o wide", "kubectl describe pod POD"),
    ),
    "WaitingForNode": Cure(
        Move.NOBODY,
        "The node is lost, so nobody can tell whether its pod still runs. When the time in the sentence is over the pod"
        " is deleted by force, and the job starts again. It is no restart that counts.",
        ("kubectl get nodes", "kubectl describe node NODE"),
    ),
    "NodeNotReady": Cure(
        Move.YOU,
        "The node still reports, and says that it is not ready: its pod may go on training, so it is not deleted by"
        " force. Mend the node. Type the command of the sentence only if you know that the program does not run any"
        " more: two of one rank would damage a checkpoint.",
        ("kubectl describe node NODE", "kubectl get pods -o wide"),
    ),
    "NodeUnknown": Cure(
        Move.YOU,
        "This operator has rights in its namespaces alone and may not read nodes, so it deletes no pod by force. Look"
        " at the node, or ask who may. If the node is lost, type the command of the sentence. With the right to read"
        " nodes the operator does this by itself.",
        ("kubectl get node NODE", "paddock manifests operator --image IMAGE"),
    ),
    "NodeSilent": Cure(
        Move.WATCH,
        "The node of a pod that should start or end has not reported. Kubernetes deletes the pod after some minutes, 5"
        " as a rule, and all ranks start again. It is faster to mend the node.",
        ("kubectl describe node NODE",),
    ),
    "WaitingForPods": Cure(
        Move.WATCH,
        "The operator is creating the pods, which takes seconds. If it lasts for a minute, look whether an operator"
        " runs and what it says.",
        ("paddock describe JOB", "kubectl -n paddle-system logs deployment/paddle-controller-manager"),
    ),
    "WaitingForScheduler": Cure(
        Move.YOU,
        "No node has what the pods ask for, or a volume claim is not there. `queue` shows what is free and which jobs"
        " come first. Wait for those, ask for less, or create the claim that the sentence names. On a machine without a"
        " GPU, `--without` leaves the GPU out. Where others of its pods hold room, the cluster places pods one"
        " by one, and two such jobs can wait for each other for ever: suspend one of them, and have gangs placed whole"
        " (docs/gangs.md).",
        ("paddock queue", "paddock explain --why-not job.yaml", "paddock run job.yaml --without nvidia.com/gpu"),
    ),
    "SchedulerSilent": Cure(
        Move.YOU,
        "The pods name a scheduler that has not looked at them for a minute, so it is probably not installed. Install"
        " it, or write one that is there into `schedulerName` of the templates. If the operator chose it, change its"
        " options `--scheduling` and `--gang-scheduler-name`.",
        ("kubectl get pods -A", "paddock get jobs JOB -o yaml"),
    ),
    "WaitingForPodGroup": Cure(
        Move.WATCH,
        "All pods of the job start together or not at all, and now there is no room for all of them, or the queue of"
        " the PodGroup has not let it in. The message is the scheduler's. Wait for the jobs before it, ask for less, or"
        " take another queue.",
        ("paddock queue", "kubectl describe podgroup JOB"),
    ),
    "WaitingForDataset": Cure(
        Move.NOBODY,
        "A dataset that the job mounts is being fetched, and the sentence says how far it is. The pods are created when"
        " all datasets are there. A dataset that stays at one number tells why in its own description.",
        ("paddock dataset list", "paddock dataset describe NAME"),
    ),
    "DatasetMissing": Cure(
        Move.YOU,
        "The job names a dataset that its namespace does not have. Create it, and the job begins by itself when it is"
        " there; or correct the name, which the sentence may know.",
        ("paddock dataset list", "paddock dataset create NAME --from URL"),
    ),
    "DatasetFailed": Cure(
        Move.YOU,
        "The dataset could not be fetched, and the sentence says why. A network or a disk is tried again by itself. A"
        " wrong address, checksum or Secret is not: correct the dataset, and the job begins when it is there.",
        ("paddock dataset describe NAME", "paddock dataset rerun NAME --wait"),
    ),
    "DatasetsUnserved": Cure(
        Move.YOU,
        "The operator of this cluster runs without datasets, or may not read them. Whoever has installed it adds the"
        " kind and the rights; the job then begins by itself.",
        ("paddock manifests --datasets --image IMAGE", "kubectl get crd datasets.paddock.dev"),
    ),
    "BuildingEnvironment": Cure(
        Move.NOBODY,
        "Python packages are downloaded and installed: some minutes the first time, nothing afterwards.",
        ("paddock get env", "paddock env build NAME"),
    ),
    "EnvironmentFailed": Cure(
        Move.YOU,
        "The packages could not be installed, and the sentence says why. A package or a version that there is not: mend"
        " the requirements, then update the environment. The network or the disk: mend that, and it is built again by"
        " itself.",
        ("paddock get env", "paddock env update NAME", "paddock env build NAME"),
    ),
    "ImageUnavailable": Cure(
        Move.YOU,
        "The image cannot be pulled: its name or tag is wrong, the registry asks for a password (`imagePullSecrets`),"
        " or the node does not reach it. On a laptop no image is pulled: it has to stand for an environment.",
        ("kubectl describe pod POD", "paddock get env", "paddock env create NAME -r requirements.txt --image IMAGE"),
    ),
    "ConfigurationWrong": Cure(
        Move.YOU,
        "A Secret or a ConfigMap that the template names does not exist in this namespace, or lacks the key. Create it:"
        " the pod then starts by itself.",
        ("kubectl get secrets,configmaps", "kubectl create secret generic NAME --from-literal=KEY=VALUE"),
    ),
    "ContainerWaiting": Cure(
        Move.WATCH,
        "The kubelet has not started the container, and the word in the sentence is its reason. The events of the pod"
        " say more, of a volume that cannot be mounted for example.",
        ("kubectl describe pod POD", "paddock describe JOB"),
    ),
    "WaitingForAddresses": Cure(
        Move.WATCH,
        "Every rank has to know the addresses of all, and some pods have none yet. That takes seconds once a pod runs."
        " If it lasts, look at the pod without an address, and at the network plug-in of its node.",
        ("paddock get pods -o wide", "kubectl describe pod POD"),
    ),
    "WaitingForConfigMap": Cure(
        Move.NOBODY,
        "All addresses are known, and the operator writes them down for the ranks: a moment.",
        ("paddock describe JOB",),
    ),
    "PodsStarting": Cure(
        Move.WATCH,
        "The pods have nodes, and pull images, mount volumes or run init containers. For a large image that is minutes."
        " If it lasts, the events of the pod say at which step. A container that runs and is not ready has a probe that"
        " does not pass: `paddock describe JOB` has what it said last.",
        ("paddock get pods -o wide", "paddock describe JOB"),
    ),
    "WaitingForStatuses": Cure(
        Move.NOBODY,
        "Some ranks have ended. Which of them failed first is judged when the ends of the others are known, after 10"
        " seconds at the most.",
        ("paddock logs JOB --first-error",),
    ),
    "ClockUnsure": Cure(
        Move.YOU,
        "The clock of the API server was set, or several API servers have different times. A limit that seems to be"
        " over ends nothing until the clock has been steady. Let all of them follow one time server.",
        ("timedatectl", "chronyc tracking"),
    ),
    "WaitingForMaster": Cure(
        Move.NOBODY,
        "The workers are done, and the Master may still save the model: 300 seconds, or what the operator's"
        " `--master-wait` says. Then the job is completed without it. A Master that only serves should exit when its"
        " workers are done.",
        ("paddock logs JOB --role master -f",),
    ),
    "WaitingForWorkers": Cure(
        Move.NOBODY,
        "The ranks that decide have succeeded, and the others may still save something: 30 seconds, or what the"
        " operator's `--end-wait` says. Then they are ended.",
        ("paddock logs JOB -f",),
    ),
    "WaitingForContainers": Cure(
        Move.NOBODY,
        "The job's ranks have succeeded, and another container of a pod, as one that sends metrics, has time to end"
        " by itself: 30 seconds, or what the operator's `--end-wait` says, or the number in the job's annotation"
        " `paddock.dev/success`. Then it is ended with its pod. One that never ends, as a proxy, is better an init"
        " container with restartPolicy Always: Kubernetes ends such a side-car by itself.",
        ("paddock get pods",),
    ),
    "JobSilent": Cure(
        Move.YOU,
        "All ranks run, and none has printed for longer than the annotation `paddock.dev/silent` allows. Nothing was"
        " ended; on a laptop the stack of each rank stands in its log, on a cluster nobody took them. Look which rank"
        " is elsewhere than the others. The sentence goes as soon as a line comes.",
        ("paddock stacks JOB", "paddock doctor JOB", "paddock cancel JOB"),
    ),
    "WaitingForLastRanks": Cure(
        Move.NOBODY,
        "Each rank of the job decides, and its annotation `paddock.dev/success` gives those that run on this time after"
        " the first has ended well; then the job is completed without them. Without the number they are waited for.",
        ("paddock logs JOB -f",),
    ),
}

AGAIN: Mapping[str, Cure] = {
    "RankRestarted": Cure(
        Move.WATCH,
        "A rank failed, and all start again, from the checkpoint if the program loads one. Read the error now: if every"
        " attempt fails alike, no restart helps. Suspend the job while you mend the program.",
        ("paddock logs JOB --previous --first-error", "paddock doctor JOB", "paddock suspend JOB"),
    ),
    "SilentRestarted": Cure(
        Move.WATCH,
        "No rank printed for longer than the annotation `paddock.dev/silent` allows, so all start again, and the"
        " restart counts. On a laptop the log of the attempt before ends with the stack of each rank: look which rank"
        " is elsewhere than the others. A phase that prints nothing, such as a long evaluation, wants a longer time.",
        ("paddock logs JOB --previous", "paddock doctor JOB"),
    ),
    "PodsDeleted": Cure(
        Move.WATCH,
        "Somebody deleted pods of a job that ran: a person, `kubectl drain`, or a program that tidies up. The job"
        " starts again and no restart is counted. The events name what deleted them, if it said so.",
        ("paddock describe JOB", "kubectl get events"),
    ),
    "PodsLost": Cure(
        Move.WATCH,
        "Pods went with their node, or made room for pods of a higher priority. The job starts again and no restart is"
        " counted. If that happens often, save checkpoints more often, take nodes that are not withdrawn, or give the"
        " job a higher priority.",
        ("kubectl get nodes", "paddock queue"),
    ),
    "EvictedByQueue": Cure(
        Move.WATCH,
        "Kueue took the room of the job, mostly for a more urgent one. It is nobody's fault: no restart and no loss is"
        " counted, and the job begins again, from the checkpoint if the program loads one, once its queue admits it.",
        ("paddock explain JOB", "kubectl get workloads.kueue.x-k8s.io"),
    ),
    "Resized": Cure(
        Move.NOBODY,
        "Somebody changed the number of replicas. Every rank has to know the new number, so all start again from the "
        "checkpoint.",
        ("paddock history JOB",),
    ),
    "GangShrunk": Cure(
        Move.NOBODY,
        "Not all ranks had room, and the job accepts fewer. They start from the checkpoint, and no restart is counted.",
        ("paddock history JOB", "paddock queue"),
    ),
    "GangGrown": Cure(
        Move.NOBODY,
        "There is room for more ranks. All of them start from the checkpoint, and no restart is counted.",
        ("paddock history JOB",),
    ),
    "RunsSmaller": Cure(
        Move.NOBODY,
        "The job trains with fewer ranks than its manifest asks for, and grows by itself when there is room.",
        ("paddock explain JOB", "paddock queue"),
    ),
    "NodesNotAvoided": Cure(
        Move.WATCH,
        "The job had avoided nodes on which it had failed, and no other node has taken its pods for two minutes, or the"
        " hour is over. It trains on them again. If it fails there again, look at the node, or have it drained.",
        ("paddock describe JOB", "kubectl describe node NODE", "paddock logs JOB --first-error"),
    ),
    "PortsDiffer": Cure(
        Move.NOBODY,
        "Two operators gave the pods of one attempt different ports, so the pods would never meet. They are made anew."
        " If it happens again, two operators serve one kind: let them share the Lease (`--leader-elect`).",
        ("paddock status", "paddock describe JOB"),
    ),
    "AddressesChanged": Cure(
        Move.WATCH,
        "Running pods got other addresses than their peers were told, as after a restart of the node's network. All"
        " start again. If it happens often, look at the network plug-in.",
        ("paddock get pods -o wide", "paddock describe JOB"),
    ),
    "Resumed": Cure(
        Move.NOBODY,
        "Somebody resumed the job: its pods start again, from the checkpoint if the program loads one.",
        ("paddock logs JOB -f",),
    ),
    "PodsAdopted": Cure(
        Move.NOBODY,
        "The job had no status, and was taken over with the pods that it has: another operator ran it before, or"
        " somebody removed the status. Training goes on.",
        ("paddock describe JOB",),
    ),
}

ENDS: Mapping[str, Cure] = {
    "WaitingForQueue": Cure(
        Move.WATCH,
        "Kueue has not admitted the job to its queue. `explain` says what Kueue says, where you may read its Workloads."
        " Kueue resumes the job by itself; if it is not installed, or the queue is not there, take the label"
        " `kueue.x-k8s.io/queue-name` off the job and resume it.",
        ("paddock explain JOB", "kubectl get workloads.kueue.x-k8s.io"),
    ),
    "QueueNotInForce": Cure(
        Move.YOU,
        "The job has the label `kueue.x-k8s.io/queue-name` and is to go into the queue by its pods, but Kueue's webhook"
        " leaves pods of this namespace alone. An administrator switches on `pod` in `integrations.frameworks` of"
        " Kueue's configuration and looks at its namespace selector; or you take the label off, and the job starts"
        " without a queue. If a controller of yours admits the job by `suspend`, give it the annotation"
        " `paddock.dev/kueue: Suspend`. The operator looks again within a minute, so nothing has to be sent again.",
        ("paddock explain JOB", "paddock describe JOB"),
    ),
    "Suspended": Cure(
        Move.YOU,
        "Somebody suspended the job, or `paddock run` did at its `--timeout` or after three failures alike. It keeps"
        " its name and its status, has no pods, and waits until it is resumed.",
        ("paddock resume JOB", "paddock logs JOB --first-error"),
    ),
    "SuspendedIdle": Cure(
        Move.YOU,
        "The GPUs of all ranks did nothing for as long as the annotation `paddock.dev/idle` allows, so the job gave"
        " them back. It keeps its name and its status, and goes on from its checkpoint when it is resumed. Look at the"
        " end of its logs for what it waited for. A phase that needs no GPU for long wants a longer time, or `Tell`.",
        ("paddock resume JOB", "paddock logs JOB --first-error"),
    ),
    "Deleting": Cure(
        Move.WATCH,
        "The job is being deleted, and its pods end within their grace period. If it stays for minutes, a finalizer"
        " holds it whose program is gone.",
        ("paddock get pods", "kubectl get paddlejob JOB -o jsonpath={.metadata.finalizers}"),
    ),
    "Completed": Cure(
        Move.END,
        "All ranks that decide have succeeded. Where the sentence says `but`, another rank failed: `run` and `wait`"
        " exit with 1, and what this rank was to save may be missing. With the annotation"
        " `paddock.dev/success: AllRanks` each rank decides. A rank that failed as others had ended does not count.",
        ("paddock logs JOB --first-error", "paddock outputs JOB -l"),
    ),
    "CompletedServersKept": Cure(
        Move.END,
        "The job has succeeded, and `cleanPodPolicy` keeps pods that never end by themselves. They hold their resources"
        " until the job is deleted. Leave `cleanPodPolicy` out and they are ended with the job.",
        ("paddock delete JOB", "paddock get pods"),
    ),
    "CompletedWithoutMaster": Cure(
        Move.END,
        "The workers have succeeded, and the Master still ran when its time was over. If it should have saved the"
        " model, look whether the file is whole; a longer time is the operator's `--master-wait`.",
        ("paddock logs JOB --role master", "paddock outputs JOB -l"),
    ),
    "CompletedWithoutWorkers": Cure(
        Move.END,
        "The ranks that decide have succeeded, and others were ended while they still ran. If those should have saved "
        "something, look whether it is whole; a longer time is the operator's `--end-wait`, or, of a job in which each "
        "rank decides, the number in its annotation `paddock.dev/success`.",
        ("paddock logs JOB", "paddock outputs JOB -l"),
    ),
    "CompletedWithoutContainers": Cure(
        Move.END,
        "The job has succeeded, and another container of a pod was ended while it still ran. If it should have sent or"
        " written something, give it more time: the operator's `--end-wait`, or, for one job, the annotation"
        " `paddock.dev/success: AllRanks:300`. One that never ends, as a proxy, is better an init container with"
        " restartPolicy Always, which is not waited for.",
        ("paddock logs JOB",),
    ),
    "RankFailed": Cure(
        Move.END,
        "The program of a rank failed, and its restart policy starts nothing again. The error of the rank that failed"
        " first is the cause; the others ended because of it. Mend it and run the job again, from the last checkpoint"
        " with `--resume`.",
        (
            "paddock logs JOB --first-error",
            "paddock doctor JOB",
            "paddock run job.yaml --resume",
            "paddock run job.yaml",
        ),
    ),
    "ServerEnded": Cure(
        Move.END,
        "A parameter server ended before the workers, and what they learned since their last checkpoint is lost. Its"
        " log says why; often it is memory, as the tables are there. Mend that, then run the job again.",
        ("paddock logs JOB --role ps --first-error", "paddock describe JOB", "paddock run job.yaml"),
    ),
    "SilentFailed": Cure(
        Move.END,
        "No rank printed for longer than the annotation `paddock.dev/silent` allows. On a laptop each log ends with the"
        " stack of its rank: look which rank is elsewhere than the others. A phase that prints nothing, such as a long"
        " evaluation, wants a longer time.",
        ("paddock logs JOB", "paddock doctor JOB"),
    ),
    "BackoffLimitExceeded": Cure(
        Move.END,
        "The program failed once more than `runPolicy.backoffLimit` allows. Compare the attempts: the same error each"
        " time is in the program or its data, another one each time is in the machines.",
        (
            "paddock history JOB",
            "paddock logs JOB --first-error",
            "paddock logs JOB --attempt 0 --first-error",
            "paddock doctor JOB",
        ),
    ),
    "DeadlineExceeded": Cure(
        Move.END,
        "The job ran for longer than `runPolicy.activeDeadlineSeconds`. Raise the limit or leave it out, and run the"
        " job again; a program that loads its checkpoint loses nothing.",
        ("paddock logs JOB", "paddock run job.yaml"),
    ),
    "Cancelled": Cure(
        Move.END,
        "Somebody cancelled the job, and the sentence says who, if that is known. It never trains again. `clone` makes "
        "another one like it.",
        ("paddock clone JOB", "paddock delete JOB"),
    ),
    "LostTooOften": Cure(
        Move.END,
        "The pods were lost again and again, each time soon after they began, and never through the program. Look at"
        " the nodes before you start the job again: memory, disk, a scheduler that preempts, or a program that deletes"
        " pods.",
        ("kubectl get nodes", "kubectl get events", "paddock clone JOB"),
    ),
}

CURES: Mapping[str, Cure] = {**WAITING, **AGAIN, **ENDS}
