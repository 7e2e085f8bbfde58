"""Versions of the plan's little world (`planned`) with a rule of docs/architecture.md taken out: all must be caught."""

from __future__ import annotations

from dataclasses import replace

from jobs.simulated.planned import World
from paddock.jobs.actions import Delete, Plan
from paddock.jobs.model import Job, Observed, Settings, Status
from paddock.jobs.plan import plan


def plan_and_act_at_once(job: Job, status: Status, observed: Observed, now: float, settings: Settings) -> Plan:
    """Without rule 1: a decision is acted on in the same reconcile, before it is known to be recorded."""
    decided = plan(job, status, observed, now, settings)
    if decided.status.decisive() == status.decisive():
        return decided
    return replace(decided, actions=plan(job, decided.status, observed, now, settings).actions)


def plan_deletes_by_name(job: Job, status: Status, observed: Observed, now: float, settings: Settings) -> Plan:
    """Without rule 4: deletes by name, without the UID."""
    planned = plan(job, status, observed, now, settings)
    actions = tuple(replace(action, uid="") if isinstance(action, Delete) else action for action in planned.actions)
    return replace(planned, actions=actions)


class ActsAtOnce(World):
    planner = staticmethod(plan_and_act_at_once)


class DeletesByName(World):
    planner = staticmethod(plan_deletes_by_name)


class BelievesAbsences(World):
    doubts_absences = False
