"""A machine as values: what `doctor.probes` finds, and what `judging` judges. None is "no limit" or "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paddock.doctor.host.endpoints import Endpoint, is_loopback
from paddock.doctor.host.peers import Peer


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for: `peers`, also those of variables; `interpreter`, empty if none was named."""

    peers: tuple[Endpoint, ...] = ()
    interpreter: str = ""


@dataclass(frozen=True, slots=True)
class OwnName:
    """`addresses`: what the name stands for, IPv4 first. `seconds`: how long that took, the name of the address
    included; `is_found`: False if no answer came in time."""

    name: str = ""
    addresses: tuple[str, ...] = ()
    seconds: float = 0.0
    is_found: bool = True


@dataclass(frozen=True, slots=True)
class Interface:
    """`addresses`: IPv4 first. `mtu`: bytes of a packet, with its IP header."""

    name: str
    addresses: tuple[str, ...] = ()
    mtu: int = 1500
    is_up: bool = True

    @property
    def is_loopback(self) -> bool:
        return self.name == "lo" or any(is_loopback(each) for each in self.addresses)


@dataclass(frozen=True, slots=True)
class Shm:
    """The file system of /dev/shm, in bytes. `is_own`: whether it is a file system of its own."""

    size: int
    free: int
    is_own: bool = True
    is_writable: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a process, as started from here. `open_files`: soft and `most_open_files`: hard limit; `locked` and `stack` in
    bytes; None is no limit."""

    open_files: int | None = None
    most_open_files: int | None = None
    locked: int | None = None
    stack: int | None = None


class Smi(StrEnum):
    """What became of nvidia-smi."""

    MISSING = "missing"
    WELL = "well"
    FAILED = "failed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU as nvidia-smi lists it. `capability`: (9, 0), or None if it is not told; `mode`: its compute mode."""

    index: int
    uuid: str = ""
    name: str = ""
    capability: tuple[int, int] | None = None
    mode: str = "Default"


@dataclass(frozen=True, slots=True)
class Gpus:
    """`said`: the first line of a failure, with `code`, the exit code. `on_bus`: NVIDIA's cards on the PCI bus;
    `device_files`: /dev/nvidia0 and so on. `is_compatible`: whether NVIDIA's forward compatibility package is there,
    with which an older driver serves a newer CUDA."""

    smi: Smi = Smi.MISSING
    said: str = ""
    code: int = 0
    driver: str = ""
    cards: tuple[Card, ...] = ()
    on_bus: int = 0
    device_files: int = 0
    is_compatible: bool = False


@dataclass(frozen=True, slots=True)
class Wheel:
    """A framework's package as its metadata has it. `cuda`: (12, 6), None if it has none or tells none; `device`: the
    name of `environments.packages.devices`, empty if it is not told."""

    package: str
    version: str
    device: str = ""
    cuda: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python of the training; `error`: why it did not tell its packages."""

    path: str = ""
    version: str = ""
    wheels: tuple[Wheel, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """This machine.

    `address`: its own by which it would send to the internet, empty without such a way. `cores` and `memory` (bytes):
    what a process may use, limits of cgroups included. `container`: `docker`, `kubernetes` or empty. `rdma`: names of
    devices of InfiniBand or RoCE. `environ`: the variables of the shell in which training would start.
    """

    name: OwnName = OwnName()
    interfaces: tuple[Interface, ...] = ()
    address: str = ""
    shm: Shm | None = None
    limits: Limits = Limits()
    cores: float = 1
    memory: int = 2**34
    gpus: Gpus = Gpus()
    interpreter: Interpreter = Interpreter()
    container: str = ""
    rdma: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    peers: tuple[Peer, ...] = ()

    def find_interface(self, address: str) -> Interface | None:
        """The interface that has the address."""
        return next((each for each in self.interfaces if address in each.addresses), None)

    def is_own(self, address: str) -> bool:
        return is_loopback(address) or self.find_interface(address) is not None

    @property
    def others(self) -> tuple[Peer, ...]:
        """The peers that are other machines. A name that stands for nothing here, or for loopback, is another's."""
        own = self.name.name
        return tuple(
            each for each in self.peers
            if each.endpoint.host != own and not each.endpoint.is_loopback
            and not (self.find_interface(each.address) and not is_loopback(each.address))
        )  # fmt: skip

    @property
    def own_address(self) -> str:
        """The IPv4 address by which others reach this machine: that of the way to a peer, or else to the internet, or
        else the first one."""
        ways = [
            each for each in (*(peer.source for peer in self.others), self.address) if each and not is_loopback(each)
        ]
        found = [
            address for each in self.interfaces if each.is_up and not each.is_loopback
            for address in each.addresses if ":" not in address
        ]  # fmt: skip
        return next((each for each in ways if ":" not in each), found[0] if found else "")
