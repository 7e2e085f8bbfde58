"""The kinds of job that a cluster serves, checked first: none means that no operator is installed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.places import Cluster
from paddock.jobs.apis.registry import KINDS
from paddock.kube.api import is_served
from paddock.kube.meta import Resource
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


async def check_served(client: Client, place: Cluster) -> None:
    """Raises `Failed` if the cluster serves no kind of job."""
    if not await fetch_served(client):
        raise Failed(explain_not_installed(place))


async def fetch_served(client: Client) -> tuple[Resource, ...]:
    """The kinds of job in the server's discovery, which every authenticated user can read (system:discovery)."""
    answers = await asyncio.gather(*(is_served(client, each) for each in KINDS))
    return tuple(kind for kind, served in zip(KINDS, answers, strict=True) if served)


def explain_not_installed(place: Cluster) -> Phrase:
    return phrase(
        "{server} knows no PaddleJob: no operator is installed there. Who administers it installs one with "
        "`paddock manifests all --image IMAGE | {kubectl} create -f -`",
        server=f"{place.config.server} ({place.config.source})",
        kubectl=place.flags.kubectl,
    )
