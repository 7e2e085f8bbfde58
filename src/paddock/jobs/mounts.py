"""The annotation `paddock.dev/datasets` of a job, and the claims of Datasets that its templates name. Pure.

    paddock.dev/datasets: imagenet:/data, words:/data/words

Each Dataset is mounted read-only into all containers of all ranks, init containers too. What the annotation says goes
into pods alone (`jobs.objects.mounted`): the spec of the job stays as the user wrote it. A template may also name the
claim of a Dataset itself, as any other claim; the job then waits for that Dataset too (`jobs.datasets`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from paddock.jobs.model import Job, Mount
from paddock.kube.datasets import CLAIM_PREFIX, MOUNTS_ANNOTATION, claim_name
from paddock.kube.meta import annotations_of
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.manifests.fields import Fields, nearest_label
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import join_path, perhaps, quoted, told

MOST_MOUNTS = 32
"""Datasets of one job. Each is a volume of each of its pods."""
_LONGEST_PATH = 1024
_FORM = phrase("write NAME:/PATH, as in imagenet:/data")


class BadMount(ValueError):
    """An entry that cannot be followed. `said`: what was found, and what is allowed."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


def read_mounts(metadata: Fields, spec: Mapping[str, Any]) -> tuple[Mount, ...]:
    """The mounts of a manifest, without those that have a problem; problems are added to `metadata`. `spec`: the whole
    spec of the job, whose containers mount paths of their own."""
    annotations = metadata.child("annotations")
    text = annotations.value.get(MOUNTS_ANNOTATION)
    if not isinstance(text, str):  # another type is reported with all annotations
        return ()
    where, taken = annotations.path_of(MOUNTS_ANNOTATION), find_mounted(spec)
    mounts = list[Mount]()
    for entry in islice(_split(text), MOST_MOUNTS + 1):  # the one that is too many is told, and no other
        try:
            mount = read_mount(entry)
            _check_place(mount, mounts, taken)
        except BadMount as bad:
            annotations.add(told(where, bad.said, entry))
        else:
            mounts.append(mount)
    for mount in mounts:
        if around := next((each for each in mounts if mount.path.startswith(f"{each.path}/")), None):
            annotations.add(told(where, _explain_within(mount, around), write_mounts([mount]), severity="warning"))
    return tuple(mounts)


def keep_readable(text: str, spec: Mapping[str, Any]) -> str:
    """The annotation without the entries that have a problem: what is followed of an edit that is not valid."""
    mounts, taken = list[Mount](), find_mounted(spec)
    for entry in _split(text):
        try:
            mount = read_mount(entry)
            _check_place(mount, mounts, taken)
        except BadMount:
            continue
        mounts.append(mount)
    return write_mounts(mounts)


def extend_mounts(manifest: Mapping[str, Any], entries: Sequence[str]) -> str:
    """The annotation of a job with further entries, as --data types them; one that it has already is not added again.
    `manifest`: checked. Raises `BadMount`."""
    said = annotations_of(manifest).get(MOUNTS_ANNOTATION) or ""
    mounts, taken = [read_mount(entry) for entry in _split(said)], find_mounted(manifest.get("spec") or {})
    for entry in entries:
        mount = read_mount(entry)
        if mount not in mounts:
            _check_place(mount, mounts, taken)
            mounts.append(mount)
    return write_mounts(mounts)


def write_mounts(mounts: Sequence[Mount]) -> str:
    """The annotation's text."""
    return ", ".join(f"{mount.dataset}:{mount.path}" for mount in mounts)


def read_mount(entry: str) -> Mount:
    """One entry, `NAME:/PATH`. Raises `BadMount`."""
    dataset, colon, path = (part.strip() for part in entry.partition(":"))
    if not colon or not dataset or not path:
        raise BadMount(phrase("found {found}: {form}", found=quoted(entry), form=_FORM))
    if dataset[0] in "./~":
        raise BadMount(
            phrase(
                "found {found}, a path, where the name of a Dataset is wanted: on the local cluster programs read the "
                "directories of this machine where they are, so leave it out",
                found=quoted(dataset),
            )
        )
    if not DNS_SUBDOMAIN.matches(dataset) or len(claim_name(dataset)) > DNS_SUBDOMAIN.longest:
        raise BadMount(
            phrase(
                "found {found}, which is no name of a Dataset: at most {most} of a-z 0-9 - and . are allowed, "
                "beginning and ending with a letter or digit{perhaps}",
                found=quoted(dataset),
                most=DNS_SUBDOMAIN.longest - len(CLAIM_PREFIX),
                perhaps=perhaps(nearest_label(dataset)),
            )
        )
    _check_path(dataset, path)
    return Mount(dataset, posixpath.normpath(path))


def _check_path(dataset: str, path: str) -> None:
    before, colon, mode = path.rpartition(":")
    if colon:
        said = phrase(
            "found {found}: a Dataset is always mounted read-only, and a path has no colon; write {dataset}:{path}",
            found=quoted(path), dataset=dataset, path=before if mode in ("ro", "rw") else path.replace(":", "-"),
        )  # fmt: skip
        raise BadMount(said)
    if not path.startswith("/"):
        said = phrase(
            "found {found}, which does not begin with /: write {dataset}:/{path}",
            found=quoted(path), dataset=dataset, path=path.removeprefix("./"),
        )  # fmt: skip
        raise BadMount(said)
    if ".." in path.split("/"):
        raise BadMount(phrase('found {found}: ".." is not allowed; write the path that is meant', found=quoted(path)))
    if not path.isprintable() or len(path) > _LONGEST_PATH:
        raise BadMount(
            phrase(
                "found {found}: a path of at most {most} printable characters is allowed",
                found=quoted(path), most=_LONGEST_PATH,
            )
        )  # fmt: skip
    if not path.strip("/."):
        raise BadMount(
            phrase("found {found}, which would hide the whole image: write {dataset}:/data", found=quoted(path),
                   dataset=dataset)
        )  # fmt: skip


def _check_place(mount: Mount, before: Sequence[Mount], taken: Mapping[str, str]) -> None:
    """Raises `BadMount` if something else is mounted there. `taken`: the templates' own paths, with their fields."""
    if len(before) >= MOST_MOUNTS:
        raise BadMount(phrase("at most {most} datasets are mounted into a job", most=MOST_MOUNTS))
    if other := next((each for each in before if each.path == mount.path), None):
        raise BadMount(
            phrase("{path} is the path of {other} already: give each dataset a path of its own",
                   path=mount.path, other=other.dataset)
        )  # fmt: skip
    if mount.path in taken:
        raise BadMount(
            phrase(
                "{path} is a path at which the job mounts a volume already ({field}): give {dataset} another path",
                path=mount.path, field=taken[mount.path], dataset=mount.dataset,
            )
        )  # fmt: skip


def _explain_within(mount: Mount, around: Mount) -> Phrase:
    return phrase(
        "{path} lies in {around}, where {other} is mounted read-only: a pod starts only if {other} has a directory at "
        "that place; a path beside it always works",
        path=mount.path, around=around.path, other=around.dataset,
    )  # fmt: skip


def _split(text: str) -> Iterator[str]:
    """The entries. An empty one, as behind a last comma, is none."""
    yield from (entry.strip() for entry in text.split(",") if entry.strip())


def find_mounted(spec: Mapping[str, Any]) -> dict[str, str]:
    """The paths at which containers of any role mount something, with the field that says so. The spec is of any kind
    of job, and unchecked: whatever is called volumeMounts counts."""
    found: dict[str, str] = {}
    stack: list[tuple[str, Any]] = [("spec", spec)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if key == "mountPath" and isinstance(inner, str) and "volumeMounts" in path:
                    found.setdefault(posixpath.normpath(inner), f"{path}.mountPath")
                stack.append((join_path(path, str(key)), inner))
        elif isinstance(value, list):
            stack.extend((join_path(path, index), inner) for index, inner in enumerate(value))
    return found


def find_claimed(job: Job) -> dict[str, str]:
    """The Datasets whose claims the templates name, with the claim: `{"imagenet": "dataset-imagenet"}`. A Dataset of
    that name need not exist."""
    claims = (claim for role in job.roles for claim in _claims(role.template))
    return {claim.removeprefix(CLAIM_PREFIX): claim for claim in claims if claim.startswith(CLAIM_PREFIX)}


def _claims(template: Mapping[str, Any]) -> Iterator[str]:
    spec = template.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, Mapping) else None
    for volume in volumes if isinstance(volumes, list) else ():
        source = volume.get("persistentVolumeClaim") if isinstance(volume, Mapping) else None
        name = source.get("claimName") if isinstance(source, Mapping) else None
        if isinstance(name, str):
            yield name
