"""Recreates the gang when the address of a live pod differs from the one in the attempt's ConfigMap.

The ConfigMap never changes and programs read it once, so peers can never again reach a pod whose address changes while
it lives (its node gave it a new sandbox). The ConfigMap has a hash of the addresses
(`objects.children.hash_addresses`). A ConfigMap without the hash, or one that holds names, is taken as correct. Once a
rank has ended nothing is compared. A network whose addresses never stay is bounded as other losses are
(`policies.restart`).
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.model import Job, Observed, Status
from paddock.jobs.objects import pods
from paddock.jobs.policies.restart import Losses, plan_loss
from paddock.jobs.policies.verdict import Verdict


def plan_addresses(job: Job, status: Status, observed: Observed, losses: Losses) -> Verdict | None:
    name = pods.find_config_map(job, status.attempt, observed.pods)
    told = next((child.addresses for child in observed.config_maps if child.name == name), "")
    gang = observed.gang(status)
    # An ended pod needs no address, and may lose its own.
    now = {pod.rank: pod.address for pod in gang if pod.address and not pod.ended}
    # The ConfigMap of another operator has no hash, and is taken as correct.
    if not told or any(rank not in now for rank in job.ranks()):
        return None
    # Names stay true whatever addresses are behind them, so they have no hash.
    if pods.hash_addresses(job, now) in (told, ""):
        return None
    return plan_loss(causes.AddressesChanged(), status.attempt, losses, at_once=True)
