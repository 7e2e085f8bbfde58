"""Reads what a job is decided on, beside the job: its children and Datasets from the caches, nodes and ports where
they matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paddock.jobs.model import Job, Observed, Settings, Status
from paddock.jobs.objects import observation
from paddock.jobs.policies import lost
from paddock.jobs.policies.lost import FORCE_AFTER, overdue
from paddock.jobs.waiting import read_recorded_refusal
from paddock.kube.api import Api
from paddock.operator.aside import MOST_OBJECTS, SMALL, Aside, TooManyObjects
from paddock.operator.datasets import WatchedDatasets
from paddock.operator.informers import Children, Informers
from paddock.operator.job_state import JobRef, JobState
from paddock.operator.nodes import Nodes
from paddock.operator.readings import Readings


@dataclass(frozen=True, slots=True)
class Look:
    """What was asked for and taken for one decision."""

    children: Children
    """Still to be read."""
    known: Observed
    """What is known beside them."""
    small: bool
    """They are so few that they are read, and decided on, at once (`operator.aside`)."""


class Observer:
    """`states` holds the ports that jobs have reserved before their pods have them; the others are as in
    `Controller`."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        informers: Informers,
        datasets: WatchedDatasets,
        aside: Aside,
        *,
        states: Mapping[JobRef, JobState],
        readings: Readings,
    ) -> None:
        self._nodes = Nodes(api, readings.clock)
        self._settings = settings
        self._informers = informers
        self._datasets = datasets
        self._aside = aside
        self._states = states
        self._readings = readings

    async def look(self, ref: JobRef, state: JobState, job: Job, status: Status) -> Look:
        """All that has to be asked for. After the last await, so that nothing is awaited between the reading of the
        caches and the decision of a small job."""
        children = self._take(job)
        small = job.size + len(children) <= SMALL
        names = await self._aside.run(lambda: self._find_nodes(job, status, children), small=small)
        if names:
            nodes = await self._nodes.fetch(*names)
            children = self._take(job)
            small = job.size + len(children) <= SMALL
        else:
            nodes = {}
        known = Observed(
            datasets=observation.read_datasets(job, self._datasets),
            taken_ports=frozenset() if small else self.find_taken_ports(ref, job, status),
            nodes=nodes,
            refused=state.refused or read_recorded_refusal(status.cause),
            asked=state.asked,
            clock_off=int(self._readings.clock_off()),
        )
        return Look(children, known, small=small)

    def read(self, ref: JobRef, job: Job, status: Status, look: Look) -> Observed:
        """The children of the job. For a small one this reads the ports of this machine too, but only if the job needs
        new pods and these share its network."""
        groups, scalers = self._settings.pod_groups, self._informers.autoscalers(ref.key.namespace)
        observed = observation.read_observed(
            job, status.attempt, look.children, pod_groups=groups, autoscalers=scalers, known=look.known
        )
        if job.silence is not None and (gang := observed.gang(status)):
            observed = replace(observed, report=self._readings.programs.read_report(job, gang))
        if not status.phase.terminal and (gang := observed.gang(status)):
            observed = replace(observed, progress=self._readings.programs.read_progress(job, status.attempt, gang))
        if not look.small or not observation.missing_pods(job, status, observed):
            return observed
        return replace(observed, taken_ports=self.find_taken_ports(ref, job, status))

    def find_taken_ports(self, ref: JobRef, job: Job, status: Status) -> frozenset[int]:
        if status.phase.terminal or not self._settings.shares_network(job):
            return frozenset()
        reserved = frozenset(state.port for other, state in self._states.items() if state.port and other != ref)
        return reserved | self._informers.held_ports(excluding=job.uid) | self._readings.taken_ports()

    def _take(self, job: Job) -> Children:
        children = self._informers.take(job.resource, job.key)
        if len(children) > MOST_OBJECTS:
            raise TooManyObjects(len(children))
        return children

    def _find_nodes(self, job: Job, status: Status, children: Children) -> tuple[set[str], set[str]] | None:
        """The nodes of overdue pods, and of pods that do not start; and those of them by whose state a pod may be
        deleted by force now. None without any."""
        now = self._readings.clock()
        late = overdue(observation.read_leaving(job, children), now)
        names = {pod.node for pod in late}
        if not status.phase.terminal and lost.is_due(status.cause, now):
            names |= set(lost.doubtful_nodes(observation.read_pods(job, children), status.cause, now))
        forced = {pod.node for pod in late if pod.gone_by is not None and pod.gone_by + FORCE_AFTER <= now}
        return (names, forced) if names else None
