"""The options of `docker run` for a rank, from its pod. Pure.

Sources: docs.docker.com/reference/cli/docker/container/run, and PaddlePaddle's own advice (hardware_support: host
network, --shm-size or --ipc=host, --ulimit memlock and stack). A container of the host's network has the host's name,
so what holds for bare machines holds here: POD_IP and GLOO_SOCKET_IFNAME are always set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from paddock.environments.packages.devices import Device, find_asked
from paddock.kube.quantities import read_amounts, read_quantity
from paddock.launches.containers import find_script
from paddock.places.programs import RankProgram

MOUNTED = "/paddle"
"""Where the program of the machine is mounted, as in PaddlePaddle's documents."""
_SHARED = "/dev/shm"  # noqa: S108 - a place within a container
OF_CLIENT = frozenset({"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD"})
"""Variables that would change the docker program itself, if they were set for it."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume of a container."""

    source: str  # a path of the machine
    target: str
    read_only: bool = False
    kind: str = ""  # the volume's in Kubernetes; empty for a hostPath


def name_container(name: str, program: RankProgram) -> str:
    """`resnet-worker-0`"""
    return f"{name}-{program.rank}"


def read_limits(program: RankProgram) -> dict[str, Fraction]:
    resources: Mapping[str, Any] = program.container.get("resources") or {}
    return {**read_amounts(resources.get("requests")), **read_amounts(resources.get("limits"))}


def find_cards(program: RankProgram, programs: Sequence[RankProgram]) -> tuple[Device, tuple[int, ...]] | None:
    """The device that a rank asks for, and its cards on its machine: each rank of a machine has its own."""
    found = find_asked(read_limits(program))
    if found is None:
        return None
    before = (
        find_asked(read_limits(each)) for each in programs if each.host == program.host and each.slot < program.slot
    )
    first = sum(int(-(-count // 1)) for count in (each[1] for each in before if each is not None))
    return found[0], tuple(range(first, first + int(-(-found[1] // 1))))


def list_device_options(program: RankProgram, programs: Sequence[RankProgram]) -> list[str]:
    found = find_cards(program, programs)
    if found is None:
        return []
    device, cards = found
    if device.name == "GPU":
        return ["--gpus", f'"device={",".join(map(str, cards))}"']
    named = {each.name for each in program.variables}
    shown = [] if device.variable in named else ["-e", f"{device.variable}={','.join(map(str, cards))}"]
    return [*device.docker, *shown]


def list_memory_options(program: RankProgram) -> list[str]:
    """Shared memory: the size of the volume at /dev/shm; the machine's own for one without a size, and with devices."""
    names = {mount["name"] for mount in program.container.get("volumeMounts") or ()
             if str(mount["mountPath"]).rstrip("/") == _SHARED}  # fmt: skip
    for volume in program.spec.get("volumes") or ():
        if volume["name"] in names:
            size = (volume.get("emptyDir") or {}).get("sizeLimit")
            return ["--shm-size", str(int(read_quantity(size)))] if size else ["--ipc=host"]
    return ["--ipc=host"] if find_asked(read_limits(program)) else []


def list_limits(program: RankProgram) -> list[str]:
    limits = read_amounts((program.container.get("resources") or {}).get("limits"))
    found = []
    if cpus := limits.get("cpu"):
        found += ["--cpus", f"{float(cpus):g}"]
    if memory := limits.get("memory"):
        found += ["--memory", str(int(memory))]
    return found


def list_mounts(program: RankProgram) -> list[Mount]:
    """The volumes of a rank as directories of its machine. A volume that Docker has not (a claim, a Secret, NFS) is the
    directory of the same path on the machine, which must have its files."""
    volumes = {volume["name"]: volume for volume in program.spec.get("volumes") or ()}
    found = []
    for mount in program.container.get("volumeMounts") or ():
        volume, target = volumes.get(mount["name"], {}), str(mount["mountPath"])
        if target.rstrip("/") == _SHARED:
            continue
        if volume.get("emptyDir") is not None:
            found.append(Mount("", target))
        elif (host := volume.get("hostPath")) is not None:
            source = (
                f"{str(host['path']).rstrip('/')}/{mount['subPath']}" if mount.get("subPath") else str(host["path"])
            )
            found.append(Mount(source, target, bool(mount.get("readOnly"))))
        else:
            kind = next((key for key in volume if key != "name"), "volume")
            found.append(Mount(target, target, bool(mount.get("readOnly")), kind))
    return found


def list_mount_options(program: RankProgram) -> list[str]:
    options = []
    for mount in list_mounts(program):
        ending = ":ro" if mount.read_only else ""
        options += ["-v", f"{mount.source}:{mount.target}{ending}" if mount.source else mount.target]
    return options


def list_variable_options(program: RankProgram) -> list[str]:
    """By name alone: values come from the environment of the docker program, and no list of processes has them."""
    options = []
    for each in program.variables:
        if each.name in OF_CLIENT and each.value is not None and not each.hidden:
            options += ["-e", f"{each.name}={each.value}"]
        else:
            options += ["-e", each.name]
    for name in ("POD_IP", "GLOO_SOCKET_IFNAME", "PYTHONUNBUFFERED"):
        if f"{name}" not in {each.name for each in program.variables}:
            options += ["-e", name]
    return options


def list_user_options(program: RankProgram) -> list[str]:
    security = {**(program.spec.get("securityContext") or {}), **(program.container.get("securityContext") or {})}
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    if user is None:
        return []
    return ["--user", f"{user}:{group}" if group is not None else str(user)]


def list_options(program: RankProgram, programs: Sequence[RankProgram], name: str) -> list[str]:
    """The options before the image, without the mount of the program itself."""
    return [
        "--rm", "--init", "--name", name_container(name, program), "--network=host",
        *list_memory_options(program), "--ulimit", "memlock=-1:-1", "--ulimit", "stack=67108864",
        *list_device_options(program, programs), *list_limits(program), *list_user_options(program),
        *list_mount_options(program), *(["-w", program.directory] if program.directory else []),
        *list_variable_options(program),
    ]  # fmt: skip


def split_command(program: RankProgram) -> tuple[list[str], list[str]]:
    """The words before and after the image: `command` of Kubernetes is Docker's entry point, `args` alone follow the
    image's own."""
    words = list(program.words)
    if program.container.get("command") and words:
        return ["--entrypoint", words[0]], words[1:]
    return [], words


def find_mounted(program: RankProgram) -> str:
    """The file of the program, relative to a directory that is mounted where it is there; empty where the job says
    where its program starts, or does not name a file."""
    return "" if program.directory else find_script({"command": list(program.words)})
