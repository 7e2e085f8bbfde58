"""Reads what a job is decided on, beside the job: its children and Datasets from the caches, nodes and ports where
they matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from paddock.jobs.model import Job, NodeCondition, NodeState, Observed, Settings, Status
from paddock.jobs.objects import observation
from paddock.jobs.policies import silent_nodes
from paddock.jobs.policies.lost import overdue
from paddock.jobs.policies.ports import shares_network
from paddock.jobs.waiting import read_recorded_refusal
from paddock.kube.api import Api
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import NODES
from paddock.kube.times import Moment
from paddock.operator.datasets import WatchedDatasets
from paddock.operator.informers import Informers
from paddock.operator.job_state import JobRef, JobState


class Observer:
    """`states` holds the ports that jobs have reserved before their pods have them; the others are as in
    `Controller`."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        informers: Informers,
        datasets: WatchedDatasets,
        *,
        states: Mapping[JobRef, JobState],
        clock: Callable[[], Moment],
        clock_off: Callable[[], float],
        taken_ports: Callable[[], frozenset[int]],
    ) -> None:
        self._api = api
        self._settings = settings
        self._informers = informers
        self._datasets = datasets
        self._states = states
        self._clock = clock
        self._clock_off = clock_off
        self._taken_ports = taken_ports

    async def observe(self, ref: JobRef, state: JobState, job: Job, status: Status) -> Observed:
        """After the last await, so that nothing is awaited between the reading of the caches and the decision."""
        nodes = await self._fetch_nodes(job, status)
        observed = self._read_caches(ref, status, job)
        refused = state.refused or read_recorded_refusal(status.cause)
        off = int(self._clock_off())
        return replace(observed, nodes=nodes, refused=refused, asked=state.asked, clock_off=off)

    def _read_caches(self, ref: JobRef, status: Status, job: Job) -> Observed:
        """The children of the job. The ports of this machine are read only if the job needs new pods and these share
        its network."""
        groups, scalers = self._settings.pod_groups, self._informers.autoscalers(ref.key.namespace)
        observed = observation.read_observed(
            job, status.attempt, self._informers, pod_groups=groups, autoscalers=scalers
        )
        observed = replace(observed, datasets=observation.read_datasets(job, self._datasets))
        creates_pods = not status.phase.terminal and observation.missing_pods(job, status, observed)
        if not creates_pods or not shares_network(job, self._settings):
            return observed
        reserved = frozenset(state.port for other, state in self._states.items() if state.port and other != ref)
        held = self._informers.held_ports(excluding=job.uid)
        return replace(observed, taken_ports=reserved | held | self._taken_ports())

    async def _fetch_nodes(self, job: Job, status: Status) -> dict[str, NodeCondition]:
        """The nodes of overdue pods, and of pods that do not start. Nodes are not watched: those of a fleet change all
        the time."""
        now = self._clock()
        names = {pod.node for pod in overdue(observation.read_leaving(job, self._informers), now)}
        if not status.phase.terminal and silent_nodes.is_due(status.cause, now):
            names |= set(silent_nodes.doubtful_nodes(observation.read_pods(job, self._informers), status.cause, now))
        return {name: await self._fetch_node(name) for name in sorted(names)}

    async def _fetch_node(self, name: str) -> NodeCondition:
        try:
            return observation.read_node(await self._api.get(NODES, "", name))
        except NotFound:
            return NodeCondition(NodeState.GONE)
        except Forbidden:
            return NodeCondition(NodeState.UNKNOWN)
