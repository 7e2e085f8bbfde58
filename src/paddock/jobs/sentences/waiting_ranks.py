"""Ranks that run and wait for another one: who serves the address that a line names, and the sentence. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paddock.kube.meta import Manifest, name_of
from paddock.kube.times import format_duration
from paddock.logs.waiting import Waits, explain_waiting
from paddock.words.phrases import Phrase, phrase


def list_names(pod: Manifest) -> frozenset[str]:
    """The names and addresses by which others reach a pod: its name, its host name, its addresses."""
    status: Mapping[str, Any] = pod.get("status") or {}
    spec: Mapping[str, Any] = pod.get("spec") or {}
    addresses = [str(each.get("ip") or "") for each in status.get("podIPs") or ()]
    found = (name_of(pod), str(spec.get("hostname") or ""), str(status.get("podIP") or ""), *addresses)
    return frozenset(filter(None, found))


def read_host(target: str) -> str:
    """`10.0.0.1` of `10.0.0.1:6070`, and of the first of several targets."""
    return target.partition(",")[0].strip().rpartition(":")[0].strip("[]")


def find_server(target: str, names: Mapping[str, Collection[str]]) -> str:
    """The rank that a target names by its address, or by the first part of its name; empty where none is known.
    `names`: by rank."""
    host = read_host(target)
    wanted = {host, host.partition(".")[0]} if not host.replace(".", "").isdecimal() else {host}
    return next((rank for rank, known in names.items() if host and not wanted.isdisjoint(known)), "")


def explain_waits(rank: str, waits: Waits, names: Mapping[str, Collection[str]], seconds: float | None) -> Phrase:
    """`worker-0 waits for worker-1, which is to serve the store at 10.0.0.1:6070 (for 3m, said 61 times)`. `seconds`:
    since the first of these lines, None where nobody knows it."""
    said = explain_waiting(waits.waiting, find_server(waits.waiting.target, names))
    if seconds is None:
        return phrase("{rank} {said} (said {count} times)", rank=rank, said=said, count=waits.count)
    return phrase("{rank} {said} (for {time}, said {count} times)",
                  rank=rank, said=said, time=format_duration(seconds), count=waits.count)  # fmt: skip
