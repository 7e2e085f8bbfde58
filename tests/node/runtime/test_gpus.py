"""GPUs: discovery, visibility, assignment to pods."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.node.runtime.gpus import (
    Gpu,
    Holding,
    NotEnoughGpus,
    build_environment,
    find_gpus,
    match_visible,
    plan_gpus,
    read_gpus,
)

CSV = """\
0, GPU-8f3c0a11-0000-0000-0000-000000000000, NVIDIA H200, 143771 MiB
1, GPU-8f77d7ab-0000-0000-0000-000000000000, NVIDIA GB10, [N/A]
No devices were found
"""
TWO = read_gpus(CSV)


def test_lines_without_a_gpu_are_skipped() -> None:
    assert (
        Gpu(0, "GPU-8f3c0a11-0000-0000-0000-000000000000", "NVIDIA H200", 143771 * 2**20),
        Gpu(1, "GPU-8f77d7ab-0000-0000-0000-000000000000", "NVIDIA GB10", 0),
    ) == TWO


@pytest.mark.parametrize(
    ("visible", "left"),
    [
        (None, [0, 1]),
        ("", []),
        ("0,1", [0, 1]),
        (" 1 , 0 ", [0, 1]),
        ("1", [1]),
        ("-1", []),
        ("1,7,0", [1]),
        ("GPU-8f3c", [0]),
        ("GPU-8f", []),
        ("NoDevFiles", []),
    ],
)
def test_cuda_visible_devices(visible: str | None, left: list[int]) -> None:
    assert [gpu.index for gpu in match_visible(TWO, visible)] == left


@given(
    st.sets(st.integers(0, 9)), st.dictionaries(st.text(), st.sets(st.integers(0, 9)), max_size=3), st.integers(0, 9)
)
def test_a_pod_gets_the_lowest_free_gpus_or_an_error(indices: set[int], taken: dict[str, set[int]], count: int) -> None:
    free = sorted(indices - set().union(*taken.values()))
    gpus, others = [Gpu(index) for index in indices], [Holding(each) for each in taken.values()]
    if count <= len(free):
        assert plan_gpus(count, gpus, others) == tuple(free[:count])
    else:
        with pytest.raises(NotEnoughGpus, match=f"{count} asked for, {len(free)} of {len(indices)} free"):
            plan_gpus(count, gpus, others)


ALONE, UNCHOSEN, QUARTER = Holding((1,)), Holding((1,), is_chosen=False), Holding((1,), shares=4)


@pytest.mark.parametrize(
    ("others", "chosen", "shares", "given"),
    [
        ((), (1,), 0, (1,)),
        ((), (2, 1), 0, (0,)),  # no choice of one GPU
        ((), (7,), 0, (0,)),  # a GPU that is not there any more
        ((), (), 0, (0,)),
        ((ALONE,), (1,), 0, None),  # its last pod is ending
        ((UNCHOSEN,), (1,), 0, (0,)),
        ((UNCHOSEN,), (1,), 4, None),
        ((QUARTER,), (1,), 4, (1,)),
        ((QUARTER,) * 3, (1,), 4, (1,)),
        ((QUARTER,) * 4, (1,), 4, None),
        ((Holding((1,), shares=2),), (1,), 4, None),
        ((QUARTER,), (1,), 0, None),
        ((QUARTER, ALONE), (1,), 4, None),
    ],
)
def test_a_pod_gets_the_gpus_that_were_chosen_for_it_or_waits(
    others: tuple[Holding, ...], chosen: tuple[int, ...], shares: int, given: tuple[int, ...] | None
) -> None:
    gpus = [Gpu(index) for index in range(3)]
    if given is not None:
        assert plan_gpus(1, gpus, others, chosen, shares) == given
    else:
        with pytest.raises(NotEnoughGpus, match="1 of another pod, which has not ended yet"):
            plan_gpus(1, gpus, others, chosen, shares)


def test_a_program_sees_its_gpus_only_and_none_without() -> None:
    assert build_environment((1, 3)) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1,3"}
    assert build_environment(())["CUDA_VISIBLE_DEVICES"] == ""


def _nvidia_smi(directory: Path, script: str) -> dict[str, str]:
    """The environment of a machine whose nvidia-smi is this shell script."""
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": str(directory)}


def test_gpus_are_read_from_nvidia_smi(tmp_path: Path) -> None:
    environment = _nvidia_smi(tmp_path, "echo '0, GPU-a, NVIDIA H200, 143771 MiB'")
    assert find_gpus(environment) == (Gpu(0, "GPU-a", "NVIDIA H200", 143771 * 2**20),)
    assert find_gpus({**environment, "CUDA_VISIBLE_DEVICES": ""}) == ()


@pytest.mark.parametrize("script", ["echo 'couldn'\"'\"'t communicate with the driver'; exit 9", "echo garbage"])
def test_a_failing_nvidia_smi_means_no_gpus(tmp_path: Path, script: str) -> None:
    assert find_gpus(_nvidia_smi(tmp_path, script)) == ()


def test_a_missing_nvidia_smi_means_no_gpus(tmp_path: Path) -> None:
    assert find_gpus({"PATH": str(tmp_path)}) == ()
