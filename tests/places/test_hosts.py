"""`--hosts`: which machines are taken, which are refused and why, and which rank runs on which."""

from __future__ import annotations

import pytest

from jobs.samples import read_sample
from paddock.places.hosts import Host, WrongHosts, read_hosts, replace_marks, split_marks, spread


def test_addresses_and_names_are_taken_in_their_order() -> None:
    assert [host.name for host in read_hosts("10.0.0.1, gpu-b,gpu-c.lab.example.")] == [
        "10.0.0.1",
        "gpu-b",
        "gpu-c.lab.example.",
    ]


def test_one_machine_may_be_the_own_one() -> None:
    assert read_hosts("127.0.0.1") == (Host("127.0.0.1", 0),)
    assert read_hosts("localhost") == (Host("localhost", 0),)


def test_addresses_that_share_a_prefix_are_two_machines() -> None:
    assert len(read_hosts("10.0.0.1,10.0.0.11")) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "--hosts is empty"),
        (" , ", "--hosts is empty"),
        ("a,,b", "has an empty name"),
        ("a,", "has an empty name"),
        ("10.0.0.1,10.0.0.1", "names 10.0.0.1 twice"),
        ("gpu-a,GPU-A", "names GPU-A twice"),
        ("[::1],b", "is an IPv6 address"),
        ("fd00::1", "is an IPv6 address"),
        ("10.0.0.1:36000", "has a port"),
        ("me@10.0.0.1", "`User` in ~/.ssh/config"),
        ("10.0.0.256", "is no IPv4 address"),
        ("10.0.1", "is no IPv4 address"),
        ("1234", "is no IPv4 address"),
        ("0.0.0.0,10.0.0.1", "is the address of no machine"),
        ("224.0.0.1", "is the address of no machine"),
        ("127.0.0.1,10.0.0.2", "each machine's own address"),
        ("localhost,b", "each machine's own address"),
        ("gpu_a", "neither an IPv4 address nor a name"),
        ("-a", "neither an IPv4 address nor a name"),
        ("a b", "neither an IPv4 address nor a name"),
        ("$(reboot)", "neither an IPv4 address nor a name"),
        ("a" * 64, "neither an IPv4 address nor a name"),
    ],
)
def test_what_is_no_list_of_machines_is_refused_with_its_reason(text: str, sentence: str) -> None:
    with pytest.raises(WrongHosts) as refused:
        read_hosts(text)
    assert sentence in str(refused.value.said)


@pytest.mark.parametrize(
    ("sample", "machines", "placed"),
    [
        ("wide_and_deep", 2, {"ps-0": 0, "ps-1": 1, "worker-0": 0, "worker-1": 1}),
        ("wide_and_deep", 1, {"ps-0": 0, "ps-1": 0, "worker-0": 0, "worker-1": 0}),
        ("wide_and_deep", 3, {"ps-0": 0, "ps-1": 1, "worker-0": 0, "worker-1": 1}),
        ("resnet", 2, {"worker-0": 0, "worker-1": 1}),
        ("wide_and_deep", 4, {"ps-0": 0, "ps-1": 1, "worker-0": 2, "worker-1": 3}),
        ("wide_and_deep", 5, {"ps-0": 0, "ps-1": 1, "worker-0": 2, "worker-1": 3}),
        ("pytorch_mnist", 2, {"master-0": 0, "worker-0": 1, "worker-1": 0}),
    ],
)
def test_ranks_go_round_the_machines_and_servers_start_at_the_first(
    sample: str, machines: int, placed: dict[str, int]
) -> None:
    hosts = read_hosts(",".join(f"10.0.0.{index + 1}" for index in range(machines)))
    assert {str(rank): host.index for rank, host in spread(read_sample(sample), hosts).items()} == placed


def test_a_mark_is_replaced_and_a_text_beside_it_stays() -> None:
    text = f"http://{Host('b', 12).mark}:80/machine-1"
    assert replace_marks(text, lambda index: f"10.0.0.{index}") == "http://10.0.0.12:80/machine-1"
    assert list(split_marks(text)) == ["http://", 12, ":80/machine-1"]
