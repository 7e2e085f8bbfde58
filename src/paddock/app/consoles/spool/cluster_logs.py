"""The logs of a Kubernetes' jobs for its console: copied while somebody looks, and there when the pods are gone.

A job that somebody looks at is followed to its end, whoever looks on. Where the process has one reader alone, the log
of any rank is copied when it ends or is about to go, as that costs one request and its pod may be deleted at once; logs
of pods that had ended before are copied when they are looked at.

Who may not read the logs of a namespace's pods gets none of the copies either: that is asked for each look.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.spool.containers import is_ending
from paddock.app.consoles.spool.copying import Copier
from paddock.app.consoles.spool.files import ClusterSpool, read_left_out
from paddock.app.consoles.spool.prune import tidy
from paddock.app.history import KEPT, read_place
from paddock.client.client import Client
from paddock.console.backend import KeptLog, KeptRun
from paddock.history.log_shelf import OpenLog
from paddock.history.recording import build_record, mark_deleted, update_record
from paddock.history.retention import Limits
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import JOB_LABEL
from paddock.kube.api import Event
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import (
    PODS,
    Manifest,
    Resource,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.kube.times import Moment

May = Callable[[str], Awaitable[bool]]
"""A namespace -> whether the reader may read the logs of its pods."""
MayJob = Callable[[Resource, str], Awaitable[bool]]
"""A kind and a namespace -> whether the reader may get jobs of this kind there."""
LIMITS = Limits()
_FIRST_LOOK_SECONDS, _FIRST_LINES_SECONDS = 3.0, 0.7
"""That the first look at a job waits for its pods and their first lines; a rank may have printed nothing."""
_FIRST_LIST_SECONDS = 1.0
_LINGER_SECONDS = 60.0
_WORK_SECONDS, _TIDY_SECONDS = 15.0, 600.0
_SEE_SECONDS = _NOTED_SECONDS = 5.0
_AGAIN_SECONDS = 15.0

_log = logging.getLogger(__name__)
_Key = tuple[Resource, str, str]


async def allow(_namespace: str) -> bool:
    return True


async def allow_job(_resource: Resource, _namespace: str) -> bool:
    return True


@dataclass(slots=True)
class _Attended:
    """A job that is looked at."""

    task: asyncio.Task[None]
    looked: float
    """When last, by the loop's clock."""
    seen: float = 0.0
    uid: str = ""
    over: bool = False
    known: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Namespace:
    """The pods of jobs in a namespace in which somebody looks."""

    task: asyncio.Task[None]
    pods: dict[str, Manifest] = field(default_factory=dict)
    known: asyncio.Event = field(default_factory=asyncio.Event)


class ClusterLogs:
    """Those that one reader may see. `client` has the reader's rights; `start` and `stop` it in the same loop.
    `reader`: the user, whose logs have a share of the room (`room`). `is_kept`: a keeper of this process records and
    prunes the runs (`app.consoles.keeping`), so readers do not."""

    def __init__(
        self,
        spool: ClusterSpool,
        client: Client,
        may: May = allow,
        *,
        reader: str = "own",
        limits: Limits = LIMITS,
        clock: Callable[[], Moment] = time.time,
        may_job: MayJob = allow_job,
        is_kept: bool = False,
    ) -> None:
        self._spool, self._client, self._may, self._may_job = spool, client, may, may_job
        self._is_kept = is_kept
        self._limits, self._clock = limits, clock
        self._kept = LocalLogs(spool.history, read_left_out=read_left_out)
        self._copier = Copier(client, spool, reader=reader)
        self._attended: dict[_Key, _Attended] = {}
        self._namespaces: dict[str, _Namespace] = {}
        self._noted: dict[str, float] = {}
        self._listed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, *, everything: bool = False) -> None:
        """`everything`: the process has this reader alone, so the logs of all jobs are copied when they end. Those that
        had ended before are not, as a cluster may have thousands."""
        self._spawn(self._work())
        if everything:
            self._spawn(self._follow_ends())
            with suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_LIST_SECONDS):
                    await self._listed.wait()

    async def stop(self) -> None:
        tasks = [*self._tasks, *(each.task for each in self._attended.values())]
        tasks += [each.task for each in self._namespaces.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._copier.stop()

    # -- what the console asks for

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        """As `console.backend.Logs`. Raises `Forbidden`."""
        if not await self._may(namespace):
            raise Forbidden(f"you may not read the logs of pods in {namespace} (get pods/log)")
        if not await self._may_job(resource, namespace):
            raise Forbidden(f"you may not see the jobs of {namespace} (get {resource.plural}.{resource.group})")
        if self._may_copy():
            await self._attend((resource, namespace, name))
        return await self._kept.find(resource, namespace, name, uid)

    def open(self, log: KeptLog) -> AbstractContextManager[OpenLog]:
        return self._kept.open(log)

    async def _attend(self, key: _Key) -> None:
        now = asyncio.get_running_loop().time()
        if (attended := self._attended.get(key)) is not None and not attended.task.done():
            attended.looked = now
            self._see_again(attended, key[1], now)
            return
        namespace = self._hold(key[1])
        attended = self._attended[key] = _Attended(asyncio.create_task(self._follow_job(key)), now)
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LOOK_SECONDS):
                await attended.known.wait()
                await namespace.known.wait()
                await self._copier.wait(_FIRST_LINES_SECONDS)

    def _see_again(self, attended: _Attended, namespace: str, now: float) -> None:
        """Another reader, who has left, may have copied these; or the disk was full."""
        if now - attended.seen >= _SEE_SECONDS:
            attended.seen = now
            for pod in list(self._hold(namespace).pods.values()):
                self._see(pod)

    def _hold(self, name: str) -> _Namespace:
        found = self._namespaces.get(name)
        if found is None or found.task.done():
            found = self._namespaces[name] = _Namespace(asyncio.create_task(self._follow_pods(name)))
        return found

    # -- what is followed

    async def _follow_job(self, key: _Key) -> None:
        resource, namespace, name = key
        await asyncio.sleep(0)  # until it is in `_attended`
        attended = self._attended[key]
        try:
            async for event in self._client.follow(resource, namespace, fields=f"metadata.name={name}"):
                if event.type != "SYNCED":
                    await self._take_job(attended, resource, event)
                elif not attended.uid:  # it is gone: what was copied of it is all there is
                    attended.over = True
                attended.known.set()
        except ApiError as error:
            _log.info("%s %s/%s is not followed: %s", resource.kind, namespace, name, error.message)
        finally:
            attended.known.set()

    async def _take_job(self, attended: _Attended, resource: Resource, event: Event) -> None:
        job = event.object
        attended.uid = uid_of(job)
        gone = event.type == "DELETED"
        if self._is_kept:
            attended.over = gone or KEPT.read_state[resource](job).final
        else:
            attended.over = await asyncio.to_thread(self._note, resource, job, gone=gone)
        for pod in list(self._hold(namespace_of(job)).pods.values()):
            self._see(pod)

    def _note(self, resource: Resource, job: Manifest, *, gone: bool = False) -> bool:
        """Records how the run stands; whether it is over. In a thread."""
        now = self._clock()
        with self._spool.records:
            record = self._spool.find_record(namespace_of(job), name_of(job), uid_of(job))
            if "spec" in job:
                record = record or build_record(job, 0, now)
                record = update_record(record, job, KEPT.read_state[resource](job), now)
            if record is None:
                return True
            try:
                record = self._spool.keep(mark_deleted(record, now) if gone else record)
            except (OSError, ValueError) as error:
                _log.warning("the record of %s/%s was not written: %s", record.namespace, record.name, error)
            return record.over

    async def _follow_pods(self, namespace: str) -> None:
        await asyncio.sleep(0)
        held = self._namespaces[namespace]
        try:
            async for kind, pod in self._client.follow(PODS, namespace):
                if kind == "SYNCED":
                    held.known.set()
                elif kind == "DELETED":
                    held.pods.pop(uid_of(pod), None)
                    self._copier.lose(pod)
                elif _find_kind(pod) is not None:
                    held.pods[uid_of(pod)] = pod
                    self._see(pod)
        except ApiError as error:
            _log.info("the pods of %s are not followed: %s", namespace, error.message)
        finally:
            held.known.set()

    def _see(self, pod: Manifest) -> None:
        """A pod of a job that is looked at: its log is copied as it grows."""
        owner = controller_of(pod) or {}
        if any(each.uid == owner.get("uid") for each in self._attended.values()):
            self._copy(pod)

    def _copy(self, pod: Manifest) -> None:
        if read_place(labels_of(pod), name_of(pod)) is not None:
            self._copier.see(pod)

    async def _follow_ends(self) -> None:
        """Follows the pods of all jobs that end, or are to go. A right that was there once may come again."""
        while True:
            try:
                async for kind, pod in self._client.follow(PODS, labels=JOB_LABEL):
                    if kind == "SYNCED":
                        self._listed.set()
                    elif kind == "DELETED":
                        self._copier.lose(pod)
                    elif (is_ending(pod) if self._listed.is_set() else is_deleting(pod)) and self._may_copy():
                        self._copy(pod)
                        self._spawn(self._note_owner(pod))
                return
            except ApiError as error:
                _log.info("logs are copied of the jobs that are looked at alone: %s", error.message)
            if not self._listed.is_set():
                return
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _note_owner(self, pod: Manifest) -> None:
        """At once, and again when all has been quiet for a while: what the operator makes of an end comes after it."""
        owner, resource, loop = controller_of(pod) or {}, _find_kind(pod), asyncio.get_running_loop()
        uid, name = str(owner.get("uid")), str(owner.get("name"))
        if resource is None:
            return
        is_begun = uid in self._noted
        self._noted[uid] = loop.time()
        if is_begun:
            return
        try:
            await self._fetch_owner(resource, namespace_of(pod), name, uid)
            while (left := self._noted[uid] + _NOTED_SECONDS - loop.time()) > 0:
                await asyncio.sleep(left)
                await self._fetch_owner(resource, namespace_of(pod), name, uid)
        finally:
            del self._noted[uid]

    async def _fetch_owner(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        with suppress(NotFound, ApiError):
            job = await self._client.get(resource, namespace, name)
            if uid_of(job) == uid:
                await asyncio.to_thread(self._note, resource, job)

    # -- what is let go

    async def _work(self) -> None:
        tidied = float("-inf")
        while True:
            now = asyncio.get_running_loop().time()
            self.let_go(now)
            self.see_again()
            if not self._is_kept and now - tidied > _TIDY_SECONDS and self._may_copy():
                tidied = now
                try:
                    await tidy(self._spool, self._client, {each.uid for each in self._attended.values()}, self._limits)
                    self._spool.forget_pruned()
                except OSError as error:
                    _log.warning("the copied logs are not pruned: %s", error)
            await asyncio.sleep(_WORK_SECONDS)

    def see_again(self) -> None:
        """There may be room again for what was not copied."""
        for namespace in list(self._namespaces.values()):
            for pod in list(namespace.pods.values()):
                self._see(pod)

    def let_go(self, now: float) -> None:
        """What is of no use any more at this moment of the loop's clock: jobs that are over and at which nobody looks,
        and the pods of namespaces in which no job is left and nothing is being copied."""
        for key, each in list(self._attended.items()):
            if each.over and now - each.looked > _LINGER_SECONDS:
                each.task.cancel()
                del self._attended[key]
        used = {namespace for _, namespace, _ in self._attended} | self._copier.namespaces
        for name in [name for name in self._namespaces if name not in used]:
            self._namespaces.pop(name).task.cancel()
        self._noted = {uid: at for uid, at in self._noted.items() if now - at < _NOTED_SECONDS}

    @property
    def followed(self) -> int:
        """How many things are: jobs, the pods of namespaces, and the owners of pods that ended a moment ago."""
        return len(self._attended) + len(self._namespaces) + len(self._noted)

    def _may_copy(self) -> bool:
        """A home in which nothing can be written ends no watch: what was copied before is shown."""
        try:
            return self._spool.acquire()
        except OSError as error:
            _log.warning("no logs are copied: %s", error)
            return False

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _find_kind(pod: Manifest) -> Resource | None:
    """The kind of the job that controls the pod."""
    owner = controller_of(pod) or {}
    named = (owner.get("apiVersion"), owner.get("kind"))
    return next((each for each in KINDS if (each.api_version, each.kind) == named), None)
