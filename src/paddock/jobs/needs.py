"""What an unfinished gang lacks: the objects to create now, or what is in the way of creating them.

All ranks or none: where another object has one of the names, a Dataset is not ready or no port is free, no rank is
created. `jobs.plan` decides whether a gang is to have its pods at all; `policies.children` builds the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paddock.jobs import causes
from paddock.jobs.actions import Action, Create, EventNote
from paddock.jobs.datasets import find_claims, plan_gate
from paddock.jobs.facts import Facts
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import CauseRecord, Child, Job, Observed, Rank, Settings
from paddock.jobs.objects import pods
from paddock.jobs.objects.schedulers import find_pod_groups
from paddock.jobs.policies import children, ports
from paddock.jobs.policies.fates import FATES, Age, Fate, State, read_situation
from paddock.jobs.queued import is_left_alone
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES
from paddock.kube.service_accounts import find_use

RETRY_SECONDS = 30.0
"""Until the next look at what no watch reports: a foreign object that has a name of ours, a port that is still held."""

_MOST_NAMED = 20
"""Objects that a cause names."""


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
    if facts.missing and (named := find_own_account(job, facts.settings)):
        return Needs(obstacle=named)
    port = ports.kept_port(facts.gang)
    no_port = False
    # Half a gang of another operator carries no port: the missing ranks must use the default port as well.
    none_is_there = all(pod.cleared for pod in facts.gang)
    if port is None and facts.missing and none_is_there and facts.settings.shares_network(job):
        port = ports.choose_port(job.uid, facts.status.attempt, observed.taken_ports)
        no_port = port is None
    actions = tuple(_missing_objects(facts, port))
    in_the_way = _find_in_the_way(facts)
    if (in_the_way or observed.former) and any(isinstance(action, Create) for action in actions):
        observed = replace(observed, foreign=in_the_way)
        return Needs(_plan_removal_of_former(job, observed), _describe_foreign(job, observed), RETRY_SECONDS)
    # Half a gang goes on: its other pods hold devices, and mount the same claims.
    gate = plan_gate(job, observed.datasets, facts.status.cause) if facts.missing and none_is_there else None
    if gate is not None:
        return Needs(obstacle=gate, retry=RETRY_SECONDS if observed.datasets.unserved is not None else None)
    if no_port:
        return Needs(obstacle=causes.NoFreePort(ports.FIRST_PORT, ports.LAST_PORT), retry=RETRY_SECONDS)
    return Needs(actions)


def find_own_account(job: Job, settings: Settings) -> causes.OwnAccountNamed | None:
    """Why no pod of the job may be created, whatever it is to replace or to be beside; None if one may. Pods that are
    there, as an operator made them that did not ask, stay."""
    for role in job.roles:
        if use := find_use(role.template["spec"], job.key.namespace, settings.own_accounts):
            account = use.account if use.by_token else None
            field = f"template.spec.{use.path}"
            return causes.OwnAccountNamed(role.name, field, use.name, job.key.namespace, account)
    return None


def _find_in_the_way(facts: Facts) -> tuple[Child, ...]:
    """Foreign objects whose names the job needs. A job whose pods another scheduler places has no PodGroup."""
    group = find_pod_groups(facts.job, facts.settings)
    kinds = (PODS, SERVICES, CONFIG_MAPS, group)
    return tuple(child for child in facts.observed.foreign if child.resource in kinds)


def _plan_removal_of_former(job: Job, observed: Observed) -> tuple[Action, ...]:
    """Kubernetes' garbage collector may take a minute to notice a new kind, so it is not waited for."""
    left = children.plan_deletes(job, (child for child in observed.foreign if child.former))
    there = {action.uid for action in left}
    pods_left = (pod for pod in observed.former if not pod.deleting and pod.uid not in there)
    return (*left, *(children.plan_pod_delete(job, pod, former=True) for pod in pods_left))


def _describe_foreign(job: Job, observed: Observed) -> causes.Cause:
    """Objects that the user must remove are named first; those of a former job are deleted without the user."""
    others = [child for child in observed.foreign if not child.former]
    if others:
        typed = " ".join(f"{child.resource.qualified}/{child.name}" for child in others[:_MOST_NAMED])
        command = f"kubectl delete -n {job.key.namespace} {typed}"
        names = tuple(f"{child.resource.kind} {child.name}" for child in others[:_MOST_NAMED])
        return causes.ObjectInTheWay(names, command=command)
    left = {(child.resource.kind, child.name): f"{child.resource.kind} {child.name}" for child in observed.foreign}
    left |= {(PODS.kind, pod.name): f"{PODS.kind} {pod.name}" for pod in observed.former}
    return causes.ObjectInTheWay(tuple(left.values())[:_MOST_NAMED], former=True)


def _missing_objects(facts: Facts, port: int | None) -> Iterator[Action]:
    job, status, observed = facts.job, facts.status, facts.observed
    group = children.plan_pod_group(job, observed, facts.settings)
    # What has taken the name of the PodGroup is in the way of pods that are to be placed, and of no other.
    yield from group if facts.missing or not _is_taken(group, observed) else ()
    # The PodGroup is created alone: a scheduler may bind a pod whose group does not exist yet.
    if any(isinstance(action, Create) for action in group) or (observed.pod_group and observed.pod_group.deleting):
        return
    creates = FATES[read_situation(job, status), Age.CURRENT, State.ABSENT] is Fate.CREATE
    yield from children.plan_services(job, observed)
    ranks, claims = find_free_ranks(facts) if creates else (), find_claims(observed.datasets)
    config_map = pods.find_config_map(job, status.attempt, observed.pods)
    queued = not is_left_alone(facts.gang)
    yield from children.plan_pods(job, status, ranks, port, facts.settings, claims, config_map, queued=queued)
    yield from children.plan_config_map(job, status, observed)


def _is_taken(group: Sequence[Action], observed: Observed) -> bool:
    return any(child.resource == action.resource for action in group for child in observed.foreign)


def find_free_ranks(facts: Facts) -> tuple[Rank, ...]:
    """Ranks without a pod, that wait for no delay, and whose name no pod that they had before holds."""
    held = {pod.rank for pod in facts.replaced} | facts.delayed.keys()
    return tuple(rank for rank in facts.missing if rank not in held)
