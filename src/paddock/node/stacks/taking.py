"""The stacks of a pod that runs on this machine, for the API.

Who asks gets what was there at that moment. Nothing is kept, and no process is stopped or ended for it. At most
`_AT_ONCE` processes of the machine are looked at together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.kube.pod_stacks import MOST_PROCESSES, PodStacks, ProcessStacks, Trouble
from paddock.logs.stack_dumps import Dump
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.stacks.dumps import Way
from paddock.node.stacks.processes import Processes, Seen

_AT_ONCE = 8
_SECONDS = 20.0
"""For all processes of a pod. Clients wait for thirty seconds."""


class NodeStacks:
    """`list_running`: the containers that run now. `ways`: to the stacks of a process, the first that succeeds. `tool`:
    the path of py-spy, for who has to call it."""

    def __init__(
        self,
        list_running: Callable[[], Iterable[tuple[PodState, Run]]],
        processes: Processes,
        ways: Sequence[Way],
        tool: str = "",
    ) -> None:
        self._list_running, self._processes, self._ways, self._tool = list_running, processes, ways, tool
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def take(self, pod: Manifest) -> PodStacks:
        """Empty for a pod without a container that runs."""
        roots = {run.pid: run.container for state, run in self._list_running() if state.uid == uid_of(pod)}
        found = await asyncio.to_thread(self._look, roots)
        python = [(seen, container) for seen, container in found if seen.python is not False]
        others = tuple(dict.fromkeys(seen.program for seen, _ in found if seen.python is False))
        chosen = python[:MOST_PROCESSES]
        deadline = asyncio.get_running_loop().time() + _SECONDS
        taken = await asyncio.gather(*(self._take(seen, container, deadline) for seen, container in chosen))
        return PodStacks(name_of(pod), tuple(taken), others, self._tool, len(python) - len(chosen))

    def _look(self, roots: dict[int, str]) -> list[tuple[Seen, str]]:
        listed = self._processes.list_of(roots)
        seen = [(self._processes.look(pid), container) for pid, container in listed.items()]
        return [(each, container) for each, container in seen if each.state not in ("", "Z", "X")]

    async def _take(self, seen: Seen, container: str, deadline: float) -> ProcessStacks:
        by, dump = "", Dump((), Trouble.NO_ANSWER)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline), self._room:
                by, dump = await self._try(seen)
        trouble = "" if dump.trouble is None else str(dump.trouble)
        return ProcessStacks(
            seen.pid, container, seen.command, seen.rank, dump.threads, by, trouble, dump.said if trouble else ""
        )

    async def _try(self, seen: Seen) -> tuple[str, Dump]:
        """By the first way that has a stack, else the trouble of the first: it says most."""
        if seen.state == "T":
            return "", Dump((), Trouble.STOPPED)
        first: Dump | None = None
        for way in self._ways:
            found = await way.take(seen)
            if found.trouble is None:
                return way.name, found
            if found.trouble in (Trouble.ENDED, Trouble.NO_PYTHON, Trouble.TOO_LONG):
                return "", found
            first = choose_trouble(first, found)
        return "", first or Dump((), Trouble.NO_TOOL)


def choose_trouble(first: Dump | None, second: Dump) -> Dump:
    """Which of two tells more: that the second way is not there says less than why the first failed. Pure."""
    return second if first is None or second.trouble is not Trouble.NOT_ALLOWED else first
