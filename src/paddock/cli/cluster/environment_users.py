"""Who keeps an Environment from being removed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.app.programs import read_used
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.jobs.views.stored import read_stored
from paddock.kube.meta import Manifest, Resource, key_of


def find_users(
    name: str, environments: Sequence[Manifest], jobs: Sequence[tuple[Resource, Manifest]], pods: Sequence[Manifest]
) -> list[str]:
    """The users of an environment: running pods, and unfinished jobs, whose pods may be recreated. Pure."""
    users = []
    for resource, manifest in jobs:
        stored = read_stored(resource, manifest)
        if (job := stored.job) is None or stored.status.phase.terminal:  # it will create no pods
            continue
        made = (build_pod(job, Rank(role.name, 0), 0, None, Settings()) for role in job.roles)
        if any(name in read_used(pod, environments) for pod in made):
            users.append(f"{resource.kind} {job.key}")
    running = (pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"))
    return users + [f"pod {key_of(pod)}" for pod in running if name in read_used(pod, environments)]
