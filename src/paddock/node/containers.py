"""Starts a container's program. What becomes of it then is `paddock.node.runs`; no API in either.

Nothing here decides whether: `paddock.node.pod_plan` does. `start` prepares everything that a program needs (files,
volumes, environment) and is the only place that spawns. An image or a ConfigMap that is not there, a disk that is
full, a path that is taken raise `NotReady`: the container waits, with the sentence. A command that does not exist is
a run that has ended with 127, as it will not begin to exist by waiting.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from paddock.kube.meta import Manifest
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
from paddock.node.pod_state import PodState, Run
from paddock.node.records import Records, temporary_directory
from paddock.node.runs import build_failed_start, write_in_place
from paddock.node.sandbox import Program, Sandbox
from paddock.node.volumes import Mount, apply_links, apply_sub_paths, apply_volumes, plan_mounts, remove_outside

_IMPOSSIBLE = "which no program can be given"
_LONGEST_PATH = 120  # characters of a $PATH in a message


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
        run = Run(container["name"], number, now, sandbox=self._sandbox.name, ooms=processes.read_oom_kills())
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
            mounts = self._apply_files(pod, container, state, run, image, around, outside)
            environment |= self._own_variables(state, run, environment)
            program = self._program(pod, container, state, run, arguments, environment, mounts)
            problem = self._find_problem(program)
            run = build_failed_start(run, now, problem) if problem else self._spawn(program, state, run)
        except (OSError, NotReady) as error:
            remove_outside(outside, state.uid, kept=frozenset((*state.outside, *around.shared)))
            if isinstance(error, NotReady):
                raise
            raise NotReady(_explain(error), "CreateContainerError") from error
        if number > 1:  # the run before this one is still asked for
            self._records.remove_run(state, replace(run, number=number - 2))
        return state.with_outside(outside).with_run(run)

    def _resolve(self, pod: Manifest, container: Manifest) -> Image:
        answer = self._images.resolve(str(container.get("image") or ""), pod)
        if isinstance(answer, Preparing | Unavailable):
            raise NotReady(answer.message, answer.reason)
        return answer

    def _apply_files(
        self,
        pod: Manifest,
        container: Manifest,
        state: PodState,
        run: Run,
        image: Image,
        around: Surroundings,
        outside: list[str],
    ) -> tuple[Mount, ...]:
        """Everything on disk that the program finds; what is not in the pod's own directory is put in `outside`."""
        uid = state.uid
        scratch = self._records.scratch(uid)
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary_directory(uid).mkdir(mode=0o700, exist_ok=True)
        self._records.termination_file(uid, run).touch(0o600)
        mounts = plan_mounts(pod, container, scratch, around.configs)
        apply_volumes(pod, scratch, around.configs, outside)
        apply_sub_paths(mounts)
        if self._sandbox.binds:
            write_in_place(self._records.hosts(uid), around.hosts)
        else:
            apply_links(mounts, around.shared, outside)
        self._records.log_file(state, run).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        if problem := explain_characters(program):
            return problem
        directory = _on_machine(program.directory, program.mounts)
        if not directory.is_dir():
            return f"working directory {program.directory!r} does not exist; correct workingDir or mount a volume there"
        return explain_command(program.arguments[0], program.environment.get("PATH", ""), directory, program.mounts)

    def _spawn(self, program: Program, state: PodState, run: Run) -> Run:
        if not self._sandbox.binds:  # a shell stands between, whose own commands must not be meant
            found = find_command(program.arguments[0], program.environment.get("PATH", ""), Path(program.directory), ())
            program = replace(program, arguments=(str(found), *program.arguments[1:]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        status = os.open(program.exit_file, flags, 0o600)
        try:
            command = self._sandbox.build_command(program, status)
            where = self._records.scratch(state.uid) if self._sandbox.binds else Path(program.directory)
            inherit = (status,) if self._sandbox.binds else ()
            process = processes.spawn(
                command, program.environment, where, self._records.log_file(state, run), inherit=inherit
            )
        finally:
            os.close(status)
        return replace(run, pid=process.pid, birth=process.birth)


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


def explain_characters(program: Program) -> str:
    """Which of its words the operating system takes from nobody, or ''."""
    if wrong := next((word for word in program.arguments if "\0" in word), ""):
        return f"command or args: {wrong!r} has a NUL character, {_IMPOSSIBLE}"
    for name, value in program.environment.items():
        if "\0" in name or "=" in name:
            what = "a NUL character" if "\0" in name else "a = in its name"
            return f"env {name!r} has {what}, {_IMPOSSIBLE}"
        if "\0" in value:
            return f"env {name!r}: its value has a NUL character, {_IMPOSSIBLE}"
    paths = {"workingDir": program.directory, "terminationMessagePath": program.termination_path}
    wrong = next((field for field, path in paths.items() if "\0" in path), "")
    return f"{wrong}: {paths[wrong]!r} has a NUL character, {_IMPOSSIBLE}" if wrong else ""


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


def _rename_with(addresses: Mapping[str, str]) -> Callable[[str], str]:
    def rename(value: str) -> str:
        missing = sorted(name for name in find_names(value, addresses) if not addresses[name])
        if missing:
            raise NotReady(f"waiting for the address of {', '.join(missing)}", "ContainerCreating")
        return replace_names(value, addresses)

    return rename


def _fill(work: Path, files: Path | None) -> None:
    if files is None:
        work.mkdir(mode=0o700, exist_ok=True)
    else:
        shutil.copytree(files, work, symlinks=True, dirs_exist_ok=True)


def _explain(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"
