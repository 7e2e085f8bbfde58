"""What was held, as lines of a table and as JSON. Pure; its rows are those of `views.usage`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.gpu_shares import GPU
from paddock.kube.times import Moment, format_time
from paddock.views.commands import kind_with_group
from paddock.views.usage import By, Row, Window, add_up, list_devices
from paddock.words.phrases import Names, Phrase, counted, phrase

_HOUR = 3600.0
_NONE = "-"


def build_table(rows: Sequence[Row], by: Sequence[By]) -> tuple[list[str], list[list[str]]]:
    """Header and lines. One column for each accelerator that was held; JOBS where their number is known."""
    devices, kinds = list_devices(rows), _name_kinds(rows, by)
    counts = any(row.jobs for row in rows) and By.NAME not in by
    header = [column.upper() for column in by] + ["JOBS"] * counts
    header += [*(name_hours(device) for device in devices), "CPU-HOURS", "POD-HOURS"]
    cells = [
        [
            *(kinds.get(value, value) or _NONE for value in row.key),
            *([str(row.jobs)] if counts else []),
            *(format_hours(row.seconds.get(device, 0.0)) for device in [*devices, "cpu", "pods"]),
        ]
        for row in rows
    ]
    return header, cells


def name_hours(device: str) -> str:
    """The column of an accelerator."""
    return "GPU-HOURS" if device == GPU else f"{device}-HOURS"


def format_hours(seconds: float) -> str:
    """`12.5`, `0`, and `<0.1` for what is more than nothing."""
    hours = seconds / _HOUR
    return "0" if not hours else "<0.1" if hours < 0.05 else f"{hours:.1f}"


def _name_kinds(rows: Sequence[Row], by: Sequence[By]) -> dict[str, str]:
    """`paddlejobs.kubeflow.org` -> `PaddleJob`; with its group where two groups have the kind in these rows. The text
    itself where no kind of Paddock has this name."""
    if By.KIND not in by:
        return {}
    shown = {row.key[by.index(By.KIND)] for row in rows}
    known = [kind for kind in KINDS if kind.qualified in shown]
    names = Counter(kind.kind for kind in known)
    return {kind.qualified: kind.kind if names[kind.kind] == 1 else kind_with_group(kind) for kind in known}


def explain_total(rows: Sequence[Row], period: str) -> Phrase:
    """`in the last 30d: 12.5 GPU-hours, 1.0 kunlunxin.com/xpu-hours and 100.0 CPU-hours`: those of the columns."""
    total = add_up(rows).seconds
    told = [(name, name_hours(name).removesuffix("-HOURS")) for name in list_devices(rows)] + [("cpu", "CPU")]
    hours = tuple(
        phrase("{hours} {device}-hours", hours=format_hours(total.get(name, 0.0)), device=device)
        for name, device in told
    )
    return phrase("in the last {period}: {hours}", period=period, hours=Names(hours, most=0))


def explain_unasked(rows: Sequence[Row]) -> Phrase | None:
    """Why a line has no CPU-hours though its ranks ran; None where each has some."""
    if all(row.seconds.get("cpu") or not row.seconds.get("pods") for row in rows):
        return None
    return phrase(
        "a job that asks for no CPUs has 0 CPU-hours, however many it uses: --cpus of paddock run asks for some; "
        "POD-HOURS are how long the ranks ran"
    )


def explain_jobs(count: int) -> Phrase:
    """What was looked at, where the jobs of a cluster tell what was held."""
    return counted(
        "of {count} job that is still there: neither deleted jobs nor former attempts are counted; --prometheus URL of "
        "paddock usage asks a Prometheus that scrapes the operator",
        "of {count} jobs that are still there: neither deleted jobs nor former attempts are counted; --prometheus URL "
        "of paddock usage asks a Prometheus that scrapes the operator",
        count=count,
    )


def build_document(
    rows: Sequence[Row], by: Sequence[By], window: Window, source: str, jobs: int | None
) -> dict[str, Any]:
    """For `-o json`. `source`: `prometheus`, `jobs` or `runs`; `jobs`: how many were looked at, null where that is not
    known. `seconds`: what was held times seconds, of cores, bytes and devices, by the name of the resource."""
    return {
        "since": _format(window.since),
        "until": _format(window.now),
        "source": source,
        "jobs": jobs,
        "rows": [
            {
                **{str(column): value or None for column, value in zip(by, row.key, strict=True)},
                "jobs": row.jobs or None,
                "seconds": {name: round(amount, 3) for name, amount in sorted(row.seconds.items())},
                "hours": {
                    name: round(amount / _HOUR, 3) for name, amount in sorted(row.seconds.items()) if name != "memory"
                },
            }
            for row in rows
        ],
    }


def _format(moment: Moment) -> str:
    return format_time(int(moment))
