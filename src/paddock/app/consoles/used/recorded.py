"""What the local cluster's jobs used, for its console: what the node recorded beside their logs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from paddock.app.consoles.logs import LocalLogs
from paddock.console.backend import KeptLog, RankUsage, Used
from paddock.history.logs import LogLocation
from paddock.kube.meta import Resource
from paddock.node.usage.records import read_usage_file, usage_file
from paddock.node.usage.samples import Sample


class LocalMetrics:
    """One reader's, as a laptop has one. `logs`: where each rank's log is, the record is beside it."""

    def __init__(self, logs: LocalLogs) -> None:
        self._logs = logs

    async def find(self, resource: Resource, namespace: str, name: str, uid: str, ranks: Collection[str]) -> Used:
        run = await self._logs.find(resource, namespace, name, uid)
        wanted = [log for log in run.logs if log.rank in ranks] if run else []
        found = await asyncio.to_thread(lambda: [_read(log) for log in wanted])
        return Used(tuple(each for each in found if each.times))


def _read(log: KeptLog) -> RankUsage:
    return build_rank_usage(LogLocation(log.role, log.index, log.attempt), read_usage_file(usage_file(Path(log.id))))


def build_rank_usage(place: LogLocation, samples: Collection[Sample]) -> RankUsage:
    columns = {
        "cpu": [each.cpu for each in samples],
        "memory": [each.memory for each in samples],
        "gpu": [each.gpu for each in samples],
        "gpu_memory": [each.gpu_memory for each in samples],
    }
    return RankUsage(place.role, place.index, place.attempt, [each.at for each in samples], columns)
