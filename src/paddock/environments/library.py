"""`Environments`: the controller of Environment objects. It resolves the images of pods for the kubelet, from memory.

An environment is built in the background when a pod first needs it, or on request (annotation `BUILD_REQUESTED`). The
object's status and the pod's waiting reason show the progress. A built environment outlives its object, the cluster and
this process: the next cluster finds it on disk.

A failed build is not retried by itself, as it would fail again. These retry it: a change of the object; a new
`BUILD_REQUESTED`; a change of the machine that it may depend on (`environments.circumstances`); and, unless the
definition is at fault, the first pod of another job, as its user may have fixed something.

Rule: `resolve` never waits. Its only disk access: does a usable environment still exist, and a note once for each job
that wants it. `environments.builder` builds.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change
from paddock.environments.answers import Answer, Preparing, Unavailable
from paddock.environments.builder import Builder
from paddock.environments.circumstances import BuildCircumstances, Circumstances
from paddock.environments.definition import BUILD_REQUESTED, PROGRAMS, Definition, read_definition
from paddock.environments.directories import Built, wanted_note
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.images import choose, read_path
from paddock.environments.progress import Progress
from paddock.environments.seeding import seed
from paddock.environments.states import Building, Failed, State, Unbuilt, Usable, build_answer, build_status
from paddock.environments.uv import find_uv
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, controller_of, uid_of
from paddock.words.phrases import Phrase, phrase

_STATUS_SECONDS = 0.5  # seconds between two status writes, and between two reports of progress
_CIRCUMSTANCES_SECONDS = 3.0  # seconds between two reads of the circumstances of failures

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Desired:
    """A parsed Environment object."""

    definition: Definition
    uid: str
    request: str
    """The value of `BUILD_REQUESTED`."""
    recorded: Mapping[str, Any] = field(compare=False)
    """Its status; not compared, as most of its changes are own writes."""


@dataclass(slots=True)
class _Entry:
    """The state of one Environment object."""

    definition: Definition
    uid: str
    recorded: Mapping[str, Any]
    """Its status as last read or written."""
    state: State = field(default_factory=Unbuilt)
    build_wanted: bool = False
    requested: str = ""
    task: asyncio.Task[None] | None = None
    reported_at: float = 0.0
    requesters: set[str] = field(default_factory=set)
    """UIDs of the jobs whose pods have requested it since it was last usable."""
    circumstances: Circumstances = ()


class Environments:
    """Implements `paddock.node.runtime.images.Images` (through `paddock.app.images`) while `run` runs.

    `cache`: the user's cache directory for Paddock. `environ`: the environment variables of builds.
    """

    def __init__(
        self,
        api: Api,
        cache: Path,
        *,
        environ: Mapping[str, str] | None = None,
        builder: Builder | None = None,
    ) -> None:
        self._api = api
        environ = os.environ if environ is None else environ
        self._path = environ.get("PATH", os.defpath)
        self._builder = builder or Builder(cache / "environments", dict(environ), find_uv())
        self._build_circumstances = BuildCircumstances(self._builder.environ, self._builder.home)
        self._entries: dict[str, _Entry] = {}
        self._change = asyncio.Event()
        self._informer = Informer(api, ENVIRONMENTS, _read_desired, self._on_change, on_synced=self._change.set)
        self._dirty = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def seed(self) -> None:
        """Create the missing default Environments, and update those that the user has not edited."""
        await seed(self._api)

    async def run(self) -> None:
        """Run until cancelled; then cancel the builds in progress and clean up."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write_statuses())
                group.create_task(self._watch_circumstances())
                await self._informer.run()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def resolve(self, container: Manifest, pod: Manifest) -> Answer:
        """What the image of a container of `pod` means now. Starts a build if one is needed."""
        if not self._informer.synced.is_set():
            return Preparing(str(phrase("the environments of this machine are being read")))
        choice = choose(container, pod, (entry.definition for entry in self._entries.values()))
        if choice.definition is None:
            return Unavailable(str(choice.said))
        entry = self._entries[choice.definition.name]
        self._request_build(entry, _requester(pod))
        answer = build_answer(choice.definition, entry.state, read_path(pod) or self._path, PROGRAMS)
        return replace(answer, notice=str(choice.said)) if choice.said else answer

    async def changed(self) -> None:
        """Returns when any result of `resolve` may have changed since the last return."""
        await self._change.wait()
        self._change.clear()

    def _on_change(self, change: Change[_Desired]) -> None:
        name, now = change.key.name, change.now
        entry = self._entries.get(name)
        if now is None:
            self._cancel_task(self._entries.pop(name, None))
            self._change.set()
            return
        if entry is None or (entry.definition, entry.uid) != (now.definition, now.uid):
            self._cancel_task(entry)
            requested = str(now.recorded.get("requested") or "")
            entry = self._entries[name] = _Entry(now.definition, now.uid, now.recorded, requested=requested)
            self._start(entry)
        if now.request not in ("", entry.requested):
            self._on_build_request(entry, now.request)

    def _on_build_request(self, entry: _Entry, request: str) -> None:
        """Build on request, unless the environment is usable."""
        # Recorded with the first state that follows, so that no client takes an older failure for the answer.
        entry.requested, entry.build_wanted = request, True
        if entry.task is None and not (isinstance(entry.state, Usable) and _is_on_disk(entry.state)):
            self._builder.forget(entry.definition)
            self._set_state(entry, Unbuilt())
            self._start(entry)
        self._dirty.set()

    def _cancel_task(self, entry: _Entry | None) -> None:
        if entry is not None and entry.task is not None:
            entry.task.cancel()

    def _request_build(self, entry: _Entry, requester: str) -> None:
        """Start the build that a pod needs, unless it failed and the same job requests it again."""
        entry.build_wanted = True
        new = requester not in entry.requesters
        entry.requesters.add(requester)
        if entry.task is not None or (isinstance(entry.state, Usable) and _is_on_disk(entry.state)):
            if new:
                _note_wanted(entry)
            return
        if isinstance(entry.state, Failed) and not (new and entry.state.fault is not Fault.DEFINITION):
            return
        if isinstance(entry.state, Usable | Failed):  # the cache was emptied, or a new job retries the failure
            self._set_state(entry, Unbuilt())
        self._start(entry)

    async def _watch_circumstances(self) -> None:
        """Reset failures whose circumstances have changed, and environments whose files were removed. A pod that still
        waits then requests the build again."""
        while True:
            await asyncio.sleep(_CIRCUMSTANCES_SECONDS)
            failed = [entry for entry in self._entries.values() if isinstance(entry.state, Failed)]
            now = self._build_circumstances.read() if failed else ()
            changed = [entry for entry in failed if entry.circumstances != now]
            for entry in (*changed, *filter(_is_removed, self._entries.values())):
                entry.build_wanted = False
                self._set_state(entry, Unbuilt())

    def _start(self, entry: _Entry) -> None:
        task = asyncio.get_running_loop().create_task(self._work(entry))
        entry.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, entry: _Entry) -> None:
        """Read the directory on disk, or build if requested. Every outcome is a state; nothing is raised."""
        try:
            self._set_state(entry, await self._find_or_build(entry))
            _note_wanted(entry)
        except BuildFailed as failure:
            self._set_failed(entry, failure.message, failure.fault)
        except Exception as error:
            logger.exception("environment %s", entry.definition.name)
            said = phrase("building failed, by a fault of Paddock: {why}", why=f"{type(error).__name__}: {error}")
            self._set_failed(entry, str(said), Fault.DEFINITION)
        finally:
            entry.task = None
        if entry.build_wanted and isinstance(entry.state, Unbuilt):  # requested while the directory was read
            self._start(entry)

    async def _find_or_build(self, entry: _Entry) -> State:
        definition = entry.definition
        if definition.program and not (PROGRAMS / definition.program).is_dir():
            raise BuildFailed(_explain_program(definition.program))
        if definition.on_host:
            return Usable()
        python = await self._builder.find_python(definition)
        built = self._builder.read_built(definition, python) if python is not None else None
        if built is None and entry.build_wanted:
            built = await self._builder.build(definition, lambda progress: self._report_progress(entry, progress))
        return _build_usable(built) if built is not None else Unbuilt()

    def _report_progress(self, entry: _Entry, progress: Progress) -> None:
        """Set the progress: at most twice a second within a phase, and only if it differs."""
        now = asyncio.get_running_loop().time()
        new_phase = not isinstance(entry.state, Building) or entry.state.progress.phase != progress.phase
        if entry.state != Building(progress) and (new_phase or now - entry.reported_at >= _STATUS_SECONDS):
            entry.reported_at = now
            self._set_state(entry, Building(progress))

    def _set_failed(self, entry: _Entry, message: str, fault: Fault) -> None:
        entry.circumstances = self._build_circumstances.read()
        self._set_state(entry, Failed(message, fault))

    def _set_state(self, entry: _Entry, state: State) -> None:
        entry.state = state
        if isinstance(state, Usable):
            entry.requesters.clear()
        self._change.set()
        self._dirty.set()

    async def _write_statuses(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            for entry in list(self._entries.values()):
                await self._write_status(entry)
            await asyncio.sleep(_STATUS_SECONDS)

    async def _write_status(self, entry: _Entry) -> None:
        status = {**build_status(entry.definition, entry.state), "requested": entry.requested or None}
        if all(entry.recorded.get(name) == value for name, value in status.items()):
            return
        try:
            await self._api.patch(ENVIRONMENTS, "", entry.definition.name, {"status": status}, subresource="status")
            entry.recorded = status
        except NotFound:
            return  # deleted meanwhile: its event follows
        except ApiError as error:
            logger.warning("status of environment %s: %s", entry.definition.name, error.message)
            self._dirty.set()


def _read_desired(manifest: Manifest) -> _Desired:
    request = annotations_of(manifest).get(BUILD_REQUESTED, "")
    return _Desired(read_definition(manifest), uid_of(manifest), request, manifest.get("status") or {})


def _requester(pod: Manifest) -> str:
    """The UID of the pod's controller, or of the pod: all pods of a job count as one requester."""
    owner = controller_of(pod)
    return str(owner.get("uid")) if owner else uid_of(pod)


def _note_wanted(entry: _Entry) -> None:
    """Notes, once for each wish, that the files are this Environment's and not only found by it: for who cleans up."""
    if entry.build_wanted and isinstance(entry.state, Usable) and entry.state.directory:
        note = wanted_note(Path(entry.state.directory), entry.definition.name)
        with suppress(OSError):  # a full disk
            note.touch()


def _is_removed(entry: _Entry) -> bool:
    return entry.task is None and isinstance(entry.state, Usable) and not _is_on_disk(entry.state)


def _is_on_disk(state: Usable) -> bool:
    return not state.directory or os.access(f"{state.directory}/bin/python", os.X_OK)


def _build_usable(built: Built) -> Usable:
    return Usable(built.path, built.python, built.packages, built.size, built.build)


def _explain_program(name: str) -> Phrase:
    known = sorted(each.name for each in PROGRAMS.iterdir() if each.is_dir() and not each.name.startswith(("_", ".")))
    return phrase(
        'spec.program: found "{name}", which does not come with this version; allowed: {names}',
        name=name, names=", ".join(known),
    )  # fmt: skip
