"""A machine as values: what `doctor.probes` finds, and what `judging` judges. None is "no limit" or "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paddock.doctor.host.endpoints import Endpoint, is_loopback
from paddock.doctor.host.peers import Peer


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for."""

    peers: tuple[Endpoint, ...] = ()  # also those that variables name
    interpreter: str = ""  # empty if none was named


@dataclass(frozen=True, slots=True)
class OwnName:
    """What the name of this machine stands for."""

    name: str = ""
    addresses: tuple[str, ...] = ()  # IPv4 first
    seconds: float = 0.0  # how long the lookup took, the name of the address included
    is_found: bool = True  # False if no answer came in time


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface."""

    name: str
    addresses: tuple[str, ...] = ()  # IPv4 first
    mtu: int = 1500  # bytes of a packet, with its IP header
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
    """Limits of a process, as started from here. None is no limit."""

    open_files: int | None = None  # the soft limit
    most_open_files: int | None = None  # the hard limit
    locked: int | None = None  # in bytes
    stack: int | None = None  # in bytes


class Smi(StrEnum):
    """What became of nvidia-smi."""

    MISSING = "missing"
    WELL = "well"
    FAILED = "failed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU as nvidia-smi lists it."""

    index: int
    uuid: str = ""
    name: str = ""
    capability: tuple[int, int] | None = None  # (9, 0), or None if it is not told
    mode: str = "Default"  # its compute mode


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of this machine, and what tells of them."""

    smi: Smi = Smi.MISSING
    said: str = ""
    """The first line of a failure."""
    code: int = 0
    """The exit code of a failure."""
    driver: str = ""
    cards: tuple[Card, ...] = ()
    on_bus: int = 0
    """How many cards of NVIDIA are on the PCI bus."""
    device_files: int = 0
    """How many there are: /dev/nvidia0 and so on."""
    is_compatible: bool = False
    """Whether NVIDIA's forward compatibility package is there, with which an older driver serves a newer CUDA."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A framework's package as its metadata has it."""

    package: str
    version: str
    device: str = ""  # the name of `environments.packages.devices`; empty if it is not told
    cuda: tuple[int, int] | None = None  # (12, 6); None if it has none or tells none


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python of the training; `error`: why it did not tell its packages."""

    path: str = ""
    version: str = ""
    wheels: tuple[Wheel, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """This machine."""

    name: OwnName = OwnName()
    interfaces: tuple[Interface, ...] = ()
    address: str = ""
    """Its own address by which it would send to the internet; empty without such a way."""
    shm: Shm | None = None
    limits: Limits = Limits()
    cores: float = 1
    """What a process may use, limits of cgroups included."""
    memory: int = 2**34
    """Bytes that a process may use, limits of cgroups included."""
    gpus: Gpus = Gpus()
    interpreter: Interpreter = Interpreter()
    container: str = ""
    """`docker`, `kubernetes` or empty."""
    rdma: tuple[str, ...] = ()
    """Names of devices of InfiniBand or RoCE."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The variables of the shell in which training would start."""
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
