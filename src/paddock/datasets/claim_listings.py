"""The claims of Datasets on a cluster, as they were a while ago: one list of a namespace for all of its Datasets. I/O.

Asked for each dataset that is ready, for as long as it is there: a request of its own for each would be the most that
an idle operator sends. A list takes no right that the operator lacks; a watch would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from paddock.datasets.definition import Definition
from paddock.kube.api import Api
from paddock.kube.datasets import LABEL
from paddock.kube.meta import CLAIMS, Manifest, name_of

_Claims = Mapping[str, Manifest]


class ClaimListings:
    """`seconds`: how old what is told may be."""

    def __init__(self, api: Api, seconds: float) -> None:
        self._api = api
        self._seconds = seconds
        self._known: dict[str, tuple[float, _Claims]] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def find(self, dataset: Definition) -> Manifest | None:
        """The claim that was made for a Dataset; None if there was none. Raises `ApiError`."""
        return (await self._list(dataset.key.namespace)).get(dataset.claim)

    async def _list(self, namespace: str) -> _Claims:
        now = asyncio.get_running_loop().time
        async with self._asking.setdefault(namespace, asyncio.Lock()):
            asked_at, claims = self._known.get(namespace, (float("-inf"), {}))
            if now() - asked_at >= self._seconds:
                asked_at, listed = now(), await self._api.list(CLAIMS, namespace, labels=LABEL)
                claims = {name_of(claim): claim for claim in listed.items}
                self._known[namespace] = asked_at, claims
            return claims
