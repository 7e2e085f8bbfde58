"""What an unfinished gang lacks: the objects to create now, or what is in the way of creating them.

All ranks or none: where another object has one of the names, a Dataset is not ready or no port is free, no rank is
created. `jobs.plan` decides whether a gang is to have its pods at all; `policies.children` builds the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.actions import Action, Create, EventNote
from paddock.jobs.datasets import find_claims, plan_gate
from paddock.jobs.facts import Facts
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import CauseRecord, Child, Rank
from paddock.jobs.policies import children, ports
from paddock.jobs.policies.cleanup import read_situation
from paddock.jobs.policies.fates import FATES, Age, Fate, State
from paddock.kube.meta import CONFIG_MAPS

RETRY_SECONDS = 30.0
"""Until the next look at what no watch reports: a foreign object that has a name of ours, a port that is still held."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What an unfinished gang lacks: the actions, or the obstacle and the seconds until the next look."""

    actions: tuple[Action, ...] = ()
    obstacle: causes.Cause | CauseRecord | None = None
    retry: float | None = None


def build_address_notes(facts: Facts, actions: Sequence[Action]) -> tuple[EventNote, ...]:
    """Published once, together with the ConfigMap whose addresses the framework cannot use."""
    if not any(isinstance(action, Create) and action.resource == CONFIG_MAPS for action in actions):
        return ()
    doubt = FRAMEWORKS[facts.job.framework].check_addresses(facts.job, {pod.rank: pod.address for pod in facts.gang})
    return (EventNote("AddressesUnread", doubt, "Warning"),) if doubt else ()


def read_needs(facts: Facts) -> Needs:
    """Objects of a former job of the same name are deleted here."""
    job, observed = facts.job, facts.observed
    if not job.size:
        return Needs(children.plan_removal(job, observed, services=False), causes.NoReplicas())
    port = ports.kept_port(facts.gang)
    no_port = False
    # Half a gang of another operator carries no port: the missing ranks must use the default port as well.
    if port is None and facts.missing and not facts.gang and ports.shares_network(job, facts.settings):
        port = ports.choose_port(job.uid, facts.status.attempt, observed.taken_ports)
        no_port = port is None
    actions = tuple(_missing_objects(facts, port))
    if observed.foreign and any(isinstance(action, Create) for action in actions):
        # Kubernetes' garbage collector may take a minute to notice a new kind, so it is not waited for.
        remains = children.plan_deletes(job, (child for child in observed.foreign if child.former))
        return Needs(remains, _describe_foreign(observed.foreign), RETRY_SECONDS)
    # Half a gang goes on: its other pods hold devices, and mount the same claims.
    gate = plan_gate(job, observed.datasets, facts.status.cause) if facts.missing and not facts.gang else None
    if gate is not None:
        return Needs(obstacle=gate, retry=RETRY_SECONDS if observed.datasets.unserved is not None else None)
    if no_port:
        return Needs(obstacle=causes.NoFreePort(ports.FIRST_PORT, ports.LAST_PORT), retry=RETRY_SECONDS)
    return Needs(actions)


def _describe_foreign(foreign: Sequence[Child]) -> causes.Cause:
    """Objects that the user must remove are named first; those of a former job are deleted without the user."""
    others = [child for child in foreign if not child.former]
    names = tuple(f"{child.resource.kind} {child.name}" for child in others or foreign)
    return causes.ObjectInTheWay(names, former=not others)


def _missing_objects(facts: Facts, port: int | None) -> Iterator[Action]:
    job, status, observed = facts.job, facts.status, facts.observed
    group = children.plan_pod_group(job, observed, facts.settings)
    yield from group
    # The PodGroup is created alone: a scheduler may bind a pod whose group does not exist yet.
    if any(isinstance(action, Create) for action in group) or (observed.pod_group and observed.pod_group.deleting):
        return
    creates = FATES[read_situation(job, status), Age.CURRENT, State.ABSENT] is Fate.CREATE
    yield from children.plan_services(job, observed)
    ranks, claims = find_free_ranks(facts) if creates else (), find_claims(observed.datasets)
    yield from children.plan_pods(job, status, ranks, port, facts.settings, claims)
    yield from children.plan_config_map(job, status, observed)


def find_free_ranks(facts: Facts) -> tuple[Rank, ...]:
    """Ranks without a pod, that wait for no delay, and whose name no pod that they had before holds."""
    held = {pod.rank for pod in facts.replaced} | facts.delayed.keys()
    return tuple(rank for rank in facts.missing if rank not in held)
