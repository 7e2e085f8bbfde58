"""Asks the probes of running containers and runs their hooks. `node.kubelet.probes` decides, `performing` acts.

Each probe and each hook has a task of its own, so a slow one holds up itself alone; at most `MOST_PROBES` are asked at
a time. Nothing here outlives its run: tasks of a run that has ended are cancelled. After a restart of the kubelet a
hook that had not ended runs once more, as Kubernetes promises "at least once", and counts of answers begin anew.

Events are kubelet's: Unhealthy, Killing, FailedPostStartHook, FailedPreStopHook. Values of Secrets do not appear in
them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, NamedTuple

from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.node.kubelet import probes
from paddock.node.kubelet.actions import read_action
from paddock.node.kubelet.performing import NotDone, Outcome, RunInContainer, perform
from paddock.node.kubelet.pod_plan import grace_period
from paddock.node.kubelet.pod_table import KnownPod
from paddock.node.kubelet.probes import MOST_OUTPUT, Kind, Probe, Tally
from paddock.node.kubelet.stops import find_hook
from paddock.node.runtime.containers import find_container
from paddock.node.runtime.hidden_values import Hidden
from paddock.node.runtime.pod_state import Run
from paddock.words.phrases import phrase

MOST_PROBES = 64
"""Probes that are asked at a time, of all pods together."""
POST_START, PRE_STOP = "postStart", "preStop"

_log = logging.getLogger(__name__)

Publish = Callable[[Manifest, str, str, str], None]
"""An event, by the pod, reason, message and type. It returns at once."""


class _Key(NamedTuple):
    """A task: the pod's UID, container, number of the run, and the field."""

    uid: str
    container: str
    number: int
    what: str


class Care:
    """The probes and hooks of one node. Needs a running event loop."""

    def __init__(
        self,
        change: Callable[[KnownPod, Run], None],
        wake: Callable[[str], None],
        publish: Publish,
        run: RunInContainer,
        clock: Callable[[], Moment],
    ) -> None:
        """`change` keeps a run that has changed and plans its pod again; `wake` plans it again."""
        self._change, self._wake, self._publish, self._run, self._clock = change, wake, publish, run, clock
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._stopped: set[_Key] = set()  # preStop hooks that have ended
        self._slots = asyncio.Semaphore(MOST_PROBES)

    def follow(self, pod: KnownPod) -> None:
        """Begins what the pod's runs are due now, and ends what belongs to no run any more."""
        running = {(run.container, run.number) for run in pod.running}
        for key in [key for key in self._tasks if key.uid == pod.uid and (key.container, key.number) not in running]:
            self._tasks.pop(key).cancel()
        self._stopped = {key for key in self._stopped if key.uid != pod.uid or (key.container, key.number) in running}
        for run in pod.running if pod.manifest is not None and pod.state is not None else ():
            if run.pid and pod.manifest is not None:
                self._follow_run(pod, pod.manifest, run)

    def may_terminate(self, pod: KnownPod, run: Run, deadline: Moment | None) -> bool:
        """Whether SIGTERM may be sent now: there is no preStop hook, or it has ended. Otherwise it is run, until the
        deadline at most, and the pod is planned again."""
        key = _Key(pod.uid, run.container, run.number, PRE_STOP)
        if pod.manifest is None or deadline is None or find_hook(pod.manifest, run.container, PRE_STOP) is None:
            return True
        if key not in self._stopped:
            self._begin(key, lambda: self._stop(pod, key, deadline))
        return key in self._stopped

    def forget(self, uid: str) -> None:
        for key in [key for key in self._tasks if key.uid == uid]:
            self._tasks.pop(key).cancel()

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    def _follow_run(self, pod: KnownPod, manifest: Manifest, run: Run) -> None:
        if run.unhooked and run.stopping is None:
            key = _Key(pod.uid, run.container, run.number, POST_START)
            self._begin(key, lambda: self._start(pod, key))
        for probe in probes.read_probes(find_container(manifest, run.container), _address(pod)).values():
            if probes.find_due(probe, run, Tally()) is not None:
                self._begin_probe(_Key(pod.uid, run.container, run.number, probe.kind.value), pod, probe)

    def _begin_probe(self, key: _Key, pod: KnownPod, probe: Probe) -> None:
        self._begin(key, lambda: self._ask(pod, key, probe))

    def _begin(self, key: _Key, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if key not in self._tasks:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._do(key, work()))

    async def _do(self, key: _Key, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            _log.exception("%s of container %s of pod %s", key.what, key.container, key.uid)
        finally:
            if self._tasks.get(key) is asyncio.current_task():
                del self._tasks[key]

    # Probes

    async def _ask(self, pod: KnownPod, key: _Key, probe: Probe) -> None:
        """Until the probe is not due any more; its next task begins with a fresh tally."""
        tally = Tally()
        while (run := _current(pod, key)) is not None and (due := probes.find_due(probe, run, tally)) is not None:
            await asyncio.sleep(max(0.0, due - self._clock()))
            if (run := _current(pod, key)) is None or probes.find_due(probe, run, tally) is None:
                return
            asked = self._clock()
            outcome = await self._try(pod, key, probe)
            run = _current(pod, key)
            if run is None or pod.manifest is None:
                return
            if outcome is None:
                tally = replace(tally, asked=asked)
                continue
            tally, verdict = probes.count(probe, tally, outcome.good, asked)
            if not outcome.good and run.stopping is None:
                said = phrase("{probe} probe failed: {why}", probe=probe.kind.title, why=outcome.text)
                self._say(pod, "Unhealthy", str(said))
            if verdict is not None:
                self._judge(pod, run, probe, verdict, outcome.text)

    async def _try(self, pod: KnownPod, key: _Key, probe: Probe) -> Outcome | None:
        """None: it could not be asked, which counts neither way (kubelet's result Unknown)."""
        assert pod.manifest is not None
        async with self._slots:
            try:
                return await perform(probe.action, pod.manifest, key.container, self._run, probe.timeout, judges=True)
            except NotDone as error:
                said = phrase("{probe} probe errored: {why}", probe=probe.kind.title, why=str(error))
                self._say(pod, "Unhealthy", str(said))
                return None

    def _judge(self, pod: KnownPod, run: Run, probe: Probe, verdict: bool, why: str) -> None:
        assert pod.manifest is not None
        grace, hidden = grace_period(pod.manifest), Hidden(pod.hidden)
        changed = probes.apply(probe, run, verdict, self._clock(), grace, hidden.apply(why)[:MOST_OUTPUT])
        if changed == run:
            return
        if changed.stopping is not None and run.stopping is None:
            self._say(pod, "Killing", explain_kill(pod.manifest, run.container, probe.kind), "Normal")
        self._change(pod, changed)

    # Hooks

    async def _start(self, pod: KnownPod, key: _Key) -> None:
        outcome = await self._perform_hook(pod, key, None)
        run = _current(pod, key)
        if run is None or pod.manifest is None or run.stopping is not None:
            return
        if outcome.good:
            self._change(pod, replace(run, unhooked=False))
            return
        self._say(pod, "FailedPostStartHook", str(phrase("PostStartHook failed: {why}", why=outcome.text)))
        self._say(pod, "Killing", str(phrase("Stopping container {name}", name=run.container)), "Normal")
        why = Hidden(pod.hidden).apply(outcome.text)[:MOST_OUTPUT]
        said = phrase("ended by the kubelet, as its postStart hook failed: {why}", why=why)
        grace = grace_period(pod.manifest)
        self._change(pod, replace(run, stopping=self._clock(), stop_grace=grace, message=str(said)))

    async def _stop(self, pod: KnownPod, key: _Key, deadline: Moment) -> None:
        outcome = await self._perform_hook(pod, key, max(0.0, deadline - self._clock()))
        if not outcome.good:
            self._say(pod, "FailedPreStopHook", str(phrase("PreStopHook failed: {why}", why=outcome.text)))
        self._stopped.add(key)
        self._wake(pod.uid)

    async def _perform_hook(self, pod: KnownPod, key: _Key, seconds: float | None) -> Outcome:
        assert pod.manifest is not None
        container = find_container(pod.manifest, key.container)
        hook = find_hook(pod.manifest, key.container, key.what) or {}
        action = read_action(hook, container, _address(pod))
        if action is None:
            return Outcome(False, str(phrase("the hook has no action that a kubelet knows")))
        try:
            return await perform(action, pod.manifest, key.container, self._run, seconds, judges=False)
        except NotDone as error:
            return Outcome(False, str(error))

    def _say(self, pod: KnownPod, reason: str, message: str, kind: str = "Warning") -> None:
        if pod.manifest is not None:
            self._publish(pod.manifest, reason, Hidden(pod.hidden).apply(message)[:MOST_OUTPUT], kind)


def explain_kill(pod: Manifest, container: str, kind: Kind) -> str:
    """kubelet's sentence. It says "will be restarted" of a container that never is, too; here it does not."""
    probe = kind.title.lower()
    if (pod["spec"].get("restartPolicy") or "Always") == "Never" and not _is_restarted(pod, container):
        return str(phrase("Container {name} failed {probe} probe, and is ended", name=container, probe=probe))
    return str(phrase("Container {name} failed {probe} probe, will be restarted", name=container, probe=probe))


def _is_restarted(pod: Manifest, container: str) -> bool:
    return any(each["name"] == container for each in pod["spec"].get("initContainers") or ())


def _current(pod: KnownPod, key: _Key) -> Run | None:
    """The run, while it runs."""
    run = pod.state.runs.get(key.container) if pod.state is not None else None
    return run if run is not None and run.number == key.number and run.running and not pod.gone else None


def _address(pod: KnownPod) -> str:
    return pod.state.address if pod.state is not None else ""
