"""The kinds that the local cluster serves besides Kubernetes' own: jobs, environments, datasets, and both PodGroups."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from paddock.datasets.crd import build_crd as build_dataset_crd
from paddock.environments.crd import build_crd as build_environment_crd
from paddock.environments.seeding import seed
from paddock.install.crd import build_crds as build_job_crds
from paddock.install.rights import AGGREGATED, build_user_rules
from paddock.jobs.apis.registry import KINDS
from paddock.kube import rbac
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError
from paddock.kube.meta import (
    CRDS,
    DATASETS,
    ENVIRONMENTS,
    POD_GROUPS,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    key_of,
    name_of,
    version_of,
)

log = logging.getLogger(__name__)

_MIN_MEMBER = {"type": "integer", "minimum": 0, "format": "int32"}


def build_pod_group_crd(resource: Resource) -> Manifest:
    """The CRD of a PodGroup."""
    # Unknown fields are preserved: the scheduler of the local cluster reads minMember alone.
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"minMember": _MIN_MEMBER},
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
            {"name": "MinMember", "type": "integer", "jsonPath": ".spec.minMember"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.qualified},
        "spec": {
            "group": resource.group,
            "names": {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def build_crds() -> tuple[Manifest, ...]:
    """All CRDs that the local cluster installs."""
    return (
        *build_job_crds(),
        build_environment_crd(),
        build_dataset_crd(),
        build_pod_group_crd(POD_GROUPS),
        build_pod_group_crd(VOLCANO_POD_GROUPS),
    )


async def apply_crds(api: Api, crds: Iterable[Manifest]) -> None:
    """Creates each CRD, or updates one that an older Paddock installed."""
    for crd in crds:
        try:
            await api.create(CRDS, crd)
        except AlreadyExists:
            current = await api.get(CRDS, "", name_of(crd))
            if current["spec"] != crd["spec"]:
                fresh = {**crd, "metadata": {**crd["metadata"], "resourceVersion": version_of(current)}}
                await api.replace(CRDS, fresh)
                await _store_again(api, crd)


def build_user_roles() -> Iterator[Manifest]:
    """The rights of users on the kinds of jobs, Environments and Datasets, for `edit` and `view` to take over. Their
    names are none of an installation's, which may be tried on this cluster too."""
    kinds = (*KINDS, ENVIRONMENTS, DATASETS)
    for user, whose in AGGREGATED.items():
        labels = {f"{rbac.AGGREGATE_TO}{whose}": "true"}
        yield {
            "apiVersion": rbac.CLUSTER_ROLES.api_version,
            "kind": rbac.CLUSTER_ROLES.kind,
            "metadata": {"name": f"paddock:{whose}", "labels": labels},
            "rules": build_user_rules(kinds, user),
        }


async def create_user_roles(api: Api) -> None:
    """Creates those that are missing: one that was changed stays as it is."""
    for role in build_user_roles():
        with suppress(AlreadyExists):
            await api.create(rbac.CLUSTER_ROLES, role)


async def keep_crds(api: Api, crds: Sequence[Manifest]) -> None:
    """Creates again each of these CRDs that somebody deletes, as the uninstallation of a tutorial does: the jobs are
    gone with it, and the next one can be run, in an environment that Paddock brings. Never ends."""
    own = {name_of(crd): crd for crd in crds}
    async for event in api.follow(CRDS):
        if event.type == "DELETED" and (crd := own.get(name_of(event.object))) is not None:
            log.info("%s was deleted, and is made again", name_of(crd))
            await apply_crds(api, [crd])
            if name_of(crd) == ENVIRONMENTS.qualified:
                await seed(api)


async def _store_again(api: Api, crd: Manifest) -> None:
    """Gives the objects that an older Paddock stored the defaults of the new definition: this server sets them when it
    stores an object, where a cluster's does when it reads one. An object that the definition now refuses stays."""
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]["name"]
    resource = Resource(crd["spec"]["group"], version, names["kind"], names["plural"])
    if resource not in KINDS:
        return
    for each in (await api.list(resource)).items:
        with suppress(ApiError):
            await api.patch(resource, *key_of(each), {})
