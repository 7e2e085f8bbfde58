"""Starts a container's program, signals it, and tells how it ended. The acting half of the kubelet; no API here.

Nothing here decides whether: `paddock.node.pod_plan` does. `start` prepares everything that a program needs (files,
volumes, environment) and is the only place that spawns. An image or a ConfigMap that is not there, a disk that is
full, a path that is taken raise `NotReady`: the container waits, with the sentence. A command that does not exist is
a run that has ended with 127, as it will not begin to exist by waiting.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from paddock.kube.meta import Manifest, name_of, namespace_of, uid_of
from paddock.kube.times import Moment
from paddock.node import devices, processes
from paddock.node.container_env import (
    Configs,
    NotReady,
    build_arguments,
    build_environment,
    host_name,
    select_passed_on,
)
from paddock.node.images import Image, Images, Preparing, Unavailable
from paddock.node.logs import write_owner
from paddock.node.names import find_names, replace_names
from paddock.node.pod_state import LOST, PodState, Run
from paddock.node.processes import Process
from paddock.node.records import Records, log_directory, temporary_directory
from paddock.node.sandbox import Program, Sandbox
from paddock.node.volumes import Mount, apply_links, apply_sub_paths, apply_volumes, plan_mounts, remove_outside

START_ERROR = "StartError"
NOT_FOUND_CODE = 127
"""What a shell answers for a command that is not there."""
_MESSAGE_SIZE = 4096  # bytes of the termination log (core/v1, terminationMessagePath)
_LONGEST_PATH = 120  # characters of a $PATH in a message
_FALLBACK_LINES, _FALLBACK_SIZE = 80, 2048  # of the log (core/v1, FallbackToLogsOnError)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the pod finds around it when a container starts. `addresses` are the names of its group, and `shared` the
    links of other pods; both matter only where the sandbox binds nothing."""

    configs: Configs
    hosts: str
    addresses: Mapping[str, str]
    shared: Collection[str]


class Containers:
    """Runs of containers, under one sandbox and in one node directory."""

    def __init__(
        self,
        records: Records,
        images: Images,
        sandbox: Sandbox,
        *,
        outer: Mapping[str, str],
        capacity: Mapping[str, Fraction],
        hides_gpus: bool,
    ) -> None:
        """`hides_gpus`: this machine has some, so a pod sees those that it was given and no others. Where it has none
        nothing is said of GPUs: Paddle's launcher takes an empty CUDA_VISIBLE_DEVICES for one nameless GPU."""
        self._records = records
        self._images = images
        self._sandbox = sandbox
        self._outer = select_passed_on(outer)
        self._capacity = capacity
        self._hides_gpus = hides_gpus

    def start(
        self, pod: Manifest, container: Manifest, number: int, state: PodState, around: Surroundings, now: Moment
    ) -> PodState:
        """Start it; the state with the new run. `NotReady` if it has to wait, in which case nothing was started."""
        image = self._resolve(pod, container)
        run = Run(container["name"], number, now, ooms=processes.read_oom_kills())
        environment, variables = build_environment(
            pod,
            container,
            image,
            around.configs,
            outer=self._outer,
            capacity=self._capacity,
            rename=str if self._sandbox.binds else _rename_with(around.addresses),
        )
        arguments = build_arguments(container, image, variables)
        outside: list[str] = []
        try:
            mounts = self._apply_files(pod, container, run, image, around, outside)
            environment |= self._own_variables(state, run, environment)
            program = self._program(pod, container, state, run, arguments, environment, mounts)
            problem = self._find_problem(program)
            run = _never_started(run, now, problem) if problem else self._spawn(pod, program, state, run)
        except (OSError, NotReady) as error:
            remove_outside(outside, kept=frozenset((*state.outside, *around.shared)))
            if isinstance(error, NotReady):
                raise
            raise NotReady(_explain(error), "CreateContainerError") from error
        return state.with_outside(outside).with_run(run)

    def _resolve(self, pod: Manifest, container: Manifest) -> Image:
        answer = self._images.resolve(str(container.get("image") or ""), pod)
        if isinstance(answer, Preparing | Unavailable):
            raise NotReady(answer.message, answer.reason)
        return answer

    def _apply_files(
        self, pod: Manifest, container: Manifest, run: Run, image: Image, around: Surroundings, outside: list[str]
    ) -> tuple[Mount, ...]:
        """Everything on disk that the program finds; what is not in the pod's own directory is put in `outside`."""
        uid = uid_of(pod)
        scratch = self._records.scratch(uid)
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary_directory(uid).mkdir(mode=0o700, exist_ok=True)
        self._records.termination_file(uid, run).touch(0o600)
        mounts = plan_mounts(pod, container, scratch, around.configs)
        apply_volumes(pod, scratch, around.configs, outside)
        apply_sub_paths(mounts, scratch)
        if self._sandbox.binds:
            write_in_place(self._records.hosts(uid), around.hosts)
        else:
            apply_links(mounts, around.shared, outside)
        self.log_file(pod, run).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_owner(self._records.directory, pod)
        if not container.get("workingDir"):
            _fill(self._records.work_directory(uid, run), image.files)
        return mounts

    def _own_variables(self, state: PodState, run: Run, environment: Mapping[str, str]) -> dict[str, str]:
        """What no manifest may change: whose process it is, which GPUs it has. A pod may hide its GPUs from itself."""
        own = {
            processes.POD_VARIABLE: state.uid,
            processes.CONTAINER_VARIABLE: run.container,
            "PADDOCK_TERMINATION_LOG": str(self._records.termination_file(state.uid, run)),
        }
        hidden = environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
        gpus = {} if hidden or not self._hides_gpus else devices.build_environment(state.gpus)
        temporary = {} if "TMPDIR" in environment else {"TMPDIR": str(temporary_directory(state.uid))}
        return own | gpus | temporary

    def _program(
        self,
        pod: Manifest,
        container: Manifest,
        state: PodState,
        run: Run,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        mounts: tuple[Mount, ...],
    ) -> Program:
        work = self._records.work_directory(state.uid, run)
        return Program(
            arguments=arguments,
            environment=environment,
            directory=str(container.get("workingDir") or work),
            host_name=host_name(pod),
            exit_file=self._records.exit_file(state.uid, run),
            termination=self._records.termination_file(state.uid, run),
            termination_path=str(container.get("terminationMessagePath") or "/dev/termination-log"),
            hosts=self._records.hosts(state.uid) if self._sandbox.binds else None,
            mounts=mounts,
        )

    def _find_problem(self, program: Program) -> str:
        """Why the program cannot be started as it is written, or ''."""
        directory = _on_machine(program.directory, program.mounts)
        if not directory.is_dir():
            return f"working directory {program.directory!r} does not exist; correct workingDir or mount a volume there"
        return explain_command(program.arguments[0], program.environment.get("PATH", ""), directory, program.mounts)

    def _spawn(self, pod: Manifest, program: Program, state: PodState, run: Run) -> Run:
        if not self._sandbox.binds:  # a shell stands between, whose own commands must not be meant
            found = find_command(program.arguments[0], program.environment.get("PATH", ""), Path(program.directory), ())
            program = replace(program, arguments=(str(found), *program.arguments[1:]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        status = os.open(program.exit_file, flags, 0o600)
        try:
            command = self._sandbox.build_command(program, status)
            where = self._records.scratch(state.uid) if self._sandbox.binds else Path(program.directory)
            inherit = (status,) if self._sandbox.binds else ()
            process = processes.spawn(command, program.environment, where, self.log_file(pod, run), inherit=inherit)
        finally:
            os.close(status)
        return replace(run, pid=process.pid, birth=process.birth)

    def log_file(self, pod: Manifest, run: Run) -> Path:
        logs = log_directory(self._records.directory, namespace_of(pod), name_of(pod), uid_of(pod))
        return logs / run.container / f"{run.number}.log"

    def terminate(self, state: PodState, run: Run) -> bool:
        """SIGTERM to the program. False if it is not there yet: then ask again a little later."""
        targets = self._sandbox.find_program(run.pid, self._exit_text(state, run))
        for target in targets:
            processes.send_signal(target, signal.SIGTERM)
        return bool(targets)

    def kill(self, state: PodState, run: Run) -> None:
        """SIGKILL to all of the container. To be repeated until the run has ended: programs may be forking.

        The process that we wait for comes last, as it is the one that tells how the program ended.
        """
        keeper = self._sandbox.find_keeper(self._exit_text(state, run))
        if keeper is not None and processes.is_marked(keeper, state.uid):
            processes.send_signal(keeper, signal.SIGKILL)
            return
        for pid in processes.find_descendants(run.pid) or (run.pid,):
            processes.send_signal(pid, signal.SIGKILL)

    def settle(self, pod: Mapping[str, Any], state: PodState, run: Run, now: Moment) -> Run:
        """The run after its process has ended: exit code, reason, message. Ends what it left in its namespace."""
        text = self._exit_text(state, run)
        keeper = self._sandbox.find_keeper(text)
        if keeper is not None and processes.is_marked(keeper, state.uid):
            processes.send_signal(keeper, signal.SIGKILL)
        if not self._sandbox.binds and processes.is_child(run.pid):
            processes.send_signal(-run.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
        returned = processes.reap(run.pid)
        logs = log_directory(self._records.directory, state.namespace, state.name, state.uid)
        log = logs / run.container / f"{run.number}.log"
        code = self._sandbox.read_exit(text)
        if code is None and (problem := _last_line(log)).startswith("bwrap: "):
            return _never_started(run, now, problem)
        if code is None and returned is not None:
            code = returned if returned >= 0 else 128 - returned
        if code is None and state.ending is not None:
            code = 128 + signal.SIGKILL
        if code is None:
            return replace(run, finished=now, exit_code=128 + signal.SIGKILL, reason=LOST)
        out_of_memory = code == 128 + signal.SIGKILL and not state.ending and processes.read_oom_kills() > run.ooms
        ended = replace(run, finished=now, exit_code=code, reason="OOMKilled" if out_of_memory else "")
        return replace(ended, message=self._read_message(pod, state, ended, log))

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

    def write_hosts(self, uid: str, text: str) -> None:
        """Change the hosts file of a running pod, if it differs."""
        path = self._records.hosts(uid)
        if path.exists() and path.read_text() != text:
            write_in_place(path, text)

    def ended_at(self, state: PodState, run: Run) -> Moment | None:
        """When a run that nobody was waiting for has ended, if its exit code was left."""
        path = self._records.exit_file(state.uid, run)
        return path.stat().st_mtime if self._sandbox.read_exit(self._exit_text(state, run)) is not None else None

    def is_alive(self, run: Run) -> bool:
        return processes.is_alive(Process(run.pid, run.birth))


def find_container(pod: Manifest, name: str) -> Manifest:
    """The container, or init container, of this name."""
    spec = pod["spec"]
    everyone: tuple[Manifest, ...] = (*spec["containers"], *(spec.get("initContainers") or ()))
    return next(item for item in everyone if item["name"] == name)


def find_command(command: str, path: str, directory: Path, mounts: Collection[Mount]) -> Path | None:
    """The program on this machine that a container's command names; None if there is none."""
    if "/" in command:
        found = _on_machine(str(directory / command) if not command.startswith("/") else command, mounts)
        return found if found.is_file() and os.access(found, os.X_OK) else None
    for place in path.split(":"):
        candidate = _on_machine(str(Path(place or directory) / command), mounts)
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def explain_command(command: str, path: str, directory: Path, mounts: Collection[Mount]) -> str:
    """Why a command cannot be started, in the words of container engines, or ''."""
    if find_command(command, path, directory, mounts) is not None:
        return ""
    if "/" not in command:
        return f'exec: "{command}": executable file not found in $PATH ({_shorten(path)})'
    found = _on_machine(str(directory / command) if not command.startswith("/") else command, mounts)
    if found.is_dir():
        return f'exec: "{command}": is a directory'
    return f'exec: "{command}": {"permission denied" if found.exists() else "no such file or directory"}'


def _shorten(path: str) -> str:
    """The first directories of a long $PATH: it is in a sentence, which must be read to its end."""
    kept = path
    while len(kept) > _LONGEST_PATH and ":" in kept:
        kept = kept.rpartition(":")[0]
    return kept if kept == path else f"{kept}:…"


def _on_machine(path: str, mounts: Collection[Mount]) -> Path:
    """Where a path of the container is on this machine: below the mount that is nearest to it, or the same."""
    for mount in sorted(mounts, key=lambda mount: len(mount.target), reverse=True):
        target = mount.target.rstrip("/")
        if path == target or path.startswith(f"{target}/"):
            return Path(f"{mount.source}{path[len(target) :]}")
    return Path(path)


def write_in_place(path: Path, text: str) -> None:
    """Change a file that is bound into running pods by inode. Written over, then cut: it is never empty."""
    data = text.encode()
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, data, 0)
        os.ftruncate(file, len(data))
    finally:
        os.close(file)


def _rename_with(addresses: Mapping[str, str]) -> Callable[[str], str]:
    def rename(value: str) -> str:
        missing = sorted(name for name in find_names(value, addresses) if not addresses[name])
        if missing:
            raise NotReady(f"waiting for the address of {', '.join(missing)}", "ContainerCreating")
        return replace_names(value, addresses)

    return rename


def _never_started(run: Run, now: Moment, message: str) -> Run:
    return replace(run, finished=now, exit_code=NOT_FOUND_CODE, reason=START_ERROR, message=message)


def _fill(work: Path, files: Path | None) -> None:
    if files is None:
        work.mkdir(mode=0o700, exist_ok=True)
    else:
        shutil.copytree(files, work, symlinks=True, dirs_exist_ok=True)


def _explain(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"


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
