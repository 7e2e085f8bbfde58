"""`Datasets`: the controller of Dataset objects. It fetches what they name, in the background, and writes their status.

A dataset is fetched as soon as its object exists, by a `Supplier`. A failure of the network or of the machine is tried
again after a while; one of the source stays until the object changes, as it would fail again. A new `spec.round` or
another source is fetched as a new dataset is.

A finalizer holds a deleted Dataset until no pod mounts it any more: then its files are removed, and it goes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change
from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.fetching import Fault
from paddock.datasets.pod_listings import PodListings
from paddock.datasets.sources import BadSource, Kind, Source
from paddock.datasets.states import Failed, Ready, State, Unfetched, build_status
from paddock.datasets.supplier import Supplier
from paddock.kube.api import Api
from paddock.kube.datasets import FINALIZER, Phase, claim_name
from paddock.kube.errors import ApiError, BadRequest, Conflict, Invalid, NotFound
from paddock.kube.guard import NotBegun
from paddock.kube.meta import DATASETS, Key, Manifest, key_of, metadata, uid_of, version_of
from paddock.kube.times import exponential_backoff
from paddock.words.phrases import phrase

RETRY_SECONDS: Mapping[Fault, tuple[float, ...]] = {
    Fault.NETWORK: (20.0, 60.0, 300.0),
    Fault.MACHINE: (5.0, 20.0, 60.0),
}
"""Seconds until a failure is tried again, by the number of failures alike; the last holds for all further ones."""
_API_SECONDS = 5.0
_REFUSED_SECONDS = 300.0
"""Until a status that the definition refused is sent again: the definition may be another one by then, as `kubectl
apply` of a newer one changes no Dataset."""
_IN_USE_SECONDS = 1.0, 15.0
"""Between two looks whether a deleted Dataset is mounted still: at first, and of one that is in use for long."""
_CONFLICTS = 10
_TURN_SECONDS = 0.1
"""Between two looks at what has changed."""
_MOST, _LONGEST = 2**63 - 1, 4096
"""The largest number and the longest text of a status. What the pods of somebody say becomes part of it: a number that
is no int64, or is below 0, is refused with the whole status, and a text of a megabyte is sent to all that watch."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Desired:
    """A parsed Dataset."""

    key: Key
    uid: str
    generation: int
    definition: Definition | None
    problem: str
    """Why it cannot be read."""
    deleting: bool
    finalizers: tuple[str, ...]
    recorded: Mapping[str, Any] = field(compare=False)
    """Its status; not compared, as most of its changes are own writes."""


@dataclass(slots=True)
class _Entry:
    """The state of one Dataset object."""

    desired: _Desired
    recorded: Mapping[str, Any]
    state: State = field(default_factory=Unfetched)
    known: bool = False  # `state` is what the supplier has said; before, the recorded status stands
    task: asyncio.Task[None] | None = None
    failures: int = 0
    writing: bool = False
    written_at: float = float("-inf")
    refused_until: float = float("-inf")  # a write of the status failed, and the next waits until then
    put_off: asyncio.TimerHandle | None = None  # it is looked at again when its status may be written
    refused: Mapping[str, Any] | None = None  # the status that the definition did not take
    refused_at: float = float("-inf")  # when it did not take it
    removed: bool = False
    in_use: tuple[str, ...] = ()
    looks: int = 0  # how often a deleted Dataset was found in use


class Datasets:
    """`namespaces`: those to watch, "" for all."""

    def __init__(self, api: Api, supplier: Supplier, *, namespaces: Sequence[str] = ("",)) -> None:
        self._api = api
        self._supplier = supplier
        self._entries: dict[Key, _Entry] = {}
        self._dirty = asyncio.Event()
        self._changed: dict[Key, _Entry] = {}
        self._pods = PodListings(api)
        self._informers = [
            Informer(api, DATASETS, _read_desired, self._on_change, namespace, optional=True)
            for namespace in namespaces
        ]
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Runs until cancelled; then ends the fetches, which go on where they were. Raises `NotBegun` where this
        process may not go on."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write_statuses())
                for informer in self._informers:
                    group.create_task(informer.run())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_change(self, change: Change[_Desired]) -> None:
        entry, now = self._entries.get(change.key), change.now
        if now is None or (entry is not None and entry.desired.uid != now.uid):
            self._drop(change.key)
            entry = None
        if now is None:
            return
        if entry is None:
            entry = self._entries[change.key] = _Entry(now, now.recorded)
            self._start(entry)
            return
        before, entry.desired = entry.desired, now
        if now.deleting != before.deleting or (not now.deleting and _is_edited(before, now)):
            self._restart(entry)

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.removed = True
            if entry.task is not None:
                entry.task.cancel()

    def _restart(self, entry: _Entry) -> None:
        """What is done about the object as it was ends first: two children must not write into one directory."""
        before, entry.failures, entry.state = entry.task, 0, Unfetched()
        if before is not None:
            before.cancel()
        self._start(entry, after=before)

    def _start(self, entry: _Entry, after: asyncio.Task[None] | None = None) -> None:
        task = asyncio.create_task(self._work(entry, after), name=f"dataset {entry.desired.key}")
        entry.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, entry: _Entry, after: asyncio.Task[None] | None) -> None:
        """One object until it changes. Every outcome is a state; nothing is raised."""
        if after is not None:
            await asyncio.gather(after, return_exceptions=True)
        while not entry.removed:
            try:
                if await self._step(entry):
                    return
            except NotBegun:
                return  # another process goes on with it
            except ApiError as error:
                logger.warning("dataset %s: %s; again in %.0f s", entry.desired.key, error.message, _API_SECONDS)
                await asyncio.sleep(_API_SECONDS)
            except Exception as error:
                logger.exception("dataset %s", entry.desired.key)
                said = phrase("fetching failed, by a fault of Paddock: {why}", why=f"{type(error).__name__}: {error}")
                self._set_state(entry, Failed(str(said), Fault.MACHINE))
                await asyncio.sleep(self._delay(entry))

    async def _step(self, entry: _Entry) -> bool:
        """Does what is next; whether nothing is left to do until the object changes."""
        desired = entry.desired
        if desired.deleting:
            return await self._remove(entry)
        dataset = desired.definition
        if dataset is None:
            self._set_state(entry, Failed(desired.problem, Fault.SOURCE))
            return True
        await self._ensure_finalizer(entry)
        state = await self._supplier.look(dataset, entry.recorded)
        if not isinstance(state, Ready):
            state = await self._supplier.fetch(dataset, lambda now: self._set_state(entry, now))
        self._set_state(entry, state)
        if isinstance(state, Ready):
            entry.failures = 0
            return await self._keep(dataset)
        if isinstance(state, Failed) and state.retries:
            await asyncio.sleep(self._delay(entry))
            return False
        return True

    async def _keep(self, dataset: Definition) -> bool:
        """Tidies up after a dataset that is ready, and returns when it must be looked at again."""
        if self._supplier.relook_seconds is None:
            return True
        if self._supplier.has_remains(dataset) and not await self._pods.find_users(
            dataset.key.namespace, dataset.claim
        ):
            await self._supplier.prune(dataset)
        while True:
            await asyncio.sleep(self._supplier.relook_seconds)
            if not await self._supplier.stands(dataset):
                return False

    def _delay(self, entry: _Entry) -> float:
        fault = entry.state.fault if isinstance(entry.state, Failed) else Fault.MACHINE
        delays = RETRY_SECONDS.get(fault, RETRY_SECONDS[Fault.MACHINE])
        entry.failures += 1
        return delays[min(entry.failures, len(delays)) - 1]

    async def _ensure_finalizer(self, entry: _Entry) -> None:
        if FINALIZER not in entry.desired.finalizers:
            await self._write_finalizer(entry.desired, wanted=True)

    async def _write_finalizer(self, desired: _Desired, *, wanted: bool) -> None:
        """Others may write the object meanwhile, and have finalizers of their own there."""
        for _ in range(_CONFLICTS):
            current = await self._api.get(DATASETS, *desired.key)
            there = list(metadata(current).get("finalizers") or ())
            kept = [each for each in there if each != FINALIZER] + ([FINALIZER] if wanted else [])
            if uid_of(current) != desired.uid or kept == there:
                return
            patch = {"metadata": {"finalizers": kept or None, "resourceVersion": version_of(current)}}
            with suppress(Conflict):
                await self._api.patch(DATASETS, *desired.key, patch)
                return

    async def _remove(self, entry: _Entry) -> bool:
        """A deleted dataset: waits until nobody mounts it, removes its files, and lets it go."""
        desired = entry.desired
        if FINALIZER not in desired.finalizers:
            return True
        claim = desired.definition.claim if desired.definition else claim_name(desired.key.name)
        entry.in_use = await self._pods.find_users(desired.key.namespace, claim)
        if entry.in_use:
            self._tell(entry)
            entry.looks += 1
            await asyncio.sleep(exponential_backoff(entry.looks, *_IN_USE_SECONDS))
            return False
        # An address that cannot be read may stand in place of one that was fetched.
        await self._supplier.remove(desired.definition or _build_unreadable(desired))
        with suppress(NotFound):
            await self._write_finalizer(desired, wanted=False)
        return True

    def _set_state(self, entry: _Entry, state: State) -> None:
        entry.state, entry.known = state, True
        self._tell(entry)

    def _tell(self, entry: _Entry) -> None:
        """Its status may have changed."""
        if entry.removed:
            return  # another object may have its name by now
        self._changed[entry.desired.key] = entry
        self._dirty.set()

    async def _write_statuses(self) -> None:
        """Each change of a phase at once, each other at most once in `status_seconds`. Side by side: a slow answer
        holds no other, and the many Datasets of somebody wait for each other (`datasets.request_shares`)."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._dirty.wait()
                self._dirty.clear()
                changed, self._changed = self._changed, {}
                for entry in changed.values():
                    self._write_in_time(entry, group)
                await asyncio.sleep(_TURN_SECONDS)

    def _write_in_time(self, entry: _Entry, group: asyncio.TaskGroup) -> None:
        """What is not to be written yet is left until it is, and not looked at ten times a second."""
        if entry.writing:
            return
        status = _build_status(entry)
        if _is_recorded(entry, status):
            return
        if entry.put_off is not None:  # until a time that another status had to wait for
            entry.put_off.cancel()
            entry.put_off = None
        if (left := self._measure_wait(entry, status)) <= 0:
            entry.writing = True
            group.create_task(self._write_status(entry, status))
        else:
            entry.put_off = asyncio.get_running_loop().call_later(left, self._tell, entry)

    def _measure_wait(self, entry: _Entry, status: Mapping[str, Any]) -> float:
        same_phase = status.get("phase") == entry.recorded.get("phase")
        soon = entry.written_at + self._supplier.status_seconds if same_phase else float("-inf")
        taken = entry.refused_at + _REFUSED_SECONDS if status == entry.refused else float("-inf")
        return max(soon, taken, entry.refused_until) - asyncio.get_running_loop().time()

    async def _write_status(self, entry: _Entry, status: Mapping[str, Any]) -> None:
        key, now = entry.desired.key, asyncio.get_running_loop().time
        try:
            await self._api.patch(DATASETS, *key, {"status": status}, subresource="status")
            entry.recorded, entry.refused, entry.written_at = status, None, now()
        except NotFound:
            pass  # deleted meanwhile: its event follows
        except NotBegun:
            raise
        except (Invalid, BadRequest) as error:
            # The same is refused again, as by a definition of another version, until there is a newer one.
            entry.refused, entry.refused_at = status, now()
            logger.warning("status of dataset %s: %s; again in %.0f s", key, error.message, _REFUSED_SECONDS)
        except ApiError as error:
            logger.warning("status of dataset %s: %s; again in %.0f s", key, error.message, _API_SECONDS)
            entry.written_at = now()
            entry.refused_until = entry.written_at + _API_SECONDS
        finally:
            entry.writing = False
            self._tell(entry)  # it may have changed meanwhile


def _is_edited(before: _Desired, now: _Desired) -> bool:
    """One address that cannot be read in place of another is an edit as well."""
    return now.definition != before.definition or (now.definition is None and now.generation != before.generation)


def _build_unreadable(desired: _Desired) -> Definition:
    """What is to be removed of a Dataset whose address cannot be read: a claim of its own, and files."""
    source = Source(Kind.HTTP, "", "")
    return Definition(desired.key, desired.uid, source, claim_name(desired.key.name), deleting=True)


def _is_recorded(entry: _Entry, status: Mapping[str, Any]) -> bool:
    return all(entry.recorded.get(name) == value for name, value in status.items())


def _build_status(entry: _Entry) -> dict[str, Any]:
    """One that the definition takes, whatever was reported."""
    return {name: _bound(value) for name, value in _build_whole_status(entry).items()}


def _bound(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return min(max(value, 0), _MOST) if isinstance(value, int) and not isinstance(value, bool) else value


def _build_whole_status(entry: _Entry) -> dict[str, Any]:
    desired = entry.desired
    if desired.deleting:
        if not entry.in_use:
            return {}
        users = ", ".join(entry.in_use[:3]) + (f" and {len(entry.in_use) - 3} more" if len(entry.in_use) > 3 else "")
        return {"message": str(phrase("deleted when no pod mounts it any more: {pods}", pods=users))}
    if desired.definition is None:
        return {
            "phase": Phase.FAILED,
            "message": desired.problem,
            "fault": Fault.SOURCE.value,
            "observedGeneration": desired.generation,
        }
    return build_status(desired.definition, entry.state)


def _read_desired(manifest: Manifest) -> _Desired:
    definition, problem = None, ""
    try:
        definition = read_definition(manifest)
    except BadSource as error:
        problem = str(phrase("spec.source.{field}: {why}", field=error.field, why=str(error)))
    meta = metadata(manifest)
    return _Desired(
        key=key_of(manifest),
        uid=uid_of(manifest),
        generation=int(meta.get("generation") or 0),
        definition=definition,
        problem=problem,
        deleting=bool(meta.get("deletionTimestamp")),
        finalizers=tuple(meta.get("finalizers") or ()),
        recorded=manifest.get("status") or {},
    )
