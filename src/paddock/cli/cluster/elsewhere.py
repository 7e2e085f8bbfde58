"""Jobs of other namespaces, for a command that has found none in the one that it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_all
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import Manifest, Resource
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api, PodApi

_MOST_COUNTED = 500
"""Jobs of a kind that are counted one by one, where a server does not tell how many more there are."""
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


async def count_elsewhere(api: PodApi, labels: str = "") -> tuple[int, bool]:
    """How many jobs there are in all namespaces, and whether there are more. None of kinds that may not be listed. What
    it costs does not grow with the cluster: of each kind one page of metadata."""
    count, more = 0, False
    for resource in KINDS:
        # With a selector no server tells how many are left, and without one it does.
        query = {"labelSelector": labels, "limit": str(_MOST_COUNTED)} if labels else {"limit": "1"}
        try:
            page = await api.fetch(resource.path(), query, accept=_METADATA)
        except (Forbidden, NotFound):
            continue
        meta = page.get("metadata") or {}
        left = meta.get("remainingItemCount") or 0
        count += len(page.get("items") or ()) + left
        more = more or bool(meta.get("continue") and not left)
    return count, more


async def fetch_elsewhere(api: Api, labels: str = "") -> list[tuple[Resource, Manifest]]:
    """The jobs of all namespaces. None where they may not be listed: nobody asked for them."""
    try:
        return await fetch_all(api, KINDS, "", labels)
    except Forbidden:
        return []


def explain_elsewhere(said: Phrase, count: int, command: str, *, more: bool = False) -> Phrase:
    """`said`, and what lists the jobs of other namespaces where there are any. `more`: than `count`. Pure."""
    if not count:
        return said
    many = f"{count}+" if more else str(count)
    return phrase("{said}; {count} in other namespaces: `{command}`", said=said, count=many, command=command)
