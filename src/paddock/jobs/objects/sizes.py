"""The size of a gang as text, on its pods: `ps=1,worker=2`. Each rank was started with the number of its peers, so the
pods themselves tell of which gang they are, whatever is edited, and whatever becomes of the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from paddock.jobs.model import Job, Pod

_ROLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)=([0-9]{1,5})")


def write_size(job: Job) -> str:
    """`job`: as its gang has it (`elastic.fitting`)."""
    return ",".join(f"{role.name}={role.replicas}" for role in sorted(job.roles, key=lambda role: role.name))


def find_size(pods: Iterable[Pod]) -> Mapping[str, int]:
    """By role, without roles that have no ranks: what these pods say; empty where they say nothing, or several things,
    as those of a group that was resized within its attempt (`elastic.rejoining`)."""
    told = {pod.size for pod in pods if not pod.spare} - {""}
    found = [_ROLE.fullmatch(each) for each in told.pop().split(",")] if len(told) == 1 else []
    return {role[1]: size for role in found if role is not None and (size := int(role[2]))} if all(found) else {}
