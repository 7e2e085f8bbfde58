"""What a pod's volumes are on this machine, and where its containers see them.

`plan_mounts` is pure: which directory or file of this machine belongs at which path of the container. `apply_volumes`
makes them. How they get to their paths is the sandbox's part: `bubblewrap` binds them; without a sandbox
`apply_links` puts a symlink where nothing is, or says why the container has to wait.

A claim is the directory that the binder wrote on it. Left out, with a sentence: other kinds of volumes, and tokens of
service accounts. An emptyDir's sizeLimit is not enforced, and the files of a ConfigMap or Secret are those of the
moment when the container starts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.kube.meta import Key, Manifest, uid_of
from paddock.node.container_env import CONFIG_ERROR, Configs, NotReady, read_config, read_field
from paddock.node.storage import explain_unbound, read_claim

MEMORY = Path("/dev/shm")  # noqa: S108 - the machine's memory-backed file system is what is asked for
PREFIX = "paddock-"
"""Of the names of directories that belong to a pod but cannot be below its own: they are in places all share."""
_CREATE_ERROR = "CreateContainerError"
_MADE = ("emptyDir", "configMap", "secret", "downwardAPI", "projected")
"""The kinds of volumes that are made for the pod, in its own directory."""
_HOST_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")


@dataclass(frozen=True, slots=True)
class Mount:
    """`source`, a path of this machine, belongs at `target`, a path of the container."""

    source: Path
    target: str
    read_only: bool = False


def plan_mounts(pod: Manifest, container: Manifest, scratch: Path, configs: Configs) -> tuple[Mount, ...]:
    """The mounts of a container; `scratch` is the pod's own directory. `NotReady` for what is not supported or not
    there yet."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    mounts = []
    for wanted in container.get("volumeMounts") or ():
        name, target = wanted["name"], str(wanted["mountPath"])
        if name not in volumes:
            raise NotReady(f"volumeMounts: volume {name!r} is not in spec.volumes ({', '.join(volumes) or 'none'})")
        source = volume_path(volumes[name], pod, scratch, configs)
        below = wanted.get("subPath") or ""
        if problem := _explain_target(target):
            raise NotReady(f"volumeMounts: mountPath {problem}")
        if below and not _is_below(below):
            raise NotReady(f"volumeMounts: subPath {below!r} of volume {name!r} {_BELOW}")
        mounts.append(Mount(source / below if below else source, target, _is_read_only(wanted, volumes[name])))
    return tuple(mounts)


def _explain_target(path: str) -> str:
    """Why nothing can be mounted at this path, or ''."""
    if "\0" in path:
        return f"{path!r} has a NUL character"
    if not path.startswith("/"):
        return f"{path!r} must begin with /"
    return f"{path!r} would hide the whole file system; name a directory in it" if Path(path) == Path("/") else ""


_BELOW = "must be relative, without '..' and without NUL characters"


def _is_below(path: str) -> bool:
    """Whether it names something inside the directory that it is relative to."""
    parts = Path(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def _is_read_only(mount: Manifest, volume: Manifest) -> bool:
    return bool(mount.get("readOnly") or (volume.get("persistentVolumeClaim") or {}).get("readOnly"))


def volume_path(volume: Manifest, pod: Manifest, scratch: Path, configs: Configs) -> Path:
    """Where the volume is on this machine. `NotReady` for a kind of volume that is not supported, or a claim that is
    not bound."""
    name = str(volume["name"])
    if (host := volume.get("hostPath")) is not None:
        if "\0" in host["path"]:
            raise NotReady(f"volume {name!r}: hostPath {host['path']!r} has a NUL character")
        return Path(host["path"])
    if (empty := volume.get("emptyDir")) is not None and empty.get("medium") == "Memory":
        return MEMORY / f"{PREFIX}{uid_of(pod)}-{name}"
    if any(volume.get(kind) is not None for kind in _MADE):
        return scratch / "volumes" / name
    if (claim := volume.get("persistentVolumeClaim")) is not None:
        return _claim_path(str(claim.get("claimName") or ""), configs)
    kinds = sorted(set(volume) - {"name"})
    if not kinds:
        return scratch / "volumes" / name
    hint = "a hostPath names a directory of this machine"
    supported = ", ".join((*_MADE, "hostPath", "persistentVolumeClaim"))
    raise NotReady(f"volume {name!r}: {', '.join(kinds)} is not supported on this machine ({supported} are); {hint}")


def _claim_path(name: str, configs: Configs) -> Path:
    claims = {Key(configs.namespace, other): read_claim(found) for other, found in configs.claims.items()}
    key = Key(configs.namespace, name)
    if unbound := explain_unbound(key, claims):
        text, detail = unbound
        raise NotReady(f"{text} ({detail})" if detail else text)
    return Path(claims[key].directory)


def read_files(volume: Manifest, pod: Manifest, configs: Configs) -> dict[str, bytes] | None:
    """The files of a configMap, secret, downwardAPI or projected volume by relative path; None for others. Pure.

    `NotReady` for a path that would be outside the volume, be it an item's or a key.
    """
    if (projected := volume.get("projected")) is not None:
        files: dict[str, bytes] = {}
        for source in projected.get("sources") or ():
            files |= _read_projection(source, pod, configs)
        return files
    for field, kind, key in (("configMap", "configmap", "name"), ("secret", "secret", "secretName")):
        if (source := volume.get(field)) is not None:
            name = str(source.get(key) or "")
            return _checked(_read_items(source, kind, name, configs), f"{kind} {name!r}")
    if (source := volume.get("downwardAPI")) is not None:
        items = source.get("items") or ()
        found = {it["path"]: read_field(pod, (it.get("fieldRef") or {}).get("fieldPath", "")).encode() for it in items}
        return _checked(found, "downwardAPI")
    return None


def _checked(files: dict[str, bytes], where: str) -> dict[str, bytes]:
    for path in files:
        if not _is_below(path):
            raise NotReady(f"{where}: path {path!r} {_BELOW}")
    return files


def _read_projection(source: Manifest, pod: Manifest, configs: Configs) -> dict[str, bytes]:
    """One source of a projected volume: like the volume of its kind, but a secret's name is `name`."""
    if (secret := source.get("secret")) is not None:
        source = {"secret": {**secret, "secretName": secret.get("name")}}
    files = read_files(source, pod, configs)
    if files is None:
        kinds = ", ".join(source) or "no kind"
        supported = "configMap, secret and downwardAPI are"
        raise NotReady(f"projected volume: {kinds} is not supported on this machine ({supported})")
    return files


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
            raise NotReady(f"{kind} {name!r}: references non-existent config key: {item['key']}")
    return chosen


def apply_volumes(pod: Manifest, scratch: Path, configs: Configs, outside: list[str]) -> None:
    """Make every volume of the pod. What lies outside `scratch` is put in `outside`, also when it ends with an error.
    `NotReady` and `OSError` are for the status."""
    for volume in pod["spec"].get("volumes") or ():
        path = volume_path(volume, pod, scratch, configs)
        if volume.get("persistentVolumeClaim") is not None:
            _check_claim_path(path, volume)
            continue
        if (host := volume.get("hostPath")) is not None:
            _check_host_path(path, str(host.get("type") or ""), volume["name"])
            continue
        if MEMORY in path.parents:
            outside.append(str(path))
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = read_files(volume, pod, configs)
        if files is not None:
            kind = next(kind for kind in _MADE if volume.get(kind) is not None)
            mode = volume[kind].get("defaultMode")
            _write_files(path, files, 0o644 if mode is None else int(mode))


def _check_claim_path(path: Path, volume: Manifest) -> None:
    if not path.is_dir():
        claim = volume["persistentVolumeClaim"].get("claimName")
        missing = f"the directory {path} of persistentvolumeclaim {claim!r} does not exist; make it: mkdir -p {path}"
        raise NotReady(f"volume {volume['name']!r}: {missing}", _CREATE_ERROR)


def apply_sub_paths(mounts: Iterable[Mount]) -> None:
    """Make the directories that a subPath names, as kubelet does. The volumes themselves are there by now."""
    for mount in mounts:
        if not mount.source.exists():
            mount.source.mkdir(parents=True)


def _write_files(directory: Path, files: Mapping[str, bytes], mode: int) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.touch(0o600)
        fresh.write_bytes(content)
        fresh.chmod(mode & 0o777)
        fresh.replace(path)


def _check_host_path(path: Path, kind: str, name: str) -> None:
    """As kubelet checks hostPath types; for '' it checks nothing, and the container engine makes a directory."""
    if kind not in _HOST_TYPES:
        raise NotReady(f"volume {name!r}: hostPath type {kind!r} is none of {', '.join(filter(None, _HOST_TYPES))}")
    if kind in ("DirectoryOrCreate", "") and not path.exists():
        path.mkdir(mode=0o755, parents=True)
    if kind == "FileOrCreate" and not path.exists():
        path.touch(0o644)
    checks: dict[str, tuple[Any, str]] = {
        "Directory": (Path.is_dir, "a directory"),
        "DirectoryOrCreate": (Path.is_dir, "a directory"),
        "File": (Path.is_file, "a file"),
        "FileOrCreate": (Path.is_file, "a file"),
        "Socket": (Path.is_socket, "a socket"),
        "CharDevice": (Path.is_char_device, "a character device"),
        "BlockDevice": (Path.is_block_device, "a block device"),
    }
    check, noun = checks.get(kind, (Path.exists, "there"))
    if not check(path):
        raise NotReady(f"volume {name!r}: hostPath type check failed: {path} is not {noun}", CONFIG_ERROR)


def apply_links(mounts: Iterable[Mount], shared: Collection[str], made: list[str]) -> None:
    """Without a sandbox: symlinks at the mount paths, for the pod's life. Those made are put in `made`, with new
    directories, also when it ends with an error.

    A mount path that already is the volume needs none; if it is a link of other pods (`shared`), it becomes this pod's
    too, and goes with the last of them. `NotReady` names a path where something else is.
    """
    for mount in mounts:
        target = Path(mount.target)
        if str(target) in shared and _is_same(target, mount.source):
            made.append(str(target))
            continue
        if _is_same(target, mount.source) or (target == MEMORY and MEMORY in mount.source.parents):
            continue
        if os.path.lexists(target):
            raise NotReady(_in_the_way(target, mount.source), _CREATE_ERROR)
        try:
            _make_directories(target.parent, made)
            target.symlink_to(mount.source)
        except OSError as error:
            why = f"cannot make a link at {target}: {error.strerror}"
            raise NotReady(f"mountPath {mount.target}: {why}. {_ADVICE}", _CREATE_ERROR) from error
        made.append(str(target))


def explain_unenforced(pod: Manifest, container: Manifest) -> str:
    """Without a sandbox: the mounts that were meant to be read-only and are not; '' where there are none."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    wanted = container.get("volumeMounts") or ()
    mounts = [str(it["mountPath"]) for it in wanted if _is_read_only(it, volumes.get(it["name"], {}))]
    where = f"container {container['name']} can write to {', '.join(mounts)} all the same"
    return f"readOnly is not enforced without a sandbox: {where}; install bubblewrap to have it" if mounts else ""


_ADVICE = (
    "Without a sandbox a volume can only be a link at a path that is free and writable: "
    "install bubblewrap, or choose another mountPath"
)


def _in_the_way(target: Path, source: Path) -> str:
    what = f"a link to {target.readlink()}, perhaps of another pod" if target.is_symlink() else "something else"
    return f"mountPath {target}: {what} is there, and {source} belongs there. {_ADVICE}"


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


def remove_outside(paths: Iterable[str], uid: str, kept: frozenset[str] = frozenset()) -> None:
    """Remove what was made outside a pod's scratch directory, except what other pods still use. Never follows a link.

    The pod's own memory goes with its content. Everything else may hold what somebody wrote there since, whatever its
    name: links go, and directories that are empty.
    """
    for path in map(Path, reversed(list(paths))):
        if str(path) in kept:
            continue
        try:
            if path.is_symlink():
                path.unlink()
            elif path.parent == MEMORY and path.name.startswith(f"{PREFIX}{uid}-"):
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_dir():
                path.rmdir()
        except OSError:
            continue  # not empty, or gone: somebody else's now
