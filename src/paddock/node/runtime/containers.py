"""Starts a container's program. `paddock.node.runtime.runs` follows it afterwards; neither uses the API.

`node.kubelet.pod_plan` decides what to start. `start` prepares all that the program needs (files, volumes, environment)
and is the only place that spawns. A missing image or ConfigMap, a full disk or a taken path raises `ContainerWaiting`:
the container waits, with the message. A command that does not exist, and a mount path where the user may make nothing,
end the run with 127: waiting would not help.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from paddock.kube.downward import Expanded, host_name
from paddock.kube.held_pods import HOLD_ANNOTATION, parse_hold
from paddock.kube.host_words import find_in_command, find_names, replace_in_command, replace_names
from paddock.kube.meta import Manifest, annotations_of
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment
from paddock.node.runtime import gpus, processes
from paddock.node.runtime.cgroups import NO_CGROUPS, Cgroups
from paddock.node.runtime.container_env import (
    CannotStart,
    Configs,
    ContainerWaiting,
    build_arguments,
    build_environment,
    keep_names,
    select_inherited,
)
from paddock.node.runtime.held import write_program
from paddock.node.runtime.images import Image, Images, Preparing, Unavailable
from paddock.node.runtime.inputs import Inputs, find_input, open_for_program
from paddock.node.runtime.logs import write_owner
from paddock.node.runtime.machine_faults import explain_os_error
from paddock.node.runtime.machine_view import View, find_unseen
from paddock.node.runtime.mount_sources import open_mounts, resolve_hidden
from paddock.node.runtime.mounts import (
    Mount,
    apply_links,
    apply_volumes,
    plan_copies,
    plan_mounts,
    remove_outside,
)
from paddock.node.runtime.pod_files import open_for_writing, write_beneath
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records, temporary_directory
from paddock.node.runtime.run_files import open_run_file
from paddock.node.runtime.runs import TERMINATION_PATH, build_failed_start, write_in_place
from paddock.node.runtime.sandbox import Program, Sandbox
from paddock.words.phrases import Phrase, phrase

_LONGEST_PATH = 120  # characters of a $PATH in a message
# execve(2), "Limits on size of arguments and environment": 32 pages with the closing NUL.
_LONGEST_WORD = 32 * os.sysconf("SC_PAGE_SIZE") - 1


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodContext:
    """What a container needs from the pod's namespace and from other pods."""

    configs: Configs
    hosts: str
    addresses: Mapping[str, str]  # the names of its group; used only without bind mounts
    shared: Collection[str]  # the links of other pods; used only without bind mounts


@dataclass(frozen=True, slots=True)
class Provision:
    """Small files in the pod's own directory, and variables that tell of them."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    """Directories of `files`, and the path at which a container sees each as well, where it has mounts of its own."""


Prepare = Callable[[Manifest, Moment], None]
"""Makes the directories of this machine that a pod's volumes name, before they are mounted, at each start of a
container. May raise OSError or `ContainerWaiting`: then the container waits."""


def prepare_nothing(pod: Manifest, now: Moment) -> None:
    """For pods whose directories the kubelet makes itself, as it does for every hostPath of DirectoryOrCreate."""


Provide = Callable[[Manifest, Mapping[str, str], Path], Provision]
"""What a container gets besides the manifest's, by the pod, the container's environment, and the directory at which it
will see the files, at each start."""


def provide_nothing(pod: Manifest, environment: Mapping[str, str], directory: Path) -> Provision:
    return Provision()


Tell = Callable[[Manifest, Manifest, Program], None]
"""Is told of each program that was started, with its pod and container. Returns at once and raises nothing."""


def tell_nobody(pod: Manifest, container: Manifest, program: Program) -> None:
    """Where nobody asks."""


class Containers:
    """Starts containers in one sandbox and one node directory."""

    def __init__(
        self,
        records: Records,
        images: Images,
        sandbox: Sandbox,
        *,
        inherited: Mapping[str, str],
        capacity: Mapping[str, Fraction],
        hides_gpus: bool,
        view: View,
        cgroups: Cgroups = NO_CGROUPS,
        inputs: Inputs | None = None,
        prepare: Prepare = prepare_nothing,
        provide: Provide = provide_nothing,
        tell: Tell = tell_nobody,
    ) -> None:
        """`hides_gpus`: the machine has GPUs, so a pod sees only those assigned to it. `view`: what a sandbox with
        mounts shows of the machine. `prepare`, `provide`, `tell`: see `Prepare`, `Provide`, `Tell`."""
        self._prepare, self._provide, self._tell = prepare, provide, tell
        self._records, self._cgroups, self._inputs = records, cgroups, inputs or Inputs()
        self._images = images
        self._sandbox = sandbox
        self._inherited = select_inherited(inherited)
        self._capacity = capacity
        self._hides_gpus = hides_gpus
        self._view = view

    def start(self, pod: Manifest, container: Manifest, run: Run, state: PodState, context: PodContext) -> PodState:
        """Starts the container and returns the state with the new run, made of `run`. `ContainerWaiting`: nothing was
        started."""
        image = self._resolve(pod, container)
        number, now = run.number, run.started
        run = replace(run, ooms=processes.read_oom_kills(), notice=image.notice)
        environment, variables = build_environment(
            pod,
            container,
            image,
            context.configs,
            inherited=self._inherited,
            capacity=self._capacity,
            rename=str if self._sandbox.binds else _rename_with(context.addresses),
        )
        arguments = build_arguments(
            container, image, variables, keep_names if self._sandbox.binds else _rename_words_with(context.addresses)
        )
        # Filled while paths are created, so that a failure removes exactly these.
        outside: list[str] = []
        try:
            self._prepare(pod, now)
            with ExitStack() as files:
                copies = self._plan_copies(pod)
                scratch = self._records.scratch(state.uid)
                mounts = plan_mounts(pod, container, scratch, context.configs, variables, copies)
                mounts = self._apply_files(pod, container, state, run, image, context, mounts, copies, outside, files)
                provision = self._apply_provision(pod, state.uid, environment)
                environment |= provision.variables
                environment |= self._reserved_variables(container, state, run, environment)
                program = self._program(pod, container, state, run, arguments, environment, mounts, provision)
                problem = self._find_problem(program)
                if not problem and parse_hold(annotations_of(pod).get(HOLD_ANNOTATION)) is not None:
                    write_program(self._records.program_file(state.uid, run), program)
                if problem and (hint := self.explain_unseen(container)):
                    problem = f"{problem}; {hint}"
                run = (
                    build_failed_start(run, now, problem)
                    if problem
                    else self._spawn(program, state, state.with_outside(outside).with_run(run), run)
                )
                if not problem:
                    self._tell(pod, container, program)
        except (OSError, ContainerWaiting, CannotStart) as error:
            # Paths of other containers, earlier runs and other pods stay: they may be in use.
            kept = frozenset((*state.outside, *context.shared))
            remove_outside(outside, state.uid, kept)
            self._records.remove_copies(outside, kept)
            if isinstance(error, CannotStart):
                return state.with_run(build_failed_start(run, now, str(error)))
            if isinstance(error, ContainerWaiting):
                raise
            raise explain_os_error(error, self._records.directory) from error
        # The previous run stays, because `lastState` and `logs --previous` need it.
        if number > 1:
            self._records.remove_run(state, replace(run, number=number - 2))
        return state.with_outside(outside).with_run(run)

    def _resolve(self, pod: Manifest, container: Manifest) -> Image:
        answer = self._images.resolve(container, pod)
        if isinstance(answer, Preparing | Unavailable):
            raise ContainerWaiting(answer.message, answer.reason, answer.notice)
        return answer

    def _plan_copies(self, pod: Manifest) -> dict[str, Path]:
        return {} if self._sandbox.binds else plan_copies(pod, self._records.copies, self._capacity)

    def _apply_files(
        self,
        pod: Manifest,
        container: Manifest,
        state: PodState,
        run: Run,
        image: Image,
        context: PodContext,
        mounts: tuple[Mount, ...],
        copies: Mapping[str, Path],
        outside: list[str],
        files: ExitStack,
    ) -> tuple[Mount, ...]:
        """Creates all files that the program needs, and opens its mounts, which `files` closes. Paths outside the pod's
        own directory are appended to `outside`."""
        uid = state.uid
        scratch = self._records.scratch(uid)
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_temporary(uid)
        os.close(open_for_writing(self._records.termination_file(uid, run), os.O_TRUNC))
        apply_volumes(pod, scratch, context.configs, outside, self._capacity, copies)
        hidden = resolve_hidden(self._view.hidden) if self._sandbox.binds else {}
        opened = open_mounts(mounts, container["name"], files, hidden)
        if self._sandbox.binds:
            write_in_place(self._records.hosts(uid), context.hosts)
        else:
            apply_links(opened, context.shared, outside, scratch)
        self._records.log_file(state, run).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_owner(self._records.directory, pod)
        if not container.get("workingDir"):
            _copy_image_files(self._records.work_directory(uid, run), image.files)
        return opened

    def _apply_provision(self, pod: Manifest, uid: str, environment: Mapping[str, str]) -> Provision:
        """Writes the files of the provision. Nobody but the pod's user reads them. Where they cannot be
        written (a full disk, a link that a program has put there), the container starts without both."""
        provision = self._provide(pod, environment, self._records.provided(uid))
        try:
            for name, content in provision.files.items():
                write_beneath(self._records.scratch(uid), f"{self._records.provided(uid).name}/{name}", content, 0o600)
        except (OSError, ValueError) as error:
            _log.warning("pod %s starts without what it is provided with: %s", uid, error)
            return Provision()
        return provision

    def _make_temporary(self, uid: str) -> None:
        if not self._sandbox.binds:
            temporary_directory(uid).mkdir(mode=0o700, exist_ok=True)
            return
        place = self._records.private_tmp(uid)
        place.mkdir(exist_ok=True)
        # As of every /tmp: a pod of root may have programs of other users. It is in a directory that is closed to them.
        place.chmod(0o1777)

    def _reserved_variables(
        self, container: Manifest, state: PodState, run: Run, environment: Mapping[str, str]
    ) -> dict[str, str]:
        """Variables that override the manifest's: the pod's mark, its GPUs. A pod may still hide its GPUs."""
        own = {
            processes.POD_VARIABLE: state.uid,
            processes.CONTAINER_VARIABLE: run.container,
            "PADDOCK_TERMINATION_LOG": _termination_path(container)
            if self._sandbox.binds
            else str(self._records.termination_file(state.uid, run)),
        }
        # Without GPUs the variable is not set at all: Paddle's launcher counts an empty value as one GPU.
        hidden = environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
        seen = {} if hidden or not self._hides_gpus else gpus.build_environment(state.gpus)
        temporary = self._view.temporary if self._sandbox.binds else temporary_directory(state.uid)
        return own | seen | ({} if "TMPDIR" in environment else {"TMPDIR": str(temporary)})

    def _program(
        self,
        pod: Manifest,
        container: Manifest,
        state: PodState,
        run: Run,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        mounts: tuple[Mount, ...],
        provision: Provision,
    ) -> Program:
        work = self._records.work_directory(state.uid, run)
        return Program(
            arguments=arguments,
            environment=environment,
            directory=str(container.get("workingDir") or work),
            host_name=host_name(pod),
            termination=self._records.termination_file(state.uid, run),
            termination_path=_termination_path(container),
            hosts=self._records.hosts(state.uid) if self._sandbox.binds else None,
            mounts=(*self._view_mounts(state.uid, work, provision.places), *mounts) if self._sandbox.binds else mounts,
            hidden=self._view.hidden,
            memory=read_memory_limit(container),
            input=find_input(container, self._records.input_file(state.uid, run)),
        )

    def _view_mounts(self, uid: str, work: Path, places: Mapping[str, str]) -> tuple[Mount, ...]:
        """What a pod sees of the machine besides its volumes, where the view hides it, and what it cannot change."""
        own = [Mount(self._records.private_tmp(uid), str(self._view.temporary))]
        if work.is_dir():
            own.append(Mount(work, str(work)))
        if (provided := self._records.provided(uid)).is_dir():
            own.append(Mount(provided, str(provided), read_only=True))
        own += [Mount(provided / name, target, read_only=True) for name, target in places.items()]
        own += [Mount(path, str(path)) for path in self._view.kept if path.is_dir()]
        return (*own, *(Mount(path, str(path), read_only=True) for path in self._view.read_only if path.is_dir()))

    def _find_problem(self, program: Program) -> str:
        """Why the program cannot be started, or ''."""
        if problem := explain_characters(program) or explain_sizes(program):
            return problem
        directory = _on_machine(program.directory, program.mounts)
        if not directory.is_dir():
            said = phrase(
                "working directory {path} does not exist; correct workingDir or mount a volume there",
                path=repr(program.directory),
            )
            return str(said)
        return explain_command(program.arguments[0], program.environment.get("PATH", ""), directory, program.mounts)

    def explain_unseen(self, container: Manifest) -> str:
        """A warning about files of the machine that the command names and the pod does not see; '' without any."""
        paths = find_unseen(container, self._view) if self._sandbox.binds else ()
        there = [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - raises for no path
        if not there:
            return ""
        said = phrase(
            "{files} of this machine is not in the pod, which has a {path} of its own: mount it as a hostPath volume",
            files=", ".join(there), path=str(self._view.temporary),
        )  # fmt: skip
        return str(said)

    def _spawn(self, program: Program, before: PodState, started: PodState, run: Run) -> Run:
        """Records the start (`started`), then makes the process. A kubelet that is killed in between, or before it
        knows the process, leaves the record and the run's file to the next one (`Runs.trace`)."""
        # A full path, because a shell starts the program: a bare name could be a shell builtin.
        if not self._sandbox.binds:
            found = find_command(program.arguments[0], program.environment.get("PATH", ""), Path(program.directory), ())
            program = replace(program, arguments=(str(found), *program.arguments[1:]))
        status = open_run_file(self._records.run_file(started.uid, run))
        try:
            if program.input is not None:
                self._inputs.make(program.input)
            self._records.save(started, durable=True)
            try:
                process = self._make_process(program, started, run, status)
            except OSError:
                self._records.try_save(before)
                raise
        except OSError as error:
            self._inputs.drop(self._records.input_file(started.uid, run))
            if error.errno != errno.E2BIG:
                raise
            return build_failed_start(run, run.started, str(explain_total(program)))
        finally:
            os.close(status)
        return replace(run, pid=process.pid, birth=process.birth)

    def _make_process(self, program: Program, state: PodState, run: Run, status: int) -> Process:
        command = self._sandbox.build_command(program, status)
        command = self._cgroups.enclose(command, state.uid, run, program.memory)
        # The working directory may exist only inside bubblewrap, which changes to it by itself (`--chdir`).
        where = self._records.scratch(state.uid) if self._sandbox.binds else Path(program.directory)
        opened = [mount.descriptor for mount in program.mounts if mount.descriptor is not None]
        inherit = opened if self._sandbox.binds_descriptors else []
        log = self._records.log_file(state, run)
        if self._sandbox.takes_file_as_input:
            return processes.spawn(command, program.environment, where, log, stdin=status, inherit=inherit)
        inherit = [status, *inherit]
        if program.input is None:
            return processes.spawn(command, program.environment, where, log, inherit=inherit)
        stdin = open_for_program(program.input)
        try:
            return processes.spawn(command, program.environment, where, log, stdin=stdin, inherit=inherit)
        finally:
            os.close(stdin)


def read_memory_limit(container: Manifest) -> int | None:
    """Bytes; None without a limit, and for a text that is none."""
    text = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    try:
        return None if text is None else max(1, int(read_quantity(text)))
    except ValueError:
        return None


def _termination_path(container: Manifest) -> str:
    """Always absolute, as kubelet makes it."""
    return os.path.join("/", str(container.get("terminationMessagePath") or TERMINATION_PATH))  # noqa: PTH118


def find_container(pod: Manifest, name: str) -> Manifest:
    """The container or init container with this name."""
    spec = pod["spec"]
    everyone: tuple[Manifest, ...] = (*spec["containers"], *(spec.get("initContainers") or ()))
    return next(item for item in everyone if item["name"] == name)


def find_command(command: str, path: str, directory: Path, mounts: Collection[Mount]) -> Path | None:
    """The path on this machine of a container's command; None if there is none."""
    if "/" in command:
        found = _on_machine(str(directory / command) if not command.startswith("/") else command, mounts)
        return found if found.is_file() and os.access(found, os.X_OK) else None
    # An empty entry of PATH is the working directory (POSIX).
    for place in path.split(":"):
        candidate = _on_machine(str(Path(place or directory) / command), mounts)
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def explain_characters(program: Program) -> str:
    """The character in arguments, environment or paths that the operating system refuses, or that is missing, or ''."""
    if wrong := next((word for word in program.arguments if "\0" in word), ""):
        return str(
            phrase("command or args: {word} has a NUL character, which no program can be given", word=repr(wrong))
        )
    for name, value in program.environment.items():
        if problem := _explain_variable(name, value):
            return str(problem)
    paths = {"workingDir": program.directory, "terminationMessagePath": program.termination_path}
    if wrong := next((field for field, path in paths.items() if "\0" in path), ""):
        said = phrase(
            "{field}: {path} has a NUL character, which no program can be given", field=wrong, path=repr(paths[wrong])
        )
        return str(said)
    if program.directory.startswith("/"):
        return ""
    return str(phrase("workingDir: {path} must begin with /", path=repr(program.directory)))


def _explain_variable(name: str, value: str) -> Phrase | None:
    if "\0" in name:
        return phrase("env {name} has a NUL character, which no program can be given", name=repr(name))
    if "=" in name:
        return phrase("env {name} has a = in its name, which no program can be given", name=repr(name))
    if "\0" not in value:
        return None
    return phrase("env {name}: its value has a NUL character, which no program can be given", name=repr(name))


def explain_sizes(program: Program) -> str:
    """The word of the command or the variable that is too long for the operating system, or ''."""
    for word in program.arguments:
        if (size := len(word.encode())) > _LONGEST_WORD:
            said = phrase(
                "command or args: {word}… has {number} bytes, which is more than the {most} that a program can be "
                "given; put it into a file (a ConfigMap volume)",
                word=repr(word[:20]), number=size, most=_LONGEST_WORD,
            )  # fmt: skip
            return str(said)
    for name, value in program.environment.items():
        if (size := len(f"{name}={value}".encode())) > _LONGEST_WORD:
            said = phrase(
                "env {name}: it has {number} bytes, which is more than the {most} that a program can be given; put it "
                "into a file (a ConfigMap volume)",
                name=repr(name[:100]), number=size, most=_LONGEST_WORD,
            )  # fmt: skip
            return str(said)
    return ""


def explain_total(program: Program) -> Phrase:
    words = [*program.arguments, *(f"{name}={value}" for name, value in program.environment.items())]
    return phrase(
        "exec: argument list too long: command, args and env have {number} bytes together",
        number=sum(len(word.encode()) for word in words),
    )


def explain_command(command: str, path: str, directory: Path, mounts: Collection[Mount]) -> str:
    """Why a command cannot be started, in container engines' words, or ''."""
    if find_command(command, path, directory, mounts) is not None:
        return ""
    if "/" not in command:
        return f'exec: "{command}": executable file not found in $PATH ({_shorten(path)})'
    found = _on_machine(str(directory / command) if not command.startswith("/") else command, mounts)
    if found.is_dir():
        return f'exec: "{command}": is a directory'
    return f'exec: "{command}": {"permission denied" if found.exists() else "no such file or directory"}'


def _shorten(path: str) -> str:
    """The first directories of a long $PATH, to keep the message readable."""
    kept = path
    while len(kept) > _LONGEST_PATH and ":" in kept:
        kept = kept.rpartition(":")[0]
    return kept if kept == path else f"{kept}:…"


def _on_machine(path: str, mounts: Collection[Mount]) -> Path:
    """The path on this machine of a container's path: inside the deepest mount above it, or unchanged."""
    # The deepest mount comes first, because it hides the others at its path.
    for mount in sorted(mounts, key=lambda mount: len(mount.target), reverse=True):
        target = mount.target.rstrip("/")
        if path == target or path.startswith(f"{target}/"):
            return Path(f"{mount.source}{path[len(target) :]}")
    return Path(path)


def _rename_with(addresses: Mapping[str, str]) -> Callable[[str], str]:
    def rename(value: str) -> str:
        _wait_for(find_names(value, addresses), addresses)
        return replace_names(value, addresses)

    return rename


def _rename_words_with(addresses: Mapping[str, str]) -> Callable[[Sequence[Expanded]], tuple[str, ...]]:
    def rename(words: Sequence[Expanded]) -> tuple[str, ...]:
        _wait_for(find_in_command(words, addresses), addresses)
        return replace_in_command(words, addresses)

    return rename


def _wait_for(names: Collection[str], addresses: Mapping[str, str]) -> None:
    """Raises `ContainerWaiting` if one of them has no address yet."""
    if missing := sorted(name for name in names if not addresses[name]):
        raise ContainerWaiting(
            phrase("waiting for the address of {names}", names=", ".join(missing)), "ContainerCreating"
        )


def _copy_image_files(work: Path, files: Path | None) -> None:
    if files is None:
        work.mkdir(mode=0o700, exist_ok=True)
    else:
        shutil.copytree(files, work, symlinks=True, dirs_exist_ok=True)
