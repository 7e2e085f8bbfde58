"""Which interpreter trains in a container: read of its command, in the environment in which it is started. I/O.

    python train.py                 the `python` of PATH
    torchrun train.py               the one that the first line of the script `torchrun` names, or that lies beside it
    ./run.sh                        what the script starts

Unknown, so None, is whatever chooses an interpreter on its way: `uv run`, `conda activate`, a file that a shell reads
(`. env.sh`), and a command that installs packages first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.launches.programs import Kind, is_python
from paddock.launches.reading import Reading, decode_script, find_main, read_container
from paddock.launches.words import Unknown, Word
from paddock.node.runtime.containers import find_command
from paddock.node.runtime.pod_files import read_start
from paddock.node.runtime.sandbox import Program

_MOST = 256 * 1024
"""Bytes of a script that are read."""
_CHOOSES = frozenset({"conda", "mamba", "micromamba", "pyenv", "module", "workon", "eval", "deactivate", "spack"})
"""What changes which interpreter the commands behind it find."""
_INSTALLS = frozenset({"pip", "pip3", "apt", "apt-get", "uv", "conda", "mamba"})
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")
_BESIDE = b"'''exec'"
"""The second line of a script that finds its interpreter by itself: pip and uv write it."""


def find_interpreter(container: Manifest, program: Program) -> Path | None:
    """The absolute path of the interpreter on this machine, not resolved; None where it is not known."""
    reading = read_container(container, lambda path: _read_script(path, program))
    main = find_main(reading)
    if not _is_plain(reading) or main.elsewhere or any(each.spec.manages for each in main.wrappers):
        return None
    path, name = _read_path(main, program.environment), _name_of(main)
    if path is None or not name or ("/" in name and main.command.directory is not None):
        return None
    directory = Path(program.directory)
    found = find_command(name, path, directory, program.mounts)
    if found is None or is_python(name):
        return found
    return _read_shebang(found, path, program)


def _is_plain(reading: Reading) -> bool:
    """Whether nothing before the program decides what it finds."""
    words = [each.words[0].text or "" for each in reading.launches if each.words]
    modules = [each.program.module for each in reading.launches]
    wrong = [each for each in words if each in _CHOOSES | _INSTALLS] + [each for each in modules if each == "pip"]
    return reading.whole and not reading.unread and not wrong


def _name_of(main: Launch) -> str:
    """The word whose program or script is run by an interpreter; empty where it is not known."""
    if main.launcher is not None:
        words = main.before or main.words
        return (words[0].text or "") if words else ""
    if main.program.python:
        return main.program.python
    return (main.program.word.text or "") if main.program.kind in (Kind.SCRIPT, Kind.PROGRAM) else ""


def _read_path(main: Launch, environ: Mapping[str, str]) -> str | None:
    """PATH where the program is started: what a script has put before it counts; None where that is not known."""
    outer = environ.get("PATH", "")
    word: Word | None = main.environment.get("PATH")
    if word is None:
        return outer
    pieces = (each if isinstance(each, str) else _fill(each, outer) for each in word.pieces)
    known = list(pieces)
    return None if None in known else "".join(map(str, known))


def _fill(piece: Unknown, path: str) -> str | None:
    return path if piece.typed in ("$PATH", "${PATH}") else None


def _read_script(path: str, program: Program) -> str | None:
    found = find_command(path if "/" in path else f"./{path}", "", Path(program.directory), program.mounts)
    place = found or Path(program.directory) / path
    data = _read_start(place, _MOST)
    return None if data is None else decode_script(data)


def _read_shebang(script: Path, path: str, program: Program) -> Path | None:
    """The interpreter of a script; None of a program that is none."""
    script = script.resolve()  # `torchrun` may be a link into the environment that it belongs to
    first = _read_start(script, 512) or b""
    if (match := _SHEBANG.match(first)) is None:
        return None
    words = [os.fsdecode(each) for each in match.groups() if each]
    named = words[1] if words[0].endswith("/env") and len(words) > 1 else words[0]
    if is_python(named):
        return find_command(named, path, Path(program.directory), program.mounts)
    beside = script.with_name("python")
    return beside if _BESIDE in first and os.access(beside, os.X_OK) else None


def _read_start(path: Path, most: int) -> bytes | None:
    """The first bytes of a regular file; None of anything else."""
    try:
        return read_start(path, most)
    except OSError:
        return None
