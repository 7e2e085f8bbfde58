"""Where ranks of a job mount volumes at one path, and would each have other files there. Pure.

With bubblewrap each pod has mounts of its own. Without it all pods see one file system, and a volume is a link at its
path: all ranks can have the same files there (`node.runtime.mounts.plan_copies`), but not each its own. What differs by
rank is refused before anything is made, as the ranks would wait for each other.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.jobs.model import Job
from paddock.manifests.parts import mapping, mappings
from paddock.words.phrases import Phrase, phrase

_OF_ONE_POD = frozenset({"metadata.name", "metadata.uid", "metadata.labels", "status.podIP", "status.podIPs"})


@dataclass(frozen=True, slots=True)
class MountedPath:
    """A path at which ranks mount a volume."""

    path: str
    volume: Mapping[str, Any]
    """Of the first of them."""
    differs: bool
    """Whether the ranks would have different files there."""


def find_paths(job: Job) -> list[MountedPath]:
    """The paths of a job's mounts, but for the memory that all processes of a machine share."""
    found: dict[str, list[tuple[Mapping[str, Any], object, int]]] = {}
    for role in job.roles:
        for path, volume, part in _list_mounts(role.template):
            found.setdefault(path, []).append((volume, part, role.replicas))
    return [
        MountedPath(path, each[0][0], _differs(each))
        for path, each in found.items()
        if path != "/dev/shm" or mapping(each[0][0].get("emptyDir")).get("medium") != "Memory"  # noqa: S108
    ]


def explain_difference(mounted: MountedPath) -> Phrase:
    return phrase(
        "the ranks would each have files of their own at {path} (volume {name}), and without bubblewrap all see the "
        "same there: install it (`apt install bubblewrap`) and begin anew (`paddock down`), or leave the volume out, "
        "and have the program write below $TMPDIR, of which each rank has its own",
        path=mounted.path, name=str(mounted.volume.get("name")),
    )  # fmt: skip


def _list_mounts(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], object]]:
    """Each path once, with its volume and the part of it that is mounted."""
    spec = mapping(template.get("spec"))
    volumes = {volume.get("name"): volume for _, volume in mappings(spec.get("volumes"), "")}
    seen = set()
    for field in ("containers", "initContainers"):
        for _, container in mappings(spec.get(field), ""):
            for _, mount in mappings(container.get("volumeMounts"), ""):
                path, volume = posixpath.normpath(str(mount.get("mountPath"))), volumes.get(mount.get("name"))
                if volume is not None and path not in seen:
                    seen.add(path)
                    yield path, volume, (mount.get("subPath"), mount.get("subPathExpr"))


def _differs(mounts: Sequence[tuple[Mapping[str, Any], object, int]]) -> bool:
    contents = [({**volume, "name": ""}, part) for volume, part, _ in mounts]
    ranks = sum(replicas for _, _, replicas in mounts)
    return ranks > 1 and (any(each != contents[0] for each in contents) or _is_of_one_pod(mounts[0][0]))


def _is_of_one_pod(volume: Mapping[str, Any]) -> bool:
    """Whether each pod has its own: an emptyDir, which a volume without a source is, a token, what names the pod."""
    if "emptyDir" in volume or set(volume) <= {"name"}:
        return True
    sources = [volume, *(source for _, source in mappings(mapping(volume.get("projected")).get("sources"), ""))]
    items = [item for each in sources for _, item in mappings(mapping(each.get("downwardAPI")).get("items"), "")]
    named = {mapping(item.get("fieldRef")).get("fieldPath") for item in items}
    return any("serviceAccountToken" in each for each in sources) or not _OF_ONE_POD.isdisjoint(named)
