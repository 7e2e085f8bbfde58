"""Whom a connection to a port of a pod would reach."""

from __future__ import annotations

import pytest

from paddock.node.streams.listeners import Found, Listener, find_address, read_listeners

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
REST = "00000000:00000000 00:00000000 00000000  1000        0"
TCP = (
    f"{HEAD}   0: 0100007F:1F90 00000000:0000 0A {REST} 11 1 0000000000000000 100 0 0 10 0\n"
    f"   1: 0500407F:0050 00000000:0000 0A {REST} 12 1 0000000000000000 100 0 0 10 0\n"
    f"   2: 00000000:0016 00000000:0000 0A {REST} 13 1 0000000000000000 100 0 0 10 0\n"
    f"   3: 0100007F:1F90 0100007F:D431 01 {REST} 14 1 0000000000000000 100 0 0 10 0\n"
    "   4: cut\n"
)
TCP6 = (
    f"{HEAD}   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A {REST} 21 1 0 1\n"
    f"   1: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A {REST} 22 1 0 1\n"
    f"   2: 0000000000000000FFFF00000500407F:1F92 00000000000000000000000000000000:0000 0A {REST} 23 1 0 1\n"
)


def test_the_tables_of_the_kernel_are_read() -> None:
    assert read_listeners(TCP, little_endian=True) == [
        Listener("127.0.0.1", 8080, 11),
        Listener("127.64.0.5", 80, 12),
        Listener("0.0.0.0", 22, 13),
    ]
    assert read_listeners(TCP6, little_endian=True) == [
        Listener("::", 8080, 21),
        Listener("::1", 8081, 22),
        Listener("127.64.0.5", 8082, 23),
    ]
    assert read_listeners(TCP.replace("0100007F:1F90", "7F000001:1F90"), little_endian=False)[0].address == "127.0.0.1"
    assert read_listeners("", little_endian=True) == read_listeners(HEAD, little_endian=True) == []


POD, OTHER = "127.64.0.5", "127.64.0.6"
CASES: dict[str, tuple[list[tuple[str, int]], str, int | None]] = {
    # listeners by address and socket (1 to 9 are the pod's), where to connect, whose answers instead
    "nobody": ([], "", None),
    "its own address": ([(POD, 1)], POD, None),
    "all addresses": ([("0.0.0.0", 1)], POD, None),
    "all addresses of both kinds": ([("::", 1)], POD, None),
    "loopback": ([("127.0.0.1", 1)], "127.0.0.1", None),
    "loopback of IPv6": ([("::1", 1)], "::1", None),
    "another pod's address": ([(OTHER, 11)], "", None),
    "its own at another pod's address": ([(OTHER, 1)], "", None),
    "another's on all addresses": ([("0.0.0.0", 11)], "", 11),
    "another's on all of both kinds": ([("::", 11)], "", 11),
    "another's loopback": ([("127.0.0.1", 11)], "", 11),
    "its own before another's": ([("0.0.0.0", 11), (POD, 1)], POD, None),
    "another's at its address": ([(POD, 11), ("0.0.0.0", 1)], "127.0.0.1", None),
    "another's at its address, and at loopback": ([(POD, 11), ("127.0.0.1", 12), ("0.0.0.0", 1)], "", 11),
    "IPv4 before both kinds": ([("0.0.0.0", 11), ("::", 1)], "::1", None),
    "loopback of its own, all of another": ([("127.0.0.1", 1), ("0.0.0.0", 11)], "127.0.0.1", None),
    "shared among its own": ([(POD, 1), (POD, 2)], POD, None),
    "shared with another": ([(POD, 1), (POD, 11)], "", 11),
}


@pytest.mark.parametrize("name", CASES)
def test_a_port_is_the_pods_if_its_process_has_the_socket(name: str) -> None:
    there, address, foreign = CASES[name]
    listeners = [Listener(where, 80, socket) for where, socket in there] + [Listener(POD, 81, 99)]
    found = find_address(listeners, 80, POD, range(1, 10))
    assert found == Found(address, next((each for each in listeners if each.socket == foreign), None))
