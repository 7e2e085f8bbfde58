"""A working directory as a ConfigMap, and the changes of a job by which its containers start in it. Pure.

A ConfigMap holds at most 1 MiB and its keys have no slashes, so each file has a key, and the volume's `items` map keys
to paths. It is mounted read-only, so the launcher's logs go elsewhere. All changes are visible in the manifest that is
sent. `cli.submit.directory_files` finds the files.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.cli.submit.directory_files import HIDDEN, IGNORED, File, Found
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.model import Job
from paddock.jobs.objects.pods import WORKING_DIRECTORY_VOLUME
from paddock.kube.meta import CONFIG_MAPS, Manifest
from paddock.kube.quantities import format_bytes
from paddock.submission.templates import change_templates
from paddock.words.phrases import NOTHING, Phrase, counted, phrase

LARGEST = 900 * 2**10
"""Bytes of all files and keys; Kubernetes' limit is 1 MiB (validation.MaxSecretSize)."""
MOST_FILES = 1000
"""Every pod's manifest lists all of them, and etcd's limit for an object is 1.5 MiB."""
MOUNT = "/paddock/workdir"
LOGS = "/tmp/paddock-log"  # noqa: S108 - in the container, whose /tmp is its own
_SHOWN, _NAMED = 5, 8
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file under its key."""

    key: str
    """In the ConfigMap: no slashes."""
    path: str
    """As `File.path`."""
    mode: int | None = None
    """None for the default, 0644."""


def plan_entries(found: Found, directory: str) -> tuple[tuple[Entry, ...], Phrase | None]:
    """The key of each file, or the error: no files, too large, too many."""
    size, count = sum(file.size for file in found.files), len(found.files)
    if not count:
        return (), phrase("there is no file to send in {directory}{left}", directory=directory, left=left_out(found))
    entries = tuple(_entry(index, file) for index, file in enumerate(found.files))
    if size + sum(len(entry.key) for entry in entries) > LARGEST:
        return (), _too_large(found, directory, size)
    if count > MOST_FILES:
        return (), phrase(
            "{directory} holds {count} files, and at most {most} travel: put them into a volume or an image, or list "
            "in .gitignore what the program does not need",
            directory=directory, count=count, most=MOST_FILES,
        )  # fmt: skip
    return _unique(entries), None


def _entry(index: int, file: File) -> Entry:
    key = file.path.replace("/", "__")
    if not _KEY.fullmatch(key) or key in (".", "..") or key.startswith(".."):
        key = f"file-{index}"
    return Entry(key, file.path, 0o755 if file.executable else None)


def _unique(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Numbers the later of two equal keys (`a/b` and `a__b`)."""
    taken: set[str] = set()
    result = []
    for index, entry in enumerate(entries):
        key = entry.key
        while key in taken:
            key = f"file-{index}" if key != f"file-{index}" else f"{key}-again"
        taken.add(key)
        result.append(Entry(key, entry.path, entry.mode))
    return tuple(result)


def _too_large(found: Found, directory: str, size: int) -> Phrase:
    listed = "".join(f"\n  {format_bytes(file.size):>9}  {file.path}" for file in largest(found))
    return phrase(
        "{directory} is too large to travel as a ConfigMap: {count} files, {size}, and at most {most}. The largest "
        "are:{listed}\nPut data into a volume, programs into an image, or list in .gitignore what the program does "
        "not need",
        directory=directory, count=len(found.files), size=format_bytes(size), most=format_bytes(LARGEST),
        listed=listed,
    )  # fmt: skip


def explain_sending(found: Found, directory: str) -> Phrase:
    """`sending 12 files, 34 KiB, of . as a ConfigMap; left out: 3 by .gitignore`, and on a second line which."""
    count, size = len(found.files), format_bytes(sum(file.size for file in found.files))
    return counted(
        "sending {count} file, {size}, of {directory} as a ConfigMap{left}\n  {names}",
        "sending {count} files, {size}, of {directory} as a ConfigMap{left}\n  {names}",
        count=count, size=size, directory=directory, left=left_out(found), names=name_files(found),
    )  # fmt: skip


def name_files(found: Found) -> Phrase | str:
    """All names if there are few, else those of the largest files."""
    if len(found.files) <= _NAMED:
        return ", ".join(file.path for file in found.files)
    return phrase("the largest: {names}", names=", ".join(file.path for file in largest(found)))


def largest(found: Found) -> list[File]:
    """The files that count most in a size."""
    return sorted(found.files, key=lambda file: (-file.size, file.path))[:_SHOWN]


def left_out(found: Found) -> Phrase:
    """The counts of files that are left out, as the end of a sentence; empty if there are none."""
    ignored, hidden = found.left_out[IGNORED], found.left_out[HIDDEN]
    if ignored and hidden:
        return phrase("; left out: {ignored} by .gitignore, {hidden} hidden", ignored=ignored, hidden=hidden)
    if ignored:
        return phrase("; left out by .gitignore: {count}", count=ignored)
    return phrase("; left out as hidden: {count}", count=hidden) if hidden else NOTHING


def build_directory_map(name: str, namespace: str, entries: Sequence[Entry], contents: Mapping[str, bytes]) -> Manifest:
    """The ConfigMap. `contents` by path; text stands as text, so that `kubectl get -o yaml` shows it."""
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    for entry in entries:
        text = _read_text(contents[entry.path])
        if text is None:
            binary[entry.key] = base64.b64encode(contents[entry.path]).decode()
        else:
            data[entry.key] = text
    return {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/managed-by": "paddock"}},
        **({"data": data} if data else {}),
        **({"binaryData": binary} if binary else {}),
        "immutable": True,
    }


def _read_text(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def find_own_directory(job: Job) -> str:
    """The first workingDir in the job's containers, which conflicts with ours; empty if there is none."""
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        if directory := containers[main_container(job, containers)].get("workingDir"):
            return str(directory)
    return ""


def mount_directory_map(manifest: Mapping[str, Any], job: Job, name: str, entries: Sequence[Entry]) -> Manifest:
    """The manifest with the ConfigMap as a volume of each role, mounted where its containers start. `job` is what was
    read of it; the argument is not changed."""
    items = [
        {"key": entry.key, "path": entry.path} | ({} if entry.mode is None else {"mode": entry.mode})
        for entry in entries
    ]
    return mount_directory(manifest, job, {"configMap": {"name": name, "items": items}})


def mount_directory(
    manifest: Mapping[str, Any], job: Job, volume: Mapping[str, Any], more: Mapping[str, Any] | None = None
) -> Manifest:
    """The manifest with a volume of each role, mounted read-only where its containers start. `volume`: what it is of;
    `more`: further fields of its mount, such as subPath."""
    named = {"name": WORKING_DIRECTORY_VOLUME, **volume}
    mount = {"name": WORKING_DIRECTORY_VOLUME, "mountPath": MOUNT, "readOnly": True, **(more or {})}
    result: Manifest = change_templates(manifest, lambda template: _mount_in(template, job, named, mount))
    return result


def _mount_in(template: Mapping[str, Any], job: Job, volume: Mapping[str, Any], mount: Mapping[str, Any]) -> Manifest:
    spec = template["spec"]
    containers = list(spec["containers"])
    main = main_container(job, containers)
    containers[main] = _start_here(containers[main], job, mount)
    return {
        **template,
        "spec": {**spec, "containers": containers, "volumes": [*(spec.get("volumes") or ()), volume]},
    }


def _start_here(container: Mapping[str, Any], job: Job, mount: Mapping[str, Any]) -> Manifest:
    env = list(container.get("env") or ())
    said = {entry["name"] for entry in env}
    env += [entry for entry in FRAMEWORKS[job.framework].build_log_environment(LOGS) if entry["name"] not in said]
    mounts = [*(container.get("volumeMounts") or ()), mount]
    return {**container, "workingDir": MOUNT, "env": env, "volumeMounts": mounts}
