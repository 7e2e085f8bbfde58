"""The commands of a shell text -> jobs. Pure.

Of several commands the one with the most machines counts: a script often has one for a single machine beside it. Places
of machines, ports and ranks are left out without a word, as Paddock tells each rank; devices become a number of cards.
What the shell does by itself (a log, a pipe, `cd`), and what is known in the shell alone, is left out with a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import PADDLE, Means
from paddock.launches.programs import Kind
from paddock.launches.reading import ReadFile, Reading, find_main, read_script
from paddock.launches.words import Word, show_words
from paddock.preflight.paddle_options import OLD_DEVICES, is_paddle
from paddock.preflight.replicas import is_torchrun
from paddock.script.foreign.meant import Foreign, Left
from paddock.words.phrases import Phrase, phrase

VISIBLE = "CUDA_VISIBLE_DEVICES"
_PLACING = re.compile(
    r"PADDLE_.*|MASTER_(ADDR|PORT)|(NODE_|LOCAL_)?RANK|(LOCAL_)?WORLD_SIZE|NNODES|TRAINING_ROLE|POD_IP"
)
"""Variables by which ranks find each other: Paddock sets them."""
_TOLD = frozenset({
    Means.NODES, Means.NODE_RANK, Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.BACKEND, Means.RUN,
    Means.HOSTS, Means.OWN_ADDRESS, Means.STANDALONE, Means.DEVICES, Means.SERVERS, Means.SERVER_COUNT, Means.TRAINERS,
    Means.TRAINER_COUNT, Means.LOGS, Means.MODE, Means.PROCESSES, Means.MODULE, Means.PROGRAM,
})  # fmt: skip
"""Options that Paddock says by itself, or that are carried."""
_OF_PLACES = frozenset({"cluster_node_ips", "node_ip", "started_port", "gloo_port", "with_gloo", "http_port",
                        "use_paddlecloud", "print_config", "rdzv_conf", *OLD_DEVICES})  # fmt: skip


def read_commands(text: str, read_file: ReadFile | None = None) -> tuple[tuple[Foreign, ...], Reading]:
    """The commands that train, the largest first, and the whole reading. Without a launcher, the last program of
    Python."""
    reading = read_script(text, read_file=read_file)
    found = [_build(each) for each in reading.distributed if each.program.kind is not Kind.NONE and each.stray is None]
    main = find_main(reading)
    if not reading.distributed and main.program.python:
        found = [_build(main)]
    return tuple(sorted(found, key=lambda each: -(each.workers + each.servers))), reading


def _build(launch: Launch) -> Foreign:
    left = list(_explain_left(launch))
    arguments = list(_carry_arguments(launch, left))
    env = tuple(_carry_variables(launch, left))
    servers, workers = _count_servers(launch), _count_workers(launch)
    words = (*_find_starter(launch, servers), *arguments)
    image = next((each.image.text or "" for each in launch.wrappers if each.image is not None), "")
    ordered = tuple(sorted(left, key=lambda each: each.line))
    return Foreign(launch.line, words, max(workers, 1), servers, _count_gpus(launch), image, env=env, left=ordered)


def _find_starter(launch: Launch, servers: int) -> tuple[str, ...]:
    """The launcher as Paddock starts it, and the program."""
    program = launch.program.word.usual or launch.program.word.typed
    processes = launch.text(Means.PROCESSES)
    if is_paddle(launch):
        kept = ("--nproc_per_node", processes) if processes and not servers else ()
        return ("python", program) if servers else ("python", "-m", PADDLE.name, *kept, program)
    if launch.launcher is None:
        module = ("-m",) if launch.program.kind is Kind.MODULE else ()
        return (launch.program.python, *launch.program.flags, *module, program)
    module = ("-m",) if launch.find(Means.MODULE) else ()
    if is_torchrun(launch):
        return ("torchrun", *((f"--nproc_per_node={processes}",) if processes else ()), *module, program)
    others = tuple(word.typed for option in launch.options if not _is_told(option) for word in option.words)
    return (*(word.typed for word in launch.before), *others, *module, program)


def _is_told(option: Option) -> bool:
    return option.name in _OF_PLACES or (option.spec is not None and option.spec.means in _TOLD)


def _count_servers(launch: Launch) -> int:
    return max(_listed(launch, "servers"), _number(launch, "server_num")) if is_paddle(launch) else 0


def _count_workers(launch: Launch) -> int:
    if _count_servers(launch):
        return max(_listed(launch, "trainers"), _listed(launch, "workers"), _number(launch, "trainer_num"),
                   _number(launch, "worker_num"))  # fmt: skip
    nodes = launch.find(Means.NODES)
    return max(_listed(launch, "cluster_node_ips"), _listed(launch, "ips"), _read_number(nodes))


def _count_gpus(launch: Launch) -> int:
    if launch.launcher is not None and launch.launcher.family == "paddle":
        named = max(_listed(launch, name) for name in ("devices", *OLD_DEVICES))
        if named:
            return named
    visible = launch.environment.get(VISIBLE)
    return len([each for each in (visible.text or "").split(",") if each.strip()]) if visible is not None else 0


def _listed(launch: Launch, name: str) -> int:
    option = launch.named(name)
    return len([each for each in ((option.text if option else "") or "").split(",") if each.strip()])


def _number(launch: Launch, name: str) -> int:
    return _read_number(launch.named(name))


def _read_number(option: Option | None) -> int:
    """The number in `2`, in `2:4`, which begins with the least, and in `${N:-2}`."""
    text = (option.value.usual or "") if option is not None and option.value is not None else ""
    first = text.partition(":")[0]
    return int(first) if first.isdecimal() and len(first) < 6 else 0


def _carry_arguments(launch: Launch, left: list[Left]) -> Iterator[str]:
    """What stands behind the program. An argument that the shell alone knows is left out, with the option before it."""
    arguments = list(launch.arguments)
    for place, word in enumerate(arguments):
        behind = arguments[place + 1] if place + 1 < len(arguments) else None
        is_option = word.beginning.startswith("-") and word.text is not None and "=" not in word.beginning
        if is_option and behind is not None and behind.usual is None and not behind.splits:
            continue  # told with its value
        if word.usual is not None:
            if word.text is None:
                said = phrase("{typed} becomes {value}, its default", typed=word.typed, value=word.usual)
                left.append(Left(launch.line, said))
            yield word.usual
        else:
            before = arguments[place - 1] if place else None
            shown = [before, word] if before is not None and before.beginning.startswith("-") else [word]
            left.append(Left(launch.line, _explain_unknown(shown)))


def _explain_unknown(words: Sequence[Word]) -> Phrase:
    return phrase(
        "{typed} is left out, as the shell alone knows it: type it behind the file, as in `paddock run job.yaml -- …`",
        typed=show_words(words),
    )


def _carry_variables(launch: Launch, left: list[Left]) -> Iterator[tuple[str, str]]:
    for name, value in launch.environment.items():
        if name == VISIBLE or _PLACING.fullmatch(name):
            continue
        if value.usual is not None:
            yield name, value.usual
        else:
            said = phrase(
                "{name}={value} is left out, as the shell alone knows it: --env {name}=… sets it",
                name=name, value=value.typed,
            )  # fmt: skip
            left.append(Left(launch.line, said))


def _explain_left(launch: Launch) -> Iterator[Left]:
    yield from (Left(launch.line, said) for said in (*_explain_nodes(launch), *_explain_shell(launch)))
    for wrapper in launch.wrappers if not launch.elsewhere else ():
        yield Left(launch.line, phrase("{typed} is left out", typed=show_words(wrapper.words)))
    for option in launch.options if is_paddle(launch) else ():
        if option.name and not _is_told(option):
            yield Left(launch.line, phrase("{typed} is left out", typed=option.typed))


def _explain_nodes(launch: Launch) -> Iterator[Phrase]:
    nodes = launch.find(Means.NODES)
    value = nodes.value if nodes is not None else None
    if nodes is None or value is None:
        return
    if value.usual is None:
        yield phrase(
            "{typed}: how many workers there are is known in the shell alone; --workers says it", typed=nodes.typed
        )
    elif ":" in value.usual:
        yield phrase(
            "{typed}: the least is taken; elasticPolicy of a PyTorchJob lets the number change", typed=nodes.typed
        )


def _explain_shell(launch: Launch) -> Iterator[Phrase]:
    """What the shell does, and no program."""
    command = launch.command
    logs = [
        f"{each.operator} {each.target.typed}" for each in command.redirections if not each.target.typed.isdecimal()
    ]
    logs += [f"| {' | '.join(command.piped)}"] if command.piped else []
    for typed in logs:
        yield phrase("{typed} is left out: `paddock logs` has what a program prints", typed=typed)
    if command.directory is not None:
        yield phrase("cd {typed} is left out: call paddock there, or --workdir names it", typed=command.directory.typed)
    if command.may_run:
        yield phrase("a condition or a loop decides whether it runs, or how often: it is taken once")
