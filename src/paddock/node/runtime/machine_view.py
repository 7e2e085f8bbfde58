"""What of this machine a pod in bubblewrap sees. Pure.

A pod sees the machine's files as its user does, because programs read data and interpreters wherever they are. Out of
sight is what belongs to the cluster, to other pods, or commands the machine: the keys of clusters, the user's runtime
directory (whose bus starts programs outside of any sandbox), the sockets of container engines, and /tmp, in whose place
each pod has a directory of its own. A volume shows what it names, also one of these.

A directory that is mounted again at another place, such as a home directory as the working directory, shows the same
files there: a mask belongs to each place where a hidden path would appear (`plan_masks`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.words.phrases import phrase

_ENGINES = ("docker.sock", "podman/podman.sock", "containerd/containerd.sock", "crio/crio.sock")
"""Sockets of container engines in /run."""
_OUTER_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where the cluster itself runs in a pod, the key of that pod's account. A pod with a token of its own has it there."""
_PATH = re.compile(r"(?<![\w./-])/[\w./@%+,-]+")
"""An absolute path in a word of a command, which may be a shell's program."""


TEMPORARY = Path("/tmp")  # noqa: S108 - it is the one that is hidden


@dataclass(frozen=True, slots=True)
class View:
    """What pods see of this machine. Paths are absolute."""

    hidden: tuple[Path, ...] = ()  # no pod sees them
    read_only: tuple[Path, ...] = ()  # pods see them and cannot change them
    temporary: Path = TEMPORARY  # the directory for everybody's files, in whose place a pod has its own
    kept: tuple[Path, ...] = ()  # seen although they are in that one


def read_view(
    environment: Mapping[str, str], user: int, *, hidden: Iterable[Path] = (), read_only: Iterable[Path] = ()
) -> View:
    """The view of this machine. `environment` and `user` (id): those of the cluster's process; `hidden` and `read_only`
    are added."""
    programs = [path for path in environment.get("PATH", "").split(":") if path.startswith("/")]
    kept = [Path(sys.prefix), Path(sys.base_prefix), *map(_prefix, programs)]
    return View(
        hidden=(*hidden, *find_keys(environment, user)),
        read_only=tuple(read_only),
        kept=tuple(dict.fromkeys(path for path in kept if TEMPORARY in path.parents)),
    )


def _prefix(directory: str) -> Path:
    """The directory that a program of $PATH needs: a virtual environment, of which `bin` is a part."""
    path = Path(directory)
    return path.parent if path.name == "bin" else path


def find_keys(environment: Mapping[str, str], user: int) -> tuple[Path, ...]:
    """The places of this user that give command over clusters or over this machine. They need not exist."""
    named = [path for path in environment.get("KUBECONFIG", "").split(":") if path.startswith("/")]
    runtime = environment.get("XDG_RUNTIME_DIR") or ""
    home = environment.get("HOME") or str(Path.home())
    places = [
        f"{home}/.kube",
        *named,
        _OUTER_ACCOUNT,
        f"/run/user/{user}",
        *([runtime] if runtime.startswith("/") else []),
        *(f"/run/{socket}" for socket in _ENGINES),
    ]
    return tuple(dict.fromkeys(map(Path, places)))


def find_unseen(container: Mapping[str, Any], view: View) -> tuple[str, ...]:
    """The paths in the container's command and args that lie in `view.temporary`, and in no volume of the container:
    a file of the machine with such a path is not the pod's."""
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    mounted = [str(mount["mountPath"]).rstrip("/") for mount in container.get("volumeMounts") or ()]
    seen = [*mounted, *map(str, view.kept), *map(str, view.read_only)]
    found = dict.fromkeys(match[0].rstrip("./") for word in words for match in _PATH.finditer(str(word)))
    return tuple(
        path
        for path in found
        if view.temporary in Path(path).parents and not any(is_at_or_below(path, place) for place in seen)
    )


def plan_masks(mounts: Sequence[tuple[str, Path]], hidden: Iterable[Path]) -> dict[str, Path]:
    """The paths of the pod at which a hidden path would appear, and which. `mounts`: (path of the pod, real path of
    this machine) of each mount; all else is the machine's. `hidden`: real paths.

    What a mount names itself is shown: only what lies deeper in it is masked.
    """
    secrets = _outermost(hidden)
    layers = [("/", Path("/")), *mounts]
    targets = [target for target, _ in layers]
    found: dict[str, Path] = {}
    for target, source in layers:
        for secret in secrets:
            if source not in secret.parents:
                continue
            place = os.path.join(target, secret.relative_to(source))  # noqa: PTH118 - a path of the pod
            if find_mount(place, targets) == target:
                found[place] = secret
    return found


def _outermost(paths: Iterable[Path]) -> list[Path]:
    known = set(paths)
    return sorted(path for path in known if known.isdisjoint(path.parents))


def find_mount(path: str, targets: Iterable[str]) -> str:
    """The mount that a path of the pod belongs to: the deepest at or above it."""
    return max((target for target in targets if is_at_or_below(path, target)), key=len)


def is_at_or_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def is_hidden(real: Path, hidden: Mapping[Path, Path]) -> bool:
    """Whether a real path is in a hidden directory. `hidden`: paths with their real paths."""
    return any(real.is_relative_to(secret) for secret in hidden.values())


def explain_detour(source: Path, real: Path, hidden: Mapping[Path, Path]) -> str:
    """Why a mount of `source`, whose real path is `real`, is refused; '' if it is not. `hidden`: with their real paths.

    A volume that names a hidden path shows it. One that gets there by a link, which a pod may have made, does not.
    """
    if not is_hidden(real, hidden):
        return ""
    named = Path(os.path.normpath(source))
    for written, secret in (*hidden.items(), *((path, path) for path in hidden.values())):
        if named.is_relative_to(written) and secret / named.relative_to(written) == real:
            return ""
    said = phrase(
        "{source} leads by a link to {path}, which pods do not see; name that path itself",
        source=str(source), path=str(real),
    )  # fmt: skip
    return str(said)
