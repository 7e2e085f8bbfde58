"""Where the logs of a pod lie, and whose they are: the one answer for who writes, finds, copies and prunes them.

    <store>/NAMESPACE_POD_UID/.owner.json         one `LogOwner`: the pod's controller, its name and its labels
    <store>/NAMESPACE_POD_UID/CONTAINER/N.log     what run N of a container printed

A store is a directory: `node/pods` of the local cluster's home, where the node writes (`node.runtime.logs`), and
`clusters/KEY/node/pods`, where a console copies those of another cluster (`app.consoles.spool`); there a container has
one log, 0. Which of them is that of a rank of an attempt is said by `history.logs`, from the owner's labels. The node
and the history do not know each other, so what they share is here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from paddock.kube.meta import Manifest, annotations_of, name_of, namespace_of, uid_of

OWNER_FILE = ".owner.json"
LARGEST_OWNER = 4 * 2**20
"""Bytes that are read of it: the labels of a pod, whose object has 3 MiB at most."""
MAIN_CONTAINER = "kubectl.kubernetes.io/default-container"
"""The annotation of a pod that names the container whose log `kubectl logs` reads."""
_LONGEST = 128


@dataclass(frozen=True, slots=True)
class LogOwner:
    """The controller of a pod whose logs are kept, and what a reader needs of the pod when it is gone."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    pod: str = ""
    """The pod's name; like the fields below empty where a node of an older Paddock wrote the controller alone."""
    container: str = ""
    """The one whose log `kubectl logs` reads."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The pod's."""


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """The directory of one pod's logs in a store. Paths are relative to the store."""

    namespace: str
    pod: str
    """Its name; of a directory that was read, its first characters."""
    uid: str

    @property
    def name(self) -> str:
        """A long name of a pod is cut (a file name has at most 255 bytes); the UID is unique."""
        return f"{self.namespace}_{self.pod[:_LONGEST]}_{self.uid}"

    @property
    def owner(self) -> str:
        return f"{self.name}/{OWNER_FILE}"

    def log(self, container: str, number: int = 0) -> str:
        """`number`: how often the container had been started before."""
        return f"{self.name}/{container}/{number}.log"


def find_directory(pod: Manifest) -> LogDirectory:
    """The directory of a pod's logs, in any store."""
    return LogDirectory(namespace_of(pod), name_of(pod), uid_of(pod))


def read_directory(name: str) -> LogDirectory:
    """The directory of this name. Its fields are empty where it has another form."""
    namespace, _, rest = name.partition("_")
    pod, _, uid = rest.rpartition("_")
    return LogDirectory(namespace, pod, uid)


def begin_names(namespace: str, job: str) -> str:
    """How the names of the directories of a job's pods begin: a pod's name is its job's, a dash and more."""
    return f"{namespace}_{job[:_LONGEST]}"


def list_beginnings(name: str) -> Iterator[str]:
    """What `begin_names` says of each job whose pod may have the directory of this name."""
    directory = read_directory(name)
    parts = directory.pod.split("-")
    for number in range(1, len(parts) + 1):
        yield begin_names(directory.namespace, "-".join(parts[:number]))


def name_main_container(pod: Manifest) -> str:
    """The container that trains. The annotation may hold any text, as no API checks it, so it counts where it names one
    of the pod's containers."""
    names = [str(each.get("name") or "") for each in (pod.get("spec") or {}).get("containers") or [{}]]
    named = annotations_of(pod).get(MAIN_CONTAINER)
    return named if named in names else names[0]
