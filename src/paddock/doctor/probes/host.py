"""Looks at this machine and at its peers, and judges what it finds: `paddock doctor --host`.

Nothing is changed, nothing needs root, and nothing is sent anywhere but to the peers that are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.doctor.findings import Finding
from paddock.doctor.host.endpoints import (
    Endpoint,
    WrongPeer,
    read_endpoint,
    read_hosts_file,
    read_variables,
    unique,
)
from paddock.doctor.host.judging import judge
from paddock.doctor.host.values import Asked, Host
from paddock.doctor.probes.gpus import find_gpus
from paddock.doctor.probes.lookups import find_source
from paddock.doctor.probes.machine import (
    choose_variables,
    find_container,
    find_own_name,
    find_rdma,
    read_interfaces,
    read_process_limits,
    read_room,
    read_shm,
)
from paddock.doctor.probes.peers import ask_peers
from paddock.doctor.probes.wheels import ask_interpreter, find_interpreter
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, counted, phrase

_ELSEWHERE = "192.0.2.1"
"""An address of no machine (RFC 5737): the table of routes is asked for it, and nothing is sent."""
Report = Callable[[str], None]


class WrongInterpreter(ValueError):
    """The interpreter that is asked for is not there; `said` is the sentence."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Examined:
    """What was asked for and found, beside the findings: `-o json` and "what was looked at" are told from it."""

    asked: Asked
    host: Host
    findings: tuple[Finding, ...]


async def look_at_host(
    peers: Sequence[str] = (),
    *,
    interpreter: str = "",
    environ: Mapping[str, str],
    report: Report | None = None,
) -> tuple[Finding, ...]:
    """The findings of this machine. `peers`: HOST, HOST:PORT, http://HOST:PORT or @FILE, a file with one in each line;
    without any, those that the variables of frameworks name. `interpreter`: a path or a command; without it, the first
    python in PATH. `environ`: of the shell in which training would start. `report` gets a sentence for each step.

    Raises `WrongPeer` and `WrongInterpreter`, which have a sentence, before it looks at anything.
    """
    return (await examine_host(peers, interpreter=interpreter, environ=environ, report=report)).findings


async def examine_host(
    peers: Sequence[str] = (),
    *,
    interpreter: str = "",
    environ: Mapping[str, str],
    report: Report | None = None,
) -> Examined:
    """As `look_at_host`, with what was found."""
    endpoints = unique(list(_read_peers(peers))) or read_variables(environ)
    asked = Asked(endpoints, interpreter)
    python = find_interpreter(interpreter, environ)
    if interpreter and not python:
        said = phrase("--python {python}: no program of this name is there, in PATH or as a file", python=interpreter)
        raise WrongInterpreter(said)
    _report(report, phrase("looks at this machine"))
    if endpoints:
        _report(report, _count(len(endpoints)))
    host = await _find(asked, python, environ)
    return Examined(asked, host, judge(host, asked))


def _count(count: int) -> Phrase:
    return counted("reaches {count} peer, in a few seconds", "reaches {count} peers, in a few seconds", count=count)


def _report(report: Report | None, said: Phrase) -> None:
    if report is not None:
        report(str(said))


def _read_peers(texts: Sequence[str]) -> Iterator[Endpoint]:
    for text in texts:
        if not text.startswith("@"):
            yield read_endpoint(text)
            continue
        path = Path(text[1:])
        try:
            lines = list(read_hosts_file(path.read_text()))
        except (OSError, UnicodeDecodeError) as error:
            why = explain_unreadable(error) if isinstance(error, OSError) else phrase("not a text in UTF-8")
            said = phrase("--peer {text}: {why}; a file with one machine in each line is wanted", text=text, why=why)
            raise WrongPeer(said) from None
        if not lines:
            raise WrongPeer(phrase("--peer {text}: no machine is named in it; one in each line is wanted", text=text))
        yield from map(read_endpoint, lines)


async def _find(asked: Asked, python: str, environ: Mapping[str, str]) -> Host:
    interfaces, limits = read_interfaces(), read_process_limits()
    name, gpus, told, peers = await asyncio.gather(
        find_own_name(), find_gpus(environ), ask_interpreter(python, environ), ask_peers(asked.peers, interfaces)
    )
    cores, memory = read_room()
    return Host(
        name=name,
        interfaces=interfaces,
        address=find_source(_ELSEWHERE),
        shm=read_shm(),
        limits=limits,
        cores=cores,
        memory=memory,
        gpus=gpus,
        interpreter=told,
        container=find_container(environ),
        rdma=find_rdma(),
        environ=choose_variables(environ),
        peers=peers,
    )
