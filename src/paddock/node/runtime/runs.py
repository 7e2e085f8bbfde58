"""Signals the programs of runs, and reads how they ended. Does not use the API.

A run may have been started by an earlier kubelet in another sandbox. So this module uses the sandbox recorded for the
run, never the one in use now. A run whose files cannot be read is lost: it must not stop the kubelet from handling the
others. `paddock.node.runtime.containers` starts programs.

The record of a start is made before its process. Where a kubelet was killed in between, or a moment later, the file of
the run tells what has come of it (`trace`).
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from paddock.kube.container_ends import write_memory_end
from paddock.kube.times import Moment
from paddock.node.runtime import processes
from paddock.node.runtime.cgroups import NO_CGROUPS, Cgroups, MemoryEnd
from paddock.node.runtime.hidden_values import Hidden
from paddock.node.runtime.inputs import Inputs
from paddock.node.runtime.pod_files import read_end
from paddock.node.runtime.pod_state import LOST, PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records
from paddock.node.runtime.run_files import is_full, is_held, naming, read_run_file
from paddock.node.runtime.sandbox import UNTOLD_CODE, Sandbox, find_sandbox
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

START_ERROR, OUT_OF_MEMORY = "StartError", "OOMKilled"
TOO_MANY_PROCESSES = "TooManyProcesses"
_ENDED_BY_NODE = (OUT_OF_MEMORY, TOO_MANY_PROCESSES)
"""The reasons of a run that still runs: the kubelet is ending it (`node.kubelet.excesses`)."""
NOT_FOUND_CODE = 127
"""The exit code of a shell for a missing command."""
_KILLED = 128 + signal.SIGKILL
_MARGIN = 2**20
"""Bytes by which the kernel's highest count may stay below a limit: it takes memory in batches."""
TERMINATION_PATH = "/dev/termination-log"
"""The default of terminationMessagePath (core/v1)."""
# The last bytes of the termination log (kubelet's MaxContainerTerminationMessageLength, from the end as there).
_MESSAGE_SIZE = 4096
# The end of the log that core/v1 takes for FallbackToLogsOnError.
_FALLBACK_LINES, _FALLBACK_SIZE = 80, 2048

_log = logging.getLogger(__name__)


class Trace(Enum):
    """What has come of a start without a known process."""

    NOTHING = "nothing of the user's has run, and nothing will"
    STARTING = "a process is there, and tells its number in a moment"
    ENDED = "it has ended; the exit code may be known or not"


class Runs:
    """The runs in one node directory. `sandbox` is used for records without one."""

    def __init__(
        self, records: Records, sandbox: Sandbox, cgroups: Cgroups = NO_CGROUPS, inputs: Inputs | None = None
    ) -> None:
        self._records, self._cgroups, self._inputs = records, cgroups, inputs or Inputs()
        self._sandbox = sandbox

    def is_bound(self, run: Run) -> bool:
        """Whether its sandbox bind-mounts volumes and hosts file, and leaves no orphan processes."""
        return self._sandbox_of(run).binds

    def is_alive(self, run: Run) -> bool:
        return processes.is_alive(Process(run.pid, run.birth))

    def trace(self, state: PodState, run: Run) -> Process | Trace:
        """What has come of a start: the living process to wait for, or why there is none. Raises OSError.

        Only in the boot of the start; in another one, nobody knows what a power cut has kept of the file.
        """
        path = self._records.run_file(state.uid, run)
        # Before its text: nobody writes to a file that nobody holds.
        held = is_held(path)
        text = read_run_file(path)
        if not held:
            return Trace.ENDED if text else Trace.NOTHING
        process = self._sandbox_of(run).find_process(text)
        # Still held: so what is at the pid is what has written it.
        return process if process is not None and is_held(path) else Trace.STARTING

    def terminate(self, state: PodState, run: Run) -> Process | None:
        """Sends SIGTERM to the program, as to process 1 of a container, and returns it. None if it has not started yet:
        retry a little later."""
        program = self._sandbox_of(run).find_program(run.pid, self._text(state, run)) if run.pid else None
        if program is None:
            return None
        birth = processes.read_birth(program)
        processes.send_signal(program, signal.SIGTERM)
        return Process(program, birth or 0)

    def find_left(self, state: PodState, run: Run) -> frozenset[Process]:
        """The living processes of the container, besides those of its sandbox."""
        namespace_init = self._sandbox_of(run).find_namespace_init(self._text(state, run))
        if namespace_init is None:
            marked = processes.find_pod_processes((state.uid,))[state.uid]
            found = {pid for pid, container in marked if container == run.container}
            found.update(processes.find_descendants(run.pid))
        elif processes.belongs_to_pod(namespace_init, state.uid):
            found = set(processes.find_descendants(namespace_init))
        else:
            found = set()
        births = {pid: processes.read_birth(pid) for pid in found - {run.pid}}
        return frozenset(Process(pid, birth) for pid, birth in births.items() if birth is not None)

    def is_over(self, state: PodState, run: Run, told: set[Process]) -> bool:
        """Whether the container has ended, now that its first process has. It has at once, unless it is being ended:
        the grace is of all its processes. A shell dies of SIGTERM and passes nothing on, so those that live are told
        now, but for the ones in `told`, to which they are added.

        While the first process lives, the others are its own affair: torchrun tells its workers, and a program that
        saves needs its loaders."""
        # Asked again and again, of each container: only the first and the last answer cost a search.
        if state.ending is None and run.stopping is None:
            return True
        if any(map(processes.is_alive, told)):
            return False
        left = self.find_left(state, run)
        for each in left - told:
            processes.send_signal(each.pid, signal.SIGTERM)
        told |= left
        return not left

    def kill(self, state: PodState, run: Run) -> None:
        """Sends SIGKILL to all processes of the container. Repeat until the run has ended: programs may fork."""
        if not run.pid:
            return
        namespace_init = self._sandbox_of(run).find_namespace_init(self._text(state, run))
        # The recorded pid may be another process's by now; the pod's mark in its environment tells.
        if namespace_init is not None and processes.belongs_to_pod(namespace_init, state.uid):
            processes.send_signal(namespace_init, signal.SIGKILL)
            return
        # The watched process comes last, when it has no descendants left, because it reports the exit code. Without it,
        # others may be left that were told of the end.
        others = processes.find_descendants(run.pid)
        if not others and not self.is_alive(run):
            others = [each.pid for each in self.find_left(state, run)]
        for pid in others or (run.pid,):
            processes.send_signal(pid, signal.SIGKILL)

    def finish(
        self,
        pod: Mapping[str, Any] | None,
        state: PodState,
        run: Run,
        now: Moment,
        hidden: Hidden,
        *,
        seen: bool = True,
    ) -> Run:
        """The ended run with exit code, reason and message. Kills the processes left in its PID namespace or group.

        Unless the end was `seen`, its time is that of the exit file. Without `pod`, which tells where the message is,
        there is no message yet (`add_message`). Values of `hidden` do not appear in it.
        """
        self._inputs.drop(self._records.input_file(state.uid, run))
        try:
            ended = self._finish(state, run, now if seen else self._ended_at(state, run) or now)
            return ended if pod is None else self.add_message(pod, state, ended, hidden)
        # The files of one run must not stop the kubelet from handling the others.
        except Exception as error:
            _log.exception("how %s of pod %s/%s ended cannot be read", run.container, state.namespace, state.name)
            said = phrase("how it ended cannot be read: {why}", why=str(error))
            return replace(run, finished=now, exit_code=_KILLED, reason=LOST, message=str(said))

    def _finish(self, state: PodState, run: Run, now: Moment) -> Run:
        sandbox, text = self._sandbox_of(run), self._text(state, run)
        namespace_init = sandbox.find_namespace_init(text)
        if namespace_init is not None and processes.belongs_to_pod(namespace_init, state.uid):
            processes.send_signal(namespace_init, signal.SIGKILL)
        if not sandbox.binds and processes.is_child(run.pid):
            # Before `reap`: until then the pid, and with it the group id, is not reused.
            processes.send_signal(-run.pid, signal.SIGKILL)
        returned = processes.reap(run.pid)
        log = self._records.log_file(state, run)
        code = sandbox.read_exit(text)
        if not text and returned == UNTOLD_CODE:
            said = phrase("{path} cannot be written", path=str(self._records.run_file(state.uid, run)))
            return build_failed_start(run, now, str(said))
        # bubblewrap fails with code 1, as a program may; its message and the missing exit code tell the two apart.
        if code is None and (problem := _last_line(log)).startswith("bwrap: "):
            return build_failed_start(run, now, problem)
        if code is None and returned is not None:
            code = returned if returned >= 0 else 128 - returned
        ends = state.ending is not None or run.stopping is not None
        if run.reason in _ENDED_BY_NODE and code != 0:
            self._cgroups.remove(state.uid, run)
            return replace(run, finished=now, exit_code=_KILLED if code is None else code)
        if run.reason in _ENDED_BY_NODE:  # it had ended by itself before
            run = replace(run, reason="", message="")
        memory = self._cgroups.read_end(state.uid, run)
        self._cgroups.remove(state.uid, run)
        if memory is not None and memory.kills and code != 0 and not ends:
            # Also where a process of it was killed, and the program has ended for that: as container engines tell it.
            code, message = _KILLED if code is None else code, explain_memory_end(memory)
            return replace(run, finished=now, exit_code=code, reason=OUT_OF_MEMORY, message=message)
        # Killed before the sandbox could write an exit code: expected while the kubelet ends it, lost otherwise.
        if code is None and ends:
            code = _KILLED
        if code is None:
            return replace(run, finished=now, exit_code=_KILLED, reason=LOST, message=self._explain_loss(state, run))
        # The kernel's counter is machine-wide, so SIGKILL and a higher count together are taken for an OOM kill.
        is_unsure = memory is None and code == _KILLED and not ends
        out_of_memory = is_unsure and processes.read_oom_kills() > run.ooms
        return replace(run, finished=now, exit_code=code, reason=OUT_OF_MEMORY if out_of_memory else "")

    def _explain_loss(self, state: PodState, run: Run) -> str:
        path = self._records.run_file(state.uid, run)
        if not is_full(path):
            return ""
        return str(phrase("the disk of {path} is full, which may be why its end is not in that file", path=str(path)))

    def add_message(self, pod: Mapping[str, Any], state: PodState, run: Run, hidden: Hidden) -> Run:
        """The ended run with what its program told of its end, unless the kubelet has told of it."""
        if run.message or run.reason in (LOST, START_ERROR):
            return replace(run, message=hidden.apply(run.message))
        return replace(run, message=self._read_message(pod, state, run, hidden))

    def _ended_at(self, state: PodState, run: Run) -> Moment | None:
        told = self._sandbox_of(run).read_exit(self._text(state, run)) is not None
        return self._records.run_file(state.uid, run).stat().st_mtime if told else None

    def _read_message(self, pod: Mapping[str, Any], state: PodState, run: Run, hidden: Hidden) -> str:
        spec = pod.get("spec") or {}
        everyone = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        container: Mapping[str, Any] = next((item for item in everyone if item["name"] == run.container), {})
        try:
            message = _read_hidden(self._records.termination_file(state.uid, run), _MESSAGE_SIZE, hidden)
        except FileNotFoundError:
            message = ""
        except OSError as error:
            where = container.get("terminationMessagePath") or TERMINATION_PATH
            said = phrase(
                "Error on reading termination log {path}: {why}", path=str(where), why=explain_unreadable(error)
            )
            return str(said)
        if message or run.exit_code == 0 or container.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return message
        try:
            end = _read_hidden(self._records.log_file(state, run), _FALLBACK_SIZE, hidden)
        except OSError:
            return ""
        return "\n".join(end.splitlines()[-_FALLBACK_LINES:])

    def _text(self, state: PodState, run: Run) -> str:
        try:
            return read_run_file(self._records.run_file(state.uid, run))
        except OSError:
            return ""

    def _sandbox_of(self, run: Run) -> Sandbox:
        return find_sandbox(run.sandbox) or self._sandbox

    def write_hosts(self, uid: str, text: str) -> None:
        """Updates the hosts file of a running pod, if it differs."""
        path = self._records.hosts(uid)
        if path.exists() and path.read_text() != text:
            write_in_place(path, text)


def explain_memory_end(memory: MemoryEnd) -> str:
    """The message of a run that the kernel has ended; empty where the machine's memory was used up, not a limit."""
    at_limit = memory.limit is not None and memory.used >= memory.limit - _MARGIN
    return write_memory_end(memory.used, memory.limit) if memory.limit is not None and at_limit else ""


def build_failed_start(run: Run, now: Moment, message: str) -> Run:
    """A run that failed to start; waiting would not help."""
    return replace(run, finished=now, exit_code=NOT_FOUND_CODE, reason=START_ERROR, message=message)


def write_in_place(path: Path, text: str) -> None:
    """Changes a file that is bound into running pods by inode."""
    # Running pods would not see a file that replaces this one. Overwritten first and then cut, it is never empty.
    data = text.encode()
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        with naming(path):
            os.pwrite(file, data, 0)
            os.ftruncate(file, len(data))
    finally:
        os.close(file)


def _decode(data: bytes) -> str:
    """Text of a program, which need not be UTF-8."""
    return data.decode(errors="replace")


def _read_hidden(path: Path, size: int, hidden: Hidden) -> str:
    return _decode(hidden.read_tail(read_end(path, size + hidden.longest), size))


def _read_tail(path: Path, size: int) -> str:
    try:
        return _decode(read_end(path, size))
    except OSError:
        return ""


def _last_line(path: Path) -> str:
    # Longer than any path, which a message of bubblewrap may name.
    return (_read_tail(path, 16384).splitlines() or [""])[-1]
