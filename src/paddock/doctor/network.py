"""Why do the ranks not find each other, or lose each other? Names, addresses, ports.

Measured with two hosts in network namespaces (PaddlePaddle 3.3.1, PyTorch 2.13): rank 0 serves the master only if the
master's address is its own, and its own is what its host name resolves to, or POD_IP. Gloo binds what the host name
resolves to, or the interface of GLOO_SOCKET_IFNAME.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.doctor import signs
from paddock.doctor.case import Case, build_command, place_all
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import LaunchLog
from paddock.doctor.signs import Sign
from paddock.jobs.sentences.waiting_ranks import find_server
from paddock.words.phrases import counted, phrase

_FEW = 2
"""`master not ready` so often, or less, before a start: the master's host was later than the others."""
_NAME = re.compile(r"network (\S+): cannot be obtained")
_PEER = re.compile(r"network addresses of \(([^,)]+)")
_NAMED = re.compile(r"to connect to \(([\w.-]+), (\d+)\)")
_PORT = re.compile(r"(?:port:? ?|[\w\]]:)(\d{2,5})\b")
_IP = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_INTERFACE = "export GLOO_SOCKET_IFNAME=eth0"
_OWN_ADDRESS = "getent ahostsv4 $(hostname)"


def check_network(case: Case) -> Iterator[Finding]:
    yield from _check_master(case)
    yield from _check_put(case)
    yield from _check_names(case)
    yield from _check_peer_name(case)
    yield from _check_loopback(case)
    yield from _check_store(case)
    yield from _check_address_in_use(case)
    yield from _check_peers(case)
    yield from _check_server_lost(case)


def _check_master(case: Case) -> Iterator[Finding]:
    found = [
        each for each in case.find(signs.MASTER_NOT_READY) if not each[1].may_have_started and each[2].count >= _FEW
    ]
    if not found:
        return
    _, log, sign = found[0]
    master = log.argument("master")
    host = master.rpartition(":")[0]
    everybody = len(found) == sum(1 for each in case.logs.values() if each.block_line)
    why = phrase(
        "rank 0 serves the master only if the master's address is its own, and here nobody does: all wait for ever"
    )
    if host and not _IP.fullmatch(host):
        yield Finding(
            "master-is-a-name",
            Severity.WRONG,
            place_all(found),
            phrase("nobody serves the master {master}, which is a name ({count} times not ready)",
                   master=master, count=sign.count),
            phrase("rank 0 compares it with its own IP, so a name is never its own, and all wait for ever"),
            phrase("write the IP of the host of rank 0"),
            _resolve(log, host, master.rpartition(":")[2]),
        )  # fmt: skip
        return
    if (everybody and len(found) > 1) or (log.argument("rank") == "0" and not log.argument("host")):
        yield Finding(
            "nobody-serves-the-master",
            Severity.WRONG,
            place_all(found),
            phrase("no host serves the master {master} ({count} times not ready), also not the one with this address",
                   master=master, count=sign.count),
            why,
            phrase("tell each host its own address by POD_IP or --host: its name resolves to another one, such as "
                   "127.0.1.1"),
            build_command(log, {}, {"POD_IP": host or "OWN_IP"}),
        )  # fmt: skip
        return
    yield Finding(
        "master-is-not-reached",
        Severity.WRONG,
        place_all(found),
        phrase("the master {master} does not answer ({count} times not ready)", master=master, count=sign.count),
        phrase("the host of rank 0 has not started, serves another port, or a firewall drops the connection"),
        phrase("see that rank 0 runs with the same --master, and that its port can be reached from here"),
        f"nc -vz -w 3 {host} {master.rpartition(':')[2]}",
    )


def _resolve(log: LaunchLog, host: str, port: str) -> str:
    """The command with the address of a name, which the shell asks for."""
    command = build_command(log, {"master": f"@MASTER@:{port}"}).replace("@MASTER@", "$master")
    return f"master=$(getent ahostsv4 {host} | awk 'NR==1 {{print $1}}') && {command}"


def _check_put(case: Case) -> Iterator[Finding]:
    if found := [each for each in case.find(signs.PUT_FAILED) if each[2].count >= _FEW]:
        _, log, sign = found[0]
        master = log.argument("master")
        yield Finding(
            "master-has-gone",
            Severity.WRONG,
            place_all(found),
            phrase("the master {master} has stopped answering ({count} times `put value failed`)",
                   master=master, count=sign.count),
            phrase("its host has ended; or another job had the same port, was taken for this one's master, and ended"),
            phrase("start all hosts anew, with a port that no other job has"),
            build_command(log, {"master": f"{master.rpartition(':')[0]}:PORT"}),
        )  # fmt: skip


def _check_names(case: Case) -> Iterator[Finding]:
    found = case.find(signs.NAME_UNKNOWN)
    if not found:
        return
    match = _NAME.search(found[0][2].text)
    name = match[1] if match else "?"
    yield Finding(
        "own-name-is-unknown",
        Severity.WRONG,
        place_all(found),
        phrase("the host does not know its own name: {name}", name=name),
        phrase("gloo binds the address of the host's name, and ends without one"),
        phrase("name the network interface, or write the name with the host's IP into /etc/hosts"),
        f"{_INTERFACE}   # ip -o -4 addr",
    )


def _check_peer_name(case: Case) -> Iterator[Finding]:
    """torchrun hands the host name of rank 0 to the others, unless it is told an address."""
    found = case.find(signs.PEER_NAME)
    if found:
        match = _PEER.search(found[0][2].text)
        name = match[1] if match else "?"
        yield Finding(
            "peer-name-is-unknown",
            Severity.WRONG,
            place_all(found),
            phrase("this host does not know the name of a peer: {name}", name=name),
            phrase("torchrun tells the others the host name of rank 0, which only its own machine knows"),
            phrase("tell torchrun on each host its own address"),
            "torchrun --local-addr OWN_IP …",
        )


def _check_loopback(case: Case) -> Iterator[Finding]:
    found = case.find(signs.LOOPBACK)
    if not found or case.nodes < 2:
        return
    failed = [each for each in found if each[1].sign(signs.FAILED)] or found
    yield Finding(
        "name-is-loopback",
        Severity.WRONG,
        place_all(failed),
        phrase("a rank was told to connect to {address}, which is its own machine",
               address=_find_loopback(failed[0][2].text) or "127.0.0.1"),
        phrase("a peer's host name resolves to 127.x (Debian writes 127.0.1.1), and gloo offers that address to all"),
        phrase("name the network interface on each host, or correct the name in its /etc/hosts"),
        f"{_INTERFACE}   # {_OWN_ADDRESS}",
    )  # fmt: skip


def _find_loopback(text: str) -> str:
    """The address that was connected to, not the one it was connected from."""
    start = max(text.find("remote=[127."), text.find("connect [127."))
    return signs.find_address(text[start:]) if start >= 0 else ""


def _check_store(case: Case) -> Iterator[Finding]:
    found = case.find(signs.STORE_TIMEOUT)
    if not found:
        return
    told = found[0][2].text[found[0][2].text.find("trying to connect") :]
    named = _NAMED.search(told)
    address = f"{named[1]}:{named[2]}" if named else signs.find_address(told)
    everybody = len(found) == len(case.logs) and len(found) > 1
    yield Finding(
        "nobody-hosts-the-store" if everybody else "store-is-not-reached",
        Severity.WRONG,
        place_all(found),
        phrase("no host answers at {address}, where the ranks are to meet", address=address or "?")
        if everybody
        else phrase("this host does not reach {address}, where the ranks are to meet", address=address or "?"),
        phrase("torchrun guesses by names which host serves it; where the name is 127.x, none does")
        if everybody
        else phrase("its host has not started the store, or a firewall drops the connection"),
        phrase("say which host serves it: is_host=1 on the first, is_host=0 on the others"),
        f"torchrun --rdzv-backend c10d --rdzv-endpoint {address or 'IP:PORT'} --rdzv-conf is_host=1 …",
    )  # fmt: skip


def _check_address_in_use(case: Case) -> Iterator[Finding]:
    told = case.find(signs.ADDRESS_IN_USE)
    found = told or case.find(signs.STORE_UNBOUND)
    if not found:
        return
    said = told[0][2].text.rpartition("Error: ")[2][:200] if told else None
    failed = {name for name, _, _ in found}
    ports = {port[1] for _, _, sign in told if (port := _PORT.search(sign.text))}
    holder = next((name for name, log in case.logs.items() if name not in failed and _serves(log, ports)), "")
    several = case.machine.is_shared and sum(seen.running or name in failed for name, seen in case.ranks.items()) > 1
    if holder:
        yield _blame_rank(holder, said, found)
        return
    yield Finding(
        "port-is-taken",
        Severity.WRONG,
        place_all(found),
        phrase("a port is taken by another program: {said}", said=said)
        if said
        else phrase("a port is taken by another program: PaddlePaddle's store of the ranks could not bind it"),
        _WITH_RANKS if several else phrase("two jobs with one port on one machine fail, or meet each other"),
        phrase("end the other program, or take another port"),
        "ss -ltnp",
    )


_WITH_RANKS = phrase(
    "two jobs with one port on one machine fail, or meet each other; so do two ranks of this job, where the program "
    "binds a fixed port"
)


def _serves(log: LaunchLog, ports: set[str]) -> bool:
    served = log.sign(signs.STORE_SERVED)
    return served is not None and any(re.search(rf"\b{port}\b", served.text) for port in ports)


def _blame_rank(holder: str, said: str | None, found: list[tuple[str, LaunchLog, Sign]]) -> Finding:
    """A port that another rank of the same job has: all run one program, and it was told of one port."""
    known = phrase("{said}", said=said) if said else phrase("the store of the ranks could not bind its port")
    what = phrase("a port is taken by {rank} of this job: {said}", rank=holder, said=known)
    return Finding(
        "port-is-another-ranks",
        Severity.WRONG,
        place_all(found),
        what,
        phrase(
            "all ranks run the same program: one that binds a fixed port on all addresses can have one rank a machine, "
            "and two ranks that each take themselves for rank 0 serve the same store"
        ),
        phrase(
            "let the program read its rank and its addresses from the variables (RANK, MASTER_ADDR, MASTER_PORT; "
            "PADDLE_TRAINER_ID, PADDLE_CURRENT_ENDPOINT), and add the rank to a port of its own"
        ),
        "ss -ltnp",
    )


def _check_peers(case: Case) -> Iterator[Finding]:
    """A peer that stopped answering: gloo gives up after 30 seconds, torch's store after its own time."""
    found: list[tuple[str, LaunchLog, Sign]] = []
    for sign in (signs.PEER_TIMEOUT, signs.NO_ROUTE, signs.CLOSED):
        found += [each for each in case.find(sign) if each[0] not in {name for name, _, _ in found}]
    if not found or case.nodes < 2:
        return
    unreachable = any(each[1].sign(signs.NO_ROUTE) for each in found)
    yield Finding(
        "peer-was-lost",
        Severity.WRONG,
        place_all(found),
        phrase("there is no route to a peer any more") if unreachable
        else phrase("a peer has not answered for so long that the rank gave up"),
        phrase("its machine or its network is gone, or it hangs; gloo waits 30 seconds, and the whole run ends"),
        phrase("look which rank was silent first, and at its machine; then start all ranks again from the checkpoint"),
        "paddock doctor --host --peer OTHER_HOST",
    )  # fmt: skip


def _check_server_lost(case: Case) -> Iterator[Finding]:
    found = [each for each in case.find(signs.SERVER_LOST) if not each[1].trained_after]
    if not found:
        return
    _, log, sign = found[0]
    address = signs.find_address(sign.text[sign.text.find("Not connected") :])
    if not (log.trained_before or log.has_gap):
        server = find_server(address, {rank: seen.names for rank, seen in case.ranks.items()})
        yield _tell_never_reached(case, found, address, server)
        return
    yield Finding(
        "server-was-lost",
        Severity.WRONG,
        place_all(found),
        counted("a parameter server has gone: {address} is not connected ({count} line)",
                "a parameter server has gone: {address} is not connected ({count} lines)",
                address=address or "?", count=sign.count),
        phrase("the trainers go on and end with 0, and every update of that server's part is lost"),
        phrase("start the whole job again; Paddock does so when a server of a job ends before its workers"),
        case.asked.logs,
    )  # fmt: skip


def _tell_never_reached(case: Case, found: list[tuple[str, LaunchLog, Sign]], address: str, server: str) -> Finding:
    seen = case.ranks.get(server)
    mend = phrase("start the servers before the workers, and let the workers wait for their ports")
    if seen is not None and not seen.running:
        mend = phrase("look why {rank} does not run", rank=server)
    return Finding(
        "server-was-never-reached",
        Severity.WRONG,
        place_all(found),
        counted("no parameter server has answered at {address} since this worker began ({count} line)",
                "no parameter server has answered at {address} since this worker began ({count} lines)",
                address=address or "?", count=found[0][2].count),
        phrase("the server had not begun to listen when the worker asked, or listens elsewhere; PaddlePaddle asks for a"
               " short time, and goes on without the server"),
        mend,
        case.asked.logs,
    )  # fmt: skip
