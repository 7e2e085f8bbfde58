"""Keeps the copied logs of a cluster below their limit: by the plan of the local history (`history.retention`)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from dataclasses import replace

from paddock.app.consoles.spool.files import ClusterSpool
from paddock.app.history import build_files, read_place
from paddock.app.home import Home
from paddock.history.logs import PodLogs, group_logs, measure
from paddock.history.recording import mark_deleted
from paddock.history.records import RunRecord, read_records, remove_record, write_record
from paddock.history.retention import Kept, Limits, plan_pruning
from paddock.jobs.apis.registry import KINDS
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import uid_of

_log = logging.getLogger(__name__)


async def tidy(spool: ClusterSpool, api: Api, attended: Collection[str], limits: Limits) -> None:
    """Runs whose job is gone meanwhile are over; then the oldest of those that are over go. `attended`: UIDs of runs
    that are looked at."""
    for record in await asyncio.to_thread(_read, spool.home):
        if record.deleted is None and record.uid not in attended and await _is_gone(api, record):
            write_record(spool.home.history, mark_deleted(record, time.time()))
    await asyncio.to_thread(_prune, spool.home, attended, limits)


def _read(home: Home) -> list[RunRecord]:
    return [each for each in read_records(home.history) if isinstance(each, RunRecord)]


async def _is_gone(api: Api, record: RunRecord) -> bool:
    resource = next(
        (each for each in KINDS if (each.api_version, each.kind) == (record.api_version, record.kind)), None
    )
    if resource is None:
        return False
    try:
        return uid_of(await api.get(resource, record.namespace, record.name)) != record.uid
    except NotFound:
        return True
    except ApiError:
        return False


def _prune(home: Home, attended: Collection[str], limits: Limits) -> None:
    files = build_files(home)
    pods = group_logs(files.logs, read_place)
    records = [each for each in _read(home) if each.uid not in attended]
    plan = plan_pruning(
        [Kept(each, sum(map(measure, pods.get(each.uid, ())))) for each in records], limits, time.time()
    )

    def remove(logs: list[PodLogs]) -> None:
        for each in logs:
            files.remove(each.directory)

    for record in plan.logs:
        remove(pods.get(record.uid, []))
        write_record(home.history, replace(record, logs_pruned=True))
    for record in plan.runs:
        remove(pods.get(record.uid, []))
        remove_record(home.history, record)
    if plan.runs or plan.logs:
        _log.info("pruned the copied logs of %d runs", len(plan.runs) + len(plan.logs))
