"""Ranks that run, and whose library says again and again that it waits: for which rank, at which address? Pure.

Launchers that wait for each other are told by `doctor.silence` and `doctor.network`. Here are the processes that they
have started: they wait for the store of rank 0, for servers, for a peer of their group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.doctor import signs
from paddock.doctor.case import Case, list_places, place
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import LaunchLog
from paddock.jobs.sentences.waiting_ranks import find_server, read_host
from paddock.logs.waiting import Awaited, Waiting, explain_waiting
from paddock.words.phrases import Names, Phrase, phrase

_OF_LAUNCHERS = (Awaited.LAUNCHERS, Awaited.MASTER)
_LOOPBACK = re.compile(r"127\.|localhost\b|\[?::1\b")


def check_waiting(case: Case) -> Iterator[Finding]:
    yield from _check_own_address(case)
    yield from _check_repeated(case)
    yield from _check_hosts(case)


def _list_waiting(case: Case) -> list[tuple[str, LaunchLog, Waiting]]:
    """The ranks whose log ends so, of those that have not ended."""
    return [
        (name, log, log.waits.waiting)
        for name, log in case.logs.items()
        if log.waits is not None and log.waits.is_long and log.waits.waiting.awaited not in _OF_LAUNCHERS
        and (name not in case.ranks or case.ranks[name].code is None)
    ]  # fmt: skip


def _serves_itself(log: LaunchLog, waiting: Waiting) -> bool:
    """Whether this very process listens at the port, and does not reach it at the address that it was told."""
    served = log.sign(signs.STORE_SERVED)
    port = waiting.target.rpartition(":")[2]
    return waiting.awaited is Awaited.STORE and served is not None and served.text.rstrip().endswith(f" {port}")


def _check_own_address(case: Case) -> Iterator[Finding]:
    found = [each for each in _list_waiting(case) if _serves_itself(each[1], each[2])]
    if not found:
        return
    name, log, waiting = found[0]
    host, _, port = waiting.target.rpartition(":")
    yield Finding(
        "own-address-is-not-here",
        Severity.WRONG,
        place(name, _line(log)),
        phrase("rank 0 serves the store at port {port} itself, and does not reach it at {host}", port=port, host=host),
        phrase(
            "{host} is no address of this machine, or not any more: an old POD_IP, --host or line of /etc/hosts; all "
            "ranks wait for ever",
            host=host,
        ),
        phrase("give the launcher the address that this host has now, by POD_IP or --host, and start all hosts anew"),
        "ip -o -4 addr",
    )


def _line(log: LaunchLog) -> int:
    return log.waits.line if log.waits is not None else log.last_line


def _check_repeated(case: Case) -> Iterator[Finding]:
    found = [each for each in _list_waiting(case) if not _serves_itself(each[1], each[2])]
    if not found:
        return
    name, log, waiting = found[0]
    same = [each for each in found if each[2] == waiting]
    server = find_server(waiting.target, {rank: seen.names for rank, seen in case.ranks.items()})
    said = explain_waiting(waiting, server)
    count = log.waits.count if log.waits is not None else 0
    yield Finding(
        "waits-for-address",
        Severity.WRONG,
        list_places([place(each, _line(other)) for each, other, _ in same[:4]]),
        phrase("{said} (said {count} times, and nothing else since)", said=said, count=count),
        _explain_why(case, waiting, server, name),
        _explain_mend(case, waiting, server),
        _build_command(case, waiting, server),
    )


def _explain_why(case: Case, waiting: Waiting, server: str, name: str) -> Phrase:
    host = read_host(waiting.target)
    if _LOOPBACK.match(host) and not server and case.nodes > 1:
        return phrase("{host} is each machine's own address, so every host but one asks itself", host=host)
    if server and server == name:
        return phrase("it waits for itself: the address is its own, and nothing in this pod serves the port")
    if server and (seen := case.ranks.get(server)) is not None and not seen.running:
        if seen.waits is not None:
            return phrase("{rank} does not run: {why}", rank=server, why=seen.waits)
        return phrase("{rank} does not run", rank=server)
    if server:
        return phrase("{rank} runs, and has not come so far: it still loads, hangs, or has another port", rank=server)
    if waiting.awaited is Awaited.NAME:
        return phrase("the name is stale, misspelt, or known on its own machine alone")
    if waiting.awaited is Awaited.RANKS:
        return phrase("a rank has not started, has ended, or was told of another number of ranks")
    return phrase("nobody was started there, it has ended, or a firewall drops the connection; it waits without a word "
                  "of its own")  # fmt: skip


def _explain_mend(case: Case, waiting: Waiting, server: str) -> Phrase:
    if server:
        return phrase("look at the log of {rank}", rank=server)
    if _LOOPBACK.match(read_host(waiting.target)) and case.nodes > 1:
        return phrase("tell each host its own address by POD_IP or --host, or correct the name in its /etc/hosts")
    if waiting.awaited is Awaited.NAME:
        return phrase("write the name with its host's address into /etc/hosts, or give addresses in place of names")
    return phrase("see that a program listens there, and that the port can be reached from here")


def _build_command(case: Case, waiting: Waiting, server: str) -> str:
    if server and case.asked.job:
        role, _, index = server.rpartition("-")
        return f"paddock logs {case.asked.job}{case.asked.options} --role {role} --rank {index} --tail 20 --raw"
    host, port = read_host(waiting.target), waiting.target.partition(",")[0].rpartition(":")[2]
    if waiting.awaited is Awaited.NAME:
        return f"getent hosts {host}"
    if _LOOPBACK.match(host) and case.nodes > 1:
        return "getent ahostsv4 $(hostname)"
    return f"nc -vz -w 3 {host} {port}" if host and port.isdecimal() else ""


def _check_hosts(case: Case) -> Iterator[Finding]:
    """`--ips` of several hosts, whose ranks meet in the store of the first; the launcher itself waits for nobody."""
    if case.ranks or len(case.logs) != 1:
        return
    ((name, log),) = case.logs.items()
    hosts = [each.strip() for each in log.argument("ips").split(",") if each.strip()]
    served = log.sign(signs.STORE_SERVED)
    if len(hosts) < 2 or served is None or log.progress is not None or log.failed:
        return
    others = tuple(each for each in hosts[1:])
    yield Finding(
        "waits-for-hosts",
        Severity.WRONG,
        place(name, served.line),
        phrase("the store of rank 0 is up, and the ranks of {hosts} have not come", hosts=Names(others)),
        phrase(
            "--ips names {count} hosts, and the launcher has to be started on each of them; this log has the first "
            "alone, and waits for the others without a limit",
            count=len(hosts),
        ),
        phrase("start the same command on {hosts}; each finds its place by its own address in --ips",
               hosts=Names(others)),
        f"paddock doctor --host --peer {others[0]}",
    )  # fmt: skip
