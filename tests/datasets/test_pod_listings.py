"""Who asks which pods mount a claim shares a list with all that ask meanwhile, and never gets one from before."""

from __future__ import annotations

import asyncio
from typing import Any

from paddock.datasets.pod_listings import PodListings
from paddock.kube.calls import Listing
from paddock.kube.meta import Manifest
from support.waiting import LoopClock


def build_pod(name: str, *claims: str, phase: str = "Running") -> Manifest:
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return {"metadata": {"name": name}, "spec": {"volumes": [{"name": "x"}, *volumes]}, "status": {"phase": phase}}


class Pods:
    """An API that lists pods, when the test lets it."""

    def __init__(self, *pods: Manifest) -> None:
        self.pods = list(pods)
        self.listed: list[str] = []
        self.open = asyncio.Event()
        self.open.set()

    async def list(self, resource: Any, namespace: str) -> Listing:
        there = list(self.pods)
        self.listed.append(namespace)
        await self.open.wait()
        return Listing(there, "1")


def listings_of(pods: Pods) -> PodListings:
    api: Any = pods
    return PodListings(api)


async def test_a_thousand_claims_of_a_namespace_are_looked_for_in_two_lists() -> None:
    pods, clock = (
        Pods(build_pod("b", "one", "two"), build_pod("a", "two"), build_pod("c", "one", phase="Failed")),
        LoopClock(),
    )
    listings = listings_of(pods)
    pods.open.clear()
    first = asyncio.create_task(listings.find_users("n", "one"))
    await clock.advance(0.0)
    assert len(pods.listed) == 1
    await clock.advance(0.1)
    others = [asyncio.create_task(listings.find_users("n", f"c{number}")) for number in range(1000)]
    pods.open.set()
    assert await first == ("b",)
    await clock.advance(1.0)
    assert await asyncio.gather(*others) == [()] * 1000
    assert await _ask(clock, listings, "two") == ("a", "b")
    assert len(pods.listed) == 3


async def _ask(clock: LoopClock, listings: PodListings, claim: str) -> tuple[str, ...]:
    asking = asyncio.create_task(listings.find_users("n", claim))
    await clock.advance(0.1)
    await clock.advance(1.0)
    return await asking


async def test_a_pod_that_came_while_a_list_was_on_its_way_is_seen_by_who_asked_after_that() -> None:
    pods, clock = Pods(), LoopClock()
    listings = listings_of(pods)
    pods.open.clear()
    first = asyncio.create_task(listings.find_users("n", "one"))
    await clock.advance(0.0)
    assert len(pods.listed) == 1
    await clock.advance(0.1)
    pods.pods.append(build_pod("new", "one"))
    second = asyncio.create_task(listings.find_users("n", "one"))
    pods.open.set()
    assert await first == ()
    await clock.advance(1.0)
    assert await second == ("new",)
