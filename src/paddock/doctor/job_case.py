"""A job, its pods and what they printed, as a case for `examine`. Pure.

The command line and the console read the logs in their own ways, and call `examine_job` with them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.doctor.asked import CPU, GPU, Machine, RankSeen, read_asked
from paddock.doctor.examine import examine
from paddock.doctor.findings import Finding
from paddock.doctor.launch_block import LaunchLog
from paddock.environments.packages.devices import find_asked
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Phase, Pod, PodPhase, Status
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.sentences.waiting_ranks import list_names
from paddock.kube.accelerators import is_accelerator
from paddock.kube.gpu_shares import find_shares, weigh
from paddock.kube.meta import Manifest, annotations_of
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.quantities import read_amounts
from paddock.kube.readiness import is_overdue
from paddock.kube.times import Moment
from paddock.logs.stacks import Folded
from paddock.words.phrases import Foreign, phrase

_GPU_WHEEL = re.compile(r"paddlepaddle-gpu\b|paddlepaddle_gpu\b|\+cu\d+|nvidia-cu(?:da|dnn)")
_CPU_WHEEL = re.compile(r"paddlepaddle(?![-_])\b|\btorch\b.*\+cpu")
_GPU_IMAGE = re.compile(r"[:/][^/]*(?:gpu|cuda|cudnn|cu\d{2,3})", re.IGNORECASE)
_CPU_IMAGE = re.compile(r"(?:^|/)paddle:\d+\.\d+\.\d+$|[:/][^/]*cpu", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Printed:
    """The log of a rank, as read, and when it printed last."""

    log: LaunchLog
    modified: Moment | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else is known."""

    cores: Mapping[str, float] = field(default_factory=dict)  # that ranks use now
    nodes: Sequence[Manifest] = ()  # of the cluster, as far as they may be read
    environment: str = ""  # that the ranks run in; empty on a cluster, where the image says it
    requirements: Sequence[str] = ()  # of that Environment; empty on a cluster
    file: str = ""  # the requirements file in which a further package of it belongs; empty without one
    idle: Mapping[str, float] = field(default_factory=dict)
    """For how many seconds the GPUs of ranks have done nothing, of those of which that is known."""
    local: bool = True
    stacks: Folded = field(default_factory=Folded)  # where its ranks are, where somebody has looked


def examine_job(
    job: Job,
    status: Status,
    pods: Iterable[Manifest],
    printed: Mapping[str, Printed],
    now: Moment,
    around: Surroundings,
    options: str = "",
    named: str = "",
    *,
    is_gone: bool = False,
) -> tuple[Finding, ...]:
    """`pods`: those that the job owns, of all attempts. `printed`: by rank, of the last attempt. `options`: of a
    `paddock` command that reaches the job; `named`: as in `read_asked`; `is_gone`: only what it printed is kept, so
    nothing shows its manifest or its ranks."""
    image = _read_image(job)
    wheel = read_wheel(around.requirements) if around.local else read_image(image)
    directory = job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "")
    asked = read_asked(job, wheel, around.environment if around.local else image, options, named)
    asked = replace(asked, stacks=f"paddock stacks {asked.job}{options}",
                    describe=f"paddock describe {asked.job}{options}",
                    file=posixpath.join(directory, around.file) if around.file else "",
                    is_built=around.local and bool(around.environment and around.requirements))  # fmt: skip
    if is_gone:
        asked = replace(asked, edit="", stacks="", describe="")
    found = {str(pod.rank): (pod, each) for each in pods if (pod := read_pod(each)) and status.holds(pod)}
    ranks = dict[str, RankSeen]()
    for rank in map(str, job.ranks()):
        pod, manifest = found.get(rank, (None, {}))
        seen = see_rank(pod, printed.get(rank), around.cores.get(rank), now)
        if pod is not None:
            unready = seen.unready if is_overdue(manifest, now) else ""
            seen = replace(seen, names=list_names(manifest), unready=unready, gpus=count_held(manifest))
            seen = replace(seen, idle=around.idle.get(rank))
        ranks[rank] = seen
    logs = {rank: each.log for rank, each in printed.items()}
    machine, failed = Machine(count_gpus(around.nodes), around.local), status.phase is Phase.FAILED
    return examine(asked, logs, ranks, machine, status.cause, around.stacks, has_failed=failed)


def see_rank(pod: Pod | None, printed: Printed | None, cores: float | None, now: Moment) -> RankSeen:
    """What the cluster says of a rank. Nothing is known of one without a pod."""
    if pod is None:
        return RankSeen()
    running = pod.phase is PodPhase.RUNNING
    begun = max(now - pod.started, 0.0) if pod.started is not None else None
    printed_at = printed.modified if printed and printed.modified is not None else pod.started
    return RankSeen(
        running=running,
        code=pod.exit.code if pod.exit and not running else None,
        quiet=max(now - printed_at, 0.0) if printed_at is not None else None,
        begun=begun,
        cores=cores,
        waits=phrase("{said}", said=Foreign(pod.waiting[1] or pod.waiting[0])) if pod.waiting else None,
        unready=pod.unready,
    )


def count_held(pod: Manifest) -> float:
    """The accelerators that a pod holds; a share of one counts as that part."""
    try:
        amounts = read_pod_amounts(pod.get("spec") or {})
    except ValueError:
        return 0.0
    held = weigh(amounts, find_shares(annotations_of(pod), amounts))
    return float(sum(amount for name, amount in held.items() if is_accelerator(name)))


def read_wheel(requirements: Iterable[str]) -> str:
    """`CPU` or `GPU` by the packages of an Environment; empty where they do not say it."""
    text = "\n".join(requirements)
    return GPU if _GPU_WHEEL.search(text) else CPU if _CPU_WHEEL.search(text) else ""


def read_image(image: str) -> str:
    """The wheel that the tag of an image tells, where it does: `paddle:3.0.0-gpu-cuda12.6-cudnn9.5`, `paddle:3.0.0`."""
    return GPU if _GPU_IMAGE.search(image) else CPU if _CPU_IMAGE.search(image) else ""


def _read_image(job: Job) -> str:
    for role in job.roles:
        containers = list((role.template.get("spec") or {}).get("containers") or ())
        if role.trains and containers:
            return str(containers[main_container(job, containers)].get("image") or "")
    return ""


def count_gpus(nodes: Sequence[Manifest]) -> int | None:
    """GPUs of the node that has most; None without a node."""
    counts = []
    for node in nodes:
        found = find_asked(read_amounts((node.get("status") or {}).get("allocatable")))
        counts.append(int(found[1]) if found and found[0].name == "GPU" else 0)
    return max(counts, default=None)
