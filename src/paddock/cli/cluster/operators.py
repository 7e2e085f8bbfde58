"""The operators of a cluster: asks for their Leases. What these say is read in `views.operators`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paddock.build import BUILD
from paddock.install.deployment import DEPLOYMENT
from paddock.install.rights import LEASE
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import DEPLOYMENTS, LEASES, Manifest, Resource
from paddock.kube.times import Moment
from paddock.views.flags import Flags
from paddock.views.operators import Installed, Leader, build_name, explain_no_operator, read_installed, read_leader
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

USUAL_NAMESPACE = "paddle-system"


async def fetch_leaders(api: Api, *namespaces: str) -> list[Leader] | None:
    """The operators' Leases of all namespaces; without that right, of `namespaces` and `paddle-system`; None if none
    can be read. Raises other `ApiError`s."""
    try:
        leases = (await api.list(LEASES, fields=f"metadata.name={LEASE}")).items
    except Forbidden:
        found = [await _fetch_lease(api, each) for each in dict.fromkeys((*namespaces, USUAL_NAMESPACE))]
        if all(each is None for each in found):
            return None
        leases = [each for each in found if each]
    return [read_leader(lease) for lease in leases]


async def _fetch_lease(api: Api, namespace: str) -> Manifest | None:
    """None if it cannot be read, empty if it does not exist."""
    try:
        return await api.get(LEASES, namespace, LEASE)
    except Forbidden:
        return None
    except NotFound:
        return {}


async def fetch_installed(api: Api, *namespaces: str) -> Installed | None:
    """The Deployment of the operator, of all namespaces; without that right, of `namespaces` and `paddle-system`. None
    if there is none, or it cannot be read."""
    try:
        found = (await api.list(DEPLOYMENTS, fields=f"metadata.name={DEPLOYMENT}")).items
        return read_installed(found[0]) if found else None
    except ApiError:
        pass
    for namespace in dict.fromkeys((*namespaces, USUAL_NAMESPACE)):
        with suppress(ApiError):
            return read_installed(await api.get(DEPLOYMENTS, namespace, DEPLOYMENT))
    return None


async def explain_no_status(api: Api, resource: Resource, namespace: str, flags: Flags, now: Moment) -> Phrase:
    """Why a job of `namespace` has no status yet."""
    try:
        leaders = await fetch_leaders(api, namespace)
    except ApiError:
        leaders = None
    installed = await fetch_installed(api, namespace) if leaders == [] else None
    return phrase(
        "no operator has taken the job yet: {why}",
        why=explain_no_operator(leaders, resource, namespace, flags.kubectl, now, installed),
    )


async def fetch_versions(api: Api, namespace: str, now: Moment) -> Phrase:
    """The versions of this command and of the operators that lead."""
    try:
        leaders = await fetch_leaders(api, namespace)
    except ApiError:
        leaders = None
    alive = [each for each in leaders or () if not each.is_gone(now)]
    operator: Phrase | str = ", ".join(str(build_name(each)) for each in alive)
    if not alive:
        operator = phrase("not known") if leaders is None else phrase("none")
    return phrase("this command is paddock {version}; the operator: {operator}", version=BUILD, operator=operator)
