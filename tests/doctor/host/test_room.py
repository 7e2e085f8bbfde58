"""Shared memory, limits, cores and memory; and the order of all findings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.host.hosts import GIB, LAPTOP, NODE, TWO_CARDS, ask, checks, peer, with_peers
from paddock.doctor.findings import Severity
from paddock.doctor.host.peers import Answer
from paddock.doctor.host.values import Card, Gpus, Host, Limits, Shm, Smi

MIB = 2**20
EIGHT = replace(
    NODE,
    gpus=Gpus(Smi.WELL, "", 0, "570.86.15", tuple(Card(index, f"GPU-{index}") for index in range(8)), 8, 8),
)


@pytest.mark.parametrize(
    ("sentence", "host", "expected"),
    [
        ("half of the memory, as kernels give", LAPTOP, []),
        ("Docker's 64 MiB", replace(LAPTOP, shm=Shm(64 * MIB, 64 * MIB)), ["small-shm"]),
        ("a full one", replace(LAPTOP, shm=Shm(8 * GIB, MIB)), ["full-shm"]),
        ("a small and full one is small", replace(LAPTOP, shm=Shm(64 * MIB, 0)), ["small-shm"]),
        ("none", replace(LAPTOP, shm=None), ["no-shm"]),
        ("one that nobody may write", replace(LAPTOP, shm=Shm(GIB, GIB, is_writable=False)), ["no-shm"]),
        ("a folder of a large disk", replace(LAPTOP, shm=Shm(GIB, GIB, is_own=False)), []),
        ("few open files", replace(LAPTOP, limits=Limits(256, 4096)), ["few-open-files"]),
        ("the usual 1024, on a laptop", replace(LAPTOP, limits=Limits(1024, 4096)), []),
        ("the usual 1024, with eight GPUs", replace(EIGHT, limits=Limits(1024, 2**20)), ["few-open-files"]),
        (
            "the usual 1024, with eight peers",
            with_peers(NODE, *(peer(f"gpu-{index}") for index in range(8))),
            ["few-open-files"],
        ),
        ("enough for eight GPUs", replace(EIGHT, limits=Limits(65536, 2**20)), []),
        ("no limits at all", replace(EIGHT, limits=Limits()), []),
        ("a small stack", replace(LAPTOP, limits=Limits(stack=MIB)), ["small-stack"]),
        ("locked memory, without such a card", replace(LAPTOP, limits=Limits(locked=8 * MIB)), []),
        (
            "locked memory, with InfiniBand",
            replace(LAPTOP, rdma=("mlx5_0",), limits=Limits(locked=8 * MIB)),
            ["small-memlock"],
        ),
        ("no limit of locked memory, with InfiniBand", replace(LAPTOP, rdma=("mlx5_0",), limits=Limits()), []),
        ("fewer cores than GPUs", replace(NODE, cores=1.5), ["few-cores"]),
        ("half a core without a GPU", replace(LAPTOP, cores=0.5), []),
        ("a container of 512 MiB", replace(LAPTOP, memory=512 * MIB), ["little-memory"]),
    ],
)
def test_room(sentence: str, host: Host, expected: list[str]) -> None:
    assert checks(host) == expected, sentence


@pytest.mark.parametrize(
    ("container", "command"),
    [
        ("", "sudo mount -o remount,size=8G /dev/shm"),
        ("docker", "docker run --shm-size=8g …"),
        ("kubernetes", "kubectl explain pod.spec.volumes.emptyDir.medium"),
    ],
)
def test_the_command_for_shared_memory_is_that_of_the_place(container: str, command: str) -> None:
    [finding] = ask(replace(LAPTOP, shm=Shm(64 * MIB, 64 * MIB), container=container))
    assert finding.command == command and "64 MiB" in str(finding.what)


@pytest.mark.parametrize(
    ("limits", "command"),
    [
        (Limits(256, 2**20), "ulimit -n 65536"),
        (Limits(256, 1024), "ulimit -n 1024"),
        (Limits(256, None), "ulimit -n 1024"),
        (Limits(256, 256), "echo '* - nofile 65536' | sudo tee -a /etc/security/limits.conf"),
    ],
)
def test_a_limit_is_raised_as_far_as_it_may_be(limits: Limits, command: str) -> None:
    assert [each.command for each in ask(replace(LAPTOP, limits=limits))] == [command]


def test_what_is_wrong_comes_before_what_is_a_risk_and_causes_before_effects() -> None:
    host = replace(
        with_peers(NODE, peer(port=6170, answer=Answer.SILENT), peer("gpu-x", address="", probes=())),
        shm=Shm(64 * MIB, 64 * MIB),
        environ={"CUDA_VISIBLE_DEVICES": "7", "POD_IP": "10.9.9.9"},
    )
    found = ask(host)
    assert [each.check for each in found] == [
        "pod-ip-of-another",
        "peer-silent",
        "peer-name-unknown",
        "unknown-visible-device",
        "small-shm",
    ]
    assert [each.severity for each in found] == [Severity.WRONG] * 4 + [Severity.RISK]


@given(
    st.builds(
        replace,
        st.sampled_from([LAPTOP, NODE, EIGHT, with_peers(NODE)]),
        shm=st.none() | st.builds(Shm, st.integers(0, 2**40), st.integers(0, 2**40), st.booleans(), st.booleans()),
        environ=st.dictionaries(
            st.sampled_from(
                [
                    "POD_IP",
                    "PADDLE_MASTER",
                    "MASTER_ADDR",
                    "CUDA_VISIBLE_DEVICES",
                    "NCCL_SOCKET_IFNAME",
                    "http_proxy",
                    "PADDLE_TRAINER_ENDPOINTS",
                    "GLOO_SOCKET_IFNAME",
                    "PADDLE_IPS",
                    "XPU_VISIBLE_DEVICES",
                    "no_proxy",
                ]
            ),
            st.text(alphabet="0123456789.,:^=-abet{} []é", max_size=12),
        ),
    )
)
def test_no_value_of_a_shell_breaks_a_judgement_or_a_sentence(host: Host) -> None:
    for finding in ask(host):
        assert str(finding.what) and str(finding.why) and str(finding.mend)
        assert "\n" not in finding.command


def test_gpus_of_one_machine_are_counted_for_cores() -> None:
    [finding] = ask(replace(NODE, cores=1))
    assert f"{len(TWO_CARDS)} GPUs are visible" in str(finding.what)
