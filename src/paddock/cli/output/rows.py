"""Rows of jobs, pods and environments as the cells of a table. Pure: the rows are read in `views`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paddock.jobs.frameworks.registry import order_columns
from paddock.kube.meta import Manifest, namespace_of
from paddock.kube.quantities import format_bytes
from paddock.kube.times import Moment, format_duration
from paddock.views.jobs import JobRow, build_why, tell_ready
from paddock.words.phrases import Foreign, phrase, render

if TYPE_CHECKING:
    from paddock.views.environments import EnvironmentRow
    from paddock.views.pods import PodRow

POD_HEADER = ("NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "WHY")
ENVIRONMENT_HEADER = ("NAME", "STATUS", "PROGRESS", "AGE", "WHAT")
ENVIRONMENT_LIST_HEADER = ("NAME", "STATUS", "PROGRESS", "PYTHON", "SIZE", "IMAGES", "WHAT")
_NO_REQUIREMENTS = phrase("programs of this machine")


def format_age(created: Moment | None, now: Moment) -> str:
    return "<unknown>" if created is None else format_duration(now - created)


def choose_columns(found: Sequence[JobRow]) -> tuple[str, ...]:
    """The headings under which the frameworks of these jobs count their pods."""
    return order_columns({heading for row in found for heading in row.counts})


def build_job_header(columns: Sequence[str]) -> tuple[str, ...]:
    return ("NAME", "STATUS", "MODE", *columns, "AGE", "WHY")


def build_job_cells(
    row: JobRow,
    now: Moment,
    language: str = "en",
    *,
    columns: Sequence[str] = (),
    wide: bool = False,
    most: int | None = None,
) -> list[str]:
    """A line of `paddock get`, under `columns`, by default those of the job's framework. WHY is the sentence of the
    cause, and an edit that is not followed; else who runs the job if Paddock does not. `most`: columns to which each
    sentence is cut; `wide`: every problem of an invalid job."""
    why = build_why(row, language, wide=wide, most=most)
    age = format_age(row.created, now)
    found = [row.counts.get(heading) for heading in columns or choose_columns([row])]
    ready = [tell_ready(each, row.phase) if each else "" for each in found]
    return [row.name, row.state, row.mode, *ready, age, why]


def build_pod_cells(row: PodRow, now: Moment, language: str = "en") -> list[str]:
    """A line of `paddock get pods`; WHY is the message of the scheduler, the kubelet or the builder."""
    return [
        row.name,
        f"{row.ready}/{row.containers}",
        row.state,
        str(row.restarts),
        format_age(row.created, now),
        row.address or "<none>",
        row.node or "<none>",
        _said(row, language),
    ]


def build_environment_cells(row: EnvironmentRow, now: Moment, language: str = "en") -> list[str]:
    """A line of `paddock get environments`; WHAT is the builder's message, else the requirements."""
    what = _said(row, language) or _made_of(row, language)
    return [row.name, row.phase, _percent(row, language), format_age(row.created, now), what]


def build_environment_list_cells(row: EnvironmentRow, language: str = "en") -> list[str]:
    """A line of `paddock env list`; WHAT is the requirements, or the builder's message during a build and after its
    failure."""
    said = _said(row, language) if row.phase in ("Building", "Failed") else ""
    if row.changed:
        said = render(phrase("requirements.txt changed since; the next run rebuilds it"), language)
    size, images = format_bytes(row.size) if row.size else "", (*row.images, "")[0]
    if len(row.images) > 1:
        images = render(phrase("{names} and {count} more", names=images, count=len(row.images) - 1), language)
    return [row.name, row.phase, _percent(row, language), row.python, size, images, said or _made_of(row, language)]


def _said(row: EnvironmentRow | PodRow, language: str) -> str:
    return render(phrase("{said}", said=Foreign(row.message)), language)


def _made_of(row: EnvironmentRow, language: str) -> str:
    packages = " ".join(", ".join(row.requirements).split())
    if not row.torch:
        return packages or render(_NO_REQUIREMENTS, language)
    build = render(phrase("{said}", said=Foreign(row.torch)), language)
    return build if packages == "torch" else f"{packages} ({build})"


def _percent(row: EnvironmentRow, language: str) -> str:
    return "" if row.progress is None else render(phrase("{percent} %", percent=row.progress), language)


def with_namespace(
    objects: Sequence[Manifest], header: Sequence[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """The same table with NAMESPACE first, for `-A`."""
    placed = [[namespace_of(each), *row] for each, row in zip(objects, rows, strict=True)]
    return ["NAMESPACE", *header], placed
