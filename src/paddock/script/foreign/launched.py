"""A command that starts a program -> the job that it means. Pure.

Places of machines, ports and ranks are left out, as Paddock tells each rank its own; listed devices become a number.
Launchers of torch with options of their own (accelerate, Fabric, Composer) stay, as these options are part of how a
program trains. DeepSpeed's becomes torchrun where there are several machines: it cannot be told where they are.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from paddock.launches.launch import Launch, Option, Wrapper
from paddock.launches.launchers import (
    ACCELERATE,
    COMPOSER,
    DEEPSPEED,
    FABRIC,
    OLD_DEVICES,
    OLD_PLACES,
    PADDLE,
    TORCH_LAUNCH,
    TORCHRUN,
    Means,
)
from paddock.launches.programs import Kind, is_python, read_program
from paddock.launches.reading import read_words
from paddock.launches.words import Word, build_word, join_pieces, show_words
from paddock.script.foreign.carried import (
    Ledger,
    carry_arguments,
    carry_directory,
    carry_variables,
    count_hosts,
    count_listed,
    count_visible,
    explain_told,
    note_streams,
    read_number,
)
from paddock.script.foreign.elsewhere import LEAST, LOGS, NO_OPTION, UNKNOWN, say
from paddock.script.foreign.hostfiles import Hosts
from paddock.script.foreign.job import Foreign
from paddock.words.phrases import Phrase, phrase

_PLACES = frozenset({
    Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.NODE_RANK, Means.HOSTS, Means.OWN_ADDRESS, Means.RUN,
    Means.BACKEND, Means.STANDALONE,
})  # fmt: skip
"""What an option says that Paddock tells each rank itself."""
_OLD_PLACES = OLD_PLACES | {"use_paddlecloud"}
_SILENT = frozenset({
    "nohup", "exec", "env", "command", "builtin", "setsid", "time", "tini", "dumb-init", "stdbuf", "unbuffer",
})  # fmt: skip
"""What stands before a program and changes nothing in a job."""
TASKS = frozenset({"srun", "mpirun", "horovodrun"})
"""Launchers whose tasks run a whole command: each task is a rank where that has no launcher itself."""
_STARTER = "deepspeed_multinode_launcher"
_DOCKER_SILENT = re.compile(r"-[itdP]+|--(rm|init|interactive|tty|detach|name|hostname|restart|pull|gpus|env|workdir)")


NO_FILES: Mapping[str, Hosts] = MappingProxyType({})
_FLAG_OF = {
    Means.RESTARTS: "--restarts N", Means.SERVERS: "--ps N", Means.SERVER_COUNT: "--ps N", Means.DEVICES: "--gpus N",
}  # fmt: skip
"""The option of `paddock run` that says the same number; --workers for any other."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """What a batch system says of the tasks that srun starts; 0 where it does not."""

    nodes: int = 0
    each_node: int = 0
    """Tasks of each node."""
    total: int = 0


@dataclass(slots=True)
class _Made:
    """A job, as its command is read."""

    launch: Launch
    ledger: Ledger
    before: tuple[str, ...] = ()
    """What stands before the program."""
    runner: tuple[str, ...] = ()
    """What stands before all of it and chooses its environment."""
    workers: int = 0
    servers: int = 0
    gpus: int = 0
    processes: int = 0
    starter: str = ""
    slots: int = 0
    """Processes of each host, as a file of hosts says."""
    restarts: int = 0
    image: str = ""
    framework: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    tasks: Tasks = Tasks()
    files: Mapping[str, Hosts] = field(default_factory=dict)
    """Files of hosts that the script writes."""
    places: list[str] = field(default_factory=list)
    """Options that say the place of a rank."""


def read_launch(launch: Launch, tasks: Tasks = Tasks(), files: Mapping[str, Hosts] = NO_FILES) -> Foreign | None:
    """The job of a command; None where its program is not known. `tasks`: of the batch job that it is in; `files`: of
    hosts, which the script writes."""
    ledger = Ledger()
    made = _Made(launch, ledger, tasks=tasks, files=files)
    launch = made.launch = _with_variables(made, _join_old_options(launch))
    for wrapper in launch.wrappers:
        _take_wrapper(made, wrapper)
    made.gpus = made.gpus or count_visible(launch.environment)
    program = _carry_program(made)
    if program is None:
        return None
    if launch.launcher is not None:
        _LAUNCHERS.get(launch.launcher.name, _take_torch)(made)
        if made.places:
            ledger.note(launch.line, explain_told(made.places))
    arguments = carry_arguments(launch.arguments, ledger)
    used = {option.spec.variable for option in launch.options if option.spec is not None and option.value is not None}
    environment = {name: word for name, word in launch.environment.items() if name not in used}
    variables = dict(carry_variables(environment, launch.line, ledger)) | made.variables
    workdir = carry_directory(launch, ledger)
    note_streams(launch, ledger)
    if launch.command.may_run:
        ledger.note(launch.line, phrase("it stands in a condition or a loop, which is left out"))
    return Foreign(
        launch.line, (*made.before, *program, *arguments), made.workers, made.servers, made.gpus,
        processes=made.processes, starter=made.starter, image=made.image,
        framework=made.framework, restarts=made.restarts, workdir=workdir,
        variables=tuple(variables.items()), runner=made.runner, left=tuple(ledger.left),
    )  # fmt: skip


def _with_variables(made: _Made, launch: Launch) -> Launch:
    """The launcher's options with the variables that say the same: PaddlePaddle's launcher lets them win, torchrun the
    options."""
    launcher = launch.launcher
    if launcher is None:
        return launch
    options = list(launch.options)
    for spec in launcher.options.values():
        value = launch.environment.get(spec.variable) if spec.variable else None
        typed = launch.named(spec.name)
        if value is None or (typed is not None and not launcher.variable_wins):
            continue
        shown = f"{spec.variable}={value.typed}"
        if typed is not None:
            options = [each for each in options if each is not typed]
            if typed.value is None or typed.value.typed != value.typed:
                said = phrase(
                    "{variable} counts more for the launcher than {option}", variable=shown, option=typed.typed
                )
                made.ledger.note(launch.line, said)
        typed_as = replace(value, pieces=join_pieces((f"--{spec.name}=", *value.pieces)))
        words = (typed_as if spec.means is Means.OTHER else build_word(shown, value.line),)
        options.append(Option(spec.name, value, words, spec))
    return replace(launch, options=tuple(options))


def _join_old_options(launch: Launch) -> Launch:
    """`--cluster_node_ips "a, b"` as one word: as two, today's launcher takes the value for the program."""
    if launch.stray is None:
        return launch
    joined: list[Word] = []
    rest = iter(launch.command.words)
    for word in rest:
        value = next(rest, None) if (word.text or "").lstrip("-") in OLD_DEVICES | _OLD_PLACES else None
        joined.append(word if value is None else replace(word, pieces=(f"{word.text}=", *value.pieces)))
    again = read_words([replace(each, splits=False) for each in joined], launch.environment).launches[:1]
    return replace(again[0], command=replace(launch.command, words=tuple(joined))) if again else launch


# What stands before the program


def _take_wrapper(made: _Made, wrapper: Wrapper) -> None:
    name = wrapper.spec.name
    line = wrapper.words[0].line or made.launch.line
    if name in TASKS:
        outer = read_words((*wrapper.words, build_word("true", line))).launches[0]
        _take_tasks(made, outer, starts_ranks=made.launch.launcher is None)
    elif wrapper.spec.image:
        _take_docker(made, wrapper, line)
    elif wrapper.spec.elsewhere:
        said = phrase("`{command}` is left out: a job is started on its machines", command=show_words(wrapper.words))
        made.ledger.note(line, said)
    elif wrapper.spec.manages and all(each.usual is not None for each in wrapper.words):
        made.runner = (*made.runner, *(made.ledger.take(each) or "" for each in wrapper.words))
    elif name == "env" or name not in _SILENT:
        words = [each for each in wrapper.words if name != "env" or each.beginning.startswith("-")]
        if words:
            said = phrase("`{command}` is left out: the program is started without it", command=show_words(words))
            made.ledger.note(line, said)


def _take_docker(made: _Made, wrapper: Wrapper, line: int) -> None:
    """The image, the variables and the GPUs of `docker run`; other options are listed."""
    made.image = made.ledger.take(wrapper.words[-1]) or ""
    left: list[str] = []
    for option, value in _pair(wrapper):
        if option in ("-e", "--env") and value is not None and "=" in value:
            name, _, text = value.partition("=")
            made.variables[name] = text
        elif option == "--gpus" and value is not None and value != "all":
            made.gpus = read_number(value) or count_listed(value.strip("'\"").removeprefix("device="))
        elif option == "--gpus":
            made.ledger.note(line, phrase("{option}: --gpus N says how many", option=f"{option} {value}"))
        elif option in ("-e", "--env", "-w", "--workdir") or not _DOCKER_SILENT.fullmatch(option):
            left.append(option if value is None else f"{option} {value}")
    if left:
        said = phrase("of `docker run`, {options} is left out: fields of a manifest say it", options=" ".join(left))
        made.ledger.note(line, said)


def _pair(wrapper: Wrapper) -> list[tuple[str, str | None]]:
    """The options of a wrapper, each with its value."""
    found: list[tuple[str, str | None]] = []
    words = iter(wrapper.words[1:-1])
    for word in words:
        name, equals, joined = word.partition("=")
        if not word.beginning.startswith("-"):
            continue
        if equals:
            found.append((name.typed, joined.typed))
        else:
            following = next(words, None) if word.typed in wrapper.spec.values else None
            found.append((word.typed, None if following is None else following.typed))
    return found


# The program


def _carry_program(made: _Made) -> tuple[str, ...] | None:
    program = made.launch.program
    text = made.ledger.take(program.word)
    if program.kind in (Kind.NONE, Kind.STDIN) or text is None or not text:
        return None
    if program.kind is Kind.CODE:
        return (_name_python(made, program.python), *program.flags, "-c", text)
    module = ("-m",) if program.kind is Kind.MODULE and program.python else ()
    if program.python:
        return (_name_python(made, program.python), *program.flags, *module, text)
    return (program.shell_name, text) if program.shell_name else (text,)


def _name_python(made: _Made, word: str) -> str:
    """`python`, as the environment or the image has one of its own."""
    name = posixpath.basename(word)
    if not is_python(word) or "ipython" in name or word in ("python", "python3"):
        return word
    return _rename(made, word, "python")


def _rename(made: _Made, word: str, name: str) -> str:
    if word != name:
        said = phrase("{typed} becomes {name}: that of the environment or the image", typed=word, name=name)
        made.ledger.note(made.launch.line, said)
    return name


# Launchers


def _take_paddle(made: _Made) -> None:
    launch, made.framework = made.launch, "paddle"
    made.servers = max(_count_hosts(made, Means.SERVERS), _count(made, Means.SERVER_COUNT))
    trainers = max(_count_hosts(made, Means.TRAINERS), _count(made, Means.TRAINER_COUNT))
    hosts = _count_hosts(made, Means.HOSTS)
    kept: list[str] = []
    for option in launch.options:
        means = option.spec.means if option.spec is not None else None
        if option.name == "cluster_node_ips":
            hosts = max(hosts, count_hosts((option.value or build_word("")).usual or ""))
        elif option.name in OLD_DEVICES or means is Means.DEVICES:
            made.gpus = _count_devices(made, option) or made.gpus
        elif option.name in _OLD_PLACES:
            made.places.append(option.typed)
        elif means is Means.PROCESSES:
            kept += _keep_processes(made, option)
        elif means is Means.LOGS:
            _leave(made, option, LOGS)
        elif means in (Means.HETER, Means.ELASTIC) or option.spec is None:
            _leave(made, option)
        elif means is Means.OTHER or (means is Means.MODE and option.text != "collective"):
            kept += _keep(made, option)
        else:
            _take_usual(made, option)
    if made.servers or any(launch.find(means) is not None for means in (Means.SERVERS, Means.SERVER_COUNT)):
        made.workers, made.before = max(trainers, 1), _find_python(made)
        return
    made.workers = max(hosts, made.workers)
    made.before = (*_find_python(made), "-m", PADDLE.name, *kept)


def _find_python(made: _Made) -> tuple[str, ...]:
    """The Python before PaddlePaddle's launcher, with its options; `python` of fleetrun."""
    typed = read_program(made.launch.before)
    return (_name_python(made, typed.python), *typed.flags) if typed.python else ("python",)


def _take_torch(made: _Made) -> None:
    """torchrun, and launchers of torch with options of their own: these stay, as `script.told_launchers` puts the
    places of the machines into the command."""
    launch, launcher = made.launch, made.launch.launcher
    assert launcher is not None
    made.framework = "pytorch"
    kept, counting, total = _sort_options(made)
    if launcher in (TORCHRUN, TORCH_LAUNCH):
        counted = [each for option in counting for each in _keep_processes(made, option)]
        made.before = (*_name_launcher(made), *counted, *_keep_all(made, kept))
    elif launcher is DEEPSPEED and made.workers != 1 and (launch.find(Means.NODES) or launch.find(Means.HOSTS)):
        _take_deepspeed(made, kept, counting)
    else:
        stays = {id(each) for each in (*kept, *counting, *total)}
        stay = [each for each in launch.options if id(each) in stays]
        made.before = (*_name_launcher(made), *_keep_all(made, stay))
        _count_told(made)


def _take_deepspeed(made: _Made, kept: Sequence[Option], counting: Sequence[Option]) -> None:
    """torchrun in place of DeepSpeed's launcher, whose variables the same programs read (deepspeed 0.17,
    `comm.init_distributed`)."""
    launch = made.launch
    processes = sum(_read_count(made, option) for option in counting[-1:]) or made.gpus or made.slots
    counted = f"--nproc_per_node={processes or 'gpu'}"  # without a number, one for each GPU
    program = ("--no_python",) if launch.find(Means.PROGRAM) else ()
    made.before = ("torchrun", counted, *program, *(("-m",) if launch.find(Means.MODULE) else ()))
    said = phrase(
        "{launcher} starts the processes of all machines by itself, by ssh or a host file, which pods do not have: it "
        "becomes torchrun, and the program finds its place in RANK, LOCAL_RANK and WORLD_SIZE, and no --local_rank",
        launcher=DEEPSPEED.name,
    )
    made.ledger.note(launch.line, said)
    lost = [each.typed for each in kept if each.spec is None or each.spec.means is Means.OTHER]
    if lost := [each for each in lost if each != "--no_local_rank"]:
        said = phrase("{options}: left out, as torchrun has no such option", options=" ".join(lost))
        made.ledger.note(launch.line, said)


def _count_told(made: _Made) -> None:
    """What launchers that stay say of their machines, beside the options that count them."""
    launch = made.launch
    if launch.launcher is COMPOSER and not made.workers:
        each, total = launch.text(Means.PROCESSES) or "", launch.text(Means.ALL_PROCESSES) or ""
        made.workers = read_number(total) // read_number(each) if read_number(each) else 0
    devices = launch.find(Means.PROCESSES)
    if launch.launcher is FABRIC and devices is not None and "," in (devices.text or ""):
        made.gpus = count_listed(devices.text or "") or made.gpus
    if launch.launcher is ACCELERATE:
        _explain_accelerate(made)


def _explain_accelerate(made: _Made) -> None:
    """Of several machines it starts DeepSpeed by pdsh, unless it is told not to (accelerate 1.15, utils/launch.py)."""
    launch, configuration = made.launch, made.launch.named("config_file")
    if configuration is not None and launch.find(Means.NODES) is None:
        said = phrase("{option}: it is not read, and --workers N says how many machines", option=configuration.typed)
        made.ledger.note(_line(made, configuration), said)
    starter = launch.named(_STARTER)
    if made.workers < 2 or launch.named("use_deepspeed") is None or (starter and starter.text == "standard"):
        return
    kept = [word for each in ((starter,) if starter else ()) for word in _keep(made, each)]
    made.before = (*(each for each in made.before if each not in kept), f"--{_STARTER}", "standard")
    said = phrase(
        "{option} is put into the command: otherwise accelerate starts DeepSpeed of other machines by ssh, which pods "
        "do not have",
        option=f"--{_STARTER} standard",
    )
    made.ledger.note(launch.line, said)


def _name_launcher(made: _Made) -> tuple[str, ...]:
    before = [word.usual or word.typed for word in made.launch.before]
    if is_python(before[0]):
        return (_name_python(made, before[0]), *before[1:])
    return (_rename(made, before[0], posixpath.basename(before[0])), *before[1:])


def _sort_options(made: _Made) -> tuple[list[Option], list[Option], list[Option]]:
    """The options that stay; those that count the processes of a machine; those that count all of them."""
    kept: list[Option] = []
    counting: list[Option] = []
    total: list[Option] = []
    for option in made.launch.options:
        means = option.spec.means if option.spec is not None else None
        if means is Means.PROCESSES:
            counting.append(option)
        elif means is Means.ALL_PROCESSES:
            total.append(option)
        elif means is Means.DEVICES:
            made.gpus = _count_devices(made, option) or made.gpus
        elif means in (None, Means.OTHER, Means.MODULE, Means.PROGRAM):
            kept.append(option)
        elif means is Means.LOGS:
            _leave(made, option, LOGS)
        else:
            _take_usual(made, option)
    return kept, counting, total


def _take_tasks(made: _Made, launch: Launch, *, starts_ranks: bool) -> None:
    """What srun and mpirun say. `starts_ranks`: whether each of their tasks is a rank, as no launcher stands behind."""
    counts: dict[Means, int] = {}
    hosts = Hosts(0)
    left: list[str] = []
    for option in launch.options:
        means = option.spec.means if option.spec is not None else None
        if means in (Means.NODES, Means.ALL_PROCESSES, Means.PROCESSES):
            counts[means] = _read_count(made, option)
        elif means is Means.HOSTS:
            hosts = _read_hosts(made, option)
            left += [option.typed] if _is_file(option) and hosts.count else []
        elif not _take_of_task(made, option):
            left.append(option.typed)
    if left:
        said = phrase("{options}: left out, as Paddock starts the ranks", options=" ".join(left))
        made.ledger.note(launch.line or made.launch.line, said)
    _count_tasks(made, counts, hosts, starts_ranks=starts_ranks)
    made.starter = launch.launcher.name if starts_ranks and launch.launcher is not None else ""


def _take_of_task(made: _Made, option: Option) -> bool:
    """What one option of srun or mpirun says beside numbers of machines and ranks; False where that is nothing here."""
    if (option.spec is not None and option.spec.means is Means.DEVICES) or option.name in ("gres", "gpus"):
        if option.value is not None and option.value.usual is None:
            made.ledger.note(_line(made, option), _explain_number(option, "--gpus N"))
        elif option.value is not None:
            made.gpus = read_gpus(made.ledger.take(option.value) or "") or made.gpus
    elif option.name == "x" and "=" in (option.text or ""):
        name, _, text = (option.text or "").partition("=")
        made.variables[name] = text
    elif option.name == "container_image" and option.value is not None and option.value.usual:
        made.image = (made.ledger.take(option.value) or "").replace("#", "/")
    else:
        return False
    return True


def _count_tasks(made: _Made, counts: Mapping[Means, int], hosts: Hosts, *, starts_ranks: bool) -> None:
    """Machines, and the ranks of each, of what the command says and of its batch job."""
    given = made.tasks
    total, each_node = counts.get(Means.ALL_PROCESSES, 0), counts.get(Means.PROCESSES, 0)
    nodes = counts.get(Means.NODES, 0) or hosts.count or given.nodes
    all_tasks, of_each = total or given.total, each_node or given.each_node
    nodes = nodes or (all_tasks // of_each if of_each else 0)
    made.workers = max(made.workers, nodes)
    if starts_ranks:
        of_node = each_node or (total // max(nodes, 1)) or hosts.slots or of_each or all_tasks // max(nodes, 1)
        made.processes = of_node if of_node > 1 else 0


def read_gpus(text: str) -> int:
    """The GPUs of Slurm's `gpu:8`, `gpu:a100:8`, `a100:8` and `8`; of a name alone, one."""
    last = text.partition(",")[0].rpartition(":")[2]
    found = re.match(r"(\d{1,4})(\(.*)?$", last)
    return int(found[1]) if found else 1 if last else 0


# Options


def _take_usual(made: _Made, option: Option) -> None:
    """Numbers of machines and of restarts, and what tells a rank its place."""
    means = option.spec.means if option.spec is not None else None
    if _is_file(option):
        hosts = _read_hosts(made, option)
        made.workers, made.slots = max(made.workers, hosts.count), hosts.slots
    if means in _PLACES:
        made.places.append(option.typed)
    elif means is Means.NODES:
        made.workers = max(made.workers, _read_count(made, option))
        if re.search(r"\d:\d", option.text or ""):
            made.ledger.note(_line(made, option), say(LEAST, option.typed))
    elif means is Means.RESTARTS:
        made.restarts = _read_count(made, option)


def _count(made: _Made, means: Means) -> int:
    option = made.launch.find(means)
    return _read_count(made, option) if option is not None else 0


def _read_count(made: _Made, option: Option) -> int:
    means = option.spec.means if option.spec is not None else Means.OTHER
    text = made.ledger.take(option.value) if option.value is not None else None
    found = read_number(text)
    if not found and text != "0" and not (means is Means.NODES and made.workers):
        made.ledger.note(_line(made, option), _explain_number(option, _FLAG_OF.get(means, "--workers N")))
    return found


def _explain_number(option: Option, flag: str) -> Phrase:
    return phrase("{option}: the number is not known here: {flag} says it", option=option.typed, flag=flag)


def _count_hosts(made: _Made, means: Means) -> int:
    option = made.launch.find(means)
    return _read_hosts(made, option).count if option is not None else 0


def _read_hosts(made: _Made, option: Option) -> Hosts:
    """The hosts of a list, and of a file that the script writes."""
    text = option.value.usual if option.value is not None else ""
    if text is not None and _is_file(option):
        found = made.files.get(posixpath.normpath(text), Hosts(0))
    else:
        found = Hosts(count_hosts(text or ""))
    if not found.count and not made.workers and made.launch.find(Means.NODES) is None:
        means = option.spec.means if option.spec is not None else Means.HOSTS
        made.ledger.note(_line(made, option), _explain_number(option, _FLAG_OF.get(means, "--workers N")))
    return found


def _is_file(option: Option) -> bool:
    return option.name.endswith("hostfile")


def _count_devices(made: _Made, option: Option) -> int:
    text = made.ledger.take(option.value) if option.value is not None else None
    found = count_listed(text or "")
    if not found and text not in ("", "-1", "cpu"):
        made.ledger.note(
            _line(made, option),
            phrase("{option}: the devices are not known here: --gpus N says how many", option=option.typed),
        )
    return found


def _keep_processes(made: _Made, option: Option) -> Sequence[str]:
    """`--nproc_per_node`, which stays where it is known."""
    text = made.ledger.take(option.value) if option.value is not None else None
    if text is not None:
        return (f"--{option.name}={text}",)
    if made.gpus:
        said = phrase(
            "{option}: as many as the GPUs of a worker are taken, {count}", option=option.typed, count=made.gpus
        )
        made.ledger.note(_line(made, option), said)
        return (f"--{option.name}={made.gpus}",)
    _leave(made, option, UNKNOWN)
    return ()


def _keep(made: _Made, option: Option) -> Sequence[str]:
    """An option as it was typed; one that is not known is left out."""
    if any(made.ledger.take(word) is None for word in option.words):
        _leave(made, option, UNKNOWN)
        return ()
    return tuple(word.usual or "" for word in option.words)


def _keep_all(made: _Made, options: Sequence[Option]) -> tuple[str, ...]:
    return tuple(word for option in options for word in _keep(made, option))


def _leave(made: _Made, option: Option, sentence: Phrase = NO_OPTION) -> None:
    made.ledger.note(_line(made, option), say(sentence, option.typed))


def _line(made: _Made, option: Option) -> int:
    return option.words[0].line or made.launch.line


_LAUNCHERS: Mapping[str, Callable[[_Made], None]] = {
    "paddle.distributed.launch": _take_paddle,
    "paddle.distributed.fleet.launch": _take_paddle,
    **dict.fromkeys(TASKS, lambda made: _take_tasks(made, made.launch, starts_ranks=True)),
}
