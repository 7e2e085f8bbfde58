"""Jobs of other namespaces, for a command that has found none in the one that it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_all
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden
from paddock.kube.meta import Manifest, Resource
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_elsewhere(api: Api, labels: str = "") -> list[tuple[Resource, Manifest]]:
    """The jobs of all namespaces. None where they may not be listed: nobody asked for them."""
    try:
        return await fetch_all(api, KINDS, "", labels)
    except Forbidden:
        return []


def explain_elsewhere(said: Phrase, count: int, command: str) -> Phrase:
    """`said`, and what lists the jobs of other namespaces where there are any. Pure."""
    if not count:
        return said
    return phrase("{said}; {count} in other namespaces: `{command}`", said=said, count=count, command=command)
