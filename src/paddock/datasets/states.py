"""The state of one Dataset, and its form in `status`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.datasets.definition import Definition
from paddock.datasets.fetching import Fault, Progress
from paddock.kube.datasets import Phase, format_part, format_size
from paddock.words.phrases import Phrase, phrase

STARTING = Progress(phase="starting")


@dataclass(frozen=True, slots=True)
class Unfetched:
    """Nothing is there, or not all. `reason`: why nothing is done about it; empty if it is about to begin."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fetching:
    """It is being fetched, or waits for it."""

    progress: Progress = STARTING
    waiting: str = ""
    """What must come before the first byte, as a pod that has no room; empty while it fetches."""
    job: str = ""
    """The Job that fetches, on a cluster."""


@dataclass(frozen=True, slots=True)
class Ready:
    """It is there."""

    path: str = ""  # on this machine; empty on a cluster
    size: int = 0  # in bytes; 0 with 0 files: not counted, as nothing was copied
    files: int = 0
    revision: str = ""
    finished: str = ""  # when, as Kubernetes writes times
    length_unknown: bool = False  # as in `fetching.Fetched`
    tags_differ: bool = False  # as in `fetching.Fetched`


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    fault: Fault

    @property
    def retries(self) -> bool:
        """Whether it is tried again by itself."""
        return self.fault is not Fault.SOURCE


State = Unfetched | Fetching | Ready | Failed

STATUS_FIELDS = (
    "phase", "progress", "message", "fault", "retries", "observedGeneration", "bytesDone", "bytesTotal", "files",
    "filesTotal", "revision", "round", "claim", "path", "fetchedBy", "finishedAt",
    "lengthUnknown",
)  # fmt: skip


_TAGS_DIFFER = "an ETag of the bucket looks like an MD5"
"""Of the sentence that says so."""


def build_status(definition: Definition, state: State) -> dict[str, Any]:
    """The object's `status`. A field that does not apply is None, which a merge patch removes."""
    match state:
        case Unfetched(reason):
            shown: dict[str, Any] = {"phase": Phase.PENDING, "message": reason or str(phrase("about to be fetched"))}
        case Fetching(progress, waiting, job):
            shown = {
                "phase": Phase.FETCHING, "progress": read_percent(progress), "message": waiting or explain(progress),
                "bytesDone": progress.done, "bytesTotal": progress.total or None, "files": progress.files,
                "filesTotal": progress.all_files or None, "fetchedBy": job or None,
            }  # fmt: skip
        case Ready():
            shown = {
                "phase": Phase.READY, "progress": 100, "message": _explain_ready(definition, state),
                "round": definition.round, "path": state.path or None, "revision": state.revision or None,
                "finishedAt": state.finished or None, "lengthUnknown": state.length_unknown or None,
            } | _counts(definition, state)  # fmt: skip
        case Failed(message, fault):
            shown = {"phase": Phase.FAILED, "message": message, "fault": fault.value, "retries": state.retries}
    shown |= {"observedGeneration": definition.generation, "claim": definition.claim}
    return {name: shown.get(name) for name in STATUS_FIELDS}


def _counts(definition: Definition, state: Ready) -> dict[str, int]:
    if not definition.source.copied:
        return {}
    return {"bytesDone": state.size, "bytesTotal": state.size, "files": state.files, "filesTotal": state.files}


def _explain_ready(definition: Definition, state: Ready) -> str:
    if not definition.source.copied:
        return str(phrase("{uri}, as it is there", uri=definition.source.shown))
    size, count = format_size(state.size), state.files
    if state.length_unknown:  # of one file by http
        said = phrase(
            "{size} in {count} file; the server did not tell its length, so only a checksum says whether it is whole",
            size=size, count=count,
        )  # fmt: skip
    elif state.tags_differ:
        said = _say_tags_differ(size, count)
    elif count == 1:
        said = phrase("{size} in {count} file", size=size, count=count)
    else:
        said = phrase("{size} in {count} files", size=size, count=count)
    return str(said)


def _say_tags_differ(size: str, count: int) -> Phrase:
    if count == 1:
        return phrase(
            "{size} in {count} file; an ETag of the bucket looks like an MD5 and is none of what came, twice alike, so "
            "only the sizes were compared",
            size=size, count=count,
        )  # fmt: skip
    return phrase(
        "{size} in {count} files; an ETag of the bucket looks like an MD5 and is none of what came, twice alike, so "
        "only the sizes were compared",
        size=size, count=count,
    )  # fmt: skip


def read_percent(progress: Progress) -> int:
    """The percentage of the bytes; of the files where the bytes are not known. 100 is for a dataset that is ready."""
    done, total = (progress.done, progress.total) if progress.total else (progress.files, progress.all_files)
    return min(99, 100 * done // total) if total else 0


def explain(progress: Progress) -> str:
    """`fetching, 41 %, 3.2 of 7.8 GB, 12 MB/s, 6 min left`, as the API stores it."""
    if progress.phase == "retrying":
        return str(_say_retrying(progress))
    if progress.phase == "listing":
        if progress.all_files:
            return str(phrase("listing what is there: {count} files so far", count=progress.all_files))
        return str(phrase("listing what is there"))
    if progress.phase == "fetching":
        return str(_say_with_total(progress) if progress.total else _say_without_total(progress))
    return progress.phase


def _say_retrying(progress: Progress) -> Phrase:
    why = progress.reason or phrase("the source was cut")
    if progress.total:
        return phrase("{why}: trying again, {percent} %, {part} of {whole} are there", why=why, **_amounts(progress))
    return phrase("{why}: trying again, {size} are there", why=why, size=format_size(progress.done))


def _say_with_total(progress: Progress) -> Phrase:
    amounts, speed = _amounts(progress), format_size(progress.speed)
    left = (progress.total - progress.done) / progress.speed if progress.speed else 0.0
    if progress.speed < 1:
        return phrase("fetching, {percent} %, {part} of {whole}", **amounts)
    if left < 1:
        return phrase("fetching, {percent} %, {part} of {whole}, {speed}/s", **amounts, speed=speed)
    return phrase(
        "fetching, {percent} %, {part} of {whole}, {speed}/s, {time} left",
        **amounts, speed=speed, time=_explain_time(left),
    )  # fmt: skip


def _say_without_total(progress: Progress) -> Phrase:
    size = format_size(progress.done)
    if progress.speed < 1:
        return phrase("fetching, {size}", size=size)
    return phrase("fetching, {size}, {speed}/s", size=size, speed=format_size(progress.speed))


def _amounts(progress: Progress) -> dict[str, str | int]:
    part, _, whole = format_part(progress.done, progress.total).partition(" of ")
    return {"percent": read_percent(progress), "part": part, "whole": whole}


def _explain_time(seconds: float) -> Phrase | str:
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return phrase("{count} days", count=f"{seconds / 86_400:.0f}")


def read_recorded(definition: Definition, status: Mapping[str, Any]) -> Ready | None:
    """What a status says was there, if it is about this definition: where it was, how large, and when."""
    if status.get("phase") != Phase.READY or status.get("round", 0) != definition.round:
        return None
    return Ready(
        path=str(status.get("path") or ""),
        size=int(status.get("bytesTotal") or 0),
        files=int(status.get("filesTotal") or 0),
        revision=str(status.get("revision") or ""),
        finished=str(status.get("finishedAt") or ""),
        length_unknown=status.get("lengthUnknown") is True,
        # No field has it, as no program decides by it.
        tags_differ=_TAGS_DIFFER in str(status.get("message")),
    )
