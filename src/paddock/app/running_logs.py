"""Which log the training program of a pod writes on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from paddock.kube.api import Api
from paddock.kube.errors import ApiError
from paddock.kube.meta import PODS
from paddock.kube.pod_logs import name_main_container
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records


class RunningLogs:
    """`directory`: the node's. `list_running`: the containers that run now."""

    def __init__(self, api: Api, directory: Path, list_running: Callable[[], Iterable[tuple[PodState, Run]]]) -> None:
        self._api, self._records, self._list_running = api, Records(directory), list_running
        self._containers: dict[str, str] = {}
        """The container that trains, by the UID of its pod."""

    def list_running(self) -> dict[str, tuple[PodState, list[Run]]]:
        """The pods with a container that runs, by UID."""
        running: dict[str, tuple[PodState, list[Run]]] = {}
        for state, run in list(self._list_running()):
            running.setdefault(state.uid, (state, []))[1].append(run)
        return running

    async def find(self, pods: Collection[str]) -> dict[str, Path]:
        """The logs of those of these pods whose training program runs, by UID. Of a pod whose object cannot be read,
        that of its first container."""
        running = self.list_running()
        self._containers = {uid: name for uid, name in self._containers.items() if uid in running}
        logs: dict[str, Path] = {}
        for uid in running.keys() & pods:
            state, runs = running[uid]
            name = await self._name_container(state)
            if (trains := next((run for run in runs if name in ("", run.container)), None)) is not None:
                logs[uid] = self._records.log_file(state, trains)
        return logs

    def find_only(self, pod: str) -> Path | None:
        """The log of a pod with one container that runs, at once: of several, which one trains is asked."""
        with suppress(RuntimeError):  # of another thread: containers start and end meanwhile
            state, runs = self.list_running().get(pod, (None, []))
            if state is not None and len(runs) == 1:
                return self._records.log_file(state, runs[0])
        return None

    async def _name_container(self, state: PodState) -> str:
        """Empty where that is not known."""
        if state.uid not in self._containers:
            with suppress(ApiError):
                pod = await self._api.get(PODS, state.namespace, state.name)
                self._containers[state.uid] = name_main_container(pod)
        return self._containers.get(state.uid, "")
