"""Builds of download.pytorch.org, which this machine need not reach: a real uv, and a stand-in behind a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from environments.packages import Index, make_builder
from environments.pytorch.pytorch_index import serve_pytorch
from paddock.environments.definition import Definition


@pytest.mark.parametrize(("asked", "installed"), [("", "2.14.0+cpu"), ("cu128", "2.14.0+cu128")])
async def test_what_pytorchs_own_index_has_is_installed(
    tmp_path: Path, index: Index, asked: str, installed: str
) -> None:
    """The package index has not that build, so uv is told where it is also when it installs."""
    index.add("numpy")
    index.add("torch", "2.15.0", requires=["numpy"])
    pytorch = Index()
    await pytorch.start()
    pytorch.add("torch", installed, requires=["numpy"])
    try:
        async with serve_pytorch(tmp_path, pytorch) as variables:
            builder = make_builder(tmp_path, index.url, **variables)
            builder = replace(builder, machine=replace(builder.machine, gpu=False))
            built = await builder.build(Definition("a", requirements=("torch",), torch_backend=asked), print)
    finally:
        await pytorch.stop()
    assert built.packages == {"numpy": "1.0", "torch": installed}
    kind = "GPUs" if asked else "CPUs"
    assert built.build == f"torch {installed} for {kind}, from download.pytorch.org"


@pytest.mark.slow
async def test_a_variable_that_has_changed_chooses_another_build_and_it_is_said(tmp_path: Path, index: Index) -> None:
    index.add("numpy")
    pytorch = Index()
    await pytorch.start()
    definition = Definition("a", requirements=("torch",))
    try:
        async with serve_pytorch(tmp_path, pytorch) as variables:
            builder = make_builder(tmp_path, index.url, **variables)
            builder = replace(builder, machine=replace(builder.machine, gpu=False))
            pytorch.add("torch", "2.14.0+cpu", requires=["numpy"])
            before = await builder.build(definition, print)
            pytorch.add("torch", "2.14.0+cu128", requires=["numpy"])
            changed = replace(builder, environ={**builder.environ, "UV_TORCH_BACKEND": "cu128"})
            after = await changed.build(definition, print)
            again = await builder.build(definition, print)
    finally:
        await pytorch.stop()
    assert before.build == "torch 2.14.0+cpu for CPUs, from download.pytorch.org"
    assert after.build == "torch 2.14.0+cu128 for GPUs, from download.pytorch.org (UV_TORCH_BACKEND=cu128)"
    assert again == before
