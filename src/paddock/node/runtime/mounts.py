"""The volumes of a pod on this machine, and their mounts in its containers.

`plan_mounts` is pure: it maps each path of the container to a directory or file of this machine. `apply_volumes`
creates these, and `node.runtime.mount_sources` opens them. The sandbox mounts them:
`bubblewrap` binds them; without a sandbox `apply_links` creates a symlink at a free path, or says why the container
waits.

A claim is the directory that the binder wrote on it. Other kinds of volumes are refused with a message. An emptyDir's
sizeLimit is not enforced. The files of a ConfigMap, Secret, of the downward API or of a token are written when the
container starts and not updated later; they are mounted read-only, as by kubelet.
"""

from __future__ import annotations

import errno
import hashlib
import os
import pwd
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import msgspec

from paddock.kube.downward import expand
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import Key, Manifest, namespace_of, uid_of
from paddock.kube.service_accounts import read_account_name
from paddock.kube.validation.volumes import HOST_PATH_TYPES
from paddock.node.runtime.container_env import (
    CONFIG_ERROR,
    CannotStart,
    Configs,
    ContainerWaiting,
    read_config,
    read_pod_field,
    read_resource_field,
)
from paddock.node.runtime.machine_faults import refuse_fault
from paddock.node.runtime.pod_files import open_beneath, remove_tree, write_beneath
from paddock.node.volumes.storage import explain_unbound, read_claim
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

MEMORY = Path("/dev/shm")  # noqa: S108 - the machine's memory-backed file system is what is asked for
PREFIX = "paddock-"
"""The name prefix of a pod's directories in shared places, such as /dev/shm, outside its own directory."""
_CREATE_ERROR = "CreateContainerError"
_TOKEN_SECONDS = 3600
"""Kubernetes' own default. A file of a pod is not written again, so a token lives as long as it is asked to."""
_FILE_KINDS = ("configMap", "secret", "downwardAPI", "projected")
"""The kinds of volumes with files of the API, which no program may change."""
_CREATED_KINDS = ("emptyDir", *_FILE_KINDS)
"""The kinds of volumes that are created in the pod's own directory."""
_NO_COPIES: Mapping[str, Path] = {}
COPIES = f"{PREFIX}copies"
"""The directory of `plan_copies`."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of this machine that is mounted in a container."""

    source: Path
    """A path of this machine."""
    target: str
    """A path of the container."""
    read_only: bool = False
    sub_path: str = ""
    """Only this part of the volume `source`."""
    descriptor: int | None = None
    """What is mounted, once it is open; then `source` is its path and `sub_path` empty."""
    volume: str = ""
    """The name of the volume."""


def plan_copies(pod: Manifest, directory: Path, capacity: Mapping[str, Fraction] | None = None) -> dict[str, Path]:
    """Without a sandbox: the places in `directory` of the pod's volumes whose files other pods may have as well, by the
    volume's name. Ranks that mount the same at one path have one link there. As in Kubernetes, all have the newest
    content of a ConfigMap, and a token is of one pod alone. `capacity`: see `read_files`. Pure."""
    found = {}
    for volume in pod["spec"].get("volumes") or ():
        sources = (volume, *((volume.get("projected") or {}).get("sources") or ()))
        if not any(volume.get(kind) for kind in _FILE_KINDS) or any("serviceAccountToken" in it for it in sources):
            continue
        own = [
            _read_told(item, pod, capacity or {})
            for source in sources
            for item in (source.get("downwardAPI") or {}).get("items") or ()
        ]
        told = (namespace_of(pod), {**volume, "name": ""}, own)
        key = hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()
        found[str(volume["name"])] = directory / key[:32]
    return found


def plan_mounts(
    pod: Manifest,
    container: Manifest,
    scratch: Path,
    configs: Configs,
    variables: Mapping[str, str] | None = None,
    copies: Mapping[str, Path] = _NO_COPIES,
) -> tuple[Mount, ...]:
    """The mounts of a container; `scratch` is the pod's own directory, `variables` those of subPathExpr, `copies` those
    of `plan_copies`. `ContainerWaiting` for a volume that is not supported or does not exist yet."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    mounts = []
    for wanted in container.get("volumeMounts") or ():
        name, target = wanted["name"], str(wanted["mountPath"])
        if name not in volumes:
            said = phrase(
                "volumeMounts: volume {name} is not in spec.volumes ({names})",
                name=repr(name), names=", ".join(volumes) or phrase("none"),
            )  # fmt: skip
            raise ContainerWaiting(said)
        source = copies.get(name) or volume_path(volumes[name], pod, scratch, configs)
        below = _read_sub_path(wanted, variables or {})
        if problem := _explain_target(target):
            raise ContainerWaiting(phrase("volumeMounts: mountPath {why}", why=problem))
        if below and not _is_inside(below):
            said = phrase(
                "volumeMounts: subPath {path} of volume {name} must be relative, without '..' and without NUL "
                "characters",
                path=repr(below), name=repr(name),
            )  # fmt: skip
            raise ContainerWaiting(said)
        read_only = _is_read_only(wanted, volumes[name]) or any(volumes[name].get(kind) for kind in _FILE_KINDS)
        mounts.append(Mount(source, target, read_only, below, volume=name))
    return tuple(mounts)


def _read_sub_path(mount: Manifest, variables: Mapping[str, str]) -> str:
    """subPath, or subPathExpr with its variables replaced. A variable that is not set is an error, as in kubelet."""
    wanted = str(mount.get("subPathExpr") or "")
    missing = [name for name in re.findall(r"(?<!\$)\$\(([^)]*)\)", wanted) if name not in variables]
    if missing:
        said = phrase(
            "volumeMounts: subPathExpr {path}: missing value for {name}", path=repr(wanted), name=repr(missing[0])
        )
        raise ContainerWaiting(said)
    return expand(wanted, variables) if wanted else str(mount.get("subPath") or "")


def _explain_target(path: str) -> Phrase | None:
    """Why nothing can be mounted at this path; None if something can."""
    if "\0" in path:
        return phrase("{path} has a NUL character", path=repr(path))
    if not path.startswith("/"):
        return phrase("{path} must begin with /", path=repr(path))
    if Path(path) != Path("/"):
        return None
    return phrase("{path} would hide the whole file system; name a directory in it", path=repr(path))


def _is_inside(path: str) -> bool:
    """Whether a relative path stays inside its directory."""
    parts = Path(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def _is_read_only(mount: Manifest, volume: Manifest) -> bool:
    return bool(mount.get("readOnly") or (volume.get("persistentVolumeClaim") or {}).get("readOnly"))


def volume_path(volume: Manifest, pod: Manifest, scratch: Path, configs: Configs) -> Path:
    """The volume's path on this machine. `ContainerWaiting` for an unsupported kind of volume or an unbound claim."""
    name = str(volume["name"])
    if (host := volume.get("hostPath")) is not None:
        if problem := _explain_host_path(host["path"]):
            said = phrase("volume {name}: hostPath {why}", name=repr(name), why=problem)
            raise ContainerWaiting(said)
        return Path(host["path"])
    if (empty := volume.get("emptyDir")) is not None and empty.get("medium") == "Memory":
        return MEMORY / f"{PREFIX}{uid_of(pod)}-{name}"
    if any(volume.get(kind) is not None for kind in _CREATED_KINDS):
        return scratch / "volumes" / name
    if (claim := volume.get("persistentVolumeClaim")) is not None:
        return _claim_path(str(claim.get("claimName") or ""), configs)
    kinds = sorted(set(volume) - {"name"})
    # A volume without a source is an emptyDir, as in Kubernetes.
    if not kinds:
        return scratch / "volumes" / name
    said = phrase(
        "volume {name}: {kind} is not supported on this machine ({names} are); {hint}",
        name=repr(name), kind=", ".join(kinds), names=", ".join((*_CREATED_KINDS, "hostPath", "persistentVolumeClaim")),
        hint=phrase("a hostPath names a directory of this machine"),
    )  # fmt: skip
    raise ContainerWaiting(said)


def _explain_host_path(path: str) -> Phrase | None:
    if "\0" in path:
        return phrase("{path} has a NUL character", path=repr(path))
    if not path.startswith("/"):
        return phrase("{path} must begin with /", path=repr(path))
    return phrase("{path} must not contain '..'", path=repr(path)) if ".." in path.split("/") else None


def _claim_path(name: str, configs: Configs) -> Path:
    claims = {Key(configs.namespace, other): read_claim(found) for other, found in configs.claims.items()}
    key = Key(configs.namespace, name)
    if unbound := explain_unbound(key, claims):
        text, detail = unbound
        raise ContainerWaiting(f"{text} ({detail})" if detail else text)
    return Path(claims[key].directory)


def read_files(
    volume: Manifest, pod: Manifest, configs: Configs, capacity: Mapping[str, Fraction] | None = None
) -> dict[str, bytes] | None:
    """The files of a configMap, secret, downwardAPI or projected volume by relative path; None for other kinds. Pure.

    `capacity`: what a resourceFieldRef reads of a container without the limit. `ContainerWaiting` for a path (of an
    item or a key) outside the volume.
    """
    if (projected := volume.get("projected")) is not None:
        files: dict[str, bytes] = {}
        for source in projected.get("sources") or ():
            files |= _read_projection(source, pod, configs, capacity or {})
        return files
    for field, kind, key in (("configMap", "configmap", "name"), ("secret", "secret", "secretName")):
        if (source := volume.get(field)) is not None:
            name = str(source.get(key) or "")
            return _checked(_read_items(source, kind, name, configs), f"{kind} {name!r}")
    if (source := volume.get("downwardAPI")) is not None:
        items = source.get("items") or ()
        return _checked({it["path"]: _read_told(it, pod, capacity or {}).encode() for it in items}, "downwardAPI")
    return None


def read_modes(volume: Manifest) -> dict[str, int]:
    """The permissions that items of a volume ask for themselves, by relative path."""
    sources = (volume.get("projected") or {}).get("sources") or (volume,)
    return {
        str(item["path"]): int(item["mode"])
        for source in sources
        for kind in ("configMap", "secret", "downwardAPI")
        for item in (source.get(kind) or {}).get("items") or ()
        if item.get("mode") is not None
    }


def _read_told(item: Manifest, pod: Manifest, capacity: Mapping[str, Fraction]) -> str:
    """A file of the downward API."""
    if (reference := item.get("resourceFieldRef")) is not None:
        return read_resource_field(pod, "", reference, capacity)
    return read_pod_field(pod, (item.get("fieldRef") or {}).get("fieldPath", ""))


def _checked(files: dict[str, bytes], where: str) -> dict[str, bytes]:
    for path in files:
        if not _is_inside(path):
            said = phrase(
                "{where}: path {path} must be relative, without '..' and without NUL characters",
                where=where, path=repr(path),
            )  # fmt: skip
            raise ContainerWaiting(said)
    return files


def _read_projection(
    source: Manifest, pod: Manifest, configs: Configs, capacity: Mapping[str, Fraction]
) -> dict[str, bytes]:
    """One source of a projected volume: like a volume of its kind, but the field of a secret's name is `name`."""
    if (token := source.get("serviceAccountToken")) is not None:
        return _checked({str(token["path"]): _read_token(token, pod, configs)}, "serviceAccountToken")
    if (secret := source.get("secret")) is not None:
        source = {"secret": {**secret, "secretName": secret.get("name")}}
    files = read_files(source, pod, configs, capacity)
    if files is None:
        said = phrase(
            "projected volume: {kind} is not supported on this machine (configMap, secret, downwardAPI and "
            "serviceAccountToken are)",
            kind=", ".join(source) or phrase("no kind"),
        )
        raise ContainerWaiting(said)
    return files


def _read_token(source: Manifest, pod: Manifest, configs: Configs) -> bytes:
    """The token of the pod's own account (core/v1 ServiceAccountTokenProjection)."""
    account = read_account_name(pod)
    try:
        if configs.make_token is None:
            raise NotFound(str(phrase("this node makes no tokens")))
        seconds = int(source.get("expirationSeconds") or _TOKEN_SECONDS)
        return configs.make_token(pod, str(source.get("audience") or ""), seconds).encode()
    except ApiError as error:
        said = phrase(
            "projected volume: no token of service account {account}: {why}", account=repr(account), why=error.message
        )
        raise ContainerWaiting(said) from None


def _read_items(source: Manifest, kind: str, name: str, configs: Configs) -> dict[str, bytes]:
    optional = bool(source.get("optional"))
    data = read_config(configs, kind, name, optional=optional)
    if not source.get("items"):
        return data
    chosen = {}
    for item in source["items"]:
        if item["key"] in data:
            chosen[str(item["path"])] = data[item["key"]]
        elif not optional:
            said = phrase(
                "{kind} {name}: references non-existent config key: {key}",
                kind=kind, name=repr(name), key=str(item["key"]),
            )  # fmt: skip
            raise ContainerWaiting(said)
    return chosen


def apply_volumes(
    pod: Manifest,
    scratch: Path,
    configs: Configs,
    outside: list[str],
    capacity: Mapping[str, Fraction] | None = None,
    copies: Mapping[str, Path] = _NO_COPIES,
) -> None:
    """Creates every volume of the pod. Paths outside `scratch` are appended to `outside`, also on error. `capacity`:
    see `read_files`; `copies`: see `plan_copies`. Raises `ContainerWaiting` and `OSError`."""
    for volume in pod["spec"].get("volumes") or ():
        path = copies.get(volume["name"]) or volume_path(volume, pod, scratch, configs)
        if volume.get("persistentVolumeClaim") is not None:
            _check_claim_path(path, volume)
            continue
        if (host := volume.get("hostPath")) is not None:
            _check_host_path(path, str(host.get("type") or ""), volume["name"])
            continue
        if scratch not in path.parents:
            outside.append(str(path))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A program without a sandbox may have put a link there.
        os.close(open_beneath(path.parent, path.name, make=True))
        files = read_files(volume, pod, configs, capacity)
        if files is not None:
            kind = next(kind for kind in _CREATED_KINDS if volume.get(kind) is not None)
            default, modes = volume[kind].get("defaultMode"), read_modes(volume)
            for name, content in files.items():
                mode = modes.get(name, default)
                write_beneath(path, name, content, 0o644 if mode is None else int(mode) & 0o777)


def _check_claim_path(path: Path, volume: Manifest) -> None:
    if not path.is_dir():
        said = phrase(
            "volume {name}: the directory {path} of persistentvolumeclaim {claim} does not exist; make it: {command}",
            name=repr(volume["name"]), path=str(path), claim=repr(volume["persistentVolumeClaim"].get("claimName")),
            command=f"mkdir -p {path}",
        )  # fmt: skip
        raise ContainerWaiting(said, _CREATE_ERROR)


def _check_host_path(path: Path, kind: str, name: str) -> None:
    """Checks a hostPath type as kubelet does. For '' it checks nothing; the container engine creates a directory."""
    if kind not in HOST_PATH_TYPES:
        said = phrase(
            "volume {name}: hostPath type {kind} is none of {names}",
            name=repr(name), kind=repr(kind), names=", ".join(filter(None, HOST_PATH_TYPES)),
        )  # fmt: skip
        raise ContainerWaiting(said)
    if kind in ("DirectoryOrCreate", "") and not path.exists():
        path.mkdir(mode=0o755, parents=True)
    if kind == "FileOrCreate" and not path.exists():
        path.touch(0o644)
    checks: dict[str, Callable[[Path], bool]] = {
        "Directory": Path.is_dir,
        "DirectoryOrCreate": Path.is_dir,
        "File": Path.is_file,
        "FileOrCreate": Path.is_file,
        "Socket": Path.is_socket,
        "CharDevice": Path.is_char_device,
        "BlockDevice": Path.is_block_device,
    }
    if not checks.get(kind, Path.exists)(path):
        raise ContainerWaiting(_explain_type(kind, repr(name), str(path)), CONFIG_ERROR)


def _explain_type(kind: str, name: str, path: str) -> Phrase:
    """What a hostPath is not that its type asks for."""
    match kind.removesuffix("OrCreate"):
        case "Directory":
            return phrase("volume {name}: hostPath type check failed: {path} is not a directory", name=name, path=path)
        case "File":
            return phrase("volume {name}: hostPath type check failed: {path} is not a file", name=name, path=path)
        case "Socket":
            return phrase("volume {name}: hostPath type check failed: {path} is not a socket", name=name, path=path)
        case "CharDevice":
            return phrase(
                "volume {name}: hostPath type check failed: {path} is not a character device", name=name, path=path
            )
        case "BlockDevice":
            return phrase(
                "volume {name}: hostPath type check failed: {path} is not a block device", name=name, path=path
            )
    return phrase("volume {name}: hostPath type check failed: {path} is not there", name=name, path=path)


def apply_links(mounts: Iterable[Mount], shared: Collection[str], made: list[str], scratch: Path | None = None) -> None:
    """Without a sandbox: creates symlinks at the mount paths, for the lifetime of the pod. New links and directories
    are appended to `made`, also on error. `scratch`: the pod's own directory, which no advice names.

    A mount path that already is the volume needs no link. A link of other pods (`shared`) is used together and removed
    with the last of them. `ContainerWaiting` names a path that is taken, `CannotStart` one where the user may make no
    link.
    """
    for mount in mounts:
        target = Path(mount.target)
        if str(target) in shared and _is_same(target, mount.source):
            made.append(str(target))
            continue
        if _is_same(target, mount.source) or (target == MEMORY and MEMORY in mount.source.parents):
            continue
        # `lexists` also sees a broken link, which may be the user's and is never replaced.
        if os.path.lexists(target):
            raise ContainerWaiting(_explain_conflict(target, mount.source), _CREATE_ERROR)
        try:
            _make_directories(target.parent, made)
            target.symlink_to(mount.source)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                lasts = scratch is None or not (scratch in mount.source.parents or MEMORY in mount.source.parents)
                raise CannotStart(str(explain_refused(target, mount.source if lasts else None, error))) from error
            refuse_fault(error, target)
            why = phrase("cannot make a link at {path}: {why}", path=str(target), why=explain_unreadable(error))
            raise ContainerWaiting(_add_advice(mount.target, why), _CREATE_ERROR) from error
        made.append(str(target))


def find_obstacle(target: Path, volume: Manifest, directory: Path) -> Phrase | None:
    """Why there could be no link at `target`, before there is a pod; None where there could, or nobody knows.
    `directory`: the node's own, into which links of pods lead, which go with them."""
    host = (volume.get("hostPath") or {}).get("path")
    if host is not None and (Path(host) == target or _is_same(target, Path(host))):
        return None
    if not os.path.lexists(target):
        parent = next(path for path in target.parents if os.access(path, os.F_OK))  # Path.exists may raise
        closed = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return None if os.access(parent, os.W_OK | os.X_OK) else explain_refused(target, None, closed)
    is_of_pods = target.is_symlink() and directory in target.readlink().parents
    is_claim = volume.get("persistentVolumeClaim") is not None  # perhaps a link to its directory, as was advised
    if is_of_pods or is_claim:
        return None
    return _explain_conflict(target, host or phrase("the volume {name}", name=str(volume.get("name"))))


def explain_refused(target: Path, source: Path | None, error: OSError) -> Phrase:
    """What to do where the user may not make a link. `source`: where it would lead, if that stays when the pod ends."""
    why = explain_unreadable(error)
    if error.errno == errno.EROFS:
        # Nobody can make it: not root either.
        return _add_advice(str(target), phrase("cannot make a link at {path}: {why}", path=str(target), why=why))
    if not os.access(target.parent, os.F_OK) and _may_enter(target):
        command = shlex.join(["sudo", "install", "-d", "-o", _user(), str(target.parent)])
    elif source is not None and os.access(target.parent, os.F_OK):
        command = shlex.join(["sudo", "ln", "-s", str(source), str(target)])
    else:
        return _add_advice(str(target), phrase("cannot make a link at {path}: {why}", path=str(target), why=why))
    return phrase(
        "mountPath {path}: cannot make a link there: {why}. Without a sandbox a volume can only be a link at a path "
        "that is free and writable: install bubblewrap, or choose another mountPath, or allow this one: {command}",
        path=str(target), why=why, command=command,
    )  # fmt: skip


def _may_enter(target: Path) -> bool:
    """Whether a directory that is made for the user there would be of use: /root is closed, and what is in it too."""
    return os.access(next(path for path in target.parents if os.access(path, os.F_OK)), os.X_OK)


def _user() -> str:
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a user of the kernel alone, as in a container
        return str(uid)


def explain_unenforced(pod: Manifest, container: Manifest) -> str:
    """Without a sandbox: a warning about read-only mounts that are writable; '' if there are none."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    wanted = container.get("volumeMounts") or ()
    mounts = [str(it["mountPath"]) for it in wanted if _is_read_only(it, volumes.get(it["name"], {}))]
    if not mounts:
        return ""
    said = phrase(
        "readOnly is not enforced without a sandbox: container {name} can write to {path} all the same; install "
        "bubblewrap to have it",
        name=str(container["name"]), path=", ".join(mounts),
    )  # fmt: skip
    return str(said)


def _add_advice(target: str, why: Phrase) -> Phrase:
    return phrase(
        "mountPath {path}: {why}. Without a sandbox a volume can only be a link at a path that is free and writable: "
        "install bubblewrap, or choose another mountPath",
        path=target, why=why,
    )  # fmt: skip


def _explain_conflict(target: Path, source: Path | Phrase | str) -> Phrase:
    what = phrase("something else")
    if target.is_symlink():
        what = phrase("a link to {path}, perhaps of another pod", path=str(target.readlink()))
    belongs = source if isinstance(source, Phrase) else str(source)
    why = phrase("{what} is there, and {source} belongs there", what=what, source=belongs)
    return _add_advice(str(target), why)


def _is_same(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except OSError:
        return False


def _make_directories(directory: Path, made: list[str]) -> None:
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir()
        made.append(str(path))


def is_copy(path: str) -> bool:
    """Whether a path outside a pod's own directory is one of `plan_copies`."""
    return Path(path).parent.name == COPIES


def remove_outside(paths: Iterable[str], uid: str, kept: frozenset[str] = frozenset()) -> None:
    """Removes paths created outside a pod's scratch directory, except `kept`, which other pods use. Follows no link.

    The pod's own memory-backed volumes are removed with their content. Any other directory may hold files of users by
    now: only links and empty directories are removed.
    """
    gone = [path for path in paths if path not in kept]
    remove_memory(gone, uid)
    remove_links(gone)


def remove_memory(paths: Iterable[str], uid: str) -> None:
    """Removes the memory-backed volumes of this pod among the paths."""
    for path in map(Path, paths):
        if path.parent == MEMORY and path.name.startswith(f"{PREFIX}{uid}-"):
            remove_tree(path)


def remove_links(paths: Iterable[str]) -> None:
    """Removes the links and the empty directories among the paths."""
    # Backwards, because a link is created after the directories above it.
    for path in map(Path, reversed(list(paths))):
        try:
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                path.rmdir()
        except OSError:
            # The directory has files of users, or the path was already removed.
            continue
