"""The launchers in a rank's command: PaddlePaddle's and torch's, with the options that place a node among the others.

A command that is rendered says where the ranks meet by the launcher's own options, which win over variables that are
left in a shell. Measured with PaddlePaddle 3.0.0 and 3.3.1, torch 2.13: `--master` wants the IP address of rank 0, and
a rank that is not given is the order of arrival. PaddlePaddle's launcher is never used in PS mode: it does not return
when the trainers are done.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import OLD_DEVICES, OLD_PLACES, Means
from paddock.launches.programs import is_python
from paddock.launches.reading import read_typed
from paddock.launches.words import Word

_PLACING = frozenset({
    Means.NODES, Means.NODE_RANK, Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.BACKEND, Means.HOSTS,
    Means.OWN_ADDRESS, Means.STANDALONE, Means.SERVERS, Means.SERVER_COUNT, Means.TRAINERS, Means.TRAINER_COUNT,
    Means.MODE,
})  # fmt: skip
"""What says where a node stands among the others."""
_PLACING_TOO = OLD_PLACES | {"gloo_port", "with_gloo", "http_port", "use_paddlecloud", "np", "rdzv_id", "rdzv_conf"}
"""Options by their names, of any version of a launcher."""


def find_launch(words: Sequence[str]) -> Launch | None:
    """The launcher of PaddlePaddle or PyTorch that a command starts; None without one."""
    found = [each for each in read_typed(words).launches if each.launcher is not None and each.launcher.family]
    return found[0] if len(found) == 1 and _find_wrappers(found[0]) is not None else None


def _find_wrappers(launch: Launch) -> tuple[Word, ...] | None:
    """The words before the launcher; None where it stands in a text for a shell."""
    whole = launch.command.words
    place = len(whole) - len(launch.words)
    return whole[:place] if place >= 0 and whole[place:] == launch.words and launch.line == 0 else None


def _is_placing(option: Option) -> bool:
    return option.name in _PLACING_TOO or (option.spec is not None and option.spec.means in _PLACING)


def without_placing(launch: Launch) -> tuple[str, ...]:
    """The command without the options that say where its node stands, and with today's names of the devices."""
    return _write(launch, ())


def place_node(launch: Launch, master: str, port: int | str, nodes: int | str, index: int | str) -> tuple[str, ...]:
    """The command of node `index` of `nodes`, which meet at `master:port`. `master` is an address or a mark of one."""
    if launch.launcher is None or launch.launcher.family != "paddle":
        return _write(launch, ("--nnodes", nodes, "--node-rank", index, "--master-addr", master, "--master-port", port))
    placing = ("--master", f"{master}:{port}", "--nnodes", nodes, "--rank", index)
    return _write(launch, () if nodes == 1 else placing)


def _write(launch: Launch, placing: Sequence[object]) -> tuple[str, ...]:
    left = [word for option in launch.options if not _is_placing(option) for word in _rename(option)]
    behind = launch.words[len(launch.before) + sum(len(option.words) for option in launch.options) :]
    before = (*(_find_wrappers(launch) or ()), *launch.before)
    return (*_list(before), *map(str, placing), *left, *_list(behind))


def without_launcher(launch: Launch) -> tuple[str, ...]:
    """The script itself, as a rank beside parameter servers runs it: `python train.py`."""
    first = launch.before[0].typed
    return (first if is_python(first) else "python", launch.program.word.typed, *_list(launch.arguments))


def _rename(option: Option) -> list[str]:
    words = _list(option.words)
    is_device = option.name in OLD_DEVICES or (option.spec is not None and option.spec.means is Means.DEVICES)
    _, equals, value = words[0].partition("=")
    return ["--devices" + equals + value, *words[1:]] if is_device else words


def _list(words: Sequence[Word]) -> list[str]:
    return [word.typed for word in words]
