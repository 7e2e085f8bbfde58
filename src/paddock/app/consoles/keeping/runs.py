"""The kept runs of a cluster for the pages of one reader: those that the API lets them see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paddock.app.consoles.keeping.rights import Sight
from paddock.app.consoles.runs import LocalRuns
from paddock.console.backend import Extent, RunList
from paddock.history.notes import Note
from paddock.history.records import RunRecord
from paddock.history.surroundings import Packages


class ReadersRuns:
    """A `console.backend.Runs`. `runs`: of all readers. Files that cannot be read are the administrator's concern:
    their names are those of others' namespaces."""

    def __init__(self, runs: LocalRuns, sight: Sight) -> None:
        self._runs, self._sight = runs, sight
        self._logs: dict[str, bool] = {}

    async def read(self, namespace: str = "", name: str = "") -> RunList:
        listed = await self._runs.read(namespace, name)
        shown = {run.uid: run for run in await self._sight.choose(run for run, _ in listed.runs)}
        for each in {run.namespace for run in shown.values()}:
            self._logs[each] = await self._sight.may_read_logs(each)
        return RunList(tuple((shown[run.uid], note) for run, note in listed.runs if run.uid in shown))

    def look(self, runs: Iterable[RunRecord]) -> Mapping[str, Mapping[str, Extent]]:
        """Of those whose logs this reader may read, as was found when the runs were read."""
        return self._runs.look(run for run in runs if self._logs.get(run.namespace))

    @property
    def reading(self) -> bool:
        return self._runs.reading

    def read_packages(self, digest: str) -> Packages | None:
        return self._runs.read_packages(digest)

    async def write_note(self, run: RunRecord, note: Note, seen: str) -> None:
        """On a cluster a note stands on the job, where its writer has the right to write it."""
        raise PermissionError(1, "Operation not permitted")
