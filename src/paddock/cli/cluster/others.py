"""Other operators of training jobs on a cluster: asks for Deployments and definitions.

`install.foreign` says whose they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddock.install.foreign import Found, explain_definition, explain_deployment, is_ours, match_deployments
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CRDS, DEPLOYMENTS, Manifest

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_others(api: Api, kubectl: str) -> dict[str, Any]:
    """`others`: Deployments that seem to be somebody else's operators, None if Deployments cannot be read;
    `foreignDefinitions`: definitions of our kinds that are not Paddock's, None if none can be read. Each has a sentence
    `why`, a phrase. `kubectl`: how it is called for this cluster. Raises other `ApiError`s."""
    deployments = await _fetch_deployments(api)
    definitions = {kind.qualified: await _fetch_definition(api, kind.qualified) for kind in KINDS}
    foreign = [name for name, each in definitions.items() if each and not is_ours(each)]
    return {
        "others": None
        if deployments is None
        else [_describe(each, kubectl) for each in match_deployments(deployments)],
        "foreignDefinitions": None
        if all(each is None for each in definitions.values())
        else [{"name": name, "why": explain_definition(name)} for name in foreign],
    }


async def _fetch_deployments(api: Api) -> list[Manifest] | None:
    try:
        return (await api.list(DEPLOYMENTS)).items
    except Forbidden:
        return None
    except NotFound:  # the embedded cluster has none
        return []


async def _fetch_definition(api: Api, name: str) -> Manifest | None:
    """None if it cannot be read, empty if it does not exist."""
    try:
        return await api.get(CRDS, "", name)
    except Forbidden:
        return None
    except NotFound:
        return {}


def _describe(found: Found, kubectl: str) -> dict[str, Any]:
    return {
        "namespace": found.namespace,
        "deployment": found.name,
        "images": list(found.images),
        "kinds": [kind.qualified for kind in found.kinds],
        "why": explain_deployment(found, kubectl),
    }
