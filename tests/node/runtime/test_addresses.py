"""Pod addresses, as properties."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from paddock.node.runtime.addresses import ADDRESSES, plan_address

SEEDS = st.integers(-(2**70), 2**70)


@given(SEEDS)
def test_an_address_is_a_host_of_the_pods_network(seed: int) -> None:
    address = plan_address((), seed)
    assert IPv4Address(address) in IPv4Network("127.64.0.0/10")
    assert address.rsplit(".", 1)[1] not in ("0", "255")


@given(st.lists(SEEDS, max_size=30))
def test_no_address_is_given_twice(seeds: list[int]) -> None:
    taken: list[str] = []
    for seed in seeds:
        taken.append(plan_address(taken, seed))
    assert len(set(taken)) == len(taken)


@given(SEEDS)
def test_the_same_seed_gives_the_same_address_and_the_next_one_when_it_is_taken(seed: int) -> None:
    first = plan_address((), seed)
    assert plan_address((), seed) == first
    assert plan_address((first,), seed) == plan_address((), seed + 1)


def test_the_address_range_wraps_around() -> None:
    assert plan_address((), 0) == "127.64.0.1"
    assert plan_address((), ADDRESSES - 1) == "127.127.255.254"
    assert plan_address((), ADDRESSES) == "127.64.0.1"
