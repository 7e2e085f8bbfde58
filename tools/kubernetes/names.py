"""Answers for Services and for pods with a host name, as a cluster's DNS does: Debian has no CoreDNS."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api import fetch
from processes import load

Key = tuple[str, str]
"""Namespace and name."""


def find_addresses(name: str, services: Mapping[Key, str | None], endpoints: Mapping[Key, Any]) -> list[str] | None:
    """The IPv4 addresses of SERVICE.NAMESPACE.svc.cluster.local or HOSTNAME.SERVICE…; None if there is no such name."""
    labels = name.rstrip(".").lower().split(".")
    if labels[-3:] != ["svc", "cluster", "local"] or not 5 <= len(labels) <= 6:
        return None
    service, namespace = labels[-5:-3]
    clusterip = services.get((namespace, service))
    subsets = endpoints.get((namespace, service), [])
    found = [a for subset in subsets for a in subset.get("addresses") or []]
    if len(labels) == 6:
        return [a["ip"] for a in found if a.get("hostname") == labels[0]] or None
    if clusterip is None:
        return None
    return [clusterip] if clusterip != "None" else [a["ip"] for a in found]


def read_question(packet: bytes) -> tuple[str, int, bytes]:
    """Name, type and the question's own bytes. Raises IndexError where there is none."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    return ".".join(labels), int.from_bytes(packet[at + 1 : at + 3], "big"), packet[12 : at + 5]


def build_answer(packet: bytes, addresses: Sequence[str] | None) -> bytes:
    """RFC 1035: A records alone, alive for a second; NXDOMAIN where there is no such name."""
    _, kind, question = read_question(packet)
    shown = [socket.inet_aton(each) for each in addresses or []][:25] if kind == 1 else []
    flags = 0x8580 | (3 if addresses is None else 0)
    header = packet[:2] + flags.to_bytes(2, "big") + b"\0\1" + len(shown).to_bytes(2, "big") + b"\0" * 4
    return header + question + b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + each for each in shown)


def serve(home: Path, address: str) -> None:
    """Answers on `address`, port 53, from what the API says at that moment (kept for a second). Never returns."""
    control = load(home)
    read = 0.0
    services: dict[Key, str | None] = {}
    endpoints: dict[Key, Any] = {}
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        packet, client = server.recvfrom(512)
        if time.monotonic() - read > 1:
            listed = [fetch(home, control, f"/api/v1/{kind}") for kind in ("services", "endpoints")]
            if all(listed):
                services = {_key(each): each["spec"].get("clusterIP") for each in listed[0]["items"]}
                endpoints = {_key(each): each.get("subsets") or [] for each in listed[1]["items"]}
                read = time.monotonic()
        try:
            found = find_addresses(read_question(packet)[0], services, endpoints)
            server.sendto(build_answer(packet, found), client)
        except (IndexError, ValueError):
            pass  # not a question


def _key(manifest: Mapping[str, Any]) -> Key:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]
