"""The job that a name on the command line means, and its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.errors import UserError
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.text import nearest
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, Resource, is_controlled_by, name_of, uid_of

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_job(api: Api, namespace: str, name: str) -> tuple[Resource, Manifest]:
    """Raises `UserError` with the nearest name where there is none of this one."""
    for resource in KINDS:
        try:
            return resource, await api.get(resource, namespace, name)
        except NotFound:
            continue
    known = [name_of(job) for resource in KINDS for job in (await api.list(resource, namespace)).items]
    near = nearest(name, known)
    hint = f"; did you mean {near!r}?" if near else "; `paddock get -A` lists all jobs"
    raise UserError(f"there is no job {name!r} in namespace {namespace}{hint}")


async def fetch_pods(api: Api, job: Manifest) -> list[Manifest]:
    """The job's own pods, by owner."""
    namespace = str(job["metadata"]["namespace"])
    pods = (await api.list(PODS, namespace)).items
    return sorted((pod for pod in pods if is_controlled_by(pod, uid_of(job))), key=name_of)
