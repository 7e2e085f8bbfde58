"""Each user's consoles have an address of their own on the loopback network, and pods have none of those."""

from __future__ import annotations

import os
import socket
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.consoles.hosts import Listener, choose_host, fetch_listeners, read_listeners

PODS, BROADCAST = IPv4Network("127.64.0.0/10"), IPv4Address("127.255.255.255")
SMALL = st.integers(0, 2**22 - 1)
LARGE = st.integers(2**22, 2**32 - 2)
"""As directories give them."""
TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100807F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0500807F:9C40 0100007F:192B 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1
   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000
"""


@given(SMALL, SMALL)
def test_two_users_never_share_an_address(one: int, other: int) -> None:
    assert (choose_host(one) == choose_host(other)) == (one == other)


@pytest.mark.parametrize(
    ("user", "host"),
    [
        (0, "127.128.0.0"), (254, "127.128.0.254"), (255, "127.128.0.255"), (1000, "127.128.3.232"),
        (1254, "127.128.4.230"), (65534, "127.128.255.254"), (2**22 - 1, "127.191.255.255"),
    ],
)  # fmt: skip
def test_a_user_s_number_is_the_address(user: int, host: str) -> None:
    assert choose_host(user) == host
    with socket.create_server((host, 0)) as server, socket.create_connection(server.getsockname()):
        pass


@given(st.one_of(SMALL, LARGE))
def test_no_pod_has_the_address_of_a_console(user: int) -> None:
    address = IPv4Address(choose_host(user))
    assert address.is_loopback and address not in PODS and address != BROADCAST


@given(LARGE, LARGE)
def test_users_of_a_directory_share_none_at_a_time(one: int, other: int) -> None:
    """Whoever starts second sees at which one the first listens."""
    first = choose_host(one)
    assert choose_host(one, {Listener(one, first)}) == first, "a user's consoles have one"
    if one != other:
        assert choose_host(other, {Listener(one, first), Listener(other, choose_host(other))}) != first


def test_where_somebody_else_listens_another_one_is_chosen_and_always_the_same() -> None:
    user = 1_000_000_123
    first = choose_host(user)
    taken = {Listener(7, first)}
    assert choose_host(user, taken) == choose_host(user, taken) != first
    assert choose_host(1000, {Listener(7, choose_host(1000))}) == choose_host(1000), "which is nobody else's"


def test_the_kernel_s_table_says_who_listens_where() -> None:
    assert read_listeners(TABLE, "little") == {Listener(1000, "127.128.0.1")}
    assert read_listeners(TABLE.replace("0100807F", "7F800001"), "big") == {Listener(1000, "127.128.0.1")}
    assert read_listeners("", "little") == frozenset()


def test_who_listens_now_is_found() -> None:
    with socket.create_server(("127.191.7.7", 0)):
        assert Listener(os.getuid(), "127.191.7.7") in fetch_listeners()
