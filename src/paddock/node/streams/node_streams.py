"""exec, attach and port-forward of the pods that run here (`kube.pod_streams.PodStreams`).

What stands in the way is said before anything runs. A session ends with its client and with its container; there are
`SESSIONS` at most on a node and `POD_SESSIONS` in a pod.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from paddock.kube.errors import BadRequest, InternalError, TooManyRequests, Unavailable
from paddock.kube.held_pods import HOLD_ANNOTATION, parse_hold
from paddock.kube.meta import Manifest, annotations_of, name_of, uid_of
from paddock.kube.nearness import nearest
from paddock.kube.pod_logs import name_main_container
from paddock.kube.pod_streams import Connection, Session, StreamRequest
from paddock.node.runtime.cgroups import NO_CGROUPS, Cgroups
from paddock.node.runtime.containers import find_container
from paddock.node.runtime.inputs import Inputs, find_input
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import ExitWatcher, Process, is_alive
from paddock.node.runtime.records import Records
from paddock.node.runtime.run_files import read_run_file
from paddock.node.runtime.sandbox import find_sandbox
from paddock.node.streams.attached import Attached
from paddock.node.streams.channels import Input
from paddock.node.streams.connections import Ask, Looks, open_connection
from paddock.node.streams.programs import Place, Program, start_program
from paddock.words.phrases import Phrase, phrase

SESSIONS, POD_SESSIONS = 200, 50
COMMANDS, POD_COMMANDS = 200, 50
"""Of probes and hooks. They are counted by themselves: whoever fills a pod with shells must not make it look dead."""
CONNECTIONS, POD_CONNECTIONS = 800, 200
"""A page of a browser opens several at a time. One has a descriptor here and about 256 KiB: a piece of 64 KiB and the
transport's buffer in each direction; besides, what its client's wire has read (`apiserver.streaming`)."""
_START_SECONDS, _POLL_SECONDS = 10.0, 0.01

ListRunning = Callable[[], Iterable[tuple[PodState, Run]]]
"""The containers whose process is known and runs now, each with its pod."""
RecallRun = Callable[[str, str, int], Run | None]
"""A run by the pod's UID, the container and its number, also one that has ended; None when nothing is known of it."""


class Entered(Protocol):
    """A container that is held, with a sandbox made again; `leave` is called once."""

    @property
    def state(self) -> PodState: ...
    @property
    def run(self) -> Run: ...
    @property
    def run_file(self) -> Path: ...
    @property
    def directory(self) -> str: ...
    @property
    def leave(self) -> Callable[[], None]: ...


EnterHeld = Callable[[Manifest, str], Entered | None]
"""Enters a container that has failed and is held; None of one that is not. Raises `BadRequest`."""


_ENDING = phrase("this node is being stopped")


def enter_nothing(pod: Manifest, container: str) -> Entered | None:
    """For a node that holds nothing."""
    return None


class Counts:
    """How many there are, of `most` on the node and `pod_most` in a pod. `explain`: the sentence for one too many, by
    the pod's name, or for the node where that is empty."""

    def __init__(self, most: int, pod_most: int, explain: Callable[[str], Phrase]) -> None:
        self._most, self._pod_most, self._explain = most, pod_most, explain
        self._counts = dict[str, int]()

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def add(self, uid: str, name: str) -> Callable[[], None]:
        """Counts one more; what is returned counts it off, once. Raises TooManyRequests."""
        full = "" if self.total >= self._most else name if self._counts.get(uid, 0) >= self._pod_most else None
        if full is not None:
            raise TooManyRequests(str(self._explain(full)), retry_after=1)
        self._counts[uid] = self._counts.get(uid, 0) + 1
        counted = [uid]

        def forget() -> None:
            for each in counted:
                self._counts[each] -= 1
                if not self._counts[each]:
                    del self._counts[each]
            counted.clear()

        return forget


def explain_many_sessions(pod: str) -> Phrase:
    if not pod:
        return phrase("this node has {number} sessions of exec and attach, the most at a time", number=SESSIONS)
    return phrase(
        "pod {name} has {number} sessions of exec and attach, the most at a time for a pod; end one of them",
        name=pod, number=POD_SESSIONS,
    )  # fmt: skip


def explain_many_commands(pod: str) -> Phrase:
    if not pod:
        return phrase("this node runs {number} commands of probes and hooks, the most at a time", number=COMMANDS)
    return phrase(
        "pod {name} runs {number} commands of probes and hooks, the most at a time for a pod",
        name=pod, number=POD_COMMANDS,
    )  # fmt: skip


def explain_many_connections(pod: str) -> Phrase:
    if not pod:
        return phrase("this node has {number} forwarded connections, the most at a time", number=CONNECTIONS)
    return phrase(
        "pod {name} has {number} forwarded connections, the most at a time for a pod; end one of them",
        name=pod, number=POD_CONNECTIONS,
    )  # fmt: skip


class NodeStreams:
    """`directory`: the node's, as its kubelet has it; `cgroups`, `inputs`: those of its containers."""

    def __init__(
        self,
        list_running: ListRunning,
        recall_run: RecallRun,
        directory: Path,
        cgroups: Cgroups = NO_CGROUPS,
        inputs: Inputs | None = None,
        enter_held: EnterHeld = enter_nothing,
    ) -> None:
        self._enter_held = enter_held
        self._list_running, self._recall_run, self._cgroups = list_running, recall_run, cgroups
        self._inputs = inputs or Inputs()
        self._records = Records(directory)
        self._watcher = ExitWatcher()
        self._counts = Counts(SESSIONS, POD_SESSIONS, explain_many_sessions)
        self._commands = Counts(COMMANDS, POD_COMMANDS, explain_many_commands)
        self._connections = Counts(CONNECTIONS, POD_CONNECTIONS, explain_many_connections)
        self._looks = Looks()
        self._sessions: set[Session] = set()
        self._starting: set[asyncio.Future[None]] = set()
        self._closed = False

    @property
    def is_in_use(self) -> bool:
        """Whether somebody is in a pod: of a held one no job runs, which would keep the cluster up."""
        return self._counts.total > 0

    async def exec(self, pod: Manifest, request: StreamRequest) -> Session:
        return await self._exec(pod, request, self._counts)

    async def exec_for_kubelet(self, pod: Manifest, request: StreamRequest) -> Session:
        """A command of a probe or a hook."""
        return await self._exec(pod, request, self._commands)

    async def _exec(self, pod: Manifest, request: StreamRequest, counts: Counts) -> Session:
        if not request.command or not request.command[0]:
            raise BadRequest("you must specify at least 1 command for the container")
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._starting.add(started)
        try:
            program = await self._start(pod, request, counts)
            if self._closed:
                await program.close()
                raise Unavailable(str(_ENDING))
            return program
        finally:
            self._starting.discard(started)
            started.set_result(None)

    async def _start(self, pod: Manifest, request: StreamRequest, counts: Counts) -> Program:
        if self._closed:
            raise Unavailable(str(_ENDING))
        forget = counts.add(uid_of(pod), name_of(pod))
        try:
            held = self._enter(pod, request.container)
            if held is not None:
                forget = _both(forget, held.leave)
                place = await self._find_held_place(pod, held)
            else:
                place = await self._find_place(pod, *self._find(pod, request.container))
            program = await start_program(place, request, self._watcher, lambda: self._forget(program, forget))
        except BaseException:
            forget()
            raise
        self._sessions.add(program)
        return program

    async def attach(self, pod: Manifest, request: StreamRequest) -> Session:
        state, run = self._find(pod, request.container)
        forget = self._counts.add(uid_of(pod), name_of(pod))
        log = self._records.log_file(state, run)
        recall = partial(self._recall_run, state.uid, run.container, run.number)
        found = find_input(find_container(pod, run.container), self._records.input_file(state.uid, run))
        input: int | None = None
        try:
            input = self._inputs.connect(found) if found is not None and request.stdin else None
        except OSError:
            found = None  # of a container that an older Paddock has started
        try:
            session = Attached(
                run, log, request, recall, lambda: self._forget(session, forget),
                input=None if input is None else Input(input), has_input=found is not None,
            )  # fmt: skip
        except OSError as error:
            forget()
            if input is not None:
                os.close(input)
            said = phrase(
                "the log of container {container} of pod {name} cannot be read: {why}",
                container=run.container, name=name_of(pod), why=error.strerror or str(error),
            )  # fmt: skip
            raise InternalError(str(said)) from error
        self._sessions.add(session)
        return session

    async def connect(self, pod: Manifest, port: int) -> Connection:
        uid = uid_of(pod)
        running = [(state, run) for state, run in self._list_running() if state.uid == uid]
        if not running:
            raise BadRequest(explain_not_running(pod, name_main_container(pod), ()))
        forget = self._connections.add(uid, name_of(pod))
        try:
            ask = Ask(uid, running[0][0].address, port, frozenset(run.pid for _, run in running))
            return await open_connection(pod, ask, self._looks, forget)
        except BaseException:
            forget()
            raise

    def list_programs(self) -> list[tuple[str, str, Process]]:
        """The programs of exec that run now, each with its pod's UID and its container."""
        programs = (each for each in self._sessions if isinstance(each, Program))
        return [(each.place.pod, each.place.container, each.leader) for each in programs if not each.has_ended]

    async def close(self) -> None:
        """Ends all sessions; programs are started no more."""
        self._closed = True
        if self._starting:
            await asyncio.wait(self._starting)
        await asyncio.gather(*(session.close() for session in list(self._sessions)), return_exceptions=True)
        self._watcher.close()

    def _find(self, pod: Manifest, container: str) -> tuple[PodState, Run]:
        name = find_container_name(pod, container)
        running = {run.container: (state, run) for state, run in self._list_running() if state.uid == uid_of(pod)}
        if name not in running:
            raise BadRequest(explain_not_running(pod, name, list(running)))
        return running[name]

    async def _find_place(self, pod: Manifest, state: PodState, run: Run) -> Place:
        directory = find_container(pod, run.container).get("workingDir") or self._records.work_directory(state.uid, run)
        place = await self._wait_until_begun(
            state.uid, run, self._records.run_file(state.uid, run), str(directory),
            lambda: (state.uid, run.number) == self._find_number(pod, run.container),
        )  # fmt: skip
        if place is None:
            raise BadRequest(explain_not_running(pod, run.container, ()))
        return place

    async def _wait_until_begun(
        self, uid: str, run: Run, run_file: Path, directory: str, goes_on: Callable[[], bool]
    ) -> Place | None:
        """Waits until the sandbox has started its program: before, it is not yet what the program will see. None where
        it does not, or has ended."""
        sandbox, process = find_sandbox(run.sandbox), Process(run.pid, run.birth)
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        while sandbox is not None and goes_on() and asyncio.get_running_loop().time() < deadline:
            text = read_run_file(run_file)
            if sandbox.find_program(run.pid, text) is not None:
                init = sandbox.find_namespace_init(text) or 0
                return Place(uid, run.container, process, init, directory, self._cgroups.list_doors(uid, run))
            await asyncio.sleep(_POLL_SECONDS)
        return None

    def _enter(self, pod: Manifest, container: str) -> Entered | None:
        name = find_container_name(pod, container)
        running = {run.container for state, run in self._list_running() if state.uid == uid_of(pod)}
        return None if name in running else self._enter_held(pod, name)

    async def _find_held_place(self, pod: Manifest, held: Entered) -> Place:
        run, uid = held.run, held.state.uid
        process = Process(run.pid, run.birth)
        place = await self._wait_until_begun(uid, run, held.run_file, held.directory, lambda: is_alive(process))
        if place is not None:
            return place
        said = phrase(
            "container {container} of pod {name} is held, and its sandbox does not start again",
            container=run.container, name=name_of(pod),
        )  # fmt: skip
        raise BadRequest(str(said))

    def _find_number(self, pod: Manifest, container: str) -> tuple[str, int]:
        state, run = self._find(pod, container)
        return state.uid, run.number

    def _forget(self, session: Session, forget: Callable[[], None]) -> None:
        self._sessions.discard(session)
        forget()


def _both(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        one()
        other()

    return call


def list_containers(pod: Manifest) -> list[str]:
    """All containers of a pod, those that run to the end first."""
    spec = pod.get("spec") or {}
    everyone = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return [str(each.get("name") or "") for each in everyone]


def find_container_name(pod: Manifest, asked: str) -> str:
    """The container that is meant; empty stands for the main one. Raises BadRequest, which names those that are
    there."""
    names = list_containers(pod)
    if not asked:
        return name_main_container(pod)
    if asked in names:
        return asked
    near = nearest(asked, names)
    all_names = ", ".join(names)
    if near:
        said = phrase(
            "container {container} is not valid for pod {name}; it has {names}; did you mean {near}?",
            container=asked, name=name_of(pod), names=all_names, near=near,
        )  # fmt: skip
    else:
        said = phrase(
            "container {container} is not valid for pod {name}; it has {names}",
            container=asked, name=name_of(pod), names=all_names,
        )  # fmt: skip
    raise BadRequest(str(said))


def explain_not_running(pod: Manifest, container: str, running: Iterable[str]) -> str:
    """Why nobody gets into a container now. `running`: the pod's containers that run."""
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if phase in ("Succeeded", "Failed"):
        said = phrase("pod {name} has ended: its phase is {phase}", name=name_of(pod), phase=phase)
        if phase == "Succeeded":
            return str(said)
        if parse_hold(annotations_of(pod).get(HOLD_ANNOTATION)) is not None:
            return str(phrase("{said}; it is held no more", said=said))
        why = phrase(
            "the annotation {name} of its job (30m; --hold of paddock run) keeps one that fails for a shell",
            name=HOLD_ANNOTATION,
        )
        return f"{said}; {why}"
    statuses = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    state = next((each.get("state") or {} for each in statuses if each.get("name") == container), {})
    names = ", ".join(name for name in running if name != container)
    if ended := state.get("terminated"):
        said = phrase(
            "container {container} of pod {name} has ended with exit code {code}",
            container=container, name=name_of(pod), code=int(ended.get("exitCode") or 0),
        )  # fmt: skip
    elif reason := (state.get("waiting") or {}).get("reason"):
        said = phrase(
            "container {container} of pod {name} does not run yet: it waits ({reason})",
            container=container, name=name_of(pod), reason=str(reason),
        )  # fmt: skip
    else:
        said = phrase("container {container} of pod {name} does not run now", container=container, name=name_of(pod))
    return f"{said}; {phrase('those that run: {names}', names=names)}" if names else str(said)
