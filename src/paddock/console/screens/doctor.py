"""What does not work as the job was asked for, why, and what mends it: the findings of `paddock doctor JOB`.

The logs are read as far as they have grown since the last look, in a thread, and by nobody but who looks at this page.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.backend import KeptLog, Logs
from paddock.console.feed import Topic
from paddock.console.heads import build_head, find_job, list_job_topics, list_pod_topics, tell_missing
from paddock.console.page_context import PageContext, Screen
from paddock.doctor.findings import Finding
from paddock.doctor.job_case import Printed, Surroundings, examine_job
from paddock.doctor.log_bytes import LogBytes
from paddock.environments.images import read_used
from paddock.environments.seeding import name_file
from paddock.history.log_shelf import OpenLog
from paddock.kube.errors import ApiError
from paddock.kube.meta import ENVIRONMENTS, Manifest, is_controlled_by, name_of
from paddock.views.examined import advise_beyond
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase

EVERY = 5.0
"""Seconds: silence is a matter of time."""
_MOST_RANKS = 64
_CHUNK = 1 << 20
_AT_A_LOOK = 64 << 20
"""Bytes of all logs together that are read for one look; the next goes on. It takes seconds of a processor that the
console shares with the cluster of this machine."""
_RECENT = 60.0
"""Seconds for which a measured use says what a rank does now."""
_reading = threading.Lock()


def list_topics(path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [*list_job_topics(path, query), *list_pod_topics(path)]


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, manifest = find_job(page)
    if manifest is None:
        raise tell_missing(page)
    stored = read_stored(resource, manifest)
    pods = [
        pod for topic in list_pod_topics(page.path) for pod in page.objects(topic)
        if is_controlled_by(pod, stored.uid)
    ]  # fmt: skip
    printed, more = await _read_logs(page, stored)
    findings: Sequence[Finding] = ()
    elsewhere = stored.key.namespace != page.backend.namespace
    options = page.backend.options + (f" -n {stored.key.namespace}" if elsewhere else "")
    if stored.job is not None:
        around = await _look_around(page, stored, pods, printed)
        findings = examine_job(stored.job, stored.status, pods, printed, page.now, around, options)
    looked = _tell(len(pods), len(printed), sum(each.log.lines for each in printed.values()))
    return {
        "head": await build_head(page, resource, manifest),
        "readable": stored.job is not None,
        "findings": [_show(page, each) for each in findings],
        "hint": page.say(advise_beyond(stored.status, f"paddock explain {stored.key.name}{options}") or ""),
        "looked": page.say(looked),
        "more": more,
        "command": f"paddock doctor {stored.key.name}{options}",
    }


def _tell(pods: int, logs: int, lines: int) -> Phrase:
    return phrase(
        "{pods}, {logs} with {lines}",
        pods=counted("{count} pod", "{count} pods", count=pods),
        logs=counted("{count} log", "{count} logs", count=logs),
        lines=counted("{count} line", "{count} lines", count=lines),
    )


def _show(page: PageContext, finding: Finding) -> Mapping[str, str]:
    return {
        "check": finding.check,
        "severity": str(finding.severity),
        "where": page.say(finding.where),
        "what": page.say(finding.what),
        "why": page.say(finding.why),
        "mend": page.say(finding.mend),
        "command": finding.command,
    }


async def _read_logs(page: PageContext, stored: StoredJob) -> tuple[dict[str, Printed], bool]:
    """The logs of the last attempt that has printed; and whether more of them is to be read."""
    source = page.backend.logs(page.identity) if page.backend.logs else None
    if source is None:
        return {}, False
    try:
        run = await source.find(stored.resource, stored.key.namespace, stored.key.name, stored.uid)
    except ApiError:  # who may not read the logs of its pods may still see the job
        return {}, False
    logs = run.logs if run else ()
    last = max((each.attempt for each in logs if each.size), default=0)
    chosen = [each for each in logs if each.attempt == last][:_MOST_RANKS]
    return await asyncio.to_thread(_read_all, source, chosen)


def _read_all(source: Logs, logs: Collection[KeptLog]) -> tuple[dict[str, Printed], bool]:
    found, more = {}, False
    for each in logs:
        try:
            with source.open(each) as opened, _reading:
                read = _read(opened, _AT_A_LOOK // len(logs))
                found[each.rank] = Printed(read.build(), each.modified)
                more = more or read.size < each.size - _CHUNK
        except OSError:
            continue
    return found, more


def _read(opened: OpenLog, most: int) -> LogBytes:
    """What was read before is kept beside the log's index. `most`: bytes that are read now, at least."""
    read = opened.notes.setdefault("doctor", LogBytes())
    assert isinstance(read, LogBytes)
    end = read.size + most
    while read.size < end and (chunk := opened.read_bytes(read.size, _CHUNK)):
        read.feed(chunk)
    return read


async def _look_around(
    page: PageContext, stored: StoredJob, pods: Sequence[Manifest], printed: Collection[str]
) -> Surroundings:
    cores = await _find_cores(page, stored, printed)
    backend = page.backend
    if backend.read_build_log is None:
        return Surroundings(cores, local=backend.local)
    try:
        known = (await page.api.list(ENVIRONMENTS)).items
    except ApiError:
        return Surroundings(cores, local=backend.local)
    used = {name for pod in pods for name in read_used(pod, known)}
    chosen = next((each for each in known if name_of(each) in used), None)
    if chosen is None:
        return Surroundings(cores, local=backend.local)
    requirements = tuple(map(str, (chosen.get("spec") or {}).get("requirements") or ()))
    return Surroundings(cores, environment=name_of(chosen), requirements=requirements, local=backend.local,
                        file=name_file(chosen))  # fmt: skip


async def _find_cores(page: PageContext, stored: StoredJob, ranks: Collection[str]) -> Mapping[str, float]:
    source = page.backend.metrics(page.identity) if page.backend.metrics else None
    if source is None or not ranks:
        return {}
    try:
        used = await source.find(stored.resource, stored.key.namespace, stored.key.name, stored.uid, ranks)
    except ApiError:
        return {}
    return {
        each.rank: float(each.columns["cpu"][-1])
        for each in used.ranks
        if each.times and page.now - each.times[-1] < _RECENT and len(each.columns.get("cpu", ()))
    }


SCREEN = Screen("doctor", f"{JOB}/doctor", phrase("Doctor"), list_topics, build, every=EVERY)
