"""One dataset: what is there and where, how far it is, who uses it; fetching it again and removing it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import DATASET, address_of_job
from paddock.console.feed import Topic
from paddock.console.heads import explain_right
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.console.screens.datasets import (
    build_row,
    error_of,
    explain_error,
    list_topics_of,
    list_users,
    write_command,
)
from paddock.datasets.options import OPTIONS
from paddock.datasets.sources import show_source
from paddock.datasets.users import User
from paddock.kube.meta import DATASETS, EVENTS, PODS
from paddock.views.datasets import (
    DatasetRow,
    explain_absence,
    explain_in_use,
    explain_no_rerun,
    find_rest,
    is_about_dataset,
    read_dataset_row,
)
from paddock.views.events import EventRow, build_event_rows
from paddock.words.phrases import Phrase, phrase

MOST_USERS = 100
MOST_EVENTS = 50
_FIELDS = tuple(each.key for each in OPTIONS.values() if each.is_of_source)
"""Of `spec.source`, beside its address; of an endpoint that somebody has written with a password it is not shown."""


def list_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    """All datasets of the namespace, as the nearest name takes them."""
    namespace = path["namespace"]
    return [*list_topics_of(namespace), Topic(EVENTS, namespace)]


async def build(page: PageContext) -> Mapping[str, Any]:
    row = find_dataset(page)
    namespace = row.key.namespace
    users = list_users(page, [row], namespace).get(row.key, [])
    events = build_event_rows(each for each in page.objects(Topic(EVENTS, namespace)) if is_about_dataset(each, row))
    copied = show_source(row.uri).copied
    return {
        "row": build_row(page, row, users),
        "said": page.translate(find_rest(row.status)),
        "status": row.status,
        "facts": row,
        "copied": copied,
        "fields": [(name, value) for name in _FIELDS if (value := _show(row.source, name))],
        "users": [_show_user(each) for each in users[:MOST_USERS]],
        "more": max(0, len(users) - MOST_USERS),
        "mount": f"--data {row.key.name}:/data",
        "events": [_show_event(page, each) for each in events[:MOST_EVENTS]],
        "rerun": await _show_button(page, row, "rerun", "patch", explain_no_rerun(row, copied=copied)),
        "delete": await _show_button(page, row, "rm", "delete", explain_in_use(users)),
        "commands": _list_commands(page, row),
    }


def find_dataset(page: PageContext) -> DatasetRow:
    """The one that the page's address names. Raises `Missing`."""
    namespace, name = page.path["namespace"], page.path["name"]
    found = page.read(Topic(DATASETS, namespace), read_dataset_row)
    row = next((each for each in found if each.key.name == name), None)
    if row is None:
        error = error_of(page, namespace)
        names = [each.key.name for each in found]
        raise Missing(explain_error(page, error) if error else explain_absence(name, namespace, names))
    return row


async def _show_button(
    page: PageContext, row: DatasetRow, verb: str, right: str, why: Phrase | None
) -> Mapping[str, str]:
    if not await page.may(right, DATASETS, row.key.namespace):
        why = explain_right(right, DATASETS, row.key.namespace)
    return {"why_not": page.say(why) if why else "", "command": write_command(page, verb, row)}


def _list_commands(page: PageContext, row: DatasetRow) -> Mapping[str, str]:
    place = shlex.join([row.key.name, "-n", row.key.namespace])
    return {
        "paddock": write_command(page, "describe", row),
        "kubectl": f"{page.backend.kubectl} get {DATASETS.qualified} {place} -o yaml",
    }


def _show(source: Mapping[str, Any], name: str) -> str:
    """A field of the source; patterns stand in one line."""
    value = source.get(name)
    if name == "endpoint" and value:
        return show_source(str(value)).address
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _show_user(user: User) -> Mapping[str, Any]:
    address = "" if user.resource is PODS else address_of_job(user.resource, *user.key)
    return {"name": user.key.name, "kind": user.resource.kind, "phase": user.phase, "address": address}


def _show_event(page: PageContext, event: EventRow) -> Mapping[str, Any]:
    return {"row": event, "said": page.translate(event.message)}


SCREEN = Screen("dataset", DATASET, phrase("Dataset"), list_topics, build)
