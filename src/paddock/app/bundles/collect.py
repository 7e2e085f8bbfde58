"""Collects a bundle: asks an API and the history of this machine for what `explain` and `doctor` would ask for.

What the reader may not see, or what does not answer, is in the bundle as the same error: who reads it is told the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paddock.app.bundles.contents import (
    FIRST_BYTES,
    LAST_BYTES,
    LEAST_BYTES,
    LOG_BYTES,
    MOST_LOGS,
    MOST_MARKS,
    MOST_WHOLE,
    OBJECT_BYTES,
    Answer,
    LogEntry,
    cut_log,
    keep_some,
    packages_path,
)
from paddock.app.bundles.hiding import Hider, find_secrets, find_values, read_secrets, show_node
from paddock.app.examined_jobs import stream_ends
from paddock.app.history import Kept
from paddock.doctor.log_bytes import LogBytes
from paddock.environments.images import read_used
from paddock.history.logs import LogFile
from paddock.history.records import RunRecord
from paddock.history.since import find_completed
from paddock.install.rights import LEASE
from paddock.jobs.model import PodPhase, Status
from paddock.jobs.objects.observed import read_pod
from paddock.kube.api import PodApi
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound
from paddock.kube.meta import (
    CONFIG_MAPS,
    ENVIRONMENTS,
    EVENTS,
    KUBERNETES_POD_GROUPS,
    LEASES,
    NODES,
    POD_GROUPS,
    PODS,
    SECRETS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    is_controlled_by,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.kube.usage import POD_METRICS
from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hidden_values import Hidden
from paddock.words.phrases import Names, Phrase, counted, phrase

_AT_ONCE = 8
_MOST_SECRETS = 64
_MOST_EVENTS = 500
_MOST_RUNS = 20
_END = 64 << 10
"""Bytes at the end of a log of which the times are kept."""
_OWNED = (SERVICES, CONFIG_MAPS, POD_GROUPS, VOLCANO_POD_GROUPS, KUBERNETES_POD_GROUPS)


@dataclass(slots=True)
class Collected:
    """What was found, before anything is hidden."""

    answers: list[Answer] = field(default_factory=list)
    pods: list[Manifest] = field(default_factory=list)
    runs: list[RunRecord] = field(default_factory=list)
    documents: dict[str, Any] = field(default_factory=dict)
    logs: list[tuple[LogEntry, bytes]] = field(default_factory=list)
    notes: list[Phrase] = field(default_factory=list)
    unread: bool = False
    """Some of what was asked for could not be read: pods, or logs."""
    secrets: frozenset[str] = frozenset()
    """Values of Secrets."""
    logs_left_out: int = 0
    """Logs that were not read, as there are too many."""


async def ask(client: PodApi, resource: Resource, namespace: str, fields: str = "") -> tuple[Answer, list[Manifest]]:
    """The list of a kind, or its error."""
    answer = Answer(resource.api_version, resource.plural)
    try:
        found = (await client.list(resource, namespace if resource.namespaced else "", fields=fields)).items
    except ApiError as error:
        answer.code, answer.reason, answer.message = error.code, error.reason, error.message
        return answer, []
    return answer, found


async def collect_objects(
    client: PodApi,
    job: Manifest,
    resource: Resource,
    status: Status,
    *,
    local: bool,
    also: Iterable[tuple[Resource, Callable[[Manifest], bool]]] = (),
) -> Collected:
    """The job's objects, as the server gives them. `also`: further kinds, and which of their objects count."""
    found, (namespace, uid) = Collected(), (namespace_of(job), uid_of(job))
    found.answers.append(Answer(resource.api_version, resource.plural, [job]))
    answer, items = await ask(client, PODS, namespace)
    found.pods = sorted((each for each in items if is_controlled_by(each, uid)), key=lambda pod: _rank(pod, status))
    answer.items = found.pods
    found.answers.append(answer)
    if answer.code:
        found.unread = True
        found.notes.append(phrase("the pods could not be read: {why}", why=answer.message))
    names = {name_of(job), *map(name_of, found.pods)}
    kinds: list[tuple[Resource, Callable[[Manifest], bool]]] = [
        *((each, lambda item: is_controlled_by(item, uid)) for each in _OWNED),
        (EVENTS, lambda item: str((item.get("involvedObject") or {}).get("name")) in names),
        (POD_METRICS, lambda item: name_of(item) in names),
        *also,
    ]
    for kind, counts in kinds:
        answer, items = await ask(client, kind, namespace)
        answer.items = [each for each in items if counts(each)][-_MOST_EVENTS:]
        found.answers.append(answer)
    await _add_cluster(client, found, namespace, local=local)
    return found


def _rank(pod: Manifest, status: Status) -> tuple[bool, str, int, str]:
    """Pods of the last attempt first, by rank: what is cut off is the end."""
    read = read_pod(pod)
    if read is None:
        return True, "", 0, name_of(pod)
    return not status.holds(read), read.rank.role, read.rank.index, name_of(pod)


async def _add_cluster(client: PodApi, found: Collected, namespace: str, *, local: bool) -> None:
    """Nodes, the Environment of the pods and the operators' Leases."""
    answer, items = await ask(client, NODES, "")
    answer.items = [show_node(each) for each in items]
    found.answers.append(answer)
    if local:
        answer, items = await ask(client, ENVIRONMENTS, "")
        used = {name for pod in found.pods for name in read_used(pod, items)}
        answer.items = [each for each in items if name_of(each) in used]
        found.answers.append(answer)
    answer, answer.items = await ask(client, LEASES, "", fields=f"metadata.name={LEASE}")
    if answer.code == Forbidden.code:
        for each in dict.fromkeys((namespace, "paddle-system")):
            try:
                answer.items.append(await client.get(LEASES, each, LEASE))
            except ApiError as error:
                answer.absent[f"{each}/{LEASE}"] = error.code
    found.answers.append(answer)


async def add_secrets(client: PodApi, found: Collected, namespace: str) -> None:
    """The values that are to be hidden; a Secret itself is no part of a bundle. After the history: where the pods are
    gone, only the job and the records of runs name the Secrets, and a Secret may be gone with its job."""
    secrets, unknown = dict[str, Manifest](), list[str]()
    taken = find_secrets([*_list_objects(found), *(run.spec for run in found.runs)])
    names = list(dict.fromkeys(name for name, _ in taken))
    for name in names[:_MOST_SECRETS]:
        try:
            secrets[name] = await client.get(SECRETS, namespace, name)
        except ApiError:
            unknown.append(name)
    unknown += names[_MOST_SECRETS:]
    found.secrets = read_secrets(taken, Configs(namespace, secrets=secrets))
    if unknown:
        found.notes.append(
            phrase(
                "what the Secrets {names} have is not known to who made the bundle: where a program printed it, it "
                "stands in the logs",
                names=Names(tuple(unknown)),
            )
        )


async def add_stacks(client: PodApi, found: Collected, status: Status) -> None:
    """Where the ranks that run are, as the local cluster tells it."""
    for pod in found.pods[:MOST_WHOLE]:
        read = read_pod(pod)
        if read is None or not status.holds(read) or read.phase is not PodPhase.RUNNING:
            continue
        path = PODS.path(namespace_of(pod), name_of(pod), "stacks")
        try:
            found.documents[path] = await client.fetch(path)
        except ApiError:
            return


def add_history(found: Collected, history: Kept, namespace: str, name: str, uid: str) -> None:
    """The newest runs of the name, and the one that this run is compared with."""
    runs, _ = history.read(namespace, name)
    before = find_completed(runs).get(uid)
    wanted = {each.uid for each in (*runs[-_MOST_RUNS:], *([before] if before else []))} | {uid}
    found.runs = [each for each in runs if each.uid in wanted]
    compared = [each for each in found.runs if each.uid in (uid, before.uid if before else "")]
    for digest in sorted({digest for each in compared for digest in each.surroundings.packages.values()}):
        if (packages := history.read_packages(digest)) is not None:
            found.documents[packages_path(digest)] = dict(packages)


def add_files(found: Collected, history: Kept, namespace: str, name: str, uid: str) -> None:
    """The logs that a machine keeps in files, the last attempt first."""
    files = sorted(history.find_job_logs(namespace, name, uid), key=_newest_first)
    found.logs_left_out += len(files[MOST_LOGS:])
    for file in files[:MOST_LOGS]:
        first, last = _share(len(found.logs))
        try:
            text, left_out = _read_file(history, file, first, last)
        except OSError as error:
            found.unread = True
            found.notes.append(phrase("the log of {rank} could not be read: {why}", rank=file.rank,
                                      why=error.strerror or str(error)))  # fmt: skip
            continue
        marks = history.read_last_marks(file)
        ends = [(at, when) for at, when in zip(marks.offsets, marks.times, strict=True) if at >= file.size - _END]
        entry = LogEntry(
            _name_file(file.rank, file.place.attempt, file.uid, "log"), file.pod, uid, file.place.role,
            file.place.index, file.place.attempt, file.size, file.uid, len(text[0]), len(text[1]),
            left_out or None, file.modified, marks=tuple(ends[-MOST_MARKS:]),
        )  # fmt: skip
        found.logs.append((entry, text[0] + text[1]))


def _newest_first(file: LogFile) -> tuple[int, str, int]:
    return -file.place.attempt, file.place.role, file.place.index


def _share(count: int) -> tuple[int, int]:
    """Bytes of the beginning and of the end that are kept of a log, after `count` others."""
    return (FIRST_BYTES, LAST_BYTES) if count < MOST_WHOLE else (0, LEAST_BYTES)


def _read_file(history: Kept, file: LogFile, first: int, last: int) -> tuple[tuple[bytes, bytes], int]:
    """The two parts, and how many bytes lie between them."""
    if file.size <= first + last:
        return (history.read_log(file), b""), 0
    begin, end, _ = cut_log(
        history.read_log(file, first=first)[:first] + history.read_log(file, -last), first, last - 1
    )
    return (begin, end), max(1, file.size - len(begin) - len(end))


async def add_pod_logs(client: PodApi, found: Collected, uid: str) -> None:
    """The logs of the pods, from the API, with the times of their lines."""
    some, known = asyncio.Semaphore(_AT_ONCE), len(found.logs)

    async def fetch(number: int, pod: Manifest) -> tuple[LogEntry, bytes] | None:
        read = read_pod(pod)
        if read is None:
            return None
        try:
            async with some:
                first, last, left_out = await _fetch_ends(client, pod, *_share(known + number))
        except (BadRequest, NotFound):  # it has not started, or is gone
            return None
        except ApiError as error:
            found.unread = True
            found.notes.append(phrase("the log of {rank} could not be read: {why}", rank=name_of(pod),
                                      why=error.message))  # fmt: skip
            return None
        lines = LogBytes()
        lines.feed(last or first)
        entry = LogEntry(
            _name_file(str(read.rank), read.attempt, uid_of(pod), "api.log"), name_of(pod), uid, read.rank.role,
            read.rank.index, read.attempt, len(first) + len(last), uid_of(pod), len(first), len(last),
            left_out, lines.end().ended or 0.0, stamped=True,
        )  # fmt: skip
        return entry, first + last

    chosen = found.pods[: MOST_LOGS - known]
    found.logs_left_out += len(found.pods) - len(chosen)
    answers = await asyncio.gather(*(fetch(number, pod) for number, pod in enumerate(chosen)))
    found.logs += [each for each in answers if each is not None]


async def _fetch_ends(client: PodApi, pod: Manifest, first: int, last: int) -> tuple[bytes, bytes, int | None]:
    gaps, parts = list[int](), [bytearray(), bytearray()]

    def leave_out(size: int) -> None:
        gaps.append(size)

    async with aclosing(stream_ends(client, pod, max(first, 1), last, leave_out)) as chunks:
        async for chunk in chunks:
            parts[1 if gaps else 0] += chunk
    begin, end = bytes(parts[0]), bytes(parts[1])
    if gaps:
        if not first:
            begin = b""
        return begin, end.removeprefix(b"\n"), gaps[0]
    begin, end, left_out = cut_log(begin, first, last)
    return begin, end, left_out or None


def _name_file(rank: str, attempt: int, pod_uid: str, end: str) -> str:
    short = "".join(letter for letter in pod_uid.lower() if letter.isalnum() and letter.isascii())[:12]
    return f"logs/{rank.lower()}.attempt-{attempt}.{short or 'pod'}.{end}"


def hide_all(found: Collected) -> Hider:
    """What takes out of it all that is known to be secret."""
    values = find_values([*_list_objects(found), *(run.spec for run in found.runs)])
    return Hider(Hidden(values | found.secrets))


def _list_objects(found: Collected) -> list[Manifest]:
    return [item for answer in found.answers for item in answer.items]


def hide_answers(found: Collected, hider: Hider) -> list[Answer]:
    """The answers without secrets, and without what is too much; that is noted."""
    left, kept = OBJECT_BYTES, list[Answer]()
    for answer in found.answers:
        items = [hider.hide(each) for each in answer.items]
        some = keep_some(items, left)
        left -= sum(len(msgspec.json.encode(each)) for each in some)
        if len(some) < len(items):
            found.notes.append(
                phrase("of {all} {kind} {kept} are in the bundle: it would be too large", all=len(items),
                       kind=answer.plural, kept=len(some))
            )  # fmt: skip
        kept.append(msgspec.structs.replace(answer, items=some, message=hider.hide_text(answer.message)))
    return kept


def hide_runs(found: Collected, hider: Hider) -> tuple[RunRecord, ...]:
    """The records, the newest as far as there is room."""
    kept, left = list[RunRecord](), OBJECT_BYTES // 2
    for run in reversed(found.runs):
        hidden = msgspec.convert(hider.hide(msgspec.to_builtins(run)), RunRecord)
        left -= len(msgspec.json.encode(hidden))
        if left < 0:
            found.notes.append(phrase("of {count} runs the newest {kept} are in the bundle: it would be too large",
                                      count=len(found.runs), kept=len(kept)))  # fmt: skip
            break
        kept.append(hidden)
    return tuple(reversed(kept))


def hide_documents(found: Collected, hider: Hider) -> dict[str, Any]:
    kept, left = dict[str, Any](), OBJECT_BYTES // 2
    for path, document in found.documents.items():
        hidden = hider.hide(document)
        left -= len(msgspec.json.encode(hidden))
        if left < 0:
            found.notes.append(phrase("of {count} stacks {kept} are in the bundle: it would be too large",
                                      count=len(found.documents), kept=len(kept)))  # fmt: skip
            break
        kept[path] = hidden
    return kept


def hide_logs(found: Collected, hider: Hider) -> tuple[list[LogEntry], dict[str, bytes]]:
    """The logs without secrets, as far as there is room; what was cut and left out is noted."""
    entries, texts, left = list[LogEntry](), dict[str, bytes](), LOG_BYTES
    for entry, text in found.logs:
        first, last = text[: entry.first], text[entry.first :]
        if entry.left_out is None:
            first, last = text, b""
        first, last = hider.hide_log(first), hider.hide_log(last)
        left -= len(first) + len(last)
        if left < 0:
            break
        entries.append(msgspec.structs.replace(entry, first=len(first), last=len(last)))
        texts[entry.file] = first + last
    cut = sum(each.left_out is not None for each in entries)
    if cut:
        found.notes.append(
            counted("of {count} log the middle is left out", "of {count} logs the middle is left out", count=cut)
        )
    total = len(found.logs) + found.logs_left_out
    if len(entries) < total:
        found.notes.append(phrase("of {all} logs {kept} are in the bundle: it would be too large",
                                  all=total, kept=len(entries)))  # fmt: skip
    return entries, texts
