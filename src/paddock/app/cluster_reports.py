"""What an operator on a cluster sees of the programs of jobs: since when none prints, by the last lines of their logs.

Only jobs with the annotation `paddock.dev/silent` are looked at, and only where the operator may read logs, which is a
right of its own (`install.rights.OF_LOGS`). Whether it has it, the API server says (SelfSubjectAccessReview), each
namespace for itself. The looks are a few requests at a time, of a budget for the whole operator and beside all
reconciles, which read what is known from memory. How looks prove a silence is in `policies.quiet_ranks`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Protocol

from paddock.client.client import Client
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, JobProgress, Pod, PodPhase, Report, Stacks
from paddock.jobs.policies.quiet_ranks import Rank, Seen, choose_looks, measure_quiet, rest, take_look
from paddock.kube.access_reviews import fetch_allowed
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound, Timeout
from paddock.kube.meta import PODS, Key
from paddock.logs.waiting import only_waits

LOOK_SECONDS = 0.5
"""Between two choices of what is looked at next."""
SHORTEST_SWEEP, SWEEPS = 5.0, 10
"""Each pod is looked at at most so many times within the limit of its job, and not more often than every 5 seconds."""
A_SECOND, AT_ONCE = 10, 8
"""Requests of the whole operator: begun in a second, and on their way at one time."""
FIRST_SECONDS = 5.0
"""Until a job is looked at again of which not all is known yet."""
GRANTED_SECONDS, REFUSED_SECONDS = 300.0, 120.0
"""After which the API server is asked again for a right."""
RETRY_SECONDS = 10.0
"""The same, of a right that is there, where no answer came."""
_READ_SECONDS = 10.0
_LINE_BYTES, _LINES_BYTES = 1 << 16, 1 << 18
_LINES = 1000
"""Lines that are read at most where the last one says that its process waits; more are heard unread."""
_TOLD_SECONDS = 60.0
"""For which a log cannot be read before it is told."""
_KEPT_SECONDS = 600.0
"""For which a job that nobody asks for any more is looked at beyond its limit."""
_SLACK = 2.0
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) ?")
_NO_STACKS = Stacks(written=True, forbidden=True)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the log of one container, as core/v1 PodLogOptions."""

    pod: Key
    container: str
    tail: int = 1
    """In lines."""
    timestamps: bool = True
    since_time: str = ""
    since: float | None = None
    """Seconds before now."""


class ReadLines(Protocol):
    """Reads at most `most` bytes of what is asked for. Raises `ApiError`."""

    def __call__(self, asked: Asked, most: int, /) -> Awaitable[bytes]: ...


def build_line_reader(client: Client) -> ReadLines:
    async def read(asked: Asked, most: int) -> bytes:
        text = b""
        try:
            async with (
                asyncio.timeout(_READ_SECONDS),
                aclosing(
                    client.stream_log(
                        *asked.pod,
                        container=asked.container,
                        tail=asked.tail,
                        timestamps=asked.timestamps,
                        since=asked.since,
                        since_time=asked.since_time,
                    )
                ) as chunks,
            ):
                async for chunk in chunks:
                    text += chunk
                    if len(text) >= most:
                        break
        except TimeoutError:
            raise Timeout(f"no log within {_READ_SECONDS:.0f} s") from None
        return text[:most]

    return read


async def read_no_lines(_asked: Asked, _most: int) -> bytes:
    """Of an operator without a client: it says that it knows nothing."""
    raise BadRequest("nobody reads logs here")


@dataclass(slots=True)
class _Pod:
    name: str
    container: str
    runs: bool
    rank: Rank = field(default_factory=Rank)
    stamp: str = ""
    """The time of the last line by its node, which is given back to it and compared with no other."""
    plain: bool = False
    """Its node keeps no times of lines."""
    failing: float | None = None
    """Since when its log cannot be read."""
    why: str = ""


@dataclass(slots=True)
class _Gang:
    namespace: str
    limit: float
    asked: float
    began: float = -math.inf
    """When the sweep began."""
    pods: dict[str, _Pod] = field(default_factory=dict)
    """By UID."""

    @property
    def interval(self) -> float:
        """Seconds between the begins of two sweeps."""
        return max(SHORTEST_SWEEP, self.limit / SWEEPS)

    def choose(self, now: float, most: int) -> tuple[str, ...]:
        """The pods that are looked at next, at most so many."""
        if (chosen := self._choose_in_sweep(now, most)) or now < self.began + self.interval:
            return chosen
        self.began = now
        return self._choose_in_sweep(now, most)

    def _choose_in_sweep(self, now: float, most: int) -> tuple[str, ...]:
        ranks = {uid: rank for uid, pod in self.pods.items() if self._is_due(rank := pod.rank, now)}
        return choose_looks(ranks, self.began, most)

    def _is_due(self, rank: Rank, now: float) -> bool:
        """Or was looked at in this sweep. A rank that was one of the last in a sweep may be the first in the next."""
        return rank.tried >= self.began or now - rank.tried >= self.interval


@dataclass(frozen=True, slots=True)
class _Right:
    """What the API server has said, or that it has not."""

    at: float
    allowed: bool
    why: str = ""
    """Why it could not be asked."""

    def is_due(self, now: float) -> bool:
        return now - self.at >= (GRANTED_SECONDS if self.allowed else REFUSED_SECONDS)


class ClusterReports:
    """`operator.readings.Programs` of a cluster. `read_report` may be called by any thread, all else by that of the
    event loop. `own`: the namespace of the operator. `may_look`: whether this process leads a namespace."""

    def __init__(
        self,
        api: Api,
        read: ReadLines,
        own: str,
        *,
        may_look: Callable[[str], bool] = lambda _: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._read, self._own = api, read, own
        self._may_look, self._clock = may_look, clock
        self._lock = threading.Lock()
        self._gangs: dict[str, _Gang] = {}
        """By the UID of the job; the one that was looked at last stands last."""
        self._rights: dict[str, _Right] = {}
        """By namespace."""
        self._asking: set[str] = set()
        self._tokens, self._filled = float(A_SECOND), clock()
        self.looking: set[asyncio.Task[None]] = set()

    def read_progress(self, job: Job, attempt: int, pods: Sequence[Pod]) -> JobProgress | None:
        return None

    def take_stacks(self, pods: Mapping[str, str]) -> None:
        """Nobody may start a program in a pod here."""

    def read_report(self, job: Job, pods: Sequence[Pod]) -> Report | None:
        if job.silence is None:
            return None
        with self._lock:
            now = self._clock()
            gang = self._gangs.setdefault(job.uid, _Gang(job.key.namespace, 0.0, now))
            gang.limit, gang.asked = float(job.silence.seconds), now
            _take_pods(gang, job, pods, now)
            return self._report(gang, now)

    def _report(self, gang: _Gang, now: float) -> Report:
        right = self._rights.get(gang.namespace)
        if right is None:
            return Report(0.0, next_look=FIRST_SECONDS)
        if not right.allowed:
            return Report(0.0, next_look=REFUSED_SECONDS, unseen=right.why or self._explain_refusal(gang.namespace))
        quiet = measure_quiet([pod.rank.seen for pod in gang.pods.values()], fresh=now - self._measure_lag(gang))
        unseen = _explain_unread(gang, now)
        whole = all(pod.rank.seen is not None for pod in gang.pods.values())
        left = max(gang.limit - quiet, FIRST_SECONDS) if whole and not unseen else gang.interval
        return Report(quiet, _NO_STACKS, next_look=left, unseen=unseen)

    def _measure_lag(self, gang: _Gang) -> float:
        """Seconds since which each of its ranks was looked at, where all goes well: two sweeps, of which each waits for
        those of the others. Who led meanwhile, or what else kept this process from looking, is not known here."""
        asked = sum(len(each.pods) for each in self._gangs.values())
        return 2 * (gang.interval + asked / A_SECOND) + _READ_SECONDS

    def _explain_refusal(self, namespace: str) -> str:
        return (
            f"this operator may not read logs in namespace {namespace}, so it does not see that no rank prints. "
            f"`paddock manifests logs -n {self._own} --jobs-in {namespace}` prints a Role that allows it, for `kubectl "
            "apply -f -`; with Helm it is operator.readLogs=true"
        )

    async def run(self) -> None:
        """Looks until cancelled."""
        try:
            while True:
                self.look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in self.looking:
                task.cancel()

    def look(self) -> None:
        """Begins what is due, of what the budget allows."""
        now = self._clock()
        self._tokens = min(self._tokens + (now - self._filled) * A_SECOND, float(A_SECOND))
        self._filled = now
        with self._lock:
            self._gangs = {uid: gang for uid, gang in self._gangs.items() if _is_wanted(gang, now)}
            led = [each for each in self._gangs.items() if self._may_look(each[1].namespace)]
            self._rights = {name: self._rights[name] for _, gang in led if (name := gang.namespace) in self._rights}
            for namespace in {gang.namespace for _, gang in led} - self._asking:
                right = self._rights.get(namespace)
                if (right is None or right.is_due(now)) and self._has_room():
                    self._asking.add(namespace)
                    self._begin(self._ask(namespace))
            for uid, gang in led:
                right = self._rights.get(gang.namespace)
                if right is None or not right.allowed or not self._has_room():
                    continue
                chosen = gang.choose(now, self._count_room())
                for name in chosen:
                    pod = gang.pods[name]
                    pod.rank = replace(pod.rank, tried=now)
                    self._begin(self._look_at(gang, pod))
                if chosen:  # whoever was served goes to the end
                    self._gangs[uid] = self._gangs.pop(uid)

    def _count_room(self) -> int:
        return min(int(self._tokens), AT_ONCE - len(self.looking))

    def _has_room(self) -> bool:
        return self._count_room() > 0

    def _begin(self, work: Awaitable[None]) -> None:
        self._tokens -= 1
        task = asyncio.ensure_future(work)
        self.looking.add(task)
        task.add_done_callback(self.looking.discard)

    async def _ask(self, namespace: str) -> None:
        try:
            allowed, why = await fetch_allowed(self._api, "get", PODS, namespace, "log"), ""
        except ApiError as error:
            allowed, why = False, f"whether this operator may read logs is not known: {error.message}"
        except Exception as error:
            _log.exception("the right to logs in namespace %s was not asked for, which is a bug", namespace)
            allowed, why = False, f"whether this operator may read logs is not known: {error}"
        finally:
            self._asking.discard(namespace)
        with self._lock:
            known, now = self._rights.get(namespace), self._clock()
            if why and known is not None and known.allowed:  # one lost answer takes no right away
                self._rights[namespace] = replace(known, at=now - GRANTED_SECONDS + RETRY_SECONDS)
            else:
                self._rights[namespace] = _Right(now, allowed, why)

    async def _look_at(self, gang: _Gang, pod: _Pod) -> None:
        before, began = pod.rank.seen, self._clock()
        try:
            look = self._read_plain if pod.plain else self._read_stamped
            line, stamp, is_heard = await look(gang.namespace, pod, before)
        except ApiError as error:
            self._note_failure(gang, pod, error, began)
            return
        except Exception:
            _log.exception("the log of %s/%s was not read, which is a bug", gang.namespace, pod.name)
            return
        with self._lock:
            # Its program may have ended meanwhile, or begun: then what was read is of the one before.
            if pod.rank.seen is before:
                seen = take_look(before, line, began, self._clock(), is_heard=is_heard)
                pod.rank, pod.stamp, pod.failing = replace(pod.rank, seen=seen), stamp, None

    def _note_failure(self, gang: _Gang, pod: _Pod, error: ApiError, began: float) -> None:
        with self._lock:
            if isinstance(error, BadRequest) and not pod.plain and "timestamps" in error.message:
                pod.plain, pod.rank = True, Rank()
                return
            if isinstance(error, Forbidden) and (right := self._rights.get(gang.namespace)) is not None:
                self._rights[gang.namespace] = replace(right, at=-math.inf)
            pod.failing = began if pod.failing is None else pod.failing
            pod.why = error.message
        # A pod that is gone is one of another gang soon, and one that is not known to the node yet will be.
        level = logging.DEBUG if isinstance(error, NotFound | BadRequest) else logging.INFO
        _log.log(level, "the log of %s/%s cannot be read: %s", gang.namespace, pod.name, error.message)

    async def _read_stamped(self, namespace: str, pod: _Pod, before: Seen | None) -> tuple[bytes, str, bool]:
        """What the last line is known by, its time, and whether something is heard."""
        asked = Asked(Key(namespace, pod.name), pod.container)
        line = _find_last(await self._read(asked, _LINE_BYTES))
        if line and not _STAMP.match(line):
            raise BadRequest("lines have no timestamps")
        known, stamp = _digest(line), _read_stamp(line)
        if before is None or known == before.line:
            return known, stamp, False
        if not pod.stamp or not only_waits(_STAMP.sub(b"", line, count=1)):
            return known, stamp, True
        self._tokens -= 1
        text = await self._read(replace(asked, tail=_LINES, since_time=pod.stamp), _LINES_BYTES)
        new = _find_new(text, before.line)
        if not new or len(text) >= _LINES_BYTES:
            return known, stamp, True
        said = b"\n".join(_STAMP.sub(b"", each, count=1) for each in new)
        return _digest(new[-1]), _read_stamp(new[-1]), not only_waits(said)

    async def _read_plain(self, namespace: str, pod: _Pod, before: Seen | None) -> tuple[bytes, str, bool]:
        """Of a node that keeps no times: what it has printed in the seconds since the look before."""
        asked = Asked(Key(namespace, pod.name), pod.container, timestamps=False)
        if before is None:
            await self._read(asked, _LINE_BYTES)
            return b"", "", False
        since = math.ceil(self._clock() - before.looked + _SLACK)
        text = await self._read(replace(asked, tail=_LINES, since=since), _LINES_BYTES)
        is_cut = len(text) >= _LINES_BYTES or text.count(b"\n") >= _LINES
        return b"", "", is_cut or (bool(text.strip()) and not only_waits(text))


def _take_pods(gang: _Gang, job: Job, pods: Sequence[Pod], now: float) -> None:
    """The pods of the gang as they are now. One whose program begins is looked at anew."""
    names = {role.name: _name_container(job, role.template["spec"]["containers"]) for role in job.roles}
    known, gang.pods = gang.pods, {}
    for pod in pods:
        if not pod.uid:
            continue
        runs = pod.phase is not PodPhase.PENDING and not pod.ended
        found = known.get(pod.uid)
        if found is None:
            found = _Pod(pod.name, names.get(pod.rank.role, ""), runs, Rank(None if runs else rest(now)))
        elif found.runs is not runs:
            found.runs, found.stamp, found.failing = runs, "", None
            found.rank = replace(found.rank, seen=None if runs else rest(now))
        gang.pods[pod.uid] = found


def _name_container(job: Job, containers: Sequence[Mapping[str, object]]) -> str:
    return str(containers[main_container(job, containers)].get("name") or "")


def _is_wanted(gang: _Gang, now: float) -> bool:
    """A job that is gone, or another operator's, is not asked for any more; each that runs is, within its limit."""
    return now - gang.asked < max(gang.limit, REFUSED_SECONDS) + _KEPT_SECONDS


def _explain_unread(gang: _Gang, now: float) -> str:
    told = max(_TOLD_SECONDS, gang.interval)
    failing = [pod for pod in gang.pods.values() if pod.failing is not None and now - pod.failing >= told]
    if not failing:
        return ""
    others = f" and of {len(failing) - 1} more" if len(failing) > 1 else ""
    return f"the log of {failing[0].name}{others} cannot be read, so nobody knows whether it prints: {failing[0].why}"


def _find_last(text: bytes) -> bytes:
    return next((line for line in reversed(text.split(b"\n")) if line.strip()), b"")


def _find_new(text: bytes, known: bytes) -> list[bytes]:
    """The lines after the one that was the last; none where that is not among them."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    at = next((index for index in range(len(lines) - 1, -1, -1) if _digest(lines[index]) == known), None)
    return [] if at is None else lines[at + 1 :]


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def _read_stamp(line: bytes) -> str:
    """The time of a line, of whole seconds, as metav1.Time is written."""
    found = _STAMP.match(line)
    return (found[1] + found[2]).decode() if found else ""
