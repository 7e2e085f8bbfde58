"""Datasets as the cells of a table, and one of them as lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.cli.output.rows import format_age
from paddock.datasets.sources import hide
from paddock.datasets.users import User
from paddock.kube.datasets import DatasetStatus, Phase, format_part, format_size, read_status
from paddock.kube.meta import Manifest, metadata
from paddock.kube.times import Moment, read_time
from paddock.words.phrases import Foreign, Phrase, phrase, render

HEADER = ("NAME", "STATUS", "PROGRESS", "SIZE", "AGE", "SOURCE", "WHAT")


def build_cells(dataset: Manifest, now: Moment, language: str = "en") -> list[str]:
    """A line of `paddock dataset list`; WHAT is the controller's message."""
    status = read_status(dataset)
    age = format_age(read_time(metadata(dataset).get("creationTimestamp")), now)
    what = render(phrase("{said}", said=Foreign(status.message)), language)
    return [status.name, status.phase, _percent(status, language), _size(status), age, show_source(dataset), what]


def build_lines(dataset: Manifest, users: Sequence[User], language: str = "en") -> list[tuple[Phrase, str]]:
    """(name, fact) of each known fact."""
    spec, found = dataset.get("spec") or {}, dataset.get("status") or {}
    source: Mapping[str, Any] = spec.get("source") or {}
    status = read_status(dataset)
    facts: list[tuple[Phrase, object]] = [
        (phrase("Name"), f"{status.namespace}/{status.name}"),
        (phrase("Status"), str(status.phase)),
        (phrase("Why"), render(phrase("{said}", said=Foreign(status.message)), language)),
        (phrase("Next"), _explain_next(status, language)),
        (phrase("Source"), show_source(dataset)),
        (phrase("Checksum"), source.get("sha256")),
        (phrase("Revision"), _show_revision(source.get("revision"), found.get("revision"))),
        (phrase("Endpoint"), hide(str(source.get("endpoint") or ""))),
        (phrase("Secret"), source.get("secretName")),
        (phrase("Size"), _size(status)),
        (phrase("Files"), found.get("files")),
        (phrase("Round"), spec.get("round")),
        (phrase("Claim"), status.claim),
        (phrase("Directory"), found.get("path")),
        (phrase("Fetched by"), found.get("fetchedBy")),
        (phrase("Created"), metadata(dataset).get("creationTimestamp")),
        (phrase("Finished"), found.get("finishedAt")),
        (phrase("Used by"), ", ".join(map(str, users[:5])) + (f" +{len(users) - 5}" if len(users) > 5 else "")),
    ]
    return [(name, str(fact)) for name, fact in facts if fact]


def _show_revision(asked: object, found: object) -> str:
    """`main (0f3c…)`; without a wish, what was found alone."""
    return f"{asked} ({found})" if asked and found else str(asked or found or "")


def _explain_next(status: DatasetStatus, language: str) -> str:
    """What happens to a failed one, and what its reader can do."""
    if status.phase is not Phase.FAILED:
        return ""
    command = f"paddock dataset rerun {status.name}"
    if status.retries:
        return render(phrase("it is tried again by itself; `{command}` does it at once", command=command), language)
    said = phrase("it is not tried again by itself: correct the cause, then `{command}`", command=command)
    return render(said, language)


def show_source(dataset: Manifest) -> str:
    """The address without a password and without a query, which may sign it."""
    return hide(str(((dataset.get("spec") or {}).get("source") or {}).get("uri") or ""))


def _percent(status: DatasetStatus, language: str) -> str:
    known = status.phase in (Phase.FETCHING, Phase.READY)
    return render(phrase("{percent} %", percent=status.percent), language) if known else ""


def _size(status: DatasetStatus) -> str:
    if status.phase is Phase.FETCHING and status.done:
        return format_part(status.done, status.total)
    return format_size(status.total) if status.total else ""
