"""The launchers in a rank's command: PaddlePaddle's and torch's, with the options that place a node among the others.

A command that is rendered says where the ranks meet by the launcher's own options, which win over variables that are
left in a shell. Measured with PaddlePaddle 3.0.0 and 3.3.1, torch 2.13: `--master` wants the IP address of rank 0, and
a rank that is not given is the order of arrival. PaddlePaddle's launcher is never used in PS mode: it does not return
when the trainers are done.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from paddock.jobs.reading.scripts import LAUNCHER_PROGRAMS, LAUNCHERS, read_launch
from paddock.preflight.old_flags import DEVICES, OLD_DEVICES, find_known
from paddock.script.torchrun import FLAGS, name_option

Option = tuple[str, str | None]
"""A name with its dashes, and its value; None for a flag, or where the value is a part of the word."""

_PYTHON = re.compile(r"python[\d.]*")
_PLACING = {
    "paddle": frozenset({
        "master", "nnodes", "rank", "ips", "host", "cluster-node-ips", "node-ip", "started-port", "servers", "trainers",
        "workers", "server-num", "trainer-num", "worker-num", "run-mode", "gloo-port", "with-gloo", "http-port",
        "use-paddlecloud", "np",
    }),
    "torch": frozenset({
        "nnodes", "node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf",
        "standalone", "local-addr",
    }),
}  # fmt: skip
"""Options that say where a node stands among the others, of any version of the launcher; `_` is read as `-`."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts a launcher."""

    kind: Literal["paddle", "torch"]
    before: tuple[str, ...]  # the words up to the launcher (`python -m …`)
    options: tuple[Option, ...]
    rest: tuple[str, ...]  # the script or module and its arguments

    @property
    def words(self) -> tuple[str, ...]:
        options = (word for option in self.options for word in option if word is not None)
        return (*self.before, *options, *self.rest)


def find_launch(words: Sequence[str]) -> Launch | None:
    """The launcher that a command starts; None without one."""
    arguments = read_launch(words)
    if arguments is None:
        return None
    before = tuple(words[: len(words) - len(arguments)])
    named = before[-1] if before[-1] in LAUNCHERS else posixpath.basename(before[-1])
    assert named in LAUNCHERS | LAUNCHER_PROGRAMS
    kind: Literal["paddle", "torch"] = "torch" if named.startswith("torch") else "paddle"
    options = tuple(_read_options(arguments, _torch_takes if kind == "torch" else _paddle_takes))
    taken = sum(1 for option in options for word in option if word is not None)
    return Launch(kind, before, options, tuple(arguments[taken:]))


def _read_options(words: Sequence[str], takes: Callable[[str, str], bool]) -> Iterator[Option]:
    """`takes`: whether an option has the word behind it as its value."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        option, following = words[place], words[place + 1 : place + 2]
        valued = "=" not in option and bool(following) and takes(option, following[0])
        yield (option, following[0] if valued else None)
        place += 2 if valued else 1


def _torch_takes(option: str, following: str) -> bool:
    return name_option(option) not in FLAGS


def _paddle_takes(option: str, following: str) -> bool:
    """Each option of today has a value; of another year's, the script is none."""
    known = find_known(option.lstrip("-"))
    return known != "help" if known else not following.startswith("-") and not following.endswith(".py")


def without_placing(launch: Launch) -> Launch:
    """The command without the options that say where its node stands, and with today's names of the devices."""
    left = [_rename(option) for option in launch.options if _name(option) not in _PLACING[launch.kind]]
    return replace(launch, options=tuple(left))


def place_node(launch: Launch, master: str, port: int | str, nodes: int | str, index: int | str) -> Launch:
    """The command of node `index` of `nodes`, which meet at `master:port`. `master` is an address or a mark of one."""
    launch = without_placing(launch)
    placing: Mapping[str, object] = {"--master": f"{master}:{port}", "--nnodes": nodes, "--rank": index}
    if launch.kind == "torch":
        placing = {"--nnodes": nodes, "--node-rank": index, "--master-addr": master, "--master-port": port}
    elif nodes == 1:
        placing = {}
    options = tuple((name, str(value)) for name, value in placing.items())
    return replace(launch, options=(*options, *launch.options))


def without_launcher(launch: Launch) -> tuple[str, ...]:
    """The script itself, as a rank beside parameter servers runs it: `python train.py`."""
    program = launch.before[0]
    python = program if _PYTHON.fullmatch(posixpath.basename(program)) else "python"
    return (python, *launch.rest)


def _name(option: Option) -> str:
    return option[0].partition("=")[0].lstrip("-").replace("_", "-")


def _rename(option: Option) -> Option:
    word, value = option
    name, equals, joined = word.partition("=")
    is_device = name.lstrip("-") in DEVICES | OLD_DEVICES
    return (("--devices" if is_device else name) + equals + joined, value)
