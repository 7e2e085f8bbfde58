"""Starts a container: collects what it needs from its namespace and from other pods, or returns its obstacle.

The kubelet decides when, `node.runtime.containers` does it. Nothing is started of which a trace is there, whatever the
record says: a program never runs twice. Every failure of a start is an obstacle in the status of this container, also a
bug of ours: users look there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.node.kubelet.neighbours import Neighbours
from paddock.node.kubelet.pod_plan import Start
from paddock.node.kubelet.pod_table import KnownPod, PodTable
from paddock.node.kubelet.probes import begin_run
from paddock.node.runtime.container_env import Configs, ContainerWaiting
from paddock.node.runtime.containers import Containers, PodContext
from paddock.node.runtime.gpus import Gpu
from paddock.node.runtime.hidden_values import Hidden, read_hidden
from paddock.node.runtime.machine_faults import CREATE_ERROR, explain_os_error
from paddock.node.runtime.mounts import explain_unenforced
from paddock.node.runtime.pod_state import Obstacle, PodState, Run
from paddock.node.runtime.runs import Runs, Trace
from paddock.node.runtime.sandbox import Sandbox
from paddock.node.runtime.unreplaced import explain_unreplaced
from paddock.words.phrases import phrase

READ_ONLY = "ReadOnlyNotEnforced"
NOT_IN_POD = "FileNotInPod"
NAME_IN_FILE = "NameInFile"

_log = logging.getLogger(__name__)


class Starts:
    """Starts containers. `directory`: the node's."""

    def __init__(
        self,
        pods: PodTable,
        neighbours: Neighbours,
        containers: Containers,
        runs: Runs,
        gpus: Sequence[Gpu],
        sandbox: Sandbox,
        directory: Path,
    ) -> None:
        self._pods = pods
        self._neighbours = neighbours
        self._containers = containers
        self._runs = runs
        self._gpus = gpus
        self._sandbox = sandbox
        self._directory = directory

    def start(
        self, pod: KnownPod, manifest: Manifest, container: Manifest, start: Start, configs: Configs, now: Moment
    ) -> PodState | Obstacle:
        """The state with the new run, or the obstacle. Neither tells a value of a Secret. The run of an earlier start,
        of which no record is left, has no process yet: it is to be taken over."""
        answer = self._try_start(pod, manifest, container, start, configs, now)
        hidden = Hidden(pod.hidden)
        if isinstance(answer, Obstacle):
            return replace(answer, message=hidden.apply(answer.message))
        run = answer.runs[start.container]
        return answer.with_run(replace(run, message=hidden.apply(run.message)))

    def _try_start(
        self, pod: KnownPod, manifest: Manifest, container: Manifest, start: Start, configs: Configs, now: Moment
    ) -> PodState | Obstacle:
        try:
            return self._start(pod, manifest, container, start, configs, now)
        except ContainerWaiting as error:
            return error.obstacle
        except OSError as error:
            return explain_os_error(error, self._directory).obstacle
        except Exception as error:
            _log.exception("container %s of pod %s cannot be started", start.container, pod.uid)
            said = phrase("{message} (a bug of Paddock; see cluster.log)", message=f"{type(error).__name__}: {error}")
            return Obstacle(CREATE_ERROR, str(said))

    def explain_differences(
        self, manifest: Manifest, container: Manifest, configs: Configs
    ) -> Iterator[tuple[str, str]]:
        """What is otherwise here than the container's manifest suggests: reason and message of events."""
        if not self._sandbox.binds and (sentence := explain_unenforced(manifest, container)):
            yield READ_ONLY, sentence
        if not self._sandbox.binds and (
            sentence := explain_unreplaced(manifest, container, configs, self._neighbours.addresses(manifest))
        ):
            yield NAME_IN_FILE, sentence
        if sentence := self._containers.explain_unseen(container):
            yield NOT_IN_POD, sentence

    def _start(
        self, pod: KnownPod, manifest: Manifest, container: Manifest, start: Start, configs: Configs, now: Moment
    ) -> PodState:
        assert pod.state is not None
        earlier = begin_run(Run(start.container, start.number, now, sandbox=self._sandbox.name), container)
        if self._runs.trace(pod.state, earlier) is not Trace.NOTHING:
            return pod.state.with_run(earlier)
        state = replace(pod.state, gpus=self._pods.plan_gpus(pod, manifest, self._gpus))
        # A Secret may be replaced or deleted before the container ends.
        pod.hidden |= read_hidden(manifest, configs)
        context = PodContext(
            configs=configs,
            hosts=self._neighbours.hosts(manifest) if self._sandbox.binds else "",
            addresses={} if self._sandbox.binds else self._neighbours.addresses(manifest),
            shared=self._pods.used_by_others(pod),
        )
        return self._containers.start(manifest, container, earlier, state, context)
