"""The job that a name on the command line means, its pods, and where its outputs are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.cli.errors import UserError
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.text import nearest
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, Resource, is_controlled_by, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_job(api: Api, namespace: str, name: str) -> tuple[Resource, Manifest]:
    """Raises `UserError` with the nearest name where there is none of this one."""
    for resource in KINDS:
        try:
            return resource, await api.get(resource, namespace, name)
        except NotFound:
            continue
    known = [name_of(job) for _, job in await fetch_all(api, KINDS, namespace)]
    near = nearest(name, known)
    hint = f"; did you mean {near!r}?" if near else "; `paddock get -A` lists all jobs"
    raise UserError(f"there is no job {name!r} in namespace {namespace}{hint}")


async def fetch_all(
    api: Api, resources: Iterable[Resource], namespace: str, labels: str = ""
) -> list[tuple[Resource, Manifest]]:
    """Every object of these kinds; a kind that this cluster does not serve (it is of another version) has none."""
    found: list[tuple[Resource, Manifest]] = []
    for resource in resources:
        try:
            listing = await api.list(resource, namespace if resource.namespaced else "", labels=labels)
        except NotFound:
            continue
        found += [(resource, item) for item in listing.items]
    return found


async def fetch_pods(api: Api, job: Manifest) -> list[Manifest]:
    """The job's own pods, by owner."""
    namespace = str(job["metadata"]["namespace"])
    pods = (await api.list(PODS, namespace)).items
    return sorted((pod for pod in pods if is_controlled_by(pod, uid_of(job))), key=name_of)


def find_outputs(place: Home, job: Manifest) -> Path | None:
    """The job's own directory (PADDOCK_OUTPUT_DIR of its ranks); None as long as nothing is in it."""
    path = place.outputs / namespace_of(job) / f"{name_of(job)}-{uid_of(job)[:8]}"
    return path if path.is_dir() and any(path.iterdir()) else None


def in_namespace(job: Manifest) -> str:
    """` -n training`, for the next command in a sentence; nothing for the default namespace."""
    return "" if namespace_of(job) in ("", "default") else f" -n {namespace_of(job)}"
