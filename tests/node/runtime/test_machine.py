"""This machine as a Node."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import NODES
from paddock.node.runtime.gpus import Gpu
from paddock.node.runtime.machine import (
    Limits,
    Machine,
    build_node,
    describe,
    fetch_node_name,
    node_name,
    read_limits,
    read_machine,
    register_node,
)

GIB = 2**30
H200 = Gpu(0, "GPU-a", "NVIDIA H200", 140 * GIB)
LAPTOP = Machine("laptop", Fraction(2), 23 * GIB)


@pytest.mark.parametrize(
    ("machine", "wanted"),
    [
        (LAPTOP, "2 CPUs, 23 GiB, no GPU"),
        (Machine("x", Fraction(1), GIB), "1 CPU, 1.0 GiB, no GPU"),
        (Machine("x", Fraction(3, 2), 512 * 2**20), "1.5 CPUs, 512 MiB, no GPU"),
        (Machine("x", Fraction(16), 128 * GIB, (H200,)), "16 CPUs, 128 GiB, 1 GPU (NVIDIA H200)"),
        (Machine("x", Fraction(16), 128 * GIB, (H200, H200)), "16 CPUs, 128 GiB, 2 GPUs (NVIDIA H200)"),
        (
            Machine("x", Fraction(16), 128 * GIB, (H200, Gpu(1, name="NVIDIA T4"), H200)),
            "16 CPUs, 128 GiB, 3 GPUs (2 NVIDIA H200, 1 NVIDIA T4)",
        ),
    ],
)
def test_describe(machine: Machine, wanted: str) -> None:
    assert describe(machine) == wanted


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("laptop", "laptop"),
        ("Annas-MacBook.local", "annas-macbook.local"),
        ("my_machine 7", "my-machine-7"),
        ("-x-", "x"),
        ("a..b.", "a.b"),
        ("笔记本", "localhost"),
        ("", "localhost"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_host_name_becomes_a_valid_node_name(host: str, wanted: str) -> None:
    assert node_name(host) == wanted


# cgroups: files under /sys/fs/cgroup, /proc/self/cgroup, and what comes of them

CGROUPS: list[tuple[str, dict[str, str], str, Limits]] = [
    ("none", {}, "0::/", Limits()),
    ("v2 without limits", {"cpu.max": "max 100000\n", "memory.max": "max\n"}, "0::/", Limits()),
    ("v2", {"cpu.max": "150000 100000\n", "memory.max": "1073741824\n"}, "0::/", Limits(Fraction(3, 2), GIB)),
    ("v2, an ancestor is tighter", {"a/cpu.max": "100000 100000", "a/b/cpu.max": "400000 100000"}, "0::/a/b",
     Limits(Fraction(1))),
    ("v2, a sibling does not count", {"other/cpu.max": "100000 100000"}, "0::/a", Limits()),
    ("v2 in a container, where the path is the host's", {"cpu.max": "200000 100000"}, "0::/kubepods/pod7/c1",
     Limits(Fraction(2))),
    ("v1",
     {"cpu/a/cpu.cfs_quota_us": "50000", "cpu/a/cpu.cfs_period_us": "100000",
      "memory/b/memory.limit_in_bytes": "1073741824"}, "3:cpu,cpuacct:/a\n2:memory:/b", Limits(Fraction(1, 2), GIB)),
    ("v1 without limits",
     {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000",
      "memory/memory.limit_in_bytes": "9223372036854771712"}, "3:cpu,cpuacct:/\n2:memory:/", Limits()),
    ("what nobody can read", {"cpu.max": "a lot", "memory.max": ""}, "nonsense\n0::/", Limits()),
]  # fmt: skip


@pytest.mark.parametrize(("files", "memberships", "wanted"), [r[1:] for r in CGROUPS], ids=[r[0] for r in CGROUPS])
def test_limits(tmp_path: Path, files: dict[str, str], memberships: str, wanted: Limits) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert read_limits(tmp_path, memberships) == wanted


def test_this_machine_has_cpus_and_memory() -> None:
    machine = read_machine(environment={"PATH": ""})
    assert machine.cpus > 0
    assert machine.memory > 2**26
    assert machine.gpus == ()
    assert read_machine("kept", {"PATH": ""}).name == "kept"


def test_a_node_has_the_fields_that_kubelet_writes() -> None:
    node = build_node(Machine("x", Fraction(3, 2), GIB, (H200,)), {"team": "a"}, 0, sandbox="bubblewrap")
    assert node["status"]["allocatable"] == {
        "cpu": "1500m", "memory": "1048576Ki", "pods": "110", "nvidia.com/gpu": "1",
    }  # fmt: skip
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "x",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.memory": "143360",
        "nvidia.com/gpu.product": "NVIDIA-H200",
        "team": "a",
    }
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "paddock://bubblewrap"
    assert node["status"]["conditions"][0]["status"] == "True"


async def test_a_node_that_registers_again_keeps_user_labels_and_loses_removed_gpus(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    assert await fetch_node_name(api) == ""
    with_gpu = Machine("laptop", Fraction(2), GIB, (H200,))
    made = await register_node(api, build_node(with_gpu, {}, 0))
    assert made["status"]["capacity"]["nvidia.com/gpu"] == "1"
    user: Any = {"metadata": {"labels": {"rack": "7"}}, "spec": {"unschedulable": True}}
    await api.patch(NODES, "", "laptop", user)

    again = await register_node(api, build_node(LAPTOP, {}, 60))

    assert again == await api.get(NODES, "", "laptop")
    assert again["metadata"]["labels"]["rack"] == "7"
    assert again["spec"]["unschedulable"] is True
    assert "nvidia.com/gpu.product" not in again["metadata"]["labels"]
    assert again["status"]["capacity"] == {"cpu": "2", "memory": f"{23 * 2**20}Ki", "pods": "110"}
    assert await fetch_node_name(api) == "laptop"
    await asyncio.wait_for(api.close(), 60)
