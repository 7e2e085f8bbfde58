"""The arguments of bubblewrap (0.8 and later), and its status output. Pure, except for reading directories.

Rules, each learnt from a failure:

- The root is a new tmpfs into which each entry of `/` is bound; missing mount paths are created there. The deepest
  existing directory above a missing mount path is rebuilt in the same way. New files directly in such a directory are
  in memory and are lost when the program ends; entries that existed before are the machine's own.
- No `--die-with-parent` and no `--as-pid-1` (see `sandbox.Bubblewrap`). So bubblewrap ends with the program, but
  process 1 of the PID namespace lives as long as any process that the program left. Killing process 1 ends the
  namespace.
- The hosts file is bound by inode: it is written in place, never replaced.
- A hidden directory (`node.runtime.machine_view`) is an empty one that nobody can write to, a hidden file is /dev/null,
  which cannot be opened in a sandbox.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paddock.node.runtime.mounts import Mount

PRIVILEGES: Final = ("--cap-drop", "CAP_SYS_ADMIN", "--cap-drop", "CAP_DAC_READ_SEARCH")
"""Root could unmount what hides a path, or open it by its number; other users cannot do either in any case."""
# No network namespace: programs download data, reach databases and call the API.
NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
_SPECIAL_FILE_SYSTEMS: Final = frozenset({"/proc", "/dev"})
# The entries of a rebuilt directory; each takes three arguments, and bubblewrap accepts 9000.
_MAX_ENTRIES = 2000
_DEVICES = ("nvidia*", "dri", "kfd", "infiniband")

Entries = Mapping[str, str | None]
"""The entries of a directory by name: the target of a symbolic link, None for an entry to bind."""


@dataclass(frozen=True, slots=True)
class Status:
    """The output of --json-status-fd so far."""

    child: int | None = None
    exit_code: int | None = None


def read_status(text: str) -> Status:
    """Reads one JSON object per line; an invalid line, for example cut by a full disk, is skipped."""
    found: dict[str, object] = {}
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        found |= entry if isinstance(entry, dict) else {}
    child, code = found.get("child-pid"), found.get("exit-code")
    return Status(child if isinstance(child, int) else None, code if isinstance(code, int) else None)


def build_root(targets: Iterable[str], read: Callable[[str], Entries | None]) -> list[str]:
    """The arguments that bind the machine's file system, so that missing `targets` can be created in it.

    `read` returns a directory's entries, or None if the path is not a directory.
    """
    # `--bind / /` would create missing mount paths on the machine itself (as root), or fail (as a user).
    rebuilt = {"/"}
    for target in targets:
        above = _deepest_existing(target, read)
        if above is not None and not _is_below(above, _SPECIAL_FILE_SYSTEMS):
            rebuilt.add(above)
    words: list[str] = []
    # Parents come first, because a new tmpfs hides what was bound below it before.
    for directory in sorted(rebuilt, key=lambda path: path.count("/") if path != "/" else -1):
        words += _rebuild(directory, read(directory) or {})
    return words


def _deepest_existing(target: str, read: Callable[[str], Entries | None]) -> str | None:
    """The directory to rebuild for a missing target; None if the target exists."""
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
    if len(entries) > _MAX_ENTRIES:
        raise OSError(f"{directory} has {len(entries)} entries, too many to add a mount path to; choose another one")
    words = ["--tmpfs", directory]
    for name, link in sorted(entries.items()):
        path = f"{directory.rstrip('/')}/{name}"
        # `build_devices` makes new ones.
        if path in _SPECIAL_FILE_SYSTEMS:
            continue
        # An entry may vanish before bubblewrap reaches it: --bind-try goes on, where --bind would fail.
        words += ["--symlink", link, path] if link is not None else ["--bind-try", path, path]
    return words


def build_devices(devices: Path) -> list[str]:
    """A new /proc, whose switches of the kernel cannot be set; a new /dev with the machine's accelerators; a private
    /dev/shm."""
    words = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm"]  # noqa: S108 - a new one
    for switches in ("/proc/sys", "/proc/sysrq-trigger"):  # as in a container; root could stop the machine by them
        words += ["--ro-bind-try", switches, switches]
    for pattern in _DEVICES:
        for path in sorted(devices.glob(pattern)):
            words += ["--dev-bind", str(path), str(path)]
    return words


def build_binds(mounts: Sequence[Mount], masks: Mapping[str, bool], *, by_descriptor: bool = False) -> list[str]:
    """Binds the mounts, and hides the `masks`: paths of the pod, and whether each is a directory.

    With `by_descriptor`, bubblewrap fails if what is at the source's path is no longer what is open.
    """
    parts, endings = [], []
    for mount in mounts:
        outer = any(other.target.startswith(f"{mount.target}/") for other in mounts)
        # Bubblewrap makes the mount points of the inner ones first.
        parts.append((mount.target, _build_bind(mount, mount.read_only and not outer, by_descriptor)))
        endings += ["--remount-ro", mount.target] if mount.read_only and outer else []
    for place, is_directory in masks.items():
        parts.append((place, ["--tmpfs", place] if is_directory else ["--ro-bind", "/dev/null", place]))
        endings += ["--remount-ro", place] if is_directory else []
    # Shorter paths come first, so that no mount hides one inside it.
    parts.sort(key=lambda part: part[0].count("/"))
    return [word for _, words in parts for word in words] + endings


def _build_bind(mount: Mount, read_only: bool, by_descriptor: bool) -> list[str]:
    option = "--ro-bind" if read_only else "--bind"
    if mount.descriptor is not None and by_descriptor:
        return [f"{option}-fd", str(mount.descriptor), mount.target]
    return [option, str(mount.source), mount.target]


def read_directory(path: Path) -> Entries | None:
    """The entries of a directory of this machine; None if it is no directory or cannot be read."""
    found: dict[str, str | None] = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(OSError):  # the link has vanished since
                    found[entry.name] = str(Path(entry).readlink()) if entry.is_symlink() else None
    except OSError:
        return None
    return found
