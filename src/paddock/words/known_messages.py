"""Sentences that other parts of a cluster write into events, pods, claims and conditions, as texts of the catalogues.

The node of the local cluster may not know this room, and the API has their text alone. `words.messages` recognises
a message by these texts, with any value in a placeholder, and renders it in the reader's language. A message that is in
no table here or in `words.scheduler`, and is no sentence of `phrase`, stays English.

Sources: kubelet and kube-scheduler; `paddock.node` (kubelet, runtime, volumes), `paddock.operator`,
`paddock.environments`.
"""

from __future__ import annotations


def _sentence(text: str) -> str:
    return text


KNOWN = (
    # a problem of a manifest, in status.cause and status.problem of a job
    _sentence("found {found}, {allowed} is allowed"),
    # kube-scheduler and kubelet, in the words of both worlds
    _sentence("Successfully assigned {pod} to {node}"),
    _sentence("Started container {name}"),
    _sentence("Created container {name}"),
    _sentence("Created container: {name}"),
    _sentence("Stopping container {name}"),
    _sentence('Pulling image "{image}"'),
    _sentence('Successfully pulled image "{image}" in {time}'),
    _sentence('Container image "{image}" already present on machine'),
    _sentence('Failed to pull image "{image}": {why}'),
    _sentence('Back-off pulling image "{image}"'),
    _sentence("Back-off restarting failed container {name} in pod {pod}"),
    _sentence("back-off {time} restarting failed container={name} pod={pod}"),
    _sentence("Pod was active on the node longer than the specified deadline"),
    _sentence("Error: {failure}"),
    _sentence('container "{name}" in pod "{pod}" is waiting to start: {why}'),
    # the local cluster's kubelet
    _sentence("the cluster was stopped while the pod was running"),
    _sentence("the machine or the cluster was stopped while the pod was running, so nobody saw how it ended"),
    _sentence("how it ended cannot be read: {why}"),
    _sentence("waiting for the address of {names}"),
    _sentence("{message} (a bug of Paddock; see cluster.log)"),
    _sentence(
        "no command: the container has neither command nor args, and image {image} brings none; set "
        "spec.containers[].command"
    ),
    _sentence('{kind} "{name}" not found'),
    _sentence("couldn't find key {key} in {kind} {name}"),
    _sentence("fieldPath {path} is not supported; supported are {names} and labels['…']"),
    _sentence("Permission denied: {path}"),
    _sentence("No space left on device: {path}"),
    # a fault of the machine (`node.runtime.machine_faults`)
    _sentence("the disk of {path} is full: make room on it; it is tried again by itself"),
    _sentence("the quota of the disk of {path} is used up: make room or raise it; it is tried again by itself"),
    _sentence(
        "{path} is on a disk that is mounted read-only: mount it writable (see dmesg for why); it is tried again by "
        "itself"
    ),
    _sentence("the disk of {path} fails with an input/output error: see dmesg; it is tried again by itself"),
    _sentence(
        "the cluster has as many files open as it may: raise the limit (ulimit -n) and restart it; it is tried again "
        "by itself"
    ),
    _sentence("this machine has as many files open as it may: raise fs.file-max (sysctl); it is tried again by itself"),
    _sentence(
        "the machine or the cluster was stopped while the pod was running, so nobody saw how it ended; the disk of "
        "{path} is full, which may be why its end is not in that file"
    ),
    _sentence("{path} cannot be written"),
    _sentence(
        "readOnly is not enforced without a sandbox: container {name} can write to {path} all the same; install "
        "bubblewrap to have it"
    ),
    # volumes
    _sentence("volumeMounts: volume {name} is not in spec.volumes ({names})"),
    _sentence("volume {name}: {kind} is not supported on this machine ({names} are); {hint}"),
    _sentence("a hostPath names a directory of this machine"),
    _sentence("volume {name}: hostPath type check failed: {path} is not a directory"),
    _sentence("volume {name}: hostPath type check failed: {path} is not a file"),
    _sentence(
        "volume {name}: the directory {path} of persistentvolumeclaim {claim} does not exist; make it: {command}"
    ),
    _sentence("{source} is not mounted on a laptop; the claim uses the directory {path}; put files for its pods there"),
    _sentence(
        "no PersistentVolume fits, so one was made; the claim uses the directory {path}; put files for its pods there"
    ),
    _sentence("bound to PersistentVolume {name}; the claim uses the directory {path}; put files for its pods there"),
    _sentence("no PersistentVolume fits ({refusals}), {why}"),
    _sentence("cannot be bound as it is written: {why}"),
    _sentence("cannot be placed as it is written: {why}"),
    _sentence('PersistentVolume "{name}", which volumeName names, does not exist (there is {names})'),
    # the operator
    _sentence("deleting pod {pod} by force: its grace is over, and its node {node} is gone"),
    _sentence("deleting pod {pod} by force: its grace is over, and its node {node} is lost: nothing is heard of it"),
    _sentence("the operator failed on this job, which is a bug of its own: {why}"),
    _sentence(
        "the API server drops {fields} of every {kind}: its CustomResourceDefinition is not the one of this operator. "
        "Nothing is done for this kind until that is installed: {command} installs the one of this operator"
    ),
    _sentence(
        "nothing is done for this job, as the CustomResourceDefinition of {kind} that is installed is somebody else's "
        "and drops what this operator records; {command} installs the one of this operator"
    ),
    # `environments.distributions`, which is read before Paddock is installed
    _sentence("run `{command}` ({distribution})"),
    _sentence("install the package of {distribution} that has {thing}"),
    # the machine and its sandbox
    _sentence("{cpus} CPUs, {memory}, no GPU"),
    _sentence("{cpus} CPU, {memory}, no GPU"),
    _sentence("bubblewrap (bwrap) is not installed"),
    _sentence("bubblewrap does not start: {why}"),
    _sentence("exit code {code}"),
)
