"""Checks the ports of a pod for conflicts, within the pod and on a node; and the numbers of ports that a command gives
to a launcher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddock.launches.launch import Launch
from paddock.launches.launchers import Means
from paddock.launches.words import read_number
from paddock.manifests.parts import Part, mappings
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_LARGEST = 2**16 - 1


def explain_numbers(launch: Launch) -> Iterator[Phrase]:
    """The options of a launcher, and MASTER_PORT, whose number no port can have."""
    for option in launch.options:
        text = option.text or ""
        means = option.spec.means if option.spec is not None else None
        port = text if means is Means.MASTER_PORT else text.rpartition(":")[2] if means is Means.MASTER else ""
        if (read_number(port) or 0) > _LARGEST:
            yield _explain_number(option.typed)
    value = launch.environment.get("MASTER_PORT")
    if value is not None and (read_number(value.text or "") or 0) > _LARGEST:
        yield _explain_number(f"MASTER_PORT={value.typed}")


def _explain_number(typed: str) -> Phrase:
    return phrase("{typed} names no port: a number from 1 to {most} is wanted", typed=typed, most=_LARGEST)


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
