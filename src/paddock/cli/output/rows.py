"""Rows of jobs, pods and environments as the cells of a table. Pure: the rows are read in `views`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from paddock.jobs.frameworks.registry import order_columns
from paddock.kube.meta import Manifest, namespace_of
from paddock.kube.quantities import format_bytes
from paddock.kube.times import Moment, format_duration, read_time
from paddock.views.jobs import JobRow, build_why, tell_ready
from paddock.views.phases import SINGLE
from paddock.words.phrases import Foreign, phrase, render

if TYPE_CHECKING:
    from paddock.app.filled_claims.manifests import Held
    from paddock.views.environments import EnvironmentRow
    from paddock.views.pods import PodRow

MODE, PROGRESS = "MODE", "PROGRESS"
POD_HEADER = ("NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "WHY")
GPU = "GPU"
"""The column before the last one, where a pod is told which GPUs are its."""
ENVIRONMENT_HEADER = ("NAME", "STATUS", "PROGRESS", "AGE", "WHAT")
ENVIRONMENT_LIST_HEADER = ("NAME", "STATUS", "PROGRESS", "PYTHON", "SIZE", "IMAGES", "WHAT")
CLAIM_LIST_HEADER = ("NAME", "STATUS", "SIZE", "ACCESS", "USED", "JOBS", "WHAT")
_NO_REQUIREMENTS = phrase("programs of this machine")


def format_age(created: Moment | None, now: Moment) -> str:
    return "<unknown>" if created is None else format_duration(now - created)


def choose_columns(found: Sequence[JobRow], known: Collection[str] = ()) -> tuple[str, ...]:
    """The headings between a job's status and its age: its mode, where one has another than the usual; those under
    which these jobs count their pods; and how far they are where one tells it. `known`: headings that are there in any
    case."""
    told = {PROGRESS} if any(row.progress for row in found) else set()
    modes = {MODE} if any(row.mode not in ("", SINGLE) for row in found) else set()
    headings = {*known, *told, *modes}.union(*map(_list_counted, found))
    counted = order_columns(headings)
    return (*([MODE] if MODE in headings else []), *counted, *([PROGRESS] if PROGRESS in headings else []))


def _list_counted(row: JobRow) -> list[str]:
    """The headings of its roles; all of its framework while none is known."""
    return [heading for heading, counts in row.counts.items() if counts is not None] or list(row.counts)


def build_job_header(columns: Sequence[str]) -> tuple[str, ...]:
    return ("NAME", "STATUS", *columns, "AGE", "WHY")


def build_job_cells(
    row: JobRow,
    now: Moment,
    language: str = "en",
    *,
    columns: Sequence[str] = (),
    wide: bool = False,
    most: int | None = None,
) -> list[str]:
    """A line of `paddock get`, under `columns`, by default the job's own. WHY is the sentence of the
    cause, and an edit that is not followed; else who runs the job if Paddock does not. `most`: columns to which each
    sentence is cut; `wide`: every problem of an invalid job, and the first metrics of one that trains."""
    why = build_why(row, language, wide=wide, most=most)
    age = format_age(row.created, now)
    found = [_build_cell(row, heading, language, wide=wide) for heading in columns or choose_columns([row])]
    return [row.name, row.state, *found, age, why]


def _build_cell(row: JobRow, heading: str, language: str, *, wide: bool) -> str:
    if heading == MODE:
        return row.mode
    if heading == PROGRESS:
        return _say_progress(row, language, wide=wide) if row.progress else ""
    counts = row.counts.get(heading)
    return tell_ready(counts, row.phase) if counts else ""


def _say_progress(row: JobRow, language: str, *, wide: bool) -> str:
    from paddock.views.job_progress import tell_briefly, tell_wide  # late: most jobs of a list tell of none

    return render((tell_wide if wide else tell_briefly)(row.progress), language)


def build_pod_table(
    found: Sequence[PodRow], now: Moment, language: str = "en", *, gpus: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and lines. The column of GPUs is there where a pod has some, or with `gpus`."""
    header, cells = list(POD_HEADER), [build_pod_cells(row, now, language) for row in found]
    if gpus or any(row.gpus is not None for row in found):
        header.insert(-1, GPU)
        for row, line in zip(found, cells, strict=True):
            line.insert(-1, "-" if row.gpus is None else render(row.gpus, language))
    return header, cells


def build_pod_cells(row: PodRow, now: Moment, language: str = "en") -> list[str]:
    """A line of `paddock get pods`; WHY is the message of the scheduler, the kubelet or the builder, or
    what the pod needs and what is free."""
    return [
        row.name,
        f"{row.ready}/{row.containers}",
        row.state,
        str(row.restarts),
        format_age(row.created, now),
        row.address or "<none>",
        row.node or "<none>",
        _add_hold(row, _said(row, language) if row.said is None else render(row.said, language), now, language),
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


def build_claim_cells(held: Held, users: Sequence[str], now: Moment) -> list[str]:
    """A line of `paddock env list` on a cluster. USED: how long ago a job was last sent that mounts it; WHAT: what is
    in it."""
    used = read_time(held.used)
    age = format_age(used, now) if used is not None else ""
    status = "Terminating" if held.is_going else "Ready" if held.report is not None else "Building"
    return [held.name, status, held.size, ",".join(held.modes), age, ", ".join(users), held.about]


def _said(row: EnvironmentRow | PodRow, language: str) -> str:
    return render(phrase("{said}", said=Foreign(row.message)), language)


def _add_hold(row: PodRow, why: str, now: Moment, language: str) -> str:
    if row.held is None or row.held <= now:
        return why
    from paddock.cli.output.local_times import format_clock  # late: most pods are not held

    return render(phrase("{why}; held until {time}", why=why, time=format_clock(row.held)), language)


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
