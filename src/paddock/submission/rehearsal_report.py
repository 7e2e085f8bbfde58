"""What is told of a rehearsal: before it, how it differs from the job; after it, what it has shown. Pure.

A rehearsal shows that ranks start, meet and train for some steps. What it cannot show is a list of its own
(`list_unrehearsed`), told each time: a green line about half of a job must not be taken for one about all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from paddock.jobs.model import Job, Pod, PodPhase, Role
from paddock.kube.quantities import format_bytes, format_quantity
from paddock.launches.containers import find_launch
from paddock.launches.launchers import PADDLE, TORCHRUN
from paddock.logs.step_count import StepCount
from paddock.submission.rehearsal import VARIABLE, Rehearsal
from paddock.submission.rehearsed_pods import Replaced
from paddock.views.outputs import trained_container
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase, render

_IN_BYTES = frozenset({"memory", "ephemeral-storage"})


class Verdict(StrEnum):
    """How a rehearsal ended."""

    STEPPED = "Stepped"
    """A rank has told the steps that were wanted, all ranks had started, and none has failed."""
    COMPLETED = "Completed"
    """The program has ended by itself, and well."""
    FAILED = "Failed"
    NOT_STARTED = "NotStarted"
    """Some rank never ran."""
    UNKNOWN = "Unknown"
    """All ranks ran until the time was over, and told too few steps."""
    NO_MEMORY = "NoMemory"
    """This machine had hardly any memory left."""

    @property
    def exit_code(self) -> int:
        match self:
            case Verdict.STEPPED | Verdict.COMPLETED:
                return 0
            case Verdict.UNKNOWN | Verdict.NO_MEMORY:
                return 3
        return 1


@dataclass(frozen=True, slots=True)
class Copied:
    """The directory of --data that a volume has a copy of."""

    source: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class RoleSeen:
    """What the ranks of one role have done."""

    name: str
    ranks: int
    started: int
    met: bool | None = None
    """Whether its ranks have found the others; None where that cannot be seen, or there are no others."""
    alone: bool = False
    """It is the only one of its job that trains."""
    teller: str = ""
    """The rank that has told the most steps."""
    count: StepCount = field(default_factory=StepCount)
    processes: int = 1
    error: str = ""
    """The first error of its first rank that has one."""

    @property
    def steps(self) -> int:
        return self.count.count(self.processes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a rehearsal."""

    verdict: Verdict
    seconds: float
    """Since its ranks have run; since it was submitted where they did not."""
    roles: tuple[RoleSeen, ...] = ()
    why: Phrase | str = ""
    """The cause of a failure or of a wait; of UNKNOWN what was read of steps."""
    wants_device: bool = False
    """A rank asks for a GPU that is not here."""
    lacks: Lacking | None = None
    """A file that is missing in a volume that was replaced."""
    ended: tuple[EndedRank, ...] = ()
    """The ranks that ended by themselves and well, where others did not."""


class EndedRank(NamedTuple):
    """A rank that ended with exit code 0 while others went on."""

    rank: str
    seconds: float | None
    """After its pod had begun; None where its node does not say."""


class Lacking(NamedTuple):
    """A file that a rank did not find where the manifest has data of the cluster."""

    path: str
    replaced: Replaced


class Unrehearsed(NamedTuple):
    """What a rehearsal could not show."""

    what: str
    """Stable, for programs: `devices`."""
    said: Phrase


# Before


def explain_changes(plan: Rehearsal, copied: Mapping[str, Copied]) -> Iterator[Phrase]:
    """How it differs from the manifest, one line for each kind. `copied`: by `Replaced.what`."""
    if plan.resources:
        yield phrase("not asked for: {amounts}", amounts=_list(map(_tell_amount, plan.resources.items())))
    if plan.taken_out:
        yield phrase("taken out: {names}", names=_list(plan.taken_out))
    if plan.left_out:
        yield phrase("not sent: {names}", names=_list(plan.left_out))
    for name in plan.kept:
        yield phrase(
            "Environment {name} of the file is not sent: one of this name is here and is used as it is", name=name
        )
    if plan.workers is not None:
        wanted, started = plan.workers
        yield phrase("{started} of {wanted} workers are started (--ranks)", started=started, wanted=wanted)
    if plan.processes is not None:
        option, count = plan.processes
        yield phrase(
            "each pod is told to start {count} processes ({option}), one for each device that it asks for",
            count=count, option=option,
        )  # fmt: skip
    for each in plan.replaced:
        where = {"name": each.volume, "what": each.what, "paths": _list(each.paths) or "-"}
        if copy := copied.get(each.what):
            size = format_bytes(copy.size)
            yield phrase(
                "volume {name} ({what}) at {paths}: a copy of {source}, {size}", source=copy.source, size=size, **where
            )
        else:
            yield phrase(
                "volume {name} ({what}) at {paths}: an empty directory; --data {option}=DIR puts a copy of DIR there",
                option=each.volume, **where,
            )  # fmt: skip
    if plan.missing:
        yield phrase("not here, so containers do without: {names}", names=_list(plan.missing))


def _list(names: Iterable[str]) -> str:
    """All of them: what was not told would be taken for rehearsed."""
    return ", ".join(names)


def _tell_amount(asked: tuple[str, Fraction]) -> str:
    name, amount = asked
    return f"{format_bytes(amount) if name in _IN_BYTES else format_quantity(amount)} {name}"


def list_unrehearsed(plan: Rehearsal, *, copied: bool) -> tuple[Unrehearsed, ...]:
    """What it cannot show. `copied`: each volume that was replaced has data."""
    return tuple(_unrehearsed(plan, copied=copied))


def _unrehearsed(plan: Rehearsal, *, copied: bool) -> Iterator[Unrehearsed]:
    if plan.devices:
        names = _list(plan.devices)
        yield Unrehearsed("devices", phrase("what runs on {names}: kernels, device memory, NCCL", names=names))
    if any("rdma" in name.lower() for name in plan.devices):
        yield Unrehearsed("rdma", phrase("RDMA"))
    if plan.images:
        said = phrase("what is in {images}: programs ran in environments of this machine", images=_list(plan.images))
        yield Unrehearsed("image", said)
    yield Unrehearsed("memory", phrase("whether memory and processors that the manifest gives are enough"))
    if plan.replaced and copied:
        yield Unrehearsed("data", phrase("all of the data, and how fast storage gives them"))
    elif plan.replaced:
        yield Unrehearsed(
            "data", phrase("what is in its volumes: {names}", names=_list(each.what for each in plan.replaced))
        )
    if plan.missing:
        yield Unrehearsed("secrets", phrase("what needs {names}", names=_list(plan.missing)))
    if plan.workers is not None:
        yield Unrehearsed("ranks", phrase("all of its {count} workers together", count=plan.workers[0]))
    yield Unrehearsed("network", phrase("the network between nodes: all ranks were on this machine"))
    yield Unrehearsed("placement", phrase("whether the cluster has room and a queue for it"))


# While it runs


def read_met(job: Job, role: Role, *, watched: bool, told: bool) -> bool | None:
    """Whether the ranks of a role have found each other: their launcher starts the program once all are there, so
    what the program tells shows it. `watched`: PaddlePaddle's launcher says that the job has formed; `told`: a rank of
    it has told a step. None where that cannot be seen."""
    if sum(each.replicas for each in job.roles if each.trains) < 2 or not role.trains:
        return None
    if watched:
        return True
    launch = find_launch(trained_container(job, role))
    waits = launch is not None and launch.launcher in (PADDLE, TORCHRUN) and launch.named("standalone") is None
    is_whole = job.launch.elastic is None or job.launch.elastic.least >= role.replicas
    return True if waits and told and is_whole else None


# After


def find_ended(pods: Sequence[Pod]) -> tuple[EndedRank, ...]:
    """The ranks that ended by themselves with exit code 0, in their order; empty where all of them did."""
    ended = [pod for pod in pods if pod.phase is PodPhase.SUCCEEDED]
    if len(ended) == len(pods):
        return ()
    return tuple(
        EndedRank(str(pod.rank), _measure(pod))
        for pod in sorted(ended, key=lambda each: (each.rank.role, each.rank.index))
    )


def _measure(pod: Pod) -> float | None:
    if pod.started is None or pod.exit is None or pod.exit.finished is None:
        return None
    return max(0.0, float(pod.exit.finished - pod.started))


def explain_ended(ended: Sequence[EndedRank]) -> Phrase:
    """Which ranks ended while others went on; `ended` is not empty. Whether that is as it should be is not known."""
    if len(ended) == 1 and ended[0].seconds is not None:
        return phrase("{rank} ended with exit code 0 after {time} s", rank=ended[0].rank, time=_show(ended[0].seconds))
    names = tuple(
        each.rank if each.seconds is None else phrase("{rank} after {time} s", rank=each.rank, time=_show(each.seconds))
        for each in ended
    )
    return counted(
        "{count} rank ended with exit code 0: {ranks}", "{count} ranks ended with exit code 0: {ranks}",
        count=len(names), ranks=Names(names),
    )  # fmt: skip


def _show(seconds: float) -> str:
    return f"{seconds:.0f}"


def explain_outcome(outcome: Outcome, wanted: int) -> Phrase:
    """The last sentence. `wanted`: steps."""
    time = f"{outcome.seconds:.0f}"
    match outcome.verdict:
        case Verdict.STEPPED:
            role = find_teller(outcome.roles)
            return phrase(
                "it starts: {rank} told {steps} beyond its first reading, and no rank failed; all were ended after "
                "{time} s",
                rank=role.teller if role else "-", steps=_tell_steps(role), time=time,
            )  # fmt: skip
        case Verdict.COMPLETED:
            return phrase("it starts, and ended by itself: all ranks completed ({time} s)", time=time)
        case Verdict.FAILED:
            return phrase("it fails after {time} s: {why}", time=time, why=outcome.why)
        case Verdict.NOT_STARTED:
            return phrase("it does not start; after {time} s: {why}", time=time, why=outcome.why)
        case Verdict.NO_MEMORY:
            return phrase(
                "unknown: this machine had hardly any memory left, so all ranks were ended after {time} s; --ranks N "
                "starts fewer workers",
                time=time,
            )
    if outcome.ended:
        return phrase(
            "unknown: {ended}, the other ranks ran for {time} s, and none failed; {why}",
            ended=explain_ended(outcome.ended), time=time, why=outcome.why,
        )  # fmt: skip
    return phrase("unknown: all ranks ran for {time} s, and none failed; {why}", time=time, why=outcome.why)


def _tell_steps(role: RoleSeen | None) -> Phrase:
    if role is None or (role.count.epochs and not role.steps):
        return phrase("an epoch")
    return counted("{count} step", "{count} steps", count=role.steps)


def find_teller(roles: Sequence[RoleSeen]) -> RoleSeen | None:
    """The role of which the most steps were read; None without one."""
    told = [role for role in roles if role.count.first is not None]
    return max(told, key=lambda role: (role.count.epochs, role.steps), default=None)


def explain_too_few(roles: Sequence[RoleSeen], wanted: int, nearest: Phrase) -> Phrase:
    """What was read of steps, where it was too little. `nearest`: why no line was read."""
    role = find_teller(roles)
    if role is None:
        return nearest
    return phrase(
        "{rank} told {steps} beyond its first reading, of {wanted}: --timeout gives it more time, --steps asks for "
        "fewer",
        rank=role.teller, steps=_tell_steps(role), wanted=wanted,
    )  # fmt: skip


_BY_DEVICE = {
    "paddle": 'paddle.set_device("gpu" if paddle.device.cuda.device_count() else "cpu")',
    "pytorch": 'device = "cuda" if torch.cuda.is_available() else "cpu"',
}
"""By framework, how a program takes the device that is there."""


def explain_device(framework: str) -> Phrase:
    """What to do about a rank that wants a GPU: no other wheel, and no driver."""
    if code := _BY_DEVICE.get(framework):
        return phrase(
            "a rank asks for a GPU or for CUDA, and a rehearsal runs on the CPU: this part cannot be rehearsed here. A "
            "program that takes the device that is there can be rehearsed beyond this point: {code}",
            code=code,
        )
    return phrase(
        "a rank asks for a GPU or for CUDA, and a rehearsal runs on the CPU: this part cannot be rehearsed here. A "
        "program that takes the CPU where {variable} is set can be rehearsed beyond this point",
        variable=VARIABLE,
    )


_NOT_FOUND = re.compile(r"no such file or directory|not ?found|does not exist|doesn't exist|cannot open|is empty", re.I)
"""How Python, PaddlePaddle, PyTorch and programs of C say that a file is missing."""
_PATH = re.compile(r"/[^\s'\"`<>|:;,()\[\]{}]*")


def find_lacking(replaced: Sequence[Replaced], errors: Iterable[str]) -> Lacking | None:
    """The first file of these errors that lies in a replaced volume, by the longest mount path. None where no error is
    about a missing file, or all of them lie elsewhere: those are the program's."""
    mounts = sorted(((path, each) for each in replaced for path in each.paths), key=lambda found: -len(found[0]))
    for error in errors:
        for named in (each.rstrip(".") for each in _PATH.findall(error) if _NOT_FOUND.search(error)):
            for path, each in mounts:
                if f"{named}/".startswith(f"{path.rstrip('/')}/"):
                    return Lacking(named, each)
    return None


def explain_lacking(lacks: Lacking, copied: Mapping[str, Copied]) -> Phrase:
    """Whose fault it is not, and what to do."""
    each = lacks.replaced
    where = {"path": lacks.path, "name": each.volume, "what": each.what}
    if copy := copied.get(each.what):
        return phrase(
            "{path} is data of volume {name} ({what}), which has a copy of {source} here: that lacks it",
            source=copy.source, **where,
        )  # fmt: skip
    return phrase(
        "{path} is data of volume {name} ({what}), which is empty in a rehearsal: --data {name}=DIR puts a copy of DIR "
        "there",
        **where,
    )


def build_table(roles: Sequence[RoleSeen], language: str) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The header, and a row for each role."""
    rows: list[Sequence[str]] = [
        (role.name, str(role.ranks), str(role.started), render(_tell_met(role), language), str(_show_steps(role)),
         role.error or "-")
        for role in roles
    ]  # fmt: skip
    return ("ROLE", "RANKS", "STARTED", "MET", "STEPS", "FIRST ERROR"), rows


def _tell_met(role: RoleSeen) -> Phrase | str:
    if role.met is None:
        return "-" if role.alone else phrase("unknown")
    return phrase("yes") if role.met else phrase("no")


def _show_steps(role: RoleSeen) -> str:
    return "-" if role.count.first is None else str(role.steps)


def build_document(
    plan: Rehearsal,
    outcome: Outcome,
    wanted: int,
    copied: Mapping[str, Copied],
    language: str,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The report for programs: `message` is in the reader's language, as all of that name; all else is not translated.
    `more`: what the caller adds."""
    verdict, has_data = outcome.verdict, all(each.what in copied for each in plan.replaced)
    workers = {"manifest": plan.workers[0], "started": plan.workers[1]} if plan.workers else None
    processes = {"option": plan.processes[0], "each": plan.processes[1]} if plan.processes else None
    return {
        "kind": plan.job.resource.kind,
        "namespace": plan.job.key.namespace,
        "rehearsal": plan.job.key.name,
        "verdict": str(verdict),
        "exitCode": verdict.exit_code,
        "message": render(explain_outcome(outcome, wanted), language),
        "seconds": round(outcome.seconds, 1),
        "stepsWanted": wanted,
        "roles": [_document_role(role) for role in outcome.roles],
        "ended": [{"rank": each.rank, "seconds": each.seconds} for each in outcome.ended],
        "wantsDevice": outcome.wants_device,
        "lacks": {"path": outcome.lacks.path, "volume": outcome.lacks.replaced.volume} if outcome.lacks else None,
        "notAskedFor": {name: format_quantity(amount) for name, amount in plan.resources.items()},
        "takenOut": list(plan.taken_out),
        "notSent": list(plan.left_out),
        "environmentsKept": list(plan.kept),
        "missing": list(plan.missing),
        "replaced": [_document_volume(each, copied.get(each.what)) for each in plan.replaced],
        "workers": workers,
        "processes": processes,
        "notRehearsed": [
            {"what": each.what, "message": render(each.said, language)}
            for each in list_unrehearsed(plan, copied=has_data)
        ],
        **more,
    }


def _document_role(role: RoleSeen) -> dict[str, Any]:
    return {
        "role": role.name, "ranks": role.ranks, "started": role.started, "met": role.met,
        "steps": role.steps if role.count.first is not None else None, "epochs": role.count.epochs,
        "toldBy": role.teller, "error": role.error,
    }  # fmt: skip


def _document_volume(each: Any, copy: Copied | None) -> dict[str, Any]:
    data = {"source": copy.source, "bytes": copy.size} if copy else None
    return {"volume": each.volume, "was": each.what, "paths": list(each.paths), "copyOf": data}


# Too much for the machine

MEMORY_OF_A_PROCESS = 300 << 20
"""What a process that imports torch or paddle takes at least, in bytes."""
_EACH_CORE = 16
"""Processes: more only wait for each other."""


def explain_too_many(processes: int, cores: int, memory: int, job: Job, file: str) -> Phrase | None:
    """Why so many processes are not started on a machine of `cores` processors with so many free bytes; None where it
    bears them."""
    most = min(cores * _EACH_CORE, memory // MEMORY_OF_A_PROCESS)
    if processes <= most:
        return None
    workers = next((role.replicas for role in job.roles if role.name == "worker"), 0)
    fewer = max(1, most * workers // processes) if workers > 1 else 0
    said = phrase(
        "{file}: the job has {processes} processes, and this machine ({cores} processors, {memory} of memory free) "
        "bears about {most}",
        file=Foreign(file), processes=processes, cores=cores, memory=format_bytes(memory), most=most,
    )  # fmt: skip
    if not fewer or fewer >= workers:
        return phrase("{said}: --ranks {workers} starts it all the same", said=said, workers=max(1, workers))
    return phrase(
        "{said}: --ranks {fewer} starts so many workers, --ranks {workers} starts all of them all the same",
        said=said, fewer=fewer, workers=workers,
    )  # fmt: skip
