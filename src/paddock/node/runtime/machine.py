"""This machine as a Kubernetes Node: name, cores, memory, GPUs and registration.

The capacity is what this process may use: CPU affinity and the limits of its cgroups (v1 and v2), so a container with
2 cores on a host with 96 is a node with 2. All of it is allocatable.

The Node is written once per start, without heartbeats. The Node and its name survive a restart: `fetch_node_name` finds
it again if the host name has changed.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import psutil

from paddock.kube.api import Api
from paddock.kube.errors import NotFound
from paddock.kube.gpu_shares import GPUS_ANNOTATION, write_indices
from paddock.kube.meta import NODES, Manifest, annotations_of, labels_of, name_of
from paddock.kube.quantities import format_bytes, format_quantity
from paddock.kube.times import Moment, format_time
from paddock.node.runtime.gpus import GPU_RESOURCE, Gpu, find_gpus
from paddock.words.phrases import phrase

KUBELET_VERSION = "v1.37.0-paddock"
MAX_PODS = 110
"""Kubelet's default number of pods per node."""
RUNTIME = "paddock"
"""The scheme of containerRuntimeVersion (`paddock://bubblewrap`), which identifies a Paddock node."""

# Kubernetes uses Go's names (GOARCH), not those of uname.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CGROUPS = Path("/sys/fs/cgroup")
_GPU_LABELS = tuple(f"{GPU_RESOURCE}.{what}" for what in ("count", "memory", "product"))
# cgroup v1 writes "no limit" as a number near 2**63.
_UNLIMITED = 2**60


@dataclass(frozen=True, slots=True)
class Machine:
    """The capacity of this machine."""

    name: str
    cpus: Fraction  # may be a fraction (a cgroup quota)
    memory: int  # in bytes
    gpus: tuple[Gpu, ...] = ()
    disk: int = 0  # in bytes
    architecture: str = "amd64"
    kernel: str = ""
    os_image: str = "Linux"


@dataclass(frozen=True, slots=True)
class Limits:
    """The tightest limits of a process's cgroups; None is no limit. `memory` in bytes."""

    cpus: Fraction | None = None
    memory: int | None = None


def node_name(host: str) -> str:
    """A valid Node name from a host name (RFC 1123): `Anna's MacBook.local` -> `anna-s-macbook.local`."""
    plain = re.sub(r"[^a-z0-9.-]+", "-", host.lower())[:63]
    labels = (label.strip("-") for label in plain.split("."))
    return ".".join(label for label in labels if label) or "localhost"


def read_machine(name: str = "", environment: Mapping[str, str] | None = None) -> Machine:
    """Reads this machine; `name` defaults to the host name. Blocks while nvidia-smi runs, if installed."""
    limits = read_limits(_CGROUPS, _read(Path("/proc/self/cgroup")))
    cpus, memory = Fraction(_usable_cpus()), psutil.virtual_memory().total
    return Machine(
        name=name or node_name(platform.node()),
        cpus=min(cpus, limits.cpus) if limits.cpus else cpus,
        memory=min(memory, limits.memory) if limits.memory else memory,
        gpus=find_gpus(os.environ if environment is None else environment),
        disk=psutil.disk_usage("/").total,
        architecture=_ARCHITECTURES.get(platform.machine(), platform.machine()),
        kernel=platform.release(),
        os_image=_os_image(),
    )


def _usable_cpus() -> int:
    """The cores this process may use: its affinity, or all where the system has none."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return platform.system()


def read_limits(root: Path, memberships: str) -> Limits:
    """The limits in the cgroup files under `root` of a process whose /proc/self/cgroup reads `memberships`.

    Limits of ancestors count too. In a container the path may not be mounted; then only the root is found, which is the
    container's own cgroup.
    """
    cpus: list[Fraction] = []
    memory: list[int] = []
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for directory in _directories(root, controllers, path):
            cpus += _cpu_quota(directory)
            memory += _memory_limit(directory)
    return Limits(min(cpus, default=None), min(memory, default=None))


def _directories(root: Path, controllers: str, path: str) -> Iterator[Path]:
    """The directories of the cgroup and its ancestors, in each place where the hierarchy may be mounted."""
    # v1 is mounted by its list of controllers or by one of them; v2 at the root, or at `unified` beside v1.
    mounts = [controllers, *controllers.split(",")] if controllers else ["", "unified"]
    for mount in dict.fromkeys(mounts):
        own = Path(path.lstrip("/"))
        for part in (own, *own.parents):
            yield root / mount / part


def _cpu_quota(directory: Path) -> list[Fraction]:
    """Cores: v2 `cpu.max` ("150000 100000", "max 100000"), v1 `cpu.cfs_quota_us` (-1 is none) and its period."""
    words = _read(directory / "cpu.max").split()
    if not words:
        words = [_read(directory / "cpu.cfs_quota_us").strip(), _read(directory / "cpu.cfs_period_us").strip()]
    if len(words) != 2 or not all(word.isdecimal() and int(word) for word in words):
        return []
    return [Fraction(int(words[0]), int(words[1]))]


def _memory_limit(directory: Path) -> list[int]:
    word = (_read(directory / "memory.max") or _read(directory / "memory.limit_in_bytes")).strip()
    return [int(word)] if word.isdecimal() and 0 < int(word) < _UNLIMITED else []


def _read(path: Path) -> str:
    """The text of a kernel file; empty if this kernel or container does not have it."""
    try:
        return path.read_text()
    except OSError:
        return ""


def describe(machine: Machine) -> str:
    """One line: `2 CPUs, 23 GiB, no GPU`; `16 CPUs, 128 GiB, 1 GPU (NVIDIA H200)`."""
    cpus, memory = f"{float(machine.cpus):g}", format_bytes(machine.memory)
    if machine.gpus:
        return f"{cpus} {'CPU' if machine.cpus == 1 else 'CPUs'}, {memory}, {_describe_gpus(machine.gpus)}"
    if machine.cpus == 1:
        return str(phrase("{cpus} CPU, {memory}, no GPU", cpus=cpus, memory=memory))
    return str(phrase("{cpus} CPUs, {memory}, no GPU", cpus=cpus, memory=memory))


def _describe_gpus(gpus: tuple[Gpu, ...]) -> str:
    names = [gpu.name for gpu in gpus]
    kinds = list(dict.fromkeys(names))
    listed = kinds[0] if len(kinds) == 1 else ", ".join(f"{names.count(kind)} {kind}" for kind in kinds)
    return f"{len(gpus)} {'GPU' if len(gpus) == 1 else 'GPUs'} ({listed})"


def build_amounts(machine: Machine) -> dict[str, str]:
    """The Node's capacity as a resource list."""
    amounts = {
        "cpu": format_quantity(machine.cpus),
        "memory": f"{machine.memory // 1024}Ki",
        "pods": str(MAX_PODS),
    }
    if machine.disk:
        amounts["ephemeral-storage"] = f"{machine.disk // 1024}Ki"
    if machine.gpus:
        amounts[GPU_RESOURCE] = str(len(machine.gpus))
    return amounts


def build_labels(machine: Machine) -> dict[str, str]:
    """The labels that kubelet sets, and those of NVIDIA's GPU feature discovery, which selectors use."""
    labels = {
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.architecture,
    }
    if machine.gpus:
        first = machine.gpus[0]
        labels[f"{GPU_RESOURCE}.count"] = str(len(machine.gpus))
        labels[f"{GPU_RESOURCE}.memory"] = str(first.memory // 2**20)
        labels[f"{GPU_RESOURCE}.product"] = re.sub(r"[^\w.-]+", "-", first.name)[:63].strip("-_.")
    return labels


def build_node(machine: Machine, labels: Mapping[str, str], now: Moment, *, sandbox: str = "none") -> Manifest:
    """The Node of this machine; `labels` are added to its own, `sandbox` is the name of the sandbox in use."""
    amounts, time = build_amounts(machine), format_time(now)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": {**build_labels(machine), **labels}, **_tell_gpus(machine)},
        "spec": {},
        "status": {
            "capacity": amounts,
            # Nothing is reserved, so that a job which requests every core of a laptop runs.
            "allocatable": dict(amounts),
            "addresses": [
                {"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": machine.name},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": str(phrase("pods run as processes of this machine")),
                    # There are no heartbeats later, because an idle cluster must write nothing.
                    "lastHeartbeatTime": time,
                    "lastTransitionTime": time,
                }
            ],
            "nodeInfo": _node_info(machine, sandbox),
        },
    }


def _tell_gpus(machine: Machine) -> Manifest:
    """Which GPUs it has, so that the scheduler can choose those of each pod."""
    indices = write_indices(gpu.index for gpu in machine.gpus)
    return {"annotations": {GPUS_ANNOTATION: indices}} if indices else {}


def _node_info(machine: Machine, sandbox: str) -> Manifest:
    """The API requires all fields; the IDs of the machine are left empty for privacy."""
    return {
        "architecture": machine.architecture,
        "bootID": "",
        "containerRuntimeVersion": f"{RUNTIME}://{sandbox}",
        "kernelVersion": machine.kernel,
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET_VERSION,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": machine.os_image,
        "systemUUID": "",
    }


async def fetch_node_name(api: Api) -> str:
    """The name of the Paddock node registered in this cluster, or empty."""
    # Pods are bound to the name, so a changed host name must not make a new Node.
    nodes = (await api.list(NODES)).items
    ours = (name_of(node) for node in nodes if _runtime(node).startswith(f"{RUNTIME}://"))
    return min(ours, default="")


def _runtime(node: Manifest) -> str:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return str(info.get("containerRuntimeVersion") or "")


async def register_node(api: Api, node: Manifest) -> Manifest:
    """Creates or updates the Node. Labels and taints set by users stay, and so does `cordon`."""
    name = name_of(node)
    # A merge patch removes a label by null: labels of a GPU that was removed must go.
    gone = dict.fromkeys(_GPU_LABELS)
    try:
        await api.get(NODES, "", name)
    except NotFound:
        await api.create(NODES, node)
    else:
        said = {GPUS_ANNOTATION: None, **annotations_of(node)}
        await api.patch(NODES, "", name, {"metadata": {"labels": {**gone, **labels_of(node)}, "annotations": said}})
    # The status is replaced as a whole: a merge patch would leave a removed GPU in the capacity.
    status = [{"op": "add", "path": "/status", "value": node["status"]}]
    return await api.patch(NODES, "", name, status, subresource="status", kind="json")
