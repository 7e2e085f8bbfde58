"""What becomes of a program that was started: signalled, and settled when it has ended. No API here.

A run may be an earlier kubelet's, and that one may have used the other sandbox. So everything here goes by the sandbox
that the run was started in, which its record names, and never by the one that is in use now. A run whose files nobody
understands is lost: it must not keep the kubelet from all the others. Starting is `paddock.node.containers`.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from paddock.kube.times import Moment
from paddock.node import processes
from paddock.node.pod_state import LOST, PodState, Run
from paddock.node.processes import Process
from paddock.node.records import Records
from paddock.node.sandbox import Sandbox, find_sandbox

START_ERROR = "StartError"
NOT_FOUND_CODE = 127
"""What a shell answers for a command that is not there."""
_KILLED = 128 + signal.SIGKILL
_MESSAGE_SIZE = 4096  # bytes of the termination log (core/v1, terminationMessagePath)
_FALLBACK_LINES, _FALLBACK_SIZE = 80, 2048  # of the log (core/v1, FallbackToLogsOnError)

_log = logging.getLogger(__name__)


class Runs:
    """The runs in one node directory. `sandbox` is that of records which name none."""

    def __init__(self, records: Records, sandbox: Sandbox) -> None:
        self._records = records
        self._sandbox = sandbox

    def is_bound(self, run: Run) -> bool:
        """Whether it sees its volumes and its hosts file at their paths, and leaves no processes behind."""
        return self._sandbox_of(run).binds

    def is_alive(self, run: Run) -> bool:
        return processes.is_alive(Process(run.pid, run.birth))

    def terminate(self, state: PodState, run: Run) -> bool:
        """SIGTERM to the program. False if it is not there yet: then ask again a little later."""
        targets = self._sandbox_of(run).find_program(run.pid, self._exit_text(state, run))
        for target in targets:
            processes.send_signal(target, signal.SIGTERM)
        return bool(targets)

    def kill(self, state: PodState, run: Run) -> None:
        """SIGKILL to all of the container. To be repeated until the run has ended: programs may be forking.

        The process that we wait for comes last, as it is the one that tells how the program ended.
        """
        keeper = self._sandbox_of(run).find_keeper(self._exit_text(state, run))
        if keeper is not None and processes.is_marked(keeper, state.uid):
            processes.send_signal(keeper, signal.SIGKILL)
            return
        for pid in processes.find_descendants(run.pid) or (run.pid,):
            processes.send_signal(pid, signal.SIGKILL)

    def settle(self, pod: Mapping[str, Any], state: PodState, run: Run, now: Moment, *, seen: bool = True) -> Run:
        """The run after its process has ended: exit code, reason, message. Ends what it left in its namespace.

        If nobody has `seen` it end, that was when it left its exit code.
        """
        try:
            return self._settle(pod, state, run, now if seen else self._ended_at(state, run) or now)
        except Exception as error:  # nothing that one run left may stop the others
            _log.exception("how %s of pod %s/%s ended cannot be read", run.container, state.namespace, state.name)
            message = f"how it ended cannot be read: {error}"
            return replace(run, finished=now, exit_code=_KILLED, reason=LOST, message=message)

    def _settle(self, pod: Mapping[str, Any], state: PodState, run: Run, now: Moment) -> Run:
        sandbox, text = self._sandbox_of(run), self._exit_text(state, run)
        keeper = sandbox.find_keeper(text)
        if keeper is not None and processes.is_marked(keeper, state.uid):
            processes.send_signal(keeper, signal.SIGKILL)
        if not sandbox.binds and processes.is_child(run.pid):
            processes.send_signal(-run.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
        returned = processes.reap(run.pid)
        log = self._records.log_file(state, run)
        code = sandbox.read_exit(text)
        if code is None and (problem := _last_line(log)).startswith("bwrap: "):
            return build_failed_start(run, now, problem)
        if code is None and returned is not None:
            code = returned if returned >= 0 else 128 - returned
        if code is None and state.ending is not None:
            code = _KILLED
        if code is None:
            return replace(run, finished=now, exit_code=_KILLED, reason=LOST)
        out_of_memory = code == _KILLED and not state.ending and processes.read_oom_kills() > run.ooms
        ended = replace(run, finished=now, exit_code=code, reason="OOMKilled" if out_of_memory else "")
        return replace(ended, message=self._read_message(pod, state, ended, log))

    def _ended_at(self, state: PodState, run: Run) -> Moment | None:
        path = self._records.exit_file(state.uid, run)
        told = self._sandbox_of(run).read_exit(self._exit_text(state, run)) is not None
        return path.stat().st_mtime if told else None

    def _read_message(self, pod: Mapping[str, Any], state: PodState, run: Run, log: Path) -> str:
        message = _read_head(self._records.termination_file(state.uid, run), _MESSAGE_SIZE)
        spec = pod.get("spec") or {}
        everyone = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        policy = next((item.get("terminationMessagePolicy") for item in everyone if item["name"] == run.container), "")
        if message or run.exit_code == 0 or policy != "FallbackToLogsOnError":
            return message
        return "\n".join(_read_tail(log, _FALLBACK_SIZE).splitlines()[-_FALLBACK_LINES:])

    def _exit_text(self, state: PodState, run: Run) -> str:
        return _read_head(self._records.exit_file(state.uid, run), 65536)

    def _sandbox_of(self, run: Run) -> Sandbox:
        return find_sandbox(run.sandbox) or self._sandbox

    def write_hosts(self, uid: str, text: str) -> None:
        """Change the hosts file of a running pod, if it differs."""
        path = self._records.hosts(uid)
        if path.exists() and path.read_text() != text:
            write_in_place(path, text)


def build_failed_start(run: Run, now: Moment, message: str) -> Run:
    """A run that never began, as it will not by waiting."""
    return replace(run, finished=now, exit_code=NOT_FOUND_CODE, reason=START_ERROR, message=message)


def write_in_place(path: Path, text: str) -> None:
    """Change a file that is bound into running pods by inode. Written over, then cut: it is never empty."""
    data = text.encode()
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, data, 0)
        os.ftruncate(file, len(data))
    finally:
        os.close(file)


def _read_head(path: Path, size: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(size).decode(errors="replace")
    except OSError:
        return ""


def _read_tail(path: Path, size: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _last_line(path: Path) -> str:
    return (_read_tail(path, 4096).splitlines() or [""])[-1]
