"""The peers of this machine, all asked at once: names, ports, packets, clocks."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from paddock.doctor.host.endpoints import Endpoint, is_loopback
from paddock.doctor.host.peers import Clock, Path, Peer, Probe
from paddock.doctor.host.values import Interface
from paddock.doctor.probes.bounded import run_bounded
from paddock.doctor.probes.lookups import Lookup, find_source, look_up
from paddock.doctor.probes.packets import ask_time, find_path
from paddock.doctor.probes.ports import ask_page, probe_port

T = TypeVar("T")
PORTS = (22, 6170, 29500, 45000)
"""Of a machine that is named without a port: ssh, PaddlePaddle, torchrun, and one of those that ranks choose as they
run. An answer is enough, also a refusal."""
_DATAGRAM_PATIENCE = 10.0
_HEADERS = 52
"""Bytes of IPv4's and TCP's headers, with the time stamps that Linux sends."""
_USUAL = 1500
_MOST = 1000
"""Connections at once; fewer where this process may have few files open."""


@dataclass(frozen=True, slots=True)
class _Way:
    """What one machine tells once, whatever number of its ports is asked for."""

    source: str = ""
    path: Path | None = None
    clock: Clock | None = None


async def ask_peers(endpoints: Sequence[Endpoint], interfaces: Sequence[Interface]) -> tuple[Peer, ...]:
    """What each endpoint answered, in order."""
    with _more_files():
        return await _ask_all(endpoints, interfaces)


async def _ask_all(endpoints: Sequence[Endpoint], interfaces: Sequence[Interface]) -> tuple[Peer, ...]:
    room = asyncio.Semaphore(_count_room())
    mtus = {address: each.mtu for each in interfaces for address in each.addresses}
    hosts = tuple(dict.fromkeys(each.host for each in endpoints))
    lookups = dict(zip(hosts, await asyncio.gather(*(_in(room, look_up(each)) for each in hosts)), strict=True))
    answers = await asyncio.gather(*(_ask(each, lookups[each.host].address, mtus, room) for each in endpoints))
    segments = dict.fromkeys(hosts, 0)
    for endpoint, (probes, _) in zip(endpoints, answers, strict=True):
        segments[endpoint.host] = max(segments[endpoint.host], *(each.segment for each in probes), 0)
    ways = await asyncio.gather(*(_in(room, _find_way(lookups[each].address, mtus, segments[each])) for each in hosts))
    known = dict(zip(hosts, ways, strict=True))
    return tuple(
        _build(each, lookups[each.host], known[each.host], probes, clock)
        for each, (probes, clock) in zip(endpoints, answers, strict=True)
    )


def _build(endpoint: Endpoint, lookup: Lookup, way: _Way, probes: tuple[Probe, ...], clock: Clock | None) -> Peer:
    """What was found of a machine. The more certain one of two clocks counts."""
    clocks = [each for each in (way.clock, clock) if each is not None]
    return Peer(
        endpoint,
        lookup.address,
        lookup.milliseconds,
        lookup.is_found,
        way.source,
        probes,
        way.path,
        min(clocks, key=lambda each: each.uncertainty, default=None),
    )


@contextmanager
def _more_files() -> Iterator[None]:
    """As many open files as the hard limit allows, as far as they are of use; what the shell gave comes back."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 4 * _MOST + 40
    hard = most if before[1] == resource.RLIM_INFINITY else min(before[1], most)
    if before[0] != resource.RLIM_INFINITY and before[0] < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _count_room() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(1, min(_MOST, (soft - 40) // 4))


async def _in(room: asyncio.Semaphore, work: Awaitable[T]) -> T:
    async with room:
        return await work


def _is_own(address: str, mtus: Mapping[str, int]) -> bool:
    return address in mtus or is_loopback(address)


def choose_size(mtu: int, segment: int) -> int:
    """The size of the packets that TCP would send, in bytes: it keeps to the smaller MTU of both machines, which
    `segment` tells. Where nothing is known of the other one, at most what every network of cables passes."""
    return min(mtu, segment + _HEADERS if segment else _USUAL)


async def _find_way(address: str, mtus: Mapping[str, int], segment: int) -> _Way:
    """The way to another machine. `mtus`: those of the own addresses."""
    source = find_source(address) if address and not _is_own(address, mtus) else ""
    if not source:
        return _Way()
    path, clock = await asyncio.gather(
        _run(lambda: find_path(address, choose_size(mtus.get(source, _USUAL), segment))),
        _run(lambda: ask_time(address)),
    )
    return _Way(source, path, clock)


async def _run(call: Callable[[], T]) -> T | None:
    try:
        return await run_bounded(call, _DATAGRAM_PATIENCE)
    except (TimeoutError, OSError):
        return None


async def _ask(
    endpoint: Endpoint, address: str, mtus: Mapping[str, int], room: asyncio.Semaphore
) -> tuple[tuple[Probe, ...], Clock | None]:
    # Of this machine itself, only a port that a person names is tried: the others are those of its own ranks.
    if not address or (_is_own(address, mtus) and (endpoint.variable or not endpoint.port)):
        return (), None
    if endpoint.is_http:
        probe, clock = await _in(room, ask_page(address, endpoint.host, endpoint.port))
        return (probe,), clock
    return tuple(await asyncio.gather(*(_in(room, probe_port(address, each)) for each in _ports(endpoint)))), None


def _ports(endpoint: Endpoint) -> tuple[int, ...]:
    return (endpoint.port,) if endpoint.port else PORTS
