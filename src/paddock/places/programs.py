"""What each rank of a job runs where there is no operator: its command, its environment, its machine. Pure.

It is read from the pod that the operator would create (`jobs.objects.pods`), so a rank has the same variables, ports
and order everywhere. Four things differ from a pod:

- Addresses are those of machines, which stand as marks (`hosts.Host.mark`) until the program starts.
- Ranks of one machine share its ports, so each has a block of its own (`PORTS_IN_BLOCK`).
- A launcher is told its place by its own options (`launchers`), and beside parameter servers it is left out.
- A value from a Secret or ConfigMap that is not in the file is asked for where the program starts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import PORTS_IN_BLOCK, Intranet, Job, Network, Rank, Settings
from paddock.jobs.names import config_map_name, host_name
from paddock.jobs.objects.pods import build_pod
from paddock.jobs.variables import ATTEMPT
from paddock.kube.downward import UnknownField, expand, read_field
from paddock.kube.host_words import replace_names
from paddock.kube.meta import Manifest, name_of
from paddock.kube.quantities import format_quantity, read_quantity
from paddock.launches.containers import read_command
from paddock.places.hosts import Host, spread
from paddock.places.launchers import find_launch, place_node, without_launcher
from paddock.words.phrases import Phrase, phrase

_SLOT = re.compile(r"machine-(?P<host>\d+)-slot-(?P<slot>\d+)\.paddock\.invalid(?::(?P<port>\d+))?")
_PORT = "PADDLE_PORT"
_SAID_BY_OPTIONS = re.compile(
    r"PADDLE_(TRAINER_ENDPOINTS|TRAINERS|TRAINERS_NUM|TRAINER_ID|PORT|MASTER|NNODES|RANK|TRAINING_ROLE|JOB_ID)|"
    r"TRAINING_ROLE|TRAINER_PORTS_NUM|POD_IP_DUMMY|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|"
    r"PET_(MASTER_ADDR|MASTER_PORT|NNODES|NODE_RANK|LOCAL_ADDR|RDZV_.*|STANDALONE)"
)
"""Variables that say the same as the options of `launchers.place_node`, or what a launcher sets by itself."""


class Unplaceable(Exception):
    """A place cannot carry this job: `reasons`, one sentence each."""

    def __init__(self, *reasons: Phrase) -> None:
        super().__init__("; ".join(map(str, reasons)))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a rank's environment."""

    name: str
    value: str | None  # may hold marks; None: it is not in the file
    source: str = ""  # where the cluster has a value that is not in the file (`Secret hub, key token`)
    hidden: bool = False  # it comes from a Secret of the file, and is never printed


@dataclass(frozen=True, slots=True)
class RankProgram:
    """One rank."""

    rank: Rank
    number: int  # of the rank in the job, from 0
    host: Host
    slot: int  # of the rank on its machine, from 0
    port: int  # the first of its ports
    image: str
    words: tuple[str, ...]  # its command, which may hold marks; empty for the image's own
    variables: tuple[Variable, ...]
    directory: str  # where it starts; empty where the job does not say
    serves: bool  # it runs until the deciding ranks are done (a parameter server)
    launched: bool  # its launcher is told its place by options
    container: Manifest  # of its pod, for volumes and devices
    spec: Manifest  # of its pod, for volumes and devices
    unknown: tuple[str, ...] = ()  # sources whose variables are not known by name (`Secret hub`)

    @property
    def asked(self) -> tuple[Variable, ...]:
        return tuple(each for each in self.variables if each.value is None)


def build_programs(
    job: Job, hosts: Sequence[Host], others: Iterable[Manifest] = (), port: int | None = None
) -> tuple[RankProgram, ...]:
    """The ranks of `job` on `hosts` (at least one), in the order of `Job.ranks`. `others`: ConfigMaps and Secrets of
    the same file. `port`: the first port on each machine, None for the framework's."""
    job = with_fixed_size(job)
    placed = spread(job, hosts)
    slots = {rank: _slot(rank, placed) for rank in placed}
    names = {host_name(job, rank): _address(placed[rank], slots[rank]) for rank in placed}
    plan = _Plan(job, placed, slots, find_first_port(job) if port is None else port, tuple(others), names)
    return tuple(_build(plan, rank, number) for number, rank in enumerate(job.ranks()))


def with_fixed_size(job: Job) -> Job:
    """The job as places without an operator run it: of a fixed size, and with parameter servers told rank by rank where
    they are, as PaddlePaddle's launcher, which Kubeflow leaves that to, does not end in its PS mode."""
    if job.launch.elastic is not None:
        job = replace(job, launch=replace(job.launch, elastic=None))
    master = job.role("master")
    if job.framework != "paddle" or master is None or not master.replicas:
        return job
    roles = tuple(replace(role, name="ps" if role.name == "master" else role.name) for role in job.roles)
    roles = tuple(replace(role, decides=role.name != "ps", trains=role.name != "ps") for role in roles)
    return replace(
        job, resource=PADDLEPADDLE.resource, roles=roles, mode="PS", network=Network(Intranet.POD_IP, gloo=1)
    )


def find_first_port(job: Job) -> int:
    """The port at which ranks meet if nobody chose another: the manifest's, or the framework's."""
    framework = FRAMEWORKS[job.framework]
    declared = framework.build_ports(job, job.ranks()[0], None) if job.network.rendezvous else ()
    return int(declared[0]["containerPort"]) if declared else framework.default_port


@dataclass(frozen=True, slots=True)
class _Plan:
    job: Job
    placed: Mapping[Rank, Host]
    slots: Mapping[Rank, int]
    port: int
    others: tuple[Manifest, ...]
    names: Mapping[str, str]
    """The host name of each rank -> its address."""

    def address(self, rank: Rank) -> str:
        return _address(self.placed[rank], self.slots[rank])

    def port_of(self, rank: Rank) -> int:
        return self.port + PORTS_IN_BLOCK * self.slots[rank]

    def resolve(self, text: str) -> str:
        """The text with marks for names of ranks, and with the ports of their blocks."""
        return _SLOT.sub(self._mark, replace_names(text, self.names))

    def _mark(self, match: re.Match[str]) -> str:
        mark = f"machine-{match['host']}.paddock.invalid"
        return f"{mark}:{int(match['port']) + PORTS_IN_BLOCK * int(match['slot'])}" if match["port"] else mark


def _address(host: Host, slot: int) -> str:
    return f"machine-{host.index}-slot-{slot}.paddock.invalid"


def _slot(rank: Rank, placed: Mapping[Rank, Host]) -> int:
    before = list(placed)[: list(placed).index(rank)]
    return sum(placed[each] == placed[rank] for each in before)


def _build(plan: _Plan, rank: Rank, number: int) -> RankProgram:
    job = plan.job
    role = job.role(rank.role)
    assert role is not None
    # no claim is mounted by an operator there
    pod = build_pod(replace(job, outputs=""), rank, 0, plan.port, Settings())
    pod["status"] = {"podIP": plan.address(rank), "hostIP": plan.address(rank)}
    pod["spec"]["nodeName"] = plan.placed[rank].name
    containers = pod["spec"]["containers"]
    container = containers[main_container(job, containers)]
    reading = _Reading(plan, rank, pod, container)
    variables, unknown = reading.read_variables()
    known = {each.name: each.value for each in variables if each.value is not None}
    words = tuple(plan.resolve(expand(word, known)) for word in read_command(container))
    launch = find_launch(words)
    if launch is not None and job.role("ps") is not None:
        words, launch = without_launcher(launch), None
    elif launch is not None:
        first = plan.placed[job.ranks()[0]]
        words = place_node(launch, first.mark, plan.port, job.size, number)
        variables = [each for each in variables if not _SAID_BY_OPTIONS.fullmatch(each.name)]
    return RankProgram(
        rank, number, plan.placed[rank], plan.slots[rank], plan.port_of(rank), str(container.get("image") or ""), words,
        tuple(variables), _directory(job, container), role.serves, launch is not None, container, pod["spec"], unknown,
    )  # fmt: skip


def _directory(job: Job, container: Manifest) -> str:
    return str(container.get("workingDir") or job.annotations.get(WORKING_DIRECTORY_ANNOTATION, ""))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads the environment of a rank as the kubelet does, from what is known before there is a cluster."""

    plan: _Plan
    rank: Rank
    pod: Manifest
    container: Manifest

    def read_variables(self) -> tuple[list[Variable], tuple[str, ...]]:
        """The variables in the order of names' first mention, and the sources whose names are not known."""
        found: dict[str, Variable] = {}
        unknown: list[str] = []
        for source in self.container.get("envFrom") or ():
            data = self._read_source(source)
            if data is None:
                unknown.append(_name_source(source))
                continue
            prefix = source.get("prefix") or ""
            hidden = source.get("secretRef") is not None
            for key, value in data.items():
                found[prefix + key] = Variable(prefix + key, self.plan.resolve(value), hidden=hidden)
        if _PORT in found:
            found[_PORT] = Variable(_PORT, str(self.plan.port_of(self.rank)))
        for entry in self.container.get("env") or ():
            known = {each.name: each.value for each in found.values() if each.value is not None}
            for each in self._read_entry(entry, known):
                found[each.name] = each
        found.pop(ATTEMPT, None)
        return list(found.values()), tuple(dict.fromkeys(unknown))

    def _read_entry(self, entry: Manifest, known: Mapping[str, str]) -> Iterator[Variable]:
        name, origin = str(entry["name"]), entry.get("valueFrom") or {}
        if not origin:
            yield Variable(name, self.plan.resolve(expand(str(entry.get("value") or ""), known)))
        elif (field := origin.get("fieldRef")) is not None:
            try:
                yield Variable(name, self.plan.resolve(read_field(self.pod, field.get("fieldPath") or "")))
            except UnknownField as error:
                yield Variable(name, None, str(error))
        elif (amount := origin.get("resourceFieldRef")) is not None:
            yield self._read_amount(name, amount)
        else:
            yield from self._read_key(name, origin)

    def _read_key(self, name: str, origin: Manifest) -> Iterator[Variable]:
        for kind, reference in (("ConfigMap", origin.get("configMapKeyRef")), ("Secret", origin.get("secretKeyRef"))):
            if reference is None:
                continue
            data = self._read_data(kind, str(reference.get("name") or ""))
            key = str(reference.get("key") or "")
            if data is not None and key in data:
                yield Variable(name, self.plan.resolve(data[key]), hidden=kind == "Secret")
            elif not reference.get("optional"):
                yield Variable(name, None, f"{kind} {reference.get('name')}, key {key}")

    def _read_amount(self, name: str, reference: Manifest) -> Variable:
        wanted, _, resource = str(reference.get("resource") or "").partition(".")
        amounts = (self.container.get("resources") or {}).get(wanted) or {}
        if resource not in amounts:
            return Variable(name, None, f"resourceFieldRef {reference.get('resource')}")
        divisor = read_quantity(reference.get("divisor") or 1) or 1
        return Variable(name, format_quantity(read_quantity(amounts[resource]) / divisor))

    def _read_source(self, source: Manifest) -> Mapping[str, str] | None:
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if (reference := source.get(key)) is not None:
                data = self._read_data(kind, str(reference.get("name") or ""))
                return {} if data is None and reference.get("optional") else data
        return {}

    def _read_data(self, kind: str, name: str) -> Mapping[str, str] | None:
        plan = self.plan
        if kind == "ConfigMap" and name == config_map_name(plan.job, 0):
            addresses = {rank: plan.address(rank) for rank in plan.placed}
            return FRAMEWORKS[plan.job.framework].build_endpoints(plan.job, addresses, plan.port)
        found = (each for each in plan.others if each.get("kind") == kind and name_of(each) == name)
        return next((_read_texts(each) for each in found), None)


def _read_texts(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a ConfigMap or Secret as texts."""
    is_secret = manifest.get("kind") == "Secret"
    plain = {key: str(value) for key, value in (manifest.get("data") or {}).items()}
    if is_secret:
        plain = {key: _decode(key, value, name_of(manifest)) for key, value in plain.items()}
    return plain | {key: str(value) for key, value in (manifest.get("stringData") or {}).items()}


def _decode(key: str, value: str, secret: str) -> str:
    try:
        return base64.b64decode(value).decode(errors="replace")
    except ValueError:
        said = phrase("Secret {secret}: the value of {key} is no base64: write it under stringData as it is",
                      secret=secret, key=key)  # fmt: skip
        raise Unplaceable(said) from None


def _name_source(source: Manifest) -> str:
    if (reference := source.get("secretRef")) is not None:
        return f"Secret {reference.get('name')}"
    return f"ConfigMap {(source.get('configMapRef') or {}).get('name')}"
