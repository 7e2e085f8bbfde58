"""Opens what is mounted, so that what was checked is what is mounted.

A path may lead elsewhere by a link that a pod has made: out of a volume by a subPath, or into a directory that pods do
not see (`node.runtime.machine_view`). `node.runtime.mounts` says what belongs where.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from paddock.node.runtime.container_env import ContainerWaiting
from paddock.node.runtime.machine_faults import refuse_fault
from paddock.node.runtime.machine_view import explain_detour, is_hidden
from paddock.node.runtime.mounts import Mount
from paddock.node.runtime.pod_files import open_beneath
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

_SHOWN = 120
"""Characters of a path in a message."""


def open_mounts(
    mounts: Iterable[Mount], container: str, files: ExitStack, hidden: Mapping[Path, Path] | None = None
) -> tuple[Mount, ...]:
    """The mounts with open descriptors, which `files` closes. Creates the directories of subPaths, as kubelet does; the
    volumes must exist. `hidden`: paths that pods do not see, with their real paths.

    `ContainerWaiting` for a subPath that leads out of its volume, in kubelet's words, and for a volume that leads by a
    link to a hidden path.
    """
    return tuple(_open_mount(mount, container, files, hidden or {}) for mount in mounts)


def _open_mount(mount: Mount, container: str, files: ExitStack, hidden: Mapping[Path, Path]) -> Mount:
    volume = os.open(mount.source, os.O_PATH | os.O_CLOEXEC)
    files.callback(os.close, volume)
    root = real_path(volume)
    _refuse_detour(mount, mount.source, root, hidden)
    if not mount.sub_path:
        return replace(mount, descriptor=volume)
    # By the descriptor: the path of the volume may lead elsewhere by now.
    part = _open_sub_path(mount, Path(f"/proc/self/fd/{volume}"), container)
    files.callback(os.close, part)
    real = real_path(part)
    # A volume in a hidden directory is shown as a whole: its own links may lead anywhere in it.
    if not is_hidden(root, hidden):
        _refuse_detour(mount, mount.source / mount.sub_path, real, hidden)
    return replace(mount, source=real, sub_path="", descriptor=part)


def _open_sub_path(mount: Mount, volume: Path, container: str) -> int:
    try:
        return open_beneath(volume, mount.sub_path, make=True)
    except OSError as error:
        if error.errno != errno.EROFS:  # a volume may be read-only on purpose
            refuse_fault(error, volume / mount.sub_path)
        shown = mount.sub_path if len(mount.sub_path) <= _SHOWN else f"{mount.sub_path[:_SHOWN]}…"
        said = phrase(
            'failed to prepare subPath for volumeMount "{name}" of container "{container}": {path}: {why}',
            name=mount.volume, container=container, path=shown, why=explain_unreadable(error),
        )  # fmt: skip
        raise ContainerWaiting(said) from error


def _refuse_detour(mount: Mount, named: Path, real: Path, hidden: Mapping[Path, Path]) -> None:
    if problem := explain_detour(named, real, hidden):
        said = phrase("volume {name}: {why}", name=repr(mount.volume), why=problem)
        raise ContainerWaiting(said, "CreateContainerError")


def real_path(descriptor: int) -> Path:
    """The path, without links, of what is open."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def resolve_hidden(paths: Iterable[Path]) -> dict[Path, Path]:
    """The real paths of the paths that exist on this machine."""
    return {path: Path(os.path.realpath(path)) for path in paths if os.path.lexists(path)}
