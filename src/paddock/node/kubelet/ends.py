"""Records how runs end. The kubelet calls it when a process is gone.

A message needs the pod's object (its terminationMessagePolicy, the Secrets of its variables), which a new kubelet gets
later than the news that a process is gone. Until then the end is kept in memory alone, so that a crash in between loses
nothing: the next kubelet reads it again.
"""

from __future__ import annotations

from collections.abc import Callable

from paddock.kube.times import Moment
from paddock.node.kubelet.pod_table import KnownPod
from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hidden_values import Hidden, read_hidden
from paddock.node.runtime.pod_state import Run
from paddock.node.runtime.records import Records
from paddock.node.runtime.runs import Runs


class Ends:
    """The ends of the runs of one node directory. `on_end` is called after each."""

    def __init__(self, records: Records, runs: Runs, on_end: Callable[[], None]) -> None:
        self._records = records
        self._runs = runs
        self._on_end = on_end

    def record(self, pod: KnownPod, run: Run, now: Moment, *, seen: bool) -> None:
        """The run has ended. Of a pod whose object is not known yet, the message follows (`complete`)."""
        assert pod.state is not None
        # It may have changed since its watch began: by a probe, or as it is being ended.
        known = pod.state.runs.get(run.container)
        run = known if known is not None and known.number == run.number else run
        ended = self._runs.finish(pod.manifest, pod.state, run, now, Hidden(pod.hidden), seen=seen)
        pod.state = pod.state.with_run(ended)
        if pod.manifest is None:
            pod.without_message.add(run.container)
        else:
            self._records.try_save(pod.state)
        self._on_end()

    def complete(self, pod: KnownPod, configs: Configs) -> None:
        """The pod's object is known: if an earlier kubelet started its containers, the values to hide are read, as no
        record has them, and the messages of the runs that have ended meanwhile."""
        state, manifest = pod.state, pod.manifest
        if not pod.adopted or state is None or manifest is None:
            return
        pod.adopted = False
        pod.hidden |= read_hidden(manifest, configs)
        for name in pod.without_message:
            run = self._runs.add_message(manifest, state, state.runs[name], Hidden(pod.hidden))
            state = state.with_run(run)
        if pod.without_message:
            pod.without_message.clear()
            pod.state = state
            self._records.try_save(state)
