"""The claims of a cluster that commands have filled (`app.filled_claims`), and who mounts them: to list them, and to
remove those that nobody uses. By the user's own rights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.app.filled_claims.contents import Kind
from paddock.app.filled_claims.manifests import Held, name_pod, read_claim
from paddock.app.filled_claims.mounts import list_claims
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import explain_near
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import FILL_LABEL
from paddock.kube.errors import ApiError, Conflict, Forbidden, NotFound
from paddock.kube.meta import CLAIMS, PODS, Key, Manifest, name_of, namespace_of, uid_of
from paddock.kube.nearness import nearest
from paddock.kube.times import Moment, read_time
from paddock.words.phrases import Names, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

KEPT_SECONDS = 3600.0
"""How long a claim of code is kept that no job mounts: another command may be about to send its job."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One of them, with its users."""

    manifest: Manifest
    held: Held
    users: tuple[str, ...]
    """Names of jobs, also of those that have ended: they start again with what they have."""


async def fetch_claims(api: Api, namespace: str) -> list[Claim]:
    """By name. Raises `ApiError`, `Forbidden` also where jobs of a kind may not be listed: nobody knows the users."""
    claims = (await api.list(CLAIMS, namespace, labels=FILL_LABEL)).items
    users = await _fetch_users(api, namespace) if claims else {}
    found = []
    for each in claims:
        held = read_claim(each)
        if held is not None:
            found.append(Claim(each, held, tuple(users.get(name_of(each), ()))))
    return sorted(found, key=lambda claim: claim.held.name)


async def _fetch_users(api: Api, namespace: str) -> Mapping[str, Sequence[str]]:
    users: dict[str, list[str]] = {}
    for kind in KINDS:
        try:
            jobs = (await api.list(kind, namespace)).items
        except NotFound:
            continue
        except Forbidden:
            if kind.group == next(iter(KINDS)).group:
                raise
            continue  # a kind that is not installed is refused as one that may not be listed
        for job in jobs:
            for claim in list_claims(job):
                users.setdefault(claim, []).append(name_of(job))
    return users


def find_stale(claims: Sequence[Claim], now: Moment) -> list[Claim]:
    """Those of code that no job has used for an hour: each edit of a directory makes another. Pure."""
    return [
        each
        for each in claims
        if each.held.kind == Kind.CODE and not each.users and now - (read_time(each.held.used) or now) > KEPT_SECONDS
    ]


async def remove_stale(api: Api, namespace: str, now: Moment) -> list[str]:
    """The names of those that are removed. Never raises: who may not look leaves them."""
    with suppress(ApiError):
        stale = find_stale(await fetch_claims(api, namespace), now)
        for each in stale:
            await _delete(api, each)
        return [each.held.name for each in stale]
    return []


async def remove_claim(api: Api, key: Key) -> None:
    """Raises `UserError` for one that is not there, or that a job mounts; `ApiError`."""
    claims = await fetch_claims(api, key.namespace)
    found = next((each for each in claims if each.held.name == key.name), None)
    if found is None:
        near = nearest(key.name, [each.held.name for each in claims])
        raise UserError(
            phrase("there is no claim {name} of packages or code in namespace {namespace}{hint}", name=repr(key.name),
                   namespace=key.namespace, hint=explain_near(near) if near else "")
        )  # fmt: skip
    if found.users:
        raise UserError(
            phrase("the claim {name} is in use by {jobs}: it can be removed when they are deleted", name=key.name,
                   jobs=Names(found.users))
        )  # fmt: skip
    await _delete(api, found)


async def _delete(api: Api, claim: Claim) -> None:
    """With the pod that fills it, if it is not filled."""
    await end_filling(api, claim.manifest)
    with suppress(NotFound, Conflict):
        await api.delete(CLAIMS, namespace_of(claim.manifest), claim.held.name, uid=uid_of(claim.manifest))


async def end_filling(api: Api, claim: Manifest) -> None:
    """Deletes the pod that fills the claim; one of that name which is another claim's stays. Raises `ApiError`."""
    with suppress(NotFound, Conflict):
        pod = await api.get(PODS, namespace_of(claim), name_pod(name_of(claim)))
        if belongs(pod, claim):
            await api.delete(PODS, namespace_of(claim), name_of(pod), uid=uid_of(pod))


def belongs(pod: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    """Whether it was made for this claim, and not for one of the same name before it."""
    owners = (pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(each.get("uid") == uid_of(claim) for each in owners)
