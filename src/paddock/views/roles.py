"""How many ranks a role has, in words; whatever the framework, a role of one name is the same thing."""

from __future__ import annotations

from paddock.jobs.model import Job, Role
from paddock.words.phrases import Phrase, counted, phrase


def count_role(role: Role) -> Phrase:
    """`2 workers`."""
    count = role.replicas
    match role.name:
        case "ps":
            return counted("{count} server", "{count} servers", count=count)
        case "master":
            return counted("{count} master", "{count} masters", count=count)
        case "worker":
            return counted("{count} worker", "{count} workers", count=count)
        case "heter":
            return counted("{count} heter worker", "{count} heter workers", count=count)
        case name:
            return counted("{count} {kind}", "{count} {kind}s", count=count, kind=name)


def explain_sizes(job: Job) -> Phrase | None:
    """A sentence about the sizes at which an elastic job may train, and trains. `job`: with the ranks that its gang
    has."""
    bounds = job.elasticity
    role = job.role(bounds.role) if bounds else None
    if bounds is None or role is None:
        return None
    return phrase(
        "{least} to {most} workers, {wanted} wanted, now {size}",
        least=bounds.least, most=bounds.most, wanted=role.wanted, size=role.replicas,
    )  # fmt: skip
