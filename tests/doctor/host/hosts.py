"""Machines for tables: one that is well, and how to change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paddock.doctor.findings import Finding
from paddock.doctor.host.endpoints import Endpoint
from paddock.doctor.host.judging import judge
from paddock.doctor.host.peers import Answer, Peer, Probe
from paddock.doctor.host.values import (
    Asked,
    Card,
    Gpus,
    Host,
    Interface,
    Interpreter,
    Limits,
    OwnName,
    Shm,
    Smi,
    Wheel,
)

GIB = 2**30
LO, ETH0 = Interface("lo", ("127.0.0.1", "::1"), 65536), Interface("eth0", ("10.0.0.1",), 1500)
ETH1 = Interface("eth1", ("192.168.7.1", "fd00::1"), 9000)
TWO_CARDS = (Card(0, "GPU-aa", "NVIDIA H200", (9, 0)), Card(1, "GPU-bb", "NVIDIA H200", (9, 0)))
TWO_GPUS = Gpus(Smi.WELL, driver="570.86.15", cards=TWO_CARDS, on_bus=2, device_files=2)
CPU = Wheel("paddlepaddle", "3.3.1", "CPU")
GPU = Wheel("paddlepaddle-gpu", "3.3.1", "GPU", (12, 6))
TORCH = Wheel("torch", "2.13.0", "GPU", (12, 8))
LAPTOP = Host(
    name=OwnName("laptop", ("127.0.1.1",), 0.001),
    interfaces=(LO, ETH0),
    shm=Shm(8 * GIB, 8 * GIB),
    limits=Limits(1024, 2**20, 2**23, 2**23),
    cores=4,
    memory=16 * GIB,
)
"""Debian's own name, which no job of one machine minds."""
NODE = replace(
    LAPTOP,
    name=OwnName("gpu-a", ("10.0.0.1",), 0.001),
    cores=64,
    memory=512 * GIB,
    gpus=TWO_GPUS,
    interpreter=Interpreter("/opt/venv/bin/python", "3.12.4", (GPU,)),
    rdma=(),
)
"""One of two machines with GPUs, called gpu-a and gpu-b."""


def peer(host: str = "gpu-b", port: int = 0, answer: Answer = Answer.REFUSED, **more: Any) -> Peer:
    """A peer at 10.0.0.2 that answers well, unless it is told otherwise."""
    endpoint = Endpoint(host, port, variable=more.pop("variable", ""))
    probes = (
        (Probe(port, answer, more.pop("milliseconds", 0)),)
        if port
        else tuple(Probe(each, answer) for each in (22, 6170))
    )
    return replace(Peer(endpoint, "10.0.0.2", source="10.0.0.1", probes=probes), **more)


def with_peers(host: Host, *peers: Peer) -> Host:
    return replace(host, peers=peers or (peer(),))


def ask(host: Host, interpreter: str = "") -> tuple[Finding, ...]:
    return judge(host, Asked(tuple(each.endpoint for each in host.peers), interpreter))


def checks(host: Host, interpreter: str = "") -> list[str]:
    return [each.check for each in ask(host, interpreter)]
