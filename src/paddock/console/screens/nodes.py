"""The nodes: what each has, what is asked of it and used, by which jobs; those that take no pods first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from paddock.console.addresses import address_of_job
from paddock.console.feed import Cache, Topic
from paddock.console.page_context import PageContext, Screen
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import NODES, PODS, name_of
from paddock.kube.quantities import format_bytes, format_quantity
from paddock.kube.times import Moment
from paddock.kube.usage import NODE_METRICS, read_usage
from paddock.views.listing import choose_part, cut_part
from paddock.views.nodes import NodeRow, read_node_rows
from paddock.views.queue_rows import explain_capacity
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import Foreign, Phrase, phrase

ON_A_PAGE = 100
SHOWN_JOBS = 4
SECONDS = 15.0
"""Between two looks at what is used, as metrics-server measures."""
_USED_SECONDS = 5.0
_NOTE = "used"

Used = Mapping[str, tuple[float, float]]
"""By node: cores and bytes."""


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(NODES), Topic(PODS)]


async def read_used(page: PageContext, cache: Cache) -> Used | None:
    """What nodes use, asked for once in some seconds by all pages of one reader. None where it is not served."""
    known: tuple[Moment, Used | None] = cache.notes.get(_NOTE, (0.0, None))
    at, used = known
    if page.now - at >= _USED_SECONDS:
        used = await _fetch_used(page)
        cache.notes[_NOTE] = (page.now, used)
    return used


async def _fetch_used(page: PageContext) -> Used | None:
    try:
        listed = (await page.api.list(NODE_METRICS)).items
    except ApiError:
        return None
    found = {}
    for each in listed:
        with suppress(ValueError):
            found[name_of(each)] = read_usage(each.get("usage") or {})
    return found


async def build(page: PageContext) -> Mapping[str, Any]:
    cache = page.caches.get(Topic(NODES), Cache())
    error = cache.error
    rows = read_node_rows(page.objects(Topic(NODES)), page.objects(Topic(PODS)))
    wanted = page.query.get("q", "").strip().lower()
    shown = [row for row in rows if wanted in row.name.lower()]
    part = choose_part(page.query.get("page", ""), len(shown), ON_A_PAGE)
    used = await read_used(page, cache) if rows else None
    devices = [each for each in list_resources(rows) if each not in ("cpu", "memory")]
    return {
        "error": page.say(_explain(error)) if error else "",
        "rows": [_build_row(page, row, devices, used) for row in cut_part(shown, part)],
        "headings": [name_resource(each) for each in devices],
        "used": used is not None,
        "totals": _build_totals(page, rows, devices),
        "counts": {state: sum(row.state == state for row in rows) for state in ("NotReady", "Cordoned", "Ready")},
        "total": len(shown), "chosen": part.page, "pages": part.pages, "wanted": wanted,
    }  # fmt: skip


def _explain(error: ApiError) -> Phrase | str:
    """As the queue says it, to who may not list nodes."""
    return explain_capacity(None) if isinstance(error, Forbidden) else phrase("{said}", said=Foreign(error.message))


def list_resources(rows: Sequence[NodeRow]) -> list[str]:
    return sort_resources({name: None for row in rows for name in row.amounts})


def name_resource(name: str) -> str:
    """`nvidia.com/gpu` -> `GPU`, as tables of people have it."""
    return "GPU" if name == "nvidia.com/gpu" else name


def _build_row(page: PageContext, row: NodeRow, devices: Sequence[str], used: Used | None) -> Mapping[str, Any]:
    cores, memory = (used or {}).get(row.name, (None, None))
    return {
        "name": row.name,
        "state": row.state,
        "version": row.version,
        "troubles": [
            {"name": each.condition, "said": page.say(phrase("{said}", said=Foreign(each.message)))}
            for each in row.troubles
        ],
        "taints": row.taints,
        "cpu": show_amount("cpu", row),
        "cpu_used": "" if cores is None else f"{cores:.2f}",
        "memory": show_amount("memory", row),
        "memory_used": "" if memory is None else format_bytes(memory),
        "devices": [show_amount(each, row) for each in devices],
        "pods": f"{row.pods[0]} / {row.pods[1]}" if row.pods[1] else str(row.pods[0]),
        "jobs": [
            {"name": each.key.name, "namespace": each.key.namespace, "pods": each.pods,
             "address": address_of_job(each.resource, *each.key)}
            for each in row.jobs[:SHOWN_JOBS]
        ],
        "more": max(0, len(row.jobs) - SHOWN_JOBS),
        "others": row.others,
    }  # fmt: skip


def show_amount(name: str, row: NodeRow) -> str:
    """`3 / 8`, `1.5 GiB / 24 GiB`: asked and allocatable."""
    if name not in row.amounts:
        return "–"
    return " / ".join(_write(name, each) for each in row.amounts[name])


def _write(name: str, amount: Fraction) -> str:
    if name == "memory":
        return format_bytes(amount) if amount else "0"
    return f"{float(amount):g}" if name == "cpu" else format_quantity(amount)


def _build_totals(page: PageContext, rows: Sequence[NodeRow], devices: Sequence[str]) -> list[str]:
    """One sentence for each resource of all nodes together."""
    said = []
    for name in ("cpu", "memory", *devices):
        asked = sum((row.amounts[name][0] for row in rows if name in row.amounts), Fraction(0))
        has = sum((row.amounts[name][1] for row in rows if name in row.amounts), Fraction(0))
        if has:
            said.append(
                page.say(phrase("{asked} of {has} asked for", asked=_write(name, asked), has=say_amount(name, has)))
            )
    return said


SCREEN = Screen("nodes", "/nodes", phrase("Nodes"), list_topics, build, in_menu=True, every=SECONDS)
