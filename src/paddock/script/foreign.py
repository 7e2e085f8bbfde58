"""A run.sh, or a docker command, that starts a distributed program: read for `paddock init --from`. Pure.

Of several commands the one with the most machines counts: a script often has one for a single machine beside it. Places
of machines, ports and ranks are left out, as Paddock tells each rank; devices become a number of cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs.reading.commands import read_script
from paddock.jobs.reading.scripts import read_launch
from paddock.preflight.old_flags import DEVICES, OLD_DEVICES, PaddleLaunch, find_paddle_launch
from paddock.script.torchrun import read_torchrun

_SERVERS = (("servers", "server_num"), ("trainers", "trainer_num"), ("workers", "worker_num"))
_DOCKER_FLAGS = frozenset({
    "-i", "-t", "-it", "-ti", "-d", "--rm", "--init", "--privileged", "--interactive", "--tty", "--detach", "-P",
    "--read-only", "--oom-kill-disable", "--publish-all",
})  # fmt: skip
"""Options of `docker run` without a value; all others have one."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """One command."""

    line: int  # where it stands
    words: tuple[str, ...]  # to be typed behind `--`
    workers: int
    servers: int = 0  # 0 without parameter servers
    gpus: int = 0  # of each worker; 0 where the command does not say
    image: str = ""  # empty without Docker


def read_foreign(text: str) -> tuple[Foreign, ...]:
    """The distributed commands of a script, the largest first. Raises `reading.commands.OpenQuote`."""
    found = [each for command in read_script(text) for each in _read(command.line, command.words)]
    return tuple(sorted(found, key=lambda each: -(each.workers + each.servers)))


def _read(line: int, words: tuple[str, ...]) -> Iterator[Foreign]:
    image = ""
    if words[:2] == ("docker", "run"):
        image, words = _split_docker(words[2:])
    launch = find_paddle_launch(words)
    if launch is not None and launch.rest and not launch.stray:
        yield _of_paddle(line, launch, image)
    elif launch is None and read_launch(words) is not None:
        yield _of_torch(line, words, image)


def _split_docker(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The image, and the command behind it."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 1 if "=" in words[place] or words[place] in _DOCKER_FLAGS else 2
    return (words[place] if place < len(words) else ""), tuple(words[place + 1 :])


def _of_paddle(line: int, launch: PaddleLaunch, image: str) -> Foreign:
    servers, workers, old = (_count(launch.options, *names) for names in _SERVERS)
    gpus = max(_listed(launch.value(name)) for name in DEVICES | OLD_DEVICES)
    if servers:
        return Foreign(line, ("python", *launch.rest), max(workers, old, 1), servers, gpus, image)
    nodes = max(
        _listed(launch.value("cluster_node_ips")), _listed(launch.value("ips")), _number(launch.value("nnodes"))
    )
    return Foreign(line, ("python", "-m", "paddle.distributed.launch", *launch.rest), max(nodes, 1), 0, gpus, image)


def _of_torch(line: int, words: tuple[str, ...], image: str) -> Foreign:
    options = read_torchrun(words)
    rest = read_launch(words) or ()
    script = next((place for place, word in enumerate(rest) if word.endswith(".py")), 0)
    processes = options.get("nproc-per-node", "")
    kept = (f"--nproc_per_node={processes}",) if processes else ()
    workers = max(_number(options.get("nnodes", "")), 1)
    return Foreign(line, ("torchrun", *kept, *rest[script:]), workers, image=image)


def _count(options: Mapping[str, str | None], named: str, counted: str) -> int:
    return max(_listed(options.get(named) or ""), _number(options.get(counted) or ""))


def _listed(text: str) -> int:
    return len([each for each in text.split(",") if each])


def _number(text: str) -> int:
    """The number in `2`, and in `2:4`, which begins with the least."""
    first = text.partition(":")[0]
    return int(first) if first.isdecimal() else 0
