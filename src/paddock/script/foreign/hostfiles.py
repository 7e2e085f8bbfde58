"""Files of hosts that a script writes itself, by a here-document, for deepspeed, mpirun and horovodrun. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.launches.launch import Launch
from paddock.script.foreign.carried import read_number


@dataclass(frozen=True, slots=True)
class Hosts:
    """What a file of hosts says."""

    count: int
    """Different hosts."""
    slots: int = 0
    """Processes of each host; 0 where the file does not say it, or says several numbers."""


def find_hostfiles(launches: Sequence[Launch]) -> Mapping[str, Hosts]:
    """The files whose whole text the commands say, by their normal path: `cat > hosts <<END`. A text with a variable in
    it, one that a loop or a condition writes, and one behind what is there already are not known."""
    written: dict[str, str | None] = {}
    for launch in launches:
        text = _find_printed(launch)
        for path, appends in _list_targets(launch):
            before = written.get(path) if appends else ""
            written[path] = None if text is None or before is None else before + text
    return {path: read_hosts(text) for path, text in written.items() if text is not None}


def read_hosts(text: str) -> Hosts:
    """`a slots=8`, `a:8` or `a` in each line, as OpenMPI, MPICH and DeepSpeed have it."""
    lines = [line.partition("#")[0].replace("=", " ").replace(":", " ").split() for line in text.splitlines()]
    slots = {_read_slots(words) for words in lines if words}
    return Hosts(len({words[0] for words in lines if words}), slots.pop() if len(slots) == 1 else 0)


def _read_slots(words: Sequence[str]) -> int:
    """Of `a slots 8`, `a 8` and `a`."""
    counts = words[2:3] if words[1:2] in (["slots"], ["max_slots"], ["max-slots"]) else words[1:2]
    return read_number(*counts) if counts else 0


def _find_printed(launch: Launch) -> str | None:
    """What a command prints; None where that is not known."""
    name, stdin = posixpath.basename(launch.program.word.text or ""), launch.command.stdin
    return stdin.text if name in ("cat", "tee") and stdin is not None and not launch.command.may_run else None


def _list_targets(launch: Launch) -> Iterator[tuple[str, bool]]:
    """The files that it writes, and whether what is there stays."""
    for each in launch.redirections:
        if each.operator in (">", ">>", ">|", "1>", "1>>") and each.target.text:
            yield posixpath.normpath(each.target.text), each.operator.endswith(">>")
    if posixpath.basename(launch.program.word.text or "") == "tee":
        paths = [each.text for each in launch.arguments if each.text]
        yield from ((posixpath.normpath(each), "-a" in paths) for each in paths if not each.startswith("-"))
