"""What `paddock doctor JOB` looks at: a job, its pods, what they printed in the last attempt, and what they use.

The logs of the local cluster are files, also of pods that are gone; those of a Kubernetes come through its API, with
their times, or from what a console on this machine has copied of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from paddock.app.history import Kept, read_cause, read_ends, read_job
from paddock.app.idle_jobs import ReadUses
from paddock.client.pod_stacks import NoStacks, fetch_stacks
from paddock.doctor.findings import Finding
from paddock.doctor.idle_gpus import LONG, measure_rest
from paddock.doctor.job_case import Printed, Surroundings, examine_job
from paddock.doctor.launch_block import LaunchLog
from paddock.doctor.log_bytes import LogBytes
from paddock.doctor.silence import SILENT
from paddock.environments.images import read_used
from paddock.environments.seeding import name_file
from paddock.history.logs import LogFile
from paddock.history.records import RunRecord
from paddock.jobs.model import Job, Phase, PodPhase, Status
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.policies.idle_gpus import IDLE_PERCENT
from paddock.kube.api import PodApi
from paddock.kube.errors import ApiError
from paddock.kube.meta import (
    ENVIRONMENTS,
    NODES,
    PODS,
    Key,
    Manifest,
    Resource,
    is_controlled_by,
    name_of,
    namespace_of,
)
from paddock.kube.pod_logs import name_main_container
from paddock.kube.pod_stacks import only_of
from paddock.kube.times import Moment
from paddock.kube.usage import POD_METRICS, read_usage
from paddock.logs.nearest_line import Nearest
from paddock.logs.stacks import Folded, fold
from paddock.node.usage.records import read_usage_file, usage_file

_CHUNK = 1 << 20
_AT_ONCE = 8
_LEAST_END = 1 << 14
_TAIL_LINES = 2000
MOST_OF_FILES = 64 << 20
"""Bytes of the files of one job's logs that are read where nobody asks for less: it takes seconds, and a log may have a
GiB."""
Report = Callable[[str, int], None]
"""(rank, bytes read so far)"""
ReadEnds = Callable[[LogFile, int | None, Callable[[int], None]], Iterator[bytes]]
"""As `History.read_ends`."""


def ignore(_rank: str, _bytes: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Looked:
    """What was looked at, in numbers, and what was found."""

    findings: tuple[Finding, ...]
    logs: int = 0
    lines: int = 0
    pods: int = 0
    cut: int = 0
    """Logs of which the middle was not read."""
    nearest: Nearest | None = None
    """Where no log has a metric at its end the line that was nearest to one."""
    printed: Mapping[str, Printed] = field(default_factory=dict)
    """By rank."""


async def look_at_job(
    client: PodApi,
    job: Job,
    status: Status,
    uid: str,
    *,
    history: Kept | None,
    local: bool,
    now: Moment,
    options: str = "",
    named: str = "",
    report: Report = ignore,
    most: int | None = None,
    is_gone: bool = False,
    ask_uses: ReadUses | None = None,
) -> Looked:
    """`options` and `named`: as in `examine_job`. `history`: the files of the local cluster, or what a console has
    copied of a Kubernetes' logs. `most`: bytes of all logs together that are read, the first and the last of each; None
    reads all of the pods of a cluster, and `MOST_OF_FILES`. `now`: when the objects were read, in seconds since the
    epoch. `is_gone`: the job is deleted before anybody reads what was found. `ask_uses`: tells what the GPUs of a
    cluster do. Raises `ApiError`, and what that raises."""
    pods = [each for each in (await client.list(PODS, job.key.namespace)).items if is_controlled_by(each, uid)]
    kept = history.find_job_logs(*job.key, uid) if history else []
    printed = await _read_files(history, kept, report, most) if history and kept else {}
    if not local:
        printed |= await _fetch_logs(client, [each for each in pods if _is_of(each, status)], report, most)
    around = Surroundings(
        cores=await _fetch_cores(client, job.key.namespace, pods),
        nodes=await _list(client, NODES),
        idle=await asyncio.to_thread(read_rests, kept, status.attempt, now) if local else {},
        local=local,
    )
    if ask_uses is not None and not local:
        around = replace(around, idle=await _ask_rests(ask_uses, pods, status, now))
    if local:
        around = await _add_environment(client, pods, around)
    findings = examine_job(job, status, pods, printed, now, around, options, named, is_gone=is_gone)
    if local and any(each.check == SILENT for each in findings):
        around = replace(around, stacks=await _fetch_places(client, pods, status))
        findings = examine_job(job, status, pods, printed, now, around, options, named, is_gone=is_gone)
    cut = sum(each.log.has_gap for each in printed.values())
    lines = sum(each.log.lines for each in printed.values())
    return Looked(findings, len(printed), lines, len(pods), cut, find_nearest_line(printed), printed)


def find_nearest_line(printed: Mapping[str, Printed]) -> Nearest | None:
    """None where a log has a metric, or no line is near. Pure."""
    logs = [each.log for each in printed.values()]
    if any(log.progress for log in logs):
        return None
    return next((log.nearest for log in logs if log.nearest), None)


async def look_at_run(history: Kept, run: RunRecord, now: Moment, options: str = "", report: Report = ignore) -> Looked:
    """A job that is gone: what the history has of its last run."""
    printed = await _read_files(history, history.find_logs(run), report)
    job = read_job(run)
    if job is None:  # also of a kind that another version of Paddock knows
        return Looked((), len(printed), sum(each.log.lines for each in printed.values()))
    status = Status(
        attempt=run.attempt,
        phase=Phase.FAILED if run.phase == Phase.FAILED else Phase.NONE,
        cause=read_cause(run.told),
    )
    findings = examine_job(job, status, (), printed, now, Surroundings(), options, is_gone=True)
    lines = sum(each.log.lines for each in printed.values())
    cut = sum(each.log.has_gap for each in printed.values())
    return Looked(findings, len(printed), lines, cut=cut, nearest=find_nearest_line(printed))


async def _fetch_places(client: PodApi, pods: Sequence[Manifest], status: Status) -> Folded:
    """Where the ranks that run are. Empty where nobody tells it."""
    running = {}
    for each in pods:
        read = read_pod(each)
        if read is not None and status.holds(read) and read.phase is PodPhase.RUNNING:
            running[str(read.rank)] = each
    try:
        taken = await fetch_stacks(client, running)
    except (ApiError, NoStacks):
        return Folded()
    return fold({rank: only_of(each, name_main_container(running[rank])) for rank, each in taken.items()})


def _is_of(pod: Manifest, status: Status) -> bool:
    read = read_pod(pod)
    return read is not None and status.holds(read)


def share_of(most: int | None, logs: int, longest: int = _CHUNK) -> int | None:
    """Bytes of either end of a log that are read, at most `longest`, of so many logs; None reads all. Pure."""
    return None if most is None else max(_LEAST_END, min(longest, most // (2 * max(1, logs))))


async def _read_files(
    history: Kept, files: Sequence[LogFile], report: Report, most: int | None = None
) -> dict[str, Printed]:
    """The logs of the last attempt that has printed."""
    last = max((each.place.attempt for each in files if each.size), default=0)
    chosen = [each for each in files if each.place.attempt == last]
    found = {}
    end = share_of(MOST_OF_FILES, len(chosen), MOST_OF_FILES) if most is None else share_of(most, len(chosen))
    for file in chosen:
        log = await asyncio.to_thread(read_file, file, report, end, history.read_ends)
        if log is not None:
            found[file.rank] = Printed(log, file.modified)
    return found


def read_file(
    file: LogFile, report: Report = ignore, end: int | None = None, read: ReadEnds = read_ends
) -> LaunchLog | None:
    """None where a program has put something else in the file's place. `end`: bytes of either end that are read."""
    lines = LogBytes()
    try:
        for chunk in read(file, end, lines.leave_out):
            lines.feed(chunk)
            report(file.rank, lines.size)
    except OSError:
        return None
    return lines.end()


async def _fetch_logs(
    client: PodApi, pods: Sequence[Manifest], report: Report, most: int | None = None
) -> dict[str, Printed]:
    some, end = asyncio.Semaphore(_AT_ONCE), share_of(most, len(pods))

    async def fetch(pod: Manifest) -> tuple[str, Printed | None]:
        read = read_pod(pod)
        rank = str(read.rank) if read else name_of(pod)
        lines = LogBytes()
        try:
            async with some:
                async for chunk in _stream(client, pod, end, lines.leave_out):
                    lines.feed(chunk)
                    report(rank, lines.size)
        except ApiError:
            return rank, None
        log = lines.end()
        return rank, Printed(log, log.ended)

    found = await asyncio.gather(*map(fetch, pods))
    return {rank: printed for rank, printed in found if printed is not None}


async def _stream(
    client: PodApi, pod: Manifest, end: int | None, leave_out: Callable[[int], None]
) -> AsyncIterator[bytes]:
    """The log of a pod; with `end`, so many bytes of its beginning and as many of its last lines."""
    if end is None:
        async with aclosing(
            client.stream_log(namespace_of(pod), name_of(pod), timestamps=True, leave_out=leave_out)
        ) as whole:
            async for chunk in whole:
                yield chunk
        return
    async with aclosing(stream_ends(client, pod, end, end, leave_out)) as ends:
        async for chunk in ends:
            yield chunk


async def stream_ends(
    client: PodApi, pod: Manifest, first: int, end: int, leave_out: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    """The log of a pod with the times of its lines, the first and the last of it: so many bytes of either. `leave_out`
    is told where lines are missing between them; how many, no API tells. Raises `ApiError`."""
    name, read, open_line, last = (namespace_of(pod), name_of(pod)), 0, b"", b""
    async with aclosing(client.stream_log(*name, timestamps=True, leave_out=leave_out)) as beginning:
        async for chunk in beginning:
            read += len(chunk)
            whole, newline, open_line = (open_line + chunk).rpartition(b"\n")
            last = whole.rpartition(b"\n")[2] or last
            yield whole + newline
            if read >= first:
                break
        else:
            yield open_line
            return
    seen, lines = _stamp(last), await _fetch_last(client, pod, end)
    new = [line for line in lines if _stamp(line) > seen]
    if len(new) == len(lines):  # none of them came with the beginning
        leave_out(0)
        yield b"\n"
    yield b"\n".join([*new, b""])


async def _fetch_last(client: PodApi, pod: Manifest, most: int) -> list[bytes]:
    """The last lines of a log, whole ones, of so many bytes."""
    text, size = b"", 0
    name = namespace_of(pod), name_of(pod)
    async with aclosing(client.stream_log(*name, timestamps=True, tail=_TAIL_LINES)) as ending:
        async for chunk in ending:
            text, size = (text + chunk)[-most:], size + len(chunk)
    lines = text.split(b"\n")
    return [line for line in (lines[1:] if size > most else lines) if line]


def _stamp(line: bytes) -> bytes:
    """Its time. Those of one server have one form, so they are compared as text."""
    return line.partition(b" ")[0]


def read_rests(logs: Sequence[LogFile], attempt: int, now: Moment) -> Mapping[str, float]:
    """For how long the GPUs of each rank have done nothing, by what the node has recorded beside its log."""
    found = {}
    for log in logs:
        if log.place.attempt == attempt:
            samples = read_usage_file(usage_file(log.path))
            found[log.rank] = measure_rest([(each.at, each.gpu) for each in samples], now)
    return {rank: rest for rank, rest in found.items() if rest is not None}


async def _ask_rests(ask_uses: ReadUses, pods: Sequence[Manifest], status: Status, now: Moment) -> Mapping[str, float]:
    """The same of a cluster, whose answer is the most that GPUs worked in the last `LONG` seconds: of pods that are as
    old. Raises `PrometheusError`."""
    read = [each for pod in pods if (each := read_pod(pod)) and status.holds(each)]
    old = [each for each in read if each.started is not None and now - each.started >= LONG]
    namespaces = {name_of(pod): namespace_of(pod) for pod in pods}
    percents = await ask_uses({each.uid: Key(namespaces[each.name], each.name) for each in old}) if old else {}
    return {str(each.rank): LONG if percents[each.uid] <= IDLE_PERCENT else 0.0 for each in old if each.uid in percents}


async def _fetch_cores(client: PodApi, namespace: str, pods: Sequence[Manifest]) -> Mapping[str, float]:
    """Without metrics.k8s.io, none."""
    by_name = {name_of(pod): read for pod in pods if (read := read_pod(pod))}
    found: dict[str, float] = {}
    for each in await _list(client, POD_METRICS, namespace):
        pod = by_name.get(name_of(each))
        if pod is not None:
            containers = each.get("containers") or ()
            found[str(pod.rank)] = sum(read_usage(one.get("usage") or {})[0] for one in containers)
    return found


async def _add_environment(client: PodApi, pods: Sequence[Manifest], around: Surroundings) -> Surroundings:
    """With the Environment that the ranks run in."""
    environments = await _list(client, ENVIRONMENTS)
    names = sorted({name for pod in pods for name in read_used(pod, environments)})
    chosen = next((each for each in environments if name_of(each) in names), None)
    if chosen is None:
        return around
    requirements = (chosen.get("spec") or {}).get("requirements") or ()
    return replace(around, environment=name_of(chosen), requirements=tuple(map(str, requirements)),
                   file=name_file(chosen))  # fmt: skip


async def _list(client: PodApi, resource: Resource, namespace: str = "") -> Sequence[Manifest]:
    try:
        return (await client.list(resource, namespace)).items
    except ApiError:
        return ()
