"""Which pods mount the claims of a namespace: one list for all of its Datasets that ask meanwhile. I/O.

A deleted Dataset that is in use asks again and again, and anybody may have a thousand of them: a list of all pods for
each would take the operator's requests from everybody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from paddock.datasets.users import find_holding, group_by_claim, read_pod
from paddock.kube.api import Api
from paddock.kube.meta import PODS

_SECONDS = 1.0
"""Between two lists of one namespace."""


class PodListings:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: dict[str, tuple[float, Mapping[str, Sequence[str]]]] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def find_users(self, namespace: str, claim: str) -> tuple[str, ...]:
        """The names of the pods that mount the claim and have not ended, from a list that was asked for after this
        call: who is told that there is none may remove the files. Raises `ApiError`."""
        now = asyncio.get_running_loop().time
        asked_at = now()
        async with self._asking.setdefault(namespace, asyncio.Lock()):
            listed_at, users = self._known.get(namespace, (float("-inf"), {}))
            if listed_at < asked_at:
                await asyncio.sleep(max(0.0, listed_at + _SECONDS - now()))
                listed_at, users = now(), await self._list(namespace)
                self._known[namespace] = listed_at, users
        return tuple(users.get(claim, ()))

    async def _list(self, namespace: str) -> Mapping[str, Sequence[str]]:
        pods = [read_pod(PODS, each) for each in (await self._api.list(PODS, namespace)).items]
        users = group_by_claim(find_holding(pods))
        return {claim.name: sorted(each.key.name for each in found) for claim, found in users.items()}
