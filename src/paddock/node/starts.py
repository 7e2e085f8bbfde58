"""Puts together what a container needs from the pods around it, and starts it, or says what is in its way.

The seam between the kubelet, which knows when, and `paddock.node.containers`, which knows how. Whatever goes wrong in
a start is an obstacle of that container and stands in its status: also a bug of ours, as its user looks nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.node.container_env import NotReady
from paddock.node.containers import Containers, Surroundings
from paddock.node.devices import Gpu
from paddock.node.neighbours import Neighbours
from paddock.node.pod_plan import Start
from paddock.node.pod_state import Obstacle, PodState
from paddock.node.pod_table import KnownPod, PodTable

CREATE_ERROR = "CreateContainerError"

_log = logging.getLogger(__name__)


class Starts:
    """`binds`: volumes and hosts files appear at their paths (see `paddock.node.sandbox`)."""

    def __init__(
        self, pods: PodTable, neighbours: Neighbours, containers: Containers, gpus: Sequence[Gpu], *, binds: bool
    ) -> None:
        self._pods = pods
        self._neighbours = neighbours
        self._containers = containers
        self._gpus = gpus
        self._binds = binds

    def start(
        self, pod: KnownPod, manifest: Manifest, container: Manifest, start: Start, now: Moment
    ) -> PodState | Obstacle:
        """The state with the new run, or why there is none."""
        try:
            return self._start(pod, manifest, container, start, now)
        except NotReady as error:
            return error.obstacle
        except Exception as error:
            _log.exception("container %s of pod %s cannot be started", start.container, pod.uid)
            return Obstacle(CREATE_ERROR, f"{type(error).__name__}: {error} (a bug of Paddock; see cluster.log)")

    def _start(self, pod: KnownPod, manifest: Manifest, container: Manifest, start: Start, now: Moment) -> PodState:
        assert pod.state is not None
        state = replace(pod.state, gpus=self._pods.plan_gpus(pod, manifest, self._gpus))
        around = Surroundings(
            configs=self._neighbours.configs(state.namespace),
            hosts=self._neighbours.hosts(manifest) if self._binds else "",
            addresses={} if self._binds else self._neighbours.addresses(manifest),
            shared=self._pods.used_by_others(pod),
        )
        return self._containers.start(manifest, container, start.number, state, around, now)
