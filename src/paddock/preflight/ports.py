"""Checks the ports of a pod for conflicts, within the pod and on a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddock.manifests.parts import Part, mappings
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


def check_ports(part: Part) -> Iterator[Problem]:
    host: dict[tuple[Any, ...], str] = {}
    inner: dict[tuple[Any, ...], str] = {}
    on_host = part.spec.get("hostNetwork") is True
    for container in part.containers():
        for path, port in mappings(container.value.get("ports"), f"{container.path}.ports"):
            protocol = port.get("protocol") or "TCP"
            number, outer = port.get("containerPort"), port.get("hostPort")
            if on_host and isinstance(outer, int) and isinstance(number, int) and outer != number:
                said = phrase(
                    "found {found}, and with hostNetwork it must be the containerPort, {port}", found=outer, port=number
                )
                yield told(f"{path}.hostPort", said, outer, str(number), str(number))
            if isinstance(outer, int) and outer:
                yield from _note(host, (outer, protocol, port.get("hostIP") or ""), f"{path}.hostPort", "error")
                if part.replicas > 1:
                    yield _warn_of_nodes(f"{path}.hostPort", outer, part)
            elif on_host and isinstance(number, int) and number and part.replicas > 1:
                yield _warn_of_nodes(f"{path}.containerPort", number, part)  # Kubernetes' default for hostPort
            if isinstance(number, int):
                yield from _note(inner, (number, protocol), f"{path}.containerPort", "warning")


def _note(seen: dict[tuple[Any, ...], str], port: tuple[Any, ...], path: str, severity: str) -> Iterator[Problem]:
    if port in seen:
        said = phrase(
            "port {port} is taken already, by {other}: containers of one pod share one address",
            port=port[0],
            other=seen[port],
        )
        yield told(path, said, port[0], severity=severity)
    seen.setdefault(port, path)


def _warn_of_nodes(path: str, port: int, part: Part) -> Problem:
    said = phrase(
        "port {port} of a machine can be had once: {replicas} pods need as many nodes, and the others wait",
        port=port,
        replicas=part.replicas,
    )
    return told(path, said, port, severity="warning")
