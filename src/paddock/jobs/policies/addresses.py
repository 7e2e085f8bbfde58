"""Whether pods still have the addresses that their peers were told: those that the attempt's ConfigMap was made from.

The ConfigMap never changes and programs read it once, so a pod whose address changes while it lives (its node gave it a
new sandbox) is out of its peers' reach for good, and the gang is made anew. The ConfigMap carries a mark of the
addresses (`objects.mark_addresses`); one without a mark, of another operator, is believed, and so is every one that
tells names. Once a rank has ended nobody is judged: what has ended needs no address, and may lose its own.
"""

from __future__ import annotations

from paddock.jobs import causes, pods
from paddock.jobs.model import Job, Observed, Status
from paddock.jobs.policies.verdict import Verdict, plan_new_gang


def plan_addresses(job: Job, status: Status, observed: Observed) -> Verdict | None:
    name = pods.config_map_name(job, status.attempt)
    told = next((child.addresses for child in observed.config_maps if child.name == name), "")
    gang = observed.of_attempt(status.attempt)
    now = {pod.rank: pod.address for pod in gang if pod.address and not pod.ended}
    if not told or any(rank not in now for rank in job.ranks()):
        return None
    if pods.mark_addresses(job, now) in (told, ""):
        return None
    return plan_new_gang(causes.AddressesChanged(), status.attempt)
