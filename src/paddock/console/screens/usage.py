"""What jobs have held: hours of GPUs, cores and pods, by namespace and kind, by job, or by person.

/usage?since=7d            of the last 24h, 7d, 30d or 90d
/usage?by=name             by=person too
/usage?namespace=team      of one namespace, for who may not look into all

The numbers are those of `paddock usage` (`views.usage`): on a laptop of the runs that it keeps, on a cluster of the
jobs that its reader may see.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Screen
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS
from paddock.views.stored import read_stored
from paddock.views.usage import By, Held, Window, group_pods, read_run, read_stored_job, sum_rows
from paddock.views.usage_rows import build_table, explain_jobs, explain_total, explain_unasked
from paddock.words.phrases import Phrase, phrase

ON_A_PAGE = 200
READ_IN_A_STEP = 100
"""Jobs between two turns of others."""
_DAY = 86_400
_PERIODS: Mapping[str, int] = MappingProxyType({"24h": _DAY, "7d": 7 * _DAY, "30d": 30 * _DAY, "90d": 90 * _DAY})
"""In seconds."""
_USUAL = "30d"
_COLUMNS: Mapping[str, Sequence[By]] = MappingProxyType({
    "": (By.NAMESPACE, By.KIND),
    By.NAME: (By.NAMESPACE, By.KIND, By.NAME),
    By.PERSON: (By.PERSON,),
})  # fmt: skip
_TITLES: Mapping[str, Phrase] = MappingProxyType({
    "": phrase("by namespace"),
    By.NAME: phrase("by job"),
    By.PERSON: phrase("by person"),
})  # fmt: skip
_HEADS: Mapping[str, Phrase] = MappingProxyType({
    "NAMESPACE": phrase("Namespace"),
    "KIND": phrase("Kind"),
    "NAME": phrase("Name"),
    "PERSON": phrase("Submitted by"),
    "JOBS": phrase("Jobs"),
    "GPU-HOURS": phrase("GPU-hours"),
    "CPU-HOURS": phrase("CPU-hours"),
    "POD-HOURS": phrase("Pod-hours"),
})  # fmt: skip


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(each, query.get("namespace", "")) for each in (*KINDS, PODS)]


async def build(page: PageContext) -> Mapping[str, Any]:
    since = page.query.get("since", "") if page.query.get("since", "") in _PERIODS else _USUAL
    by = page.query.get("by", "") if page.query.get("by", "") in _COLUMNS else ""
    namespace = page.query.get("namespace", "")
    window, columns = Window(page.now - _PERIODS[since], page.now), _COLUMNS[by]
    held, said = await (_read_jobs(page, window) if page.backend.held is None else _read_runs(page, window, namespace))
    rows = sum_rows(held, columns)
    header, lines = build_table(rows, columns)
    return {
        "header": [{"title": _name(page, each), "number": place >= len(columns)} for place, each in enumerate(header)],
        "lines": lines[:ON_A_PAGE],
        "more": max(0, len(lines) - ON_A_PAGE),
        "total": page.say(explain_total(rows, since)) if len(rows) > 1 else "",
        "said": page.say(said),
        "notes": [page.say(each) for each in (explain_unasked(rows), *_list_notes(page)) if each],
        "namespace": namespace,
        "hidden": page.backend.held is None and all(_is_forbidden(page, each) for each in KINDS),
        "periods": [_build_choice(page, _say(each), each == since, since=each, by=by) for each in _PERIODS],
        "ways": [_build_choice(page, _TITLES[each], each == by, since=since, by=each) for each in _COLUMNS],
        "command": _write_command(page, since, by, namespace),
    }


async def _read_runs(page: PageContext, window: Window, namespace: str) -> tuple[list[Held], Phrase]:
    """In steps, between which others have their turn. This console's cluster is up."""
    assert page.backend.held is not None
    runs, said = await page.backend.held(window.since, namespace)
    held: list[Held] = []
    for begin in range(0, len(runs), READ_IN_A_STEP):
        part = runs[begin : begin + READ_IN_A_STEP]
        held += [read_run(run, job, used, window, is_up=True) for run, job, used in part]
        await asyncio.sleep(0)
    return held, said


async def _read_jobs(page: PageContext, window: Window) -> tuple[list[Held], Phrase]:
    """In steps as well."""
    pods = group_pods(page.objects(_topic(page, PODS)))
    stored = []
    for kind in KINDS:
        await page.read_ahead(_topic(page, kind), read_stored)
        stored += page.read(_topic(page, kind), read_stored)
    held: list[Held] = []
    for begin in range(0, len(stored), READ_IN_A_STEP):
        held += [read_stored_job(each, pods, window) for each in stored[begin : begin + READ_IN_A_STEP]]
        await asyncio.sleep(0)
    return held, explain_jobs(len(stored))


def _topic(page: PageContext, resource: Any) -> Topic:
    return Topic(resource, page.query.get("namespace", ""))


def _is_forbidden(page: PageContext, resource: Any) -> bool:
    cache = page.caches.get(_topic(page, resource))
    return cache is not None and isinstance(cache.error, Forbidden)


def _list_notes(page: PageContext) -> list[Phrase]:
    if page.backend.held is None and _is_forbidden(page, PODS):
        return [phrase("you may not list pods here, so jobs that have not ended are not counted")]
    return []


def _name(page: PageContext, head: str) -> str:
    """`GPU-hours`; the column of another accelerator has its name."""
    if said := _HEADS.get(head):
        return page.say(said)
    return page.say(phrase("{device} hours", device=head.removesuffix("-HOURS")))


def _say(period: str) -> Phrase:
    return phrase("{time}", time=period)


def _build_choice(page: PageContext, title: Phrase | str, chosen: bool, **query: str) -> Mapping[str, Any]:
    kept = {name: value for name, value in query.items() if value}
    if namespace := page.query.get("namespace", ""):
        kept["namespace"] = namespace
    return {"title": page.say(title), "address": f"/usage?{urlencode(kept)}", "chosen": chosen}


def _write_command(page: PageContext, since: str, by: str, namespace: str) -> str:
    where = f" -n {shlex.quote(namespace)}" if namespace else " -A"
    return f"paddock usage --since {since}{f' --by {by}' if by else ''}{where}{page.backend.options}"


SCREEN = Screen("usage", "/usage", phrase("Hours held"), list_topics, build, live=False)
