"""Datasets as rows, and which jobs use them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase as JobPhase
from paddock.kube.datasets import MOUNTS_ANNOTATION, DatasetStatus, Phase, format_size, read_status
from paddock.kube.meta import (
    Key,
    Manifest,
    Resource,
    annotations_of,
    key_of,
    metadata,
    namespace_of,
    uid_of,
)
from paddock.kube.nearness import nearest
from paddock.kube.times import Moment, read_time
from paddock.words.phrases import Names, Phrase, phrase

ORDER = (Phase.FAILED, Phase.FETCHING, Phase.PENDING, Phase.READY)
"""Trouble first; what is there comes last."""


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """What lists and pages show of a Dataset."""

    status: DatasetStatus
    uid: str
    source: Mapping[str, Any]
    """`spec.source` as it is stored; its `uri` may have a password in it."""
    created: Moment | None
    round: int
    """Of the spec."""
    size: int
    """Bytes; 0 if it is not known."""
    all_files: int
    """0 if it is not known."""
    revision: str
    """What the source calls the content that is there."""
    path: str
    """On this machine."""
    job: str
    """On a cluster, the Job that fetches."""
    finished: Moment | None

    @property
    def key(self) -> Key:
        return Key(self.status.namespace, self.status.name)

    @property
    def uri(self) -> str:
        return str(self.source.get("uri") or "")


def read_dataset_row(_resource: Resource, manifest: Manifest) -> DatasetRow:
    """Never raises: a status may be of another program."""
    spec, status = _mapping(manifest.get("spec")), _mapping(manifest.get("status"))
    if status.get("observedGeneration", 0) != metadata(manifest).get("generation", 0):
        status = {}  # of an older spec, as `read_status` has it
    read = read_status(manifest)
    return DatasetRow(
        status=read,
        uid=uid_of(manifest),
        source=_mapping(spec.get("source")),
        created=read_time(metadata(manifest).get("creationTimestamp")),
        round=_whole(spec.get("round")),
        size=read.total or (read.done if read.phase is Phase.READY else 0),
        all_files=_whole(status.get("filesTotal")),
        revision=str(status.get("revision") or ""),
        path=str(status.get("path") or ""),
        job=str(status.get("fetchedBy") or ""),
        finished=read_time(status.get("finishedAt")),
    )


def order_datasets(rows: Iterable[DatasetRow]) -> list[DatasetRow]:
    """By trouble, then by name."""
    return sorted(rows, key=lambda row: (ORDER.index(row.status.phase), row.status.name, row.status.namespace))


def say_amount(status: DatasetStatus) -> Phrase | str:
    """`41 %, 3.2 of 7.8 GB`; `3.2 GB` without a total; empty while nothing is known, and of what is not fetched now."""
    if status.phase is not Phase.FETCHING:
        return ""
    if not status.total:
        if status.done:
            return format_size(status.done)
        return phrase("{percent} %", percent=status.percent) if status.percent else ""
    done, total = format_size(status.done), format_size(status.total)
    number, _, unit = done.partition(" ")
    part = number if total.endswith(f" {unit}") else done
    return phrase("{percent} %, {done} of {total}", percent=status.percent, done=part, total=total)


def find_rest(status: DatasetStatus) -> str:
    """The message without what `say_amount` says: `12 MB/s` of `fetching, 41 %, 3.2 of 7.8 GB, 12 MB/s`."""
    amount = str(say_amount(status))
    before, found, after = status.message.partition(amount) if amount else ("", "", "")
    return after.strip(" ,") if found and before.strip(" ,").isalpha() else status.message


@dataclass(frozen=True, slots=True)
class JobUse:
    """The datasets of one job."""

    resource: Resource
    key: Key
    phase: JobPhase
    names: frozenset[str]
    """In the annotation paddock.dev/datasets."""
    claims: frozenset[str]
    """Of its pods' volumes."""

    def uses(self, row: DatasetRow) -> bool:
        of_place = self.key.namespace == row.status.namespace
        return of_place and (row.status.name in self.names or row.status.claim in self.claims)

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key.name}"


def read_use(resource: Resource, manifest: Manifest) -> JobUse:
    """Of a stored job, which may be wrong."""
    phase = KINDS[resource].read_status(manifest).phase or JobPhase.PENDING
    names = frozenset(read_names(annotations_of(manifest).get(MOUNTS_ANNOTATION, "")))
    return JobUse(resource, key_of(manifest), phase, names, frozenset(_find_claims(manifest.get("spec"))))


def read_names(mounts: str) -> list[str]:
    """`imagenet:/data, words:/data/words` -> `imagenet`, `words`."""
    return [name for each in mounts.split(",") if (name := each.partition(":")[0].strip())]


def find_users(rows: Sequence[DatasetRow], uses: Iterable[JobUse]) -> Mapping[Key, list[JobUse]]:
    """By dataset: the jobs that use it, those that have not ended first. A dataset that nobody uses has no entry."""
    by_name = {row.key: row for row in rows}
    by_claim: dict[Key, list[DatasetRow]] = {}
    for row in rows:
        by_claim.setdefault(Key(row.status.namespace, row.status.claim), []).append(row)
    found: dict[Key, list[JobUse]] = {}
    for use in uses:
        named = [by_name.get(Key(use.key.namespace, name)) for name in use.names]
        mounted = [row for claim in use.claims for row in by_claim.get(Key(use.key.namespace, claim), ())]
        for key in {row.key for row in (*named, *mounted) if row is not None}:
            found.setdefault(key, []).append(use)
    return {key: sorted(each, key=_place) for key, each in found.items()}


def _place(use: JobUse) -> tuple[bool, str, str]:
    return use.phase.terminal, use.key.name, use.resource.kind


def explain_absence(name: str, namespace: str, known: Sequence[str] = ()) -> Phrase:
    """`known`: the names of those that are there."""
    if near := nearest(name, known):
        return phrase(
            "there is no dataset {name} in {namespace}; did you mean {near}?", name=name, namespace=namespace, near=near
        )
    return phrase("there is no dataset {name} in {namespace}", name=name, namespace=namespace)


def explain_in_use(users: Sequence[JobUse]) -> Phrase | None:
    """Why it cannot be deleted now: the jobs that use it and have not ended."""
    unfinished = tuple(str(each) for each in users if not each.phase.terminal)
    if not unfinished:
        return None
    return phrase("it is used by {jobs}: end or delete what uses it first", jobs=Names(unfinished))


def explain_no_rerun(row: DatasetRow, *, copied: bool) -> Phrase | None:
    """Why it cannot be fetched again now. `copied`: False where pods read the source itself."""
    if row.status.deleting:
        return phrase("it is being deleted")
    if not copied:
        return phrase("nothing is fetched: pods read the files where they are")
    if row.status.phase not in (Phase.READY, Phase.FAILED):
        return phrase("it is being fetched")
    return None


def is_about_dataset(event: Mapping[str, Any], row: DatasetRow) -> bool:
    """Whether an event is of the Dataset, of its claim, or of the Job and the pods that fetch it."""
    about = _mapping(event.get("involvedObject") or event.get("regarding"))
    kind, name = str(about.get("kind") or ""), str(about.get("name") or "")
    if about.get("uid") == row.uid:
        return True
    if namespace_of(event) != row.status.namespace:
        return False
    if kind == "PersistentVolumeClaim":
        return name == row.status.claim
    return bool(row.job) and (name == row.job if kind == "Job" else kind == "Pod" and name.startswith(f"{row.job}-"))


def _find_claims(value: object) -> Iterator[str]:
    """The names of all claims below a value; stored objects have at most 100 levels."""
    if isinstance(value, Mapping):
        claim = value.get("persistentVolumeClaim")
        if isinstance(claim, Mapping) and isinstance(name := claim.get("claimName"), str):
            yield name
        for each in value.values():
            yield from _find_claims(each)
    elif isinstance(value, list):
        for each in value:
            yield from _find_claims(each)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
