"""The queue of jobs as lines of a table, and as JSON. Pure; its rows are read in `views.queue_rows`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from paddock.cli.output.rows import format_age
from paddock.jobs.model import CauseRecord, Phase
from paddock.jobs.sentences.explain import explain
from paddock.jobs.sentences.queue_phrases import SAID
from paddock.jobs.sentences.waiting_phrases import SHORTAGE
from paddock.kube.quantities import format_quantity
from paddock.kube.times import Moment
from paddock.node.scheduler.queue import Capacity
from paddock.views.jobs import build_why
from paddock.views.queue_rows import QueueRow
from paddock.views.rooms import find_shortage_of
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import render

HEADER = ("POSITION", "NAME", "PHASE", "RANKS", "NEEDS", "WAITS", "WHY")
_PRIORITY = 1
"""The column before which PRIORITY stands, where a job has one."""
_NONE = "-"


def build_table(
    rows: Sequence[QueueRow], now: Moment, language: str = "en", *, most: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and lines. PRIORITY is a column where a job in the queue has one. `most`: columns of WHY."""
    header, cells = list(HEADER), [_build_cells(row, now, language, most) for row in rows]
    if any(row.priority for row in rows):
        header.insert(_PRIORITY, "PRIORITY")
        for row, line in zip(rows, cells, strict=True):
            line.insert(_PRIORITY, str(row.priority) if row.position else _NONE)
    return header, cells


def _build_cells(row: QueueRow, now: Moment, language: str, most: int | None) -> list[str]:
    return [
        str(row.position or _NONE),
        row.job.name,
        str(row.job.phase),
        str(row.ranks or _NONE),
        ", ".join(render(say_amount(name, row.needs[name]), language) for name in sort_resources(row.needs)) or _NONE,
        _NONE if row.since is None else format_age(row.since, now),
        build_why(row.job, language, most=most),
    ]


def build_document(
    rows: Sequence[QueueRow], capacity: Capacity | None, now: Moment, *, all_pods: bool = True
) -> dict[str, Any]:
    """The queue for `-o json`. Amounts are Kubernetes' quantities, `waits` seconds; null for what is not known or not
    there."""
    return {
        "nodes": None if capacity is None else capacity.nodes,
        "resources": None
        if capacity is None
        else {
            name: {"has": format_quantity(has), "free": format_quantity(free) if all_pods else None}
            for name, (free, has) in sorted(capacity.amounts.items())
        },
        "jobs": [_build_job(row, now) for row in rows],
    }


def _build_job(row: QueueRow, now: Moment) -> dict[str, Any]:
    cause = row.job.cause
    return {
        "position": row.position,
        "priority": row.priority if row.position else None,
        "apiVersion": row.resource.api_version,
        "kind": row.resource.kind,
        "namespace": row.job.namespace,
        "name": row.job.name,
        "phase": str(row.job.phase or Phase.PENDING),
        "ranks": row.ranks,
        "needs": {name: format_quantity(amount) for name, amount in sorted(row.needs.items())},
        "waits": None if row.since is None else max(0, round(now - row.since)),
        "cause": cause and {"reason": cause.reason, "args": _list_args(cause), "sentence": explain(cause)},
        "lacks": _list_lacking(cause),
    }


def _list_args(cause: CauseRecord) -> dict[str, Any]:
    """As the operator recorded them."""
    return {name: each for name, each in cause.args.items() if name not in (SHORTAGE, SAID)}


def _list_lacking(cause: CauseRecord | None) -> list[dict[str, Any]] | None:
    """What the pods of a job that waits lack, by nodes and pods or by the local scheduler; null if not known."""
    shortage = find_shortage_of(cause)
    if shortage is None:
        return None

    def tell(amount: Fraction | None) -> str | None:
        return None if amount is None else format_quantity(amount)

    return [
        {
            "resource": each.resource,
            "needs": tell(each.asked),
            "free": tell(each.free),
            "has": tell(each.total),
            "largestFree": tell(each.piece),
            "never": shortage.is_never,
            "heldBy": {holder.path: tell(holder.amount) for holder in each.holders},
        }
        for each in shortage.lacking
    ]
