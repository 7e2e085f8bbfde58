"""What bubblewrap (0.8 and later) is told, and what it tells. Pure but for reading directories.

Rules that a reader must not break, each learnt from a run:

- The root is a fresh tmpfs into which each entry of `/` is bound. A mount path that does not exist is then made there;
  with `--bind / /` bubblewrap would make it on the machine itself, as root, or fail, as a user. The same is done for
  the deepest directory that does exist above a missing mount path. What a program makes anew right in such a directory
  is in memory and gone when it ends; what was there before is the machine's own.
- Those entries are other people's files, which may vanish before bubblewrap comes to them: tried, not required.
- No `--die-with-parent`: pods outlive the daemon. So bubblewrap ends with the program, but its process 1 stays for as
  long as anything that the program left behind; it has to be killed, which ends the PID namespace.
- SIGTERM goes to the program, which is the child of process 1. Bubblewrap itself would die of it, and process 1 ignores
  it. No `--as-pid-1`: a program without a handler would ignore SIGTERM then.
- The hosts file is bound by inode: it is written in place, never replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paddock.node.volumes import Mount

NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
_OWN_KIND: Final = frozenset({"/proc", "/dev"})
_MANY = 2000  # entries of a directory that is to be rebuilt; bubblewrap takes 9000 arguments
_DEVICES = ("nvidia*", "dri", "kfd", "infiniband")

Entries = Mapping[str, str | None]
"""Names of a directory's entries: None for what is to be bound, else where a symbolic link points."""


@dataclass(frozen=True, slots=True)
class Status:
    """What --json-status-fd has told so far."""

    child: int | None = None
    exit_code: int | None = None


def read_status(text: str) -> Status:
    """One JSON object a line; what is none, as a line that a full disk has cut short, counts as not there."""
    found: dict[str, object] = {}
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        found |= told if isinstance(told, dict) else {}
    child, code = found.get("child-pid"), found.get("exit-code")
    return Status(child if isinstance(child, int) else None, code if isinstance(code, int) else None)


def build_view(targets: Iterable[str], read: Callable[[str], Entries | None]) -> list[str]:
    """The arguments that make the file system of the machine visible, with room for `targets` where nothing is.

    `read` gives a directory's entries, or None for what is not a directory.
    """
    rebuilt = {"/"}
    for target in targets:
        above = _deepest_existing(target, read)
        if above is not None and not _is_below(above, _OWN_KIND):
            rebuilt.add(above)
    words: list[str] = []
    for directory in sorted(rebuilt, key=lambda path: path.count("/") if path != "/" else -1):
        words += _rebuild(directory, read(directory) or {})
    return words


def _deepest_existing(target: str, read: Callable[[str], Entries | None]) -> str | None:
    """The directory to rebuild for a target that does not exist; None where it does."""
    directory = "/"
    for part in Path(target).parts[1:]:
        entries = read(directory) or {}
        if part not in entries:
            return directory
        directory = os.path.join(directory, part)  # noqa: PTH118 - paths are strings here, as bubblewrap takes them
    return None


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _rebuild(directory: str, entries: Entries) -> list[str]:
    if len(entries) > _MANY:
        raise OSError(f"{directory} has {len(entries)} entries, too many to add a mount path to; choose another one")
    words = ["--tmpfs", directory]
    for name, link in sorted(entries.items()):
        path = f"{directory.rstrip('/')}/{name}"
        if path in _OWN_KIND:
            continue
        words += ["--symlink", link, path] if link is not None else ["--bind-try", path, path]
    return words


def build_devices(devices: Path) -> list[str]:
    """A fresh /proc and /dev, with the accelerators of the machine, and memory of the pod's own at /dev/shm."""
    words = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm"]  # noqa: S108 - a fresh one
    for pattern in _DEVICES:
        for path in sorted(devices.glob(pattern)):
            words += ["--dev-bind", str(path), str(path)]
    return words


def build_binds(mounts: Iterable[Mount]) -> list[str]:
    """Shorter paths first, so that a mount inside another one is not hidden by it."""
    words: list[str] = []
    for mount in sorted(mounts, key=lambda mount: mount.target.count("/")):
        words += ["--ro-bind" if mount.read_only else "--bind", str(mount.source), mount.target]
    return words


def read_directory(path: Path) -> Entries | None:
    """The entries of a directory of this machine; None for what is none or cannot be read."""
    found: dict[str, str | None] = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(OSError):  # a link that is gone by now is no entry
                    found[entry.name] = str(Path(entry).readlink()) if entry.is_symlink() else None
    except OSError:
        return None
    return found
