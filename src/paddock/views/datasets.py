"""Datasets as rows, and what jobs mount. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.datasets.users import User, find_holding
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase as JobPhase
from paddock.kube.datasets import MOUNTS_ANNOTATION, DatasetStatus, Phase, claim_name, format_size, read_status
from paddock.kube.meta import (
    PODS,
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
from paddock.views.phases import name_phase
from paddock.views.stored import read_stored
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
    """The rows by trouble, then by name."""
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


def read_use(resource: Resource, manifest: Manifest) -> User:
    """What a stored job mounts: what its manifest names, valid or not, and until it has ended the claims of the spec
    that is supervised, which an edit that is not valid leaves as it was."""
    status = KINDS[resource].read_status(manifest)
    phase = status.phase or JobPhase.PENDING
    names = set(read_names(annotations_of(manifest).get(MOUNTS_ANNOTATION, "")))
    claims = set(_find_claims(manifest.get("spec")))
    if not phase.terminal and (job := read_stored(resource, manifest).job):
        claims |= set(_find_claims([role.template for role in job.roles]))
    claims |= set(map(claim_name, names))  # which another Dataset may have as its source
    key, uid = key_of(manifest), uid_of(manifest)
    return User(
        resource, key, uid, name_phase(phase, status.cause), phase.terminal, frozenset(claims), frozenset(names)
    )


def read_names(mounts: str) -> list[str]:
    """`imagenet:/data, words:/data/words` -> `imagenet`, `words`."""
    return [name for each in mounts.split(",") if (name := each.partition(":")[0].strip())]


def explain_absence(name: str, namespace: str, known: Sequence[str] = ()) -> Phrase:
    """`known`: the names of those that are there."""
    if near := nearest(name, known):
        return phrase(
            "there is no dataset {name} in {namespace}; did you mean {near}?", name=name, namespace=namespace, near=near
        )
    return phrase("there is no dataset {name} in {namespace}", name=name, namespace=namespace)


def explain_in_use(users: Iterable[User]) -> Phrase | None:
    """Why it cannot be deleted now: the jobs and pods that use it and have not ended."""
    holding = tuple(f"{_name_kind(each.resource)} {each.key.name}" for each in find_holding(users))
    if not holding:
        return None
    return phrase("it is used by {jobs}: end or delete what uses it first", jobs=Names(holding))


def _name_kind(resource: Resource) -> str:
    return "pod" if resource is PODS else resource.kind


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
