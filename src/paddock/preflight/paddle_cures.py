"""What to write in place of options that today's launcher of PaddlePaddle does not know. Pure.

A cure is typed as it is printed, and of what it says nothing more is told: tests/preflight/test_paddle_cures.py types
each of them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.kube.nearness import nearest
from paddock.launches.launch import Launch, Option, is_of_today
from paddock.launches.launchers import (
    ACCELERATE,
    DEEPSPEED,
    FABRIC,
    OLD_DEVICES,
    OLD_PADDLE,
    OLD_PLACES,
    PADDLE,
    TORCH_LAUNCH,
    Means,
)
from paddock.launches.words import show_words
from paddock.words.phrases import Names, Phrase, phrase

DROPPED = frozenset({"use_paddlecloud", "print_config", "worker_endpoints", "endpoints"})
"""Options of other years that do nothing."""
_RENAMED = {
    "http_port": "gloo_port", "elastic_server": "master", "scale": "nnodes", "np": "nnodes",
    "workers": "trainers", "worker_num": "trainer_num",
}  # fmt: skip
_OTHERS = (TORCH_LAUNCH, ACCELERATE, DEEPSPEED, FABRIC)
"""Launchers whose options people type before PaddlePaddle's, the most common first."""
_MEETING = (Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.NODE_RANK)
_SAME = (Means.NODES, Means.PROCESSES, Means.NODE_RANK, Means.MASTER, Means.RUN, Means.OWN_ADDRESS, Means.DEVICES,
         Means.RESTARTS, Means.LOGS)  # fmt: skip
"""What other launchers have options for, and PaddlePaddle's too."""
_NEAR = 0.8
"""The likeness from which a name is a misspelt option: less would make one of any option of a program."""


def find_unknown(launch: Launch) -> list[Option]:
    """The options that today's launcher does not know."""
    return [option for option in launch.options if not is_of_today(option)]


def is_placing(option: Option) -> bool:
    """Whether another launcher, or one of other years, is told by it where the other nodes are."""
    return option.name in OLD_PLACES or (not is_of_today(option) and read_means(option.name) in _MEETING)


def read_means(name: str) -> Means | None:
    """What an option of another launcher says; None where none has it."""
    plain = name.replace("-", "_")
    if len(plain) == 1:
        return Means.MODULE if plain == "m" else None
    return next((each.options[plain].means for each in _OTHERS if plain in each.options), None)


def find_today(name: str) -> str:
    """Today's name for an option of other years, of another launcher, or for a misspelt one; empty without one."""
    plain = name.replace("-", "_")
    if plain in OLD_DEVICES:
        return "devices"
    if plain in _RENAMED:
        return _RENAMED[plain]
    found = PADDLE.find(f"--{plain}")
    if found is not None:
        return found.name
    if plain in OLD_PADDLE.options.keys() | OLD_PLACES | DROPPED or len(plain) == 1:
        return ""
    means = read_means(name)
    if means is not None:
        return next((spec.name for spec in PADDLE.options.values() if spec.means is means in _SAME), "")
    return nearest(plain, PADDLE.options, _NEAR)


def advise(option: Option) -> str:
    """Today's option for one that `find_today` names, as it is typed."""
    name = find_today(option.name)
    value = quote(option) or name.upper()
    if option.name == "elastic_server":
        value = f"etcd://{value.removeprefix('etcd://')}"
    return f"--{name} {value}"


def quote(option: Option) -> str:
    """The value, as it is typed; empty without one."""
    return show_words([option.value]) if option.value is not None else ""


def name_options(options: Sequence[Option]) -> Names:
    """Without their values, as they were typed, each once."""
    return Names(tuple(dict.fromkeys(option.words[0].typed.partition("=")[0] for option in options)))


def advise_all(launch: Launch, *, in_job: bool) -> Phrase:
    """What to write in place of all options that the launcher does not know: one after the other, each cure would be
    another wrong command. `in_job`: Paddock tells each rank where the others are."""
    first, *others = _list_cures(launch, in_job=in_job)
    for each in others:
        first = phrase("{first}; {second}", first=first, second=each)
    return first


def _list_cures(launch: Launch, *, in_job: bool) -> Iterator[Phrase]:
    unknown = find_unknown(launch)
    modules = [each for each in unknown if read_means(each.name) is Means.MODULE][:1]
    if modules:  # what stands behind a module is its own
        unknown = unknown[: unknown.index(modules[0])]
    placing = [each for each in unknown if is_placing(each)]
    others = [each for each in unknown if each not in placing]
    written = [advise(each) for each in others if find_today(each.name)]
    if placing and in_job:
        yield phrase("leave {options} out: Paddock tells each rank where the others are", options=name_options(placing))
    elif placing:
        written = [place(launch), *written]
    if written:
        yield phrase("write {words}", words=" ".join(written))
    others = [each for each in others if not find_today(each.name)]
    if modules:
        yield advise_module(modules[0])
    left = [each for each in others if is_nothing(each.name)]
    if left:
        yield phrase("leave {options} out", options=name_options(left))
    behind = [each for each in others if each not in left]
    if behind:
        yield phrase(
            "no launcher knows {options}: write an option of the program behind it", options=name_options(behind)
        )
    if launch.launcher is OLD_PADDLE:
        yield phrase("write python -m paddle.distributed.launch in place of {module}", module=OLD_PADDLE.name)


def is_nothing(name: str) -> bool:
    """Whether an option is known, of other years or of another launcher, and today's has nothing in its place."""
    plain = name.replace("-", "_")
    return plain in DROPPED | OLD_PADDLE.options.keys() or read_means(name) is not None


def advise_module(option: Option) -> Phrase:
    """Of `-m pkg.train`: the launcher starts a file, or a program with what stands behind it."""
    return phrase(
        "write {words} in place of {option}: the launcher starts files and programs",
        words=f"python -m {quote(option)}", option=option.typed,
    )  # fmt: skip


def place(launch: Launch) -> str:
    """Today's options by which nodes meet, from the values of those of 2019, or of another launcher."""
    if not any(option.name in OLD_PLACES for option in launch.options):
        return _place_as_torch(launch)
    nodes = [each.strip() for each in _text(launch, "cluster_node_ips").split(",") if each.strip()]
    own, port = _text(launch, "node_ip"), _text(launch, "started_port") or "6170"
    if not nodes:
        return f"--master IP:{port} --nnodes N --rank R"
    rank = str(nodes.index(own)) if own in nodes else "R"
    return f"--master {nodes[0]}:{port} --nnodes {len(nodes)} --rank {rank}"


def _place_as_torch(launch: Launch) -> str:
    given = {read_means(option.name): quote(option) for option in find_unknown(launch)}
    found = []
    if Means.MASTER in given:
        found.append(f"--master {given[Means.MASTER]}")
    elif {Means.MASTER_ADDRESS, Means.MASTER_PORT} & given.keys():
        found.append(f"--master {given.get(Means.MASTER_ADDRESS) or 'IP'}:{given.get(Means.MASTER_PORT) or 'PORT'}")
    if Means.NODE_RANK in given:
        found.append(f"--rank {given[Means.NODE_RANK]}")
    if len(found) > 1 and Means.NODES not in given and launch.named("nnodes") is None:
        found.append("--nnodes N")
    return " ".join(found)


def _text(launch: Launch, name: str) -> str:
    option = launch.named(name)
    return (option.text or "") if option is not None else ""
