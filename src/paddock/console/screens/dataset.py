"""One dataset: what is there and where, how far it is, which jobs use it; fetching it again and removing it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import DATASET, address_of_job
from paddock.console.feed import Topic
from paddock.console.screens.datasets import (
    build_row,
    error_of,
    explain_error,
    find_known,
    list_topics_of,
    read_uses,
    write_command,
)
from paddock.console.visit import Missing, Screen, Visit
from paddock.console.world import Datasets
from paddock.kube.meta import DATASETS, EVENTS
from paddock.views.datasets import (
    DatasetRow,
    JobUse,
    explain_absence,
    explain_in_use,
    explain_no_rerun,
    find_rest,
    find_users,
    is_about_dataset,
    read_dataset_row,
)
from paddock.views.events import EventRow, build_event_rows
from paddock.words.phrases import Phrase, phrase

MOST_USERS = 100
MOST_EVENTS = 50
_FIELDS = ("sha256", "revision", "endpoint", "region", "include", "exclude", "secretName")
"""Of `spec.source`, beside its address; of an endpoint that somebody has written with a password it is not shown."""


def list_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    """All datasets of the namespace, as the nearest name takes them."""
    namespace = path["namespace"]
    return [*list_topics_of(namespace), Topic(EVENTS, namespace)]


async def build(visit: Visit) -> Mapping[str, Any]:
    known, row = find_known(visit), find_dataset(visit)
    namespace = row.key.namespace
    users = find_users([row], read_uses(visit, namespace)).get(row.key, [])
    events = build_event_rows(each for each in visit.objects(Topic(EVENTS, namespace)) if is_about_dataset(each, row))
    copied = known.show(row.uri).copied
    return {
        "row": build_row(visit, known, row, users),
        "said": visit.translate(find_rest(row.status)),
        "status": row.status,
        "facts": row,
        "copied": copied,
        "fields": [(name, value) for name in _FIELDS if (value := _show(row.source, name, known))],
        "users": [_show_user(each) for each in users[:MOST_USERS]],
        "more": max(0, len(users) - MOST_USERS),
        "mount": f"--data {row.key.name}:/data",
        "events": [_show_event(visit, each) for each in events[:MOST_EVENTS]],
        "rerun": await _show_button(visit, row, "rerun", "patch", explain_no_rerun(row, copied=copied)),
        "delete": await _show_button(visit, row, "rm", "delete", explain_in_use(users)),
        "commands": _list_commands(visit, row),
    }


def find_dataset(visit: Visit) -> DatasetRow:
    """The one that the visit's address names. Raises `Missing`."""
    namespace, name = visit.path["namespace"], visit.path["name"]
    found = visit.read(Topic(DATASETS, namespace), read_dataset_row)
    row = next((each for each in found if each.key.name == name), None)
    if row is None:
        error = error_of(visit, namespace)
        names = [each.key.name for each in found]
        raise Missing(explain_error(visit, error) if error else explain_absence(name, namespace, names))
    return row


async def _show_button(visit: Visit, row: DatasetRow, verb: str, right: str, why: Phrase | None) -> Mapping[str, str]:
    if not await visit.may(right, DATASETS, row.key.namespace):
        why = phrase(
            "you may not {verb} {kinds} in namespace {namespace}",
            verb=right, kinds=DATASETS.qualified, namespace=row.key.namespace,
        )  # fmt: skip
    return {"why_not": visit.say(why) if why else "", "command": write_command(visit, verb, row)}


def _list_commands(visit: Visit, row: DatasetRow) -> Mapping[str, str]:
    place = shlex.join([row.key.name, "-n", row.key.namespace])
    return {
        "paddock": write_command(visit, "describe", row),
        "kubectl": f"{visit.world.kubectl} get {DATASETS.qualified} {place} -o yaml",
    }


def _show(source: Mapping[str, Any], name: str, known: Datasets) -> str:
    """A field of the source; patterns stand in one line."""
    value = source.get(name)
    if name == "endpoint" and value:
        return known.show(str(value)).address
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _show_user(use: JobUse) -> Mapping[str, Any]:
    return {
        "name": use.key.name,
        "kind": use.resource.kind,
        "phase": str(use.phase),
        "address": address_of_job(use.resource, *use.key),
    }


def _show_event(visit: Visit, event: EventRow) -> Mapping[str, Any]:
    return {"row": event, "said": visit.translate(event.message)}


SCREEN = Screen("dataset", DATASET, phrase("Dataset"), list_topics, build)
