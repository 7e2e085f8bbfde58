"""Several workers whose command starts a launcher of another library: its options that tell it of the others. Pure.

torchrun reads PET_<OPTION>, which the operator sets. Others read their own options alone (accelerate 1.15,
commands/launch.py; lightning_fabric 2.6, cli.py; composer 0.32, cli/launcher.py): they are put into the command, where
all see them, and Kubernetes replaces `$(RANK)` and `$(MASTER_ADDR)` in it by what the operator sets. A launcher that
starts the processes of other machines by itself, over ssh or a host file, cannot be told, and is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

from paddock.launches.launch import Launch
from paddock.launches.launchers import ACCELERATE, COMPOSER, FABRIC, Launcher, Means
from paddock.launches.programs import Kind
from paddock.launches.words import read_number
from paddock.preflight.launchers import BY_ITSELF
from paddock.preflight.replicas import Pods, explain_told
from paddock.script.escapes import Variable
from paddock.script.libraries import READS, SET_FOR_SEVERAL
from paddock.script.request import ScriptRequest
from paddock.script.secrets import is_secret
from paddock.words.phrases import Names, Phrase, phrase

_RANK, _ADDRESS, _PORT = Variable("RANK"), Variable("MASTER_ADDR"), Variable("MASTER_PORT")
Value = Callable[[ScriptRequest], str | Variable]
_OPTIONS: Mapping[str, tuple[tuple[str, Value], ...]] = {
    ACCELERATE.name: (
        ("num_machines", lambda request: str(request.workers)),
        ("machine_rank", lambda request: _RANK),
        ("main_process_ip", lambda request: _ADDRESS),
        ("main_process_port", lambda request: _PORT),
        ("num_processes", lambda request: str(request.workers * max(request.gpus, 1))),
    ),
    FABRIC.name: (
        ("num_nodes", lambda request: str(request.workers)),
        ("node_rank", lambda request: _RANK),
        ("main_address", lambda request: _ADDRESS),
        ("main_port", lambda request: _PORT),
    ),
    COMPOSER.name: (
        ("nproc", lambda request: str(max(request.gpus, 1))),
        ("world_size", lambda request: str(request.workers * _count(request, Means.PROCESSES))),
        ("node_rank", lambda request: _RANK),
        ("master_addr", lambda request: _ADDRESS),
        ("master_port", lambda request: _PORT),
    ),
}
"""Launcher -> its options for one of several machines, by the names of its table."""


def _count(request: ScriptRequest, means: Means) -> int:
    """The processes of a worker, as typed; else one for each GPU."""
    typed = request.launch.text(means) or ""
    return read_number(typed) or max(request.gpus, 1)


def is_told(launcher: Launcher | None) -> bool:
    """Whether it is told of the other workers by options."""
    return launcher is not None and launcher.name in _OPTIONS


def add_options(request: ScriptRequest) -> list[str | Variable]:
    """The command with the options that its launcher needs and that were not typed, before those that were."""
    launch = request.launch
    assert launch.launcher is not None
    added: list[str | Variable] = []
    for name, value in _OPTIONS[launch.launcher.name]:
        if launch.named(name) is None and not _is_of_a_file(launch, name):
            added += [f"--{name}", value(request)]
    if launch.launcher is ACCELERATE and not request.gpus and launch.named("cpu") is None:
        added.append("--cpu")  # without it, accelerate makes no group of processes that have no GPU
    wrappers = [word.typed for wrapper in launch.wrappers for word in wrapper.words]
    place = len(launch.before)
    words = [word.typed for word in launch.words]
    return [*wrappers, *words[:place], *added, *words[place:]]


def _is_of_a_file(launch: Launch, name: str) -> bool:
    """A configuration of accelerate says how many processes there are."""
    return name == "num_processes" and bool(launch.named("config_file") or launch.named("config-file"))


def explain_inside(request: ScriptRequest, launches: Iterable[Launch]) -> Iterator[Phrase]:
    """What several workers of a shell script, or of `bash -c`, are to be told there, as nobody changes a script.
    `launches`: what it starts. Composer's options have variables, which the operator sets."""
    if request.workers == 1 or not (request.launch.is_inner or request.launch.launcher is None):
        return
    for launch in launches:
        launcher = launch.launcher
        if launcher in BY_ITSELF and launch != request.launch:
            yield phrase("warning: {said}", said=_explain_by_itself(launch, launcher, request.workers))
        elif launcher in (ACCELERATE, FABRIC) and not launch.is_open and launch.find(Means.NODE_RANK) is None:
            options = [
                f"--{name} {f'${value.name}' if isinstance(value, Variable) else value}"
                for name, find in _OPTIONS[launcher.name]
                if launch.named(name) is None and (value := find(request))
            ]
            yield phrase(
                "warning: {launcher} in the script is told of the other workers by its options alone, and each trains "
                "by itself without them: `{options}`",
                launcher=launcher.name, options=" ".join(options),
            )  # fmt: skip


def explain_unset(request: ScriptRequest) -> Iterator[Phrase]:
    """The libraries that find the other workers by variables which only their own launcher, or nobody here, sets."""
    for module in sorted(request.imports & READS.keys()) if request.workers > 1 else ():
        names = tuple(each for each in READS[module].names if each not in SET_FOR_SEVERAL)
        if names and not any(name in names for name, _ in (*request.variables, *request.secrets)):
            yield phrase(
                "warning: {module} finds the other workers by {names}, which nobody sets here: where the program "
                "relies on it, each of the {count} workers trains alone",
                module=module, names=Names(names), count=request.workers,
            )  # fmt: skip


def explain_refused(request: ScriptRequest) -> Iterator[Phrase]:
    """Why several workers of a typed launcher would not train together."""
    launch, launcher = request.launch, request.launch.launcher
    if launcher in BY_ITSELF and launcher is not None and request.workers > 1:
        yield _explain_by_itself(launch, launcher, request.workers)
    yield from explain_told(launch, Pods(request.workers, request.workers, is_typed=True))


def _explain_by_itself(launch: Launch, launcher: Launcher, workers: int) -> Phrase:
    given = [word for each in _list_variables(launch) for word in _type_variable(each)]
    typed = ["paddock", "run", "--workers", str(workers), *given, "--", *type_alone(launch)]
    return phrase(
        "{launcher} starts the processes of all machines by itself, by ssh, a host file or Slurm, which pods do not "
        "have: each of the {count} workers would train alone. Leave it out, as each worker is one process and is told "
        "of the others: `{command}`",
        launcher=launcher.name, count=workers, command=shlex.join(typed),
    )  # fmt: skip


def _list_variables(launch: Launch) -> list[str]:
    """The variables that the launcher and `env` before it set, as --env takes them: `NAME=value`, and mpirun's `-x
    NAME` for one of the shell."""
    typed = [option.value for option in launch.options if option.name == "x" and option.value is not None]
    before = [f"{name}={word.text}" for name, word in launch.environment.items() if word.text is not None]
    given = [*before, *(word.text for word in typed if word.text)]
    return list(dict.fromkeys(each for each in given if each.partition("=")[0].isidentifier()))


def _type_variable(text: str) -> tuple[str, str]:
    """A secret by its name alone: `paddock run` takes its value of the shell, and it is shown nowhere."""
    name, _, value = text.partition("=")
    return ("--secret", name) if is_secret(name, value) else ("--env", text)


def type_alone(launch: Launch) -> list[str]:
    """The program of a launcher, as one types it without the launcher."""
    program = launch.program
    starter = program.shell_name or ("" if program.kind is Kind.PROGRAM else "python")
    words = [starter, "-m" if program.kind is Kind.MODULE else "", program.word.typed or "train.py"]
    return [*filter(None, words), *(each.typed for each in launch.arguments)]
