"""Which build of torch comes from where, with a real uv, and wheels and an index on loopback."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from environments.packages import Index, make_builder, make_wheel, run
from paddock.environments.builder import Builder
from paddock.environments.definition import Definition
from paddock.environments.directories import Built
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.progress import Progress
from paddock.environments.states import Usable, build_status

CUDA = ("nvidia-cublas", "triton")
TORCH = Definition("mine", requirements=("torch",))
HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture
def builder(tmp_path: Path, index: Index) -> Builder:
    """Of a machine without a GPU, whose index has torch for CUDA alone. PyTorch's own index is out of reach."""
    for name in ("nvidia_cublas", "triton", "numpy"):
        index.add(name)
    index.add("torch", "2.15.0", requires=CUDA)
    links = tmp_path / "wheels"
    links.mkdir()
    made = make_builder(
        tmp_path, index.url, UV_FIND_LINKS=str(links), HTTPS_PROXY="http://127.0.0.1:9", UV_PYTHON_DOWNLOADS="never"
    )
    return replace(made, machine=replace(made.machine, gpu=False))


def add_link(tmp_path: Path, version: str, tag: str = "py3-none-any", name: str = "torch", **more: Any) -> None:
    file, content = make_wheel(name, version, tag=tag, **more)
    (tmp_path / "wheels" / file).write_bytes(content)


async def build(builder: Builder, definition: Definition = TORCH) -> tuple[Built, list[Progress]]:
    seen: list[Progress] = []
    return await builder.build(definition, seen.append), seen


async def failure(builder: Builder, definition: Definition = TORCH) -> BuildFailed:
    with pytest.raises(BuildFailed) as raised:
        await build(builder, definition)
    return raised.value


async def test_a_machine_without_a_gpu_gets_the_build_for_cpus_of_find_links(builder: Builder, tmp_path: Path) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    add_link(tmp_path, "2.9.0+cpu")
    built, seen = await build(builder)
    assert built.packages == {"numpy": "1.0", "torch": "2.13.0+cpu"}
    assert built.build == "torch 2.13.0+cpu for CPUs, from pip --find-links"
    assert [each.build for each in seen][-1] == built.build
    status = build_status(TORCH, Usable(built.path, built.python, built.packages, built.size, built.build))
    assert status["torch"] == built.build
    assert status["message"].startswith("torch 2.13.0+cpu for CPUs, from pip --find-links, Python ")


@pytest.mark.slow
async def test_cuda_is_not_fetched_unasked_and_the_sentence_says_how_to_ask(builder: Builder, index: Index) -> None:
    failed = await failure(builder)
    assert failed.fault is Fault.MACHINE
    assert "torch 2.15.0 of the package index is built for CUDA, 3.0 GB to download" in failed.message
    assert "`paddock env update mine --torch-backend default`" in failed.message
    assert not list(builder.root.glob("*/paddock.json"))


@pytest.mark.slow
@pytest.mark.parametrize("gpu", [False, True])
async def test_cuda_comes_where_it_was_asked_for_or_a_gpu_is(builder: Builder, tmp_path: Path, gpu: bool) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    able = replace(builder, machine=replace(builder.machine, gpu=gpu))
    built, _ = await build(able, TORCH if gpu else replace(TORCH, torch_backend="default"))
    assert (built.packages["torch"], built.build) == ("2.15.0", "torch 2.15.0 for GPUs")
    assert "nvidia-cublas" in built.packages


@pytest.mark.slow
async def test_torch_that_another_package_requires_is_no_other_matter(
    builder: Builder, index: Index, tmp_path: Path
) -> None:
    index.add("lightning", requires=["torch>=2"])
    add_link(tmp_path, "2.13.0+cpu")
    built, _ = await build(builder, Definition("mine", requirements=("lightning",)))
    assert built.packages == {"lightning": "1.0", "torch": "2.13.0+cpu"}


@pytest.mark.slow
async def test_a_package_of_nvidia_that_another_one_requires_is_no_build_for_cuda(
    builder: Builder, index: Index, tmp_path: Path
) -> None:
    """xgboost requires nvidia-nccl-cu12, whatever torch is."""
    index.add("xgboost", requires=["nvidia-cublas"])
    add_link(tmp_path, "2.16.0+cpu")
    built, _ = await build(builder, replace(TORCH, requirements=("torch", "xgboost")))
    assert built.packages["nvidia-cublas"] == "1.0"
    assert built.build == "torch 2.16.0+cpu for CPUs"


@pytest.mark.slow
async def test_find_links_are_asked_also_where_uv_is_set_to_a_build_out_of_reach(
    builder: Builder, tmp_path: Path
) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    built, _ = await build(replace(builder, environ={**builder.environ, "UV_TORCH_BACKEND": "cpu"}))
    assert built.build == "torch 2.13.0+cpu for CPUs, from pip --find-links"


@pytest.mark.slow
async def test_a_gpu_that_came_later_gets_its_build(builder: Builder, tmp_path: Path) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    await build(builder)
    built, _ = await build(replace(builder, machine=replace(builder.machine, gpu=True)))
    assert built.packages["torch"] == "2.15.0"


@pytest.mark.slow
async def test_the_version_that_is_wanted_is_the_one_that_is_looked_for(builder: Builder, tmp_path: Path) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    add_link(tmp_path, "2.9.0+cpu")
    (built, _) = await build(builder, replace(TORCH, requirements=("torch<2.10",)))
    assert built.packages["torch"] == "2.9.0+cpu"


BROKEN = "raise RuntimeError('operator torchvision::nms does not exist')"
VISION = replace(TORCH, requirements=("torch", "torchvision"))


@pytest.mark.slow
async def test_torchvision_comes_from_where_its_build_for_cpus_is(
    builder: Builder, index: Index, tmp_path: Path
) -> None:
    index.add("torchvision", "0.28.0", requires=["torch==2.13.0"], source=BROKEN)
    index.add("torchvision", "0.30.0", requires=["torch==2.15.0"], source=BROKEN)
    add_link(tmp_path, "2.13.0+cpu")
    add_link(tmp_path, "0.28.0+cpu", name="torchvision", requires=["torch==2.13.0"])
    built, _ = await build(builder, VISION)
    assert (built.packages["torch"], built.packages["torchvision"]) == ("2.13.0+cpu", "0.28.0+cpu")


async def test_a_torchvision_that_cannot_work_with_this_torch_is_said_before_a_job_fails(
    builder: Builder, index: Index, tmp_path: Path
) -> None:
    index.add("torchvision", "0.28.0", requires=["torch==2.13.0"], source=BROKEN)
    add_link(tmp_path, "2.13.0+cpu")
    said = (await failure(builder, VISION)).message
    assert said.startswith(
        "torchvision 0.28.0 of the package index does not work with torch 2.13.0+cpu (RuntimeError: operator "
        "torchvision::nms does not exist), and torchvision 0.28.0+cpu was not found"
    )
    assert "`paddock env update mine --torch-backend default`" in said


@pytest.mark.slow
async def test_a_torchvision_that_works_is_taken(builder: Builder, index: Index, tmp_path: Path) -> None:
    index.add("torchvision", "0.28.0", requires=["torch==2.13.0"])
    add_link(tmp_path, "2.13.0+cpu")
    built, _ = await build(builder, VISION)
    assert built.packages["torchvision"] == "0.28.0"


@pytest.mark.slow
async def test_an_index_that_has_it_for_cpus_alone_is_asked_for_nothing_more(builder: Builder, index: Index) -> None:
    index.add("torch", "2.16.0")
    built, _ = await build(builder)
    assert built.build == "torch 2.16.0 for CPUs"


@pytest.mark.slow
async def test_a_build_for_another_python_alone_is_said_with_that_python(builder: Builder, tmp_path: Path) -> None:
    """No interpreter of this machine suits, and none may be fetched."""
    add_link(tmp_path, "2.13.0+cpu", "cp36-cp36-any")
    said = (await failure(replace(builder, home=tmp_path / "home"))).message
    assert "is too new for torch" in said
    assert "3.6" in said


@pytest.mark.slow
async def test_one_accelerators_build_is_not_replaced_by_another(builder: Builder, tmp_path: Path) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    await failure(builder, replace(TORCH, torch_backend="cu128"))
    (log,) = builder.root.glob("*.log")
    assert "--torch-backend cu128" in log.read_text()
    assert not list(builder.root.glob("*/paddock.json"))


@pytest.mark.slow
async def test_each_python_of_the_environment_has_the_hook_and_others_have_none(
    builder: Builder, index: Index, tmp_path: Path
) -> None:
    add_link(tmp_path, "2.13.0+cpu")
    built, _ = await build(builder)
    code = "import sys; print('paddock_torch' in sys.modules)"
    python = f"{built.path}/bin/python"
    assert await run(python, "-c", code) == "False\n"
    assert await run(python, "-c", code, PADDOCK_SUBSTITUTE="0") == "False\n"
    assert await run(python, "-c", code, PADDOCK_SUBSTITUTE="1") == "True\n"
    index.add("tiny")
    other, _ = await build(builder, Definition("tiny", requirements=("tiny",)))
    assert await run(f"{other.path}/bin/python", "-c", code, PADDOCK_SUBSTITUTE="1") == "False\n"
