"""Which packages an interpreter of this machine has: the names and versions of its site-packages directories. I/O.

The names of the entries say both (`torch-2.6.0.dist-info`, PyPA's "Recording installed projects"), so no file of a
package is opened and no interpreter is started: a program in a pod can write into its environment, and what it puts
there must not run beside the sandbox. What a `.pth` file adds is left out. The one file that is opened, `pyvenv.cfg`,
may be a link or a FIFO of such a program, and directories may be as large and as many as it likes: all is bounded.

`Installed` reads a directory once, until it changes.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from threading import Lock

MOST_ENTRIES = 50_000
"""Of one directory, and of all of one interpreter. An environment of three thousand packages has some six thousand."""
MOST_SITES = 64
"""Directories of one interpreter."""
MOST_KEPT = 64
"""Directories whose packages are kept in memory."""
_MOST_SETTINGS = 64 * 1024
"""Bytes of a pyvenv.cfg that are read."""
_FRESH_SECONDS = 2.0
"""A directory that has changed within this time may change again without another time of change."""
_LIBRARY = re.compile(r"python(\d+\.\d+)t?")
_EGG = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-py\d.*)?")
_WITH_SYSTEM = re.compile(r"(?im)^include-system-site-packages\s*=\s*true\s*$")
_HOME = re.compile(r"(?im)^home\s*=\s*(.+?)\s*$")
_SITES = ("site-packages", "dist-packages")
"""The second is Debian's, for what its own packages and its pip install."""


def find_sites(python: Path, environ: Mapping[str, str]) -> list[Path]:
    """The directories in which `python` (an absolute path, not resolved: a venv is known by it) looks for packages,
    first those that it looks into first. `environ`: of the program. Empty where none is found, as beside a shim. Raises
    OSError where it is not known whether this is a venv; ValueError where they are more than `MOST_SITES`."""
    named = [Path(each) for each in environ.get("PYTHONPATH", "").split(":") if each.startswith("/")]
    prefix = python.parent.parent
    if len(named) > MOST_SITES:
        raise ValueError(f"PYTHONPATH names more than {MOST_SITES} directories")
    try:
        settings = _read_settings(prefix / "pyvenv.cfg")
    except FileNotFoundError:
        own = _find_base_sites(python.resolve(), environ)
    else:
        own = list(_find_own(prefix))
        if _WITH_SYSTEM.search(settings) and (home := _HOME.search(settings)):
            own += _find_base_sites((Path(home[1]) / python.name).resolve(), environ)
    if len(own) > MOST_SITES:
        raise ValueError(f"{python} has more than {MOST_SITES} directories of packages")
    found = {os.path.realpath(each): each for each in reversed([*named, *own]) if each.is_dir()} if own else {}
    return list(reversed(found.values()))


def _read_settings(path: Path) -> str:
    """The start of a regular file; no link is followed, and nothing else is waited for. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as reader:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "not a regular file", str(path))
        return reader.read(_MOST_SETTINGS).decode(errors="replace")


def _find_own(prefix: Path) -> Iterator[Path]:
    for library in ("lib", "lib64"):
        try:
            names = sorted(list_names(prefix / library))
        except (FileNotFoundError, NotADirectoryError):
            continue
        sites = (prefix / library / name / "site-packages" for name in names if name.startswith("python3"))
        yield from islice((each for each in sites if each.is_dir()), MOST_SITES + 1)


def _find_base_sites(python: Path, environ: Mapping[str, str]) -> list[Path]:
    """Of an interpreter that is in no venv. Several versions may share a prefix, so its name counts."""
    prefix = python.parent.parent
    names = {each.parent.name for each in _find_own(prefix)}
    if _LIBRARY.fullmatch(python.name):
        names = {python.name}
    if len(names) != 1:
        return []
    name = names.pop()
    user = Path(environ.get("PYTHONUSERBASE") or Path(environ.get("HOME") or "/nowhere") / ".local")
    places = [] if environ.get("PYTHONNOUSERSITE") else [user / "lib" / name]
    places += [Path("/usr/local/lib") / name] if prefix == Path("/usr") else []
    places += [prefix / library / name for library in ("lib", "lib64")] + [prefix / "lib" / "python3"]
    sites = [place / site for place in places for site in _SITES]
    return [each for each in sites if each.is_dir()]


def read_version(sites: Iterable[Path]) -> str:
    """`3.11`, by the first directory that lies in one of an interpreter; empty without one."""
    found = (_LIBRARY.fullmatch(each.parent.name) for each in sites)
    return next((match[1] for match in found if match), "")


def read_entry(name: str) -> tuple[str, str] | None:
    """`torch-2.6.0.dist-info` -> `("torch", "2.6.0")`; None for what is no package, or does not say its version. The
    name is normalised (PEP 503). What pip had to leave of a removed package begins with `~`."""
    stem, _, ending = name.rpartition(".")
    if ending not in ("dist-info", "egg-info") or name.startswith("~"):
        return None
    match = _EGG.fullmatch(stem)
    return (re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"]) if match else None


def list_names(directory: Path, most: int = MOST_ENTRIES) -> list[str]:
    """Raises OSError; ValueError where there are more than `most`."""
    with os.scandir(directory) as entries:
        names = [entry.name for _, entry in zip(range(most + 1), entries, strict=False)]
    if len(names) > most:
        raise ValueError(f"{directory} has more than {most} entries")
    return names


class Installed:
    """The packages of the interpreters of this machine. `list_directory`: as `list_names`."""

    def __init__(self, list_directory: Callable[[Path], list[str]] = list_names) -> None:
        self._list = list_directory
        self._known: dict[str, tuple[int, dict[str, str]]] = {}
        """By directory, that used last at the end: when it has changed, and its packages. By directory, as each run
        may have one of its own beside those of a shared environment (PYTHONPATH)."""
        self._lock = Lock()  # a read that took too long may go on beside the next

    def read(self, python: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """Version by name, and the interpreter's own as `python`; empty where its directories are not found. Costs a
        few system calls where nothing has changed. Raises OSError and ValueError."""
        sites = find_sites(python, environ)
        found: dict[str, str] = {"python": version} if (version := read_version(sites)) else {}
        for site in sites:
            found = {**self._read(site), **found}
            if len(found) > MOST_ENTRIES:
                raise ValueError(f"{python} has more than {MOST_ENTRIES} packages")
        return found

    def _read(self, site: Path) -> dict[str, str]:
        key, changed = str(site), site.stat().st_mtime_ns
        with self._lock:
            known = self._known.pop(key, None)
            if known is not None and known[0] == changed:
                self._known[key] = known
                return known[1]
        found: dict[str, str] = {}
        for entry in filter(None, map(read_entry, sorted(self._list(site)))):
            found.setdefault(*entry)
        if changed < (time.time() - _FRESH_SECONDS) * 1e9:
            with self._lock:
                self._known[key] = changed, found
                if len(self._known) > MOST_KEPT:
                    del self._known[next(iter(self._known))]
        return found
