"""The machines of `--hosts`, and which rank runs on which. Pure: names are resolved where the programs start.

A machine is named by an IPv4 address or a host name that all machines resolve: PaddlePaddle splits endpoints at colons,
so it reads no IPv6 address, and its rendezvous opens only at an address (facts of 3.0.0 and 3.3.1).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from paddock.jobs.model import Job, Rank
from paddock.words.phrases import Phrase, phrase

_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)
_NUMBERS = re.compile(r"[0-9.]+")
_MARK = re.compile(r"machine-(\d+)\.paddock\.invalid")
OWN_INDEX = "index.paddock.invalid"
"""Stands for the number of the machine where a text is used, in texts that all machines share."""


class WrongHosts(ValueError):
    """`--hosts` is wrong; `said` is the sentence."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Host:
    """One machine of the list."""

    name: str  # an address or a name, as typed
    index: int  # its place in the list, from 0

    @property
    def mark(self) -> str:
        """Stands for its address in environments and commands. `.invalid` is never resolved (RFC 6761)."""
        return f"machine-{self.index}.paddock.invalid"

    @property
    def is_address(self) -> bool:
        return bool(_NUMBERS.fullmatch(self.name))


def read_hosts(text: str) -> tuple[Host, ...]:
    """`10.0.0.1,10.0.0.2` or `gpu-a,gpu-b`. Raises `WrongHosts`."""
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise WrongHosts(phrase("--hosts is empty: the addresses of the machines are wanted, as in 10.0.0.1,10.0.0.2"))
    for name in names:
        _check(name, len(names))
    twice = next((name for place, name in enumerate(names) if name.lower() in map(str.lower, names[:place])), None)
    if twice is not None:
        said = phrase(
            "--hosts names {host} twice: each machine stands there once, and it runs several ranks where there are "
            "more ranks than machines",
            host=twice,
        )
        raise WrongHosts(said)
    return tuple(Host(name, index) for index, name in enumerate(names))


def _check(name: str, count: int) -> None:
    if not name:
        raise WrongHosts(phrase("--hosts has an empty name: two commas follow each other, or one ends the list"))
    if name.startswith("[") or name.count(":") > 1:
        said = phrase(
            "{host} is an IPv6 address, and PaddlePaddle reads none (it splits endpoints at colons): name the machine "
            "by its IPv4 address",
            host=name,
        )
        raise WrongHosts(said)
    if ":" in name:
        said = phrase("{host} has a port: --hosts takes addresses alone, --port says the first port", host=name)
        raise WrongHosts(said)
    if "@" in name:
        said = phrase(
            "{host} has a user: --hosts takes addresses alone, and the user of ssh is `User` in ~/.ssh/config",
            host=name,
        )
        raise WrongHosts(said)
    if _NUMBERS.fullmatch(name):
        _check_address(name, count)
    elif not _NAME.fullmatch(name):
        said = phrase("{host} is neither an IPv4 address nor a name of a host (a-z, 0-9, - and .)", host=repr(name))
        raise WrongHosts(said)
    elif count > 1 and name.lower().rstrip(".") in ("localhost", "localhost.localdomain"):
        raise WrongHosts(_explain_loopback(name))


def _check_address(name: str, count: int) -> None:
    try:
        address = ipaddress.IPv4Address(name)
    except ValueError:
        said = phrase("{host} is no IPv4 address: four numbers from 0 to 255 are one, as in 10.0.0.1", host=name)
        raise WrongHosts(said) from None
    if address.is_loopback and count > 1:
        raise WrongHosts(_explain_loopback(name))
    if address.is_unspecified or address.is_multicast or address == ipaddress.IPv4Address("255.255.255.255"):
        raise WrongHosts(phrase("{host} is the address of no machine", host=name))


def _explain_loopback(name: str) -> Phrase:
    return phrase(
        "{host} is each machine's own address, so the others would wait for themselves: name it by the address at "
        "which the others reach it",
        host=name,
    )


def spread(job: Job, hosts: Sequence[Host]) -> dict[Rank, Host]:
    """Which machine runs a rank: one of its own where there are enough. Else parameter servers and workers are spread
    alike, each role from the first machine on, and ranks of a job without servers go round the machines in order."""
    if job.size > len(hosts) and any(role.serves for role in job.roles):
        return {rank: hosts[rank.index % len(hosts)] for rank in job.ranks()}
    return {rank: hosts[number % len(hosts)] for number, rank in enumerate(job.ranks())}


def replace_marks(text: str, address_of: Callable[[int], str]) -> str:
    """The text with what `address_of` gives for the index of each mark."""
    return _MARK.sub(lambda match: address_of(int(match[1])), text)


def split_marks(text: str) -> Iterator[str | int]:
    """The parts of a text in order: a text as it is, or the index of a machine whose mark stood there."""
    for place, part in enumerate(_MARK.split(text)):
        if place % 2:
            yield int(part)
        elif part:
            yield part
