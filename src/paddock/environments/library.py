"""`Environments`: the images of this machine. It follows the Environment objects and answers the kubelet from memory.

An environment is built when a pod first needs it, or when somebody asks for it (`BUILD_REQUESTED`), in the background,
and its progress stands in the object's status and in the pod's waiting reason. What is built outlives the object, the
cluster and this process: the next cluster finds it on disk.

The same failure is not tried again by itself, as it would be the same again. What starts another try: a change of the
object; a new `BUILD_REQUESTED`; a change of what it may have depended on (`environments.circumstances`); and, unless
the definition is at fault, a job whose pods had not asked before, as its user may have mended something.

Rule: `resolve` never waits; of the disk it asks one thing, whether a ready environment is still there. Building is
`environments.builder`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.environments.answers import Answer, Preparing, Unavailable
from paddock.environments.builder import Builder
from paddock.environments.circumstances import Circumstances, Surroundings
from paddock.environments.definition import BUILD_REQUESTED, PROGRAMS, Definition, read_definition
from paddock.environments.directories import Built
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.images import choose_definition, explain_no_environment, explain_no_name, read_named
from paddock.environments.progress import Progress
from paddock.environments.seeding import seed
from paddock.environments.states import Building, Failed, State, Unbuilt, Usable, build_answer, build_status
from paddock.environments.uv import find_uv
from paddock.kube.api import Api, Event
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, controller_of, name_of, uid_of

_TELL_EVERY = 0.5  # seconds between two words of progress
_LOOK_EVERY = 3.0  # seconds between two looks at what a failure may have depended on

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entry:
    """One Environment object. `recorded` is its status as we last saw or wrote it; `asked` has those (UIDs) whose pods
    have asked since it was last ready."""

    definition: Definition
    uid: str
    recorded: Mapping[str, Any]
    state: State = field(default_factory=Unbuilt)
    wanted: bool = False
    requested: str = ""
    task: asyncio.Task[None] | None = None
    told: float = 0.0
    asked: set[str] = field(default_factory=set)
    circumstances: Circumstances = ()


class Environments:
    """Answers `paddock.node.images.Images` (through `paddock.app.images`). `run` must be running.

    `cache` is the user's cache directory for Paddock; `environ` are the variables that builds start with.
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
        self._surroundings = Surroundings(self._builder.environ, self._builder.home)
        self._entries: dict[str, _Entry] = {}
        self._synced = False
        self._change = asyncio.Event()
        self._dirty = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def seed(self) -> None:
        """Creates the missing default Environments, and updates those that the user has left as they were."""
        await seed(self._api)

    async def run(self) -> None:
        """Until cancelled; then the builds in progress are ended and cleaned up."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write_statuses())
                group.create_task(self._watch_circumstances())
                async for event in self._api.follow(ENVIRONMENTS):
                    self._take(event)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def resolve(self, image: str, pod: Manifest) -> Answer:
        """What `image` means for `pod`, now. Starts the build where one is needed."""
        if not self._synced:
            return Preparing("the environments of this machine are being read")
        definitions = [entry.definition for entry in self._entries.values()]
        named = read_named(image, pod)
        if named and named not in self._entries:
            return Unavailable(explain_no_name(named, definitions))
        chosen = self._entries[named].definition if named else choose_definition(image, definitions)
        if chosen is None:
            return Unavailable(explain_no_environment(image, definitions))
        entry = self._entries[chosen.name]
        self._want(entry, _asker(pod))
        return build_answer(chosen, entry.state, self._path, PROGRAMS)

    async def changed(self) -> None:
        """Returns when any answer may have become another one since the last return."""
        await self._change.wait()
        self._change.clear()

    def _take(self, event: Event) -> None:
        if event.type == "SYNCED":
            self._synced = True
            self._change.set()
            return
        name = name_of(event.object)
        entry = self._entries.get(name)
        if event.type == "DELETED":
            self._forget(self._entries.pop(name, None))
            self._change.set()
            return
        definition, wish = read_definition(event.object), annotations_of(event.object).get(BUILD_REQUESTED, "")
        if entry is None or (entry.definition, entry.uid) != (definition, uid_of(event.object)):
            self._forget(entry)
            recorded = event.object.get("status") or {}
            entry = _Entry(definition, uid_of(event.object), recorded, requested=str(recorded.get("requested") or ""))
            self._entries[name] = entry
            self._start(entry)
        if wish not in ("", entry.requested):
            self._heed(entry, wish)

    def _heed(self, entry: _Entry, wish: str) -> None:
        """The wish is recorded together with the first state that follows from it, so that an older failure is not
        taken for the answer."""
        entry.requested, entry.wanted = wish, True
        if entry.task is None and not (isinstance(entry.state, Usable) and _exists(entry.state)):
            self._builder.forget(entry.definition)
            self._set(entry, Unbuilt())
            self._start(entry)
        self._dirty.set()

    def _forget(self, entry: _Entry | None) -> None:
        if entry is not None and entry.task is not None:
            entry.task.cancel()

    def _want(self, entry: _Entry, asker: str) -> None:
        """Sees to it that somebody builds it, unless that failed and the same job asks again."""
        entry.wanted = True
        new = asker not in entry.asked
        entry.asked.add(asker)
        if entry.task is not None or (isinstance(entry.state, Usable) and _exists(entry.state)):
            return
        if isinstance(entry.state, Failed) and not (new and entry.state.fault is not Fault.DEFINITION):
            return
        if isinstance(entry.state, Usable | Failed):  # somebody emptied the cache; or asks anew
            self._set(entry, Unbuilt())
        self._start(entry)

    async def _watch_circumstances(self) -> None:
        """Failures whose circumstances have changed are forgotten; a pod that still waits asks again, and is built
        for."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            failed = [entry for entry in self._entries.values() if isinstance(entry.state, Failed)]
            now = self._surroundings.read() if failed else ()
            for entry in failed:
                if entry.circumstances != now:
                    entry.wanted = False
                    self._set(entry, Unbuilt())

    def _start(self, entry: _Entry) -> None:
        task = asyncio.get_running_loop().create_task(self._work(entry))
        entry.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, entry: _Entry) -> None:
        """Looks what is on disk; builds if a pod has asked. Every end of it is a state."""
        try:
            self._set(entry, await self._find_or_build(entry))
        except BuildFailed as failure:
            self._fail(entry, failure.message, failure.fault)
        except Exception as error:
            logger.exception("environment %s", entry.definition.name)
            said = f"building failed, by a fault of Paddock: {type(error).__name__}: {error}"
            self._fail(entry, said, Fault.DEFINITION)
        finally:
            entry.task = None
        if entry.wanted and isinstance(entry.state, Unbuilt):  # asked for while we looked
            self._start(entry)

    async def _find_or_build(self, entry: _Entry) -> State:
        definition = entry.definition
        if definition.program and not (PROGRAMS / definition.program).is_dir():
            raise BuildFailed(_explain_program(definition.program))
        if definition.on_host:
            return Usable()
        python = await self._builder.find_python(definition)
        built = self._builder.read_built(definition, python) if python is not None else None
        if built is None and entry.wanted:
            built = await self._builder.build(definition, lambda progress: self._tell(entry, progress))
        return _usable(built) if built is not None else Unbuilt()

    def _tell(self, entry: _Entry, progress: Progress) -> None:
        """Progress, at most twice a second and only when what is shown differs."""
        now = asyncio.get_running_loop().time()
        new_phase = not isinstance(entry.state, Building) or entry.state.progress.phase != progress.phase
        if entry.state != Building(progress) and (new_phase or now - entry.told >= _TELL_EVERY):
            entry.told = now
            self._set(entry, Building(progress))

    def _fail(self, entry: _Entry, message: str, fault: Fault) -> None:
        entry.circumstances = self._surroundings.read()
        self._set(entry, Failed(message, fault))

    def _set(self, entry: _Entry, state: State) -> None:
        entry.state = state
        if isinstance(state, Usable):
            entry.asked.clear()
        self._change.set()
        self._dirty.set()

    async def _write_statuses(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            for entry in list(self._entries.values()):
                await self._write_status(entry)
            await asyncio.sleep(_TELL_EVERY)

    async def _write_status(self, entry: _Entry) -> None:
        status = {**build_status(entry.definition, entry.state), "requested": entry.requested or None}
        if all(entry.recorded.get(name) == value for name, value in status.items()):
            return
        try:
            await self._api.patch(ENVIRONMENTS, "", entry.definition.name, {"status": status}, subresource="status")
            entry.recorded = status
        except NotFound:
            return  # deleted meanwhile: its event is on the way
        except ApiError as error:
            logger.warning("status of environment %s: %s", entry.definition.name, error.message)
            self._dirty.set()


def _asker(pod: Manifest) -> str:
    """The UID of the job that the pod belongs to, or of the pod: a gang asks once, however many pods it has."""
    owner = controller_of(pod)
    return str(owner.get("uid")) if owner else uid_of(pod)


def _exists(state: Usable) -> bool:
    return not state.directory or os.access(f"{state.directory}/bin/python", os.X_OK)


def _usable(built: Built) -> Usable:
    return Usable(built.path, built.python, built.packages, built.size)


def _explain_program(name: str) -> str:
    known = sorted(each.name for each in PROGRAMS.iterdir() if each.is_dir() and not each.name.startswith(("_", ".")))
    return f'spec.program: found "{name}", which does not come with this version; allowed: {", ".join(known)}'
