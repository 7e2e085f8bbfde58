"""Which build of torch an environment gets, row by row."""

from __future__ import annotations

import re

import pytest

from paddock.environments.definition import Definition, build_key, build_spec_digest
from paddock.environments.disk import find_ratios
from paddock.environments.packages.torch import add_companions, find_cuda, find_torch
from paddock.environments.pytorch.builds import (
    BACKEND_PATTERN,
    Asked,
    Candidate,
    build_probe,
    choose_candidate,
    explain_build,
    explain_refusal,
    list_indexes,
    read_asked,
    read_variable,
)

TORCH = ("torch",)


def asked(*requirements: str, gpu: bool = False, backend: str = "", variable: str = "", index: str = "") -> Asked:
    definition = Definition(
        "mine",
        requirements=requirements,
        torch_backend=backend,
        extra_index_urls=(index,) if index else (),
    )
    return read_asked(definition, {"UV_TORCH_BACKEND": variable} if variable else {}, gpu)


@pytest.mark.parametrize(
    ("of", "flag", "cuda"),
    [
        # nobody asked
        (asked("torch"), "cpu", False),
        (asked("torch", gpu=True), "auto", True),
        (asked("numpy", "Torch>=2"), "cpu", False),
        (asked("torchvision"), "cpu", False),
        (asked("numpy"), "", False),  # what another package requires shows when it is resolved
        (asked("transformers", gpu=True), "", True),
        (asked("torch @ file:///w/torch-2.9.0-cp311-none-any.whl"), "", False),
        # an index of its own
        (asked("torch", index="https://mirror.example/simple"), "", False),
        (asked("torch", index="https://download.pytorch.org/whl/cpu"), "", False),
        (asked("torch", index="https://download.pytorch.org/whl/cu128"), "", True),
        (asked("torch", index="https://download.pytorch.org/whl/nightly/rocm6.4"), "", True),
        # asked
        (asked("torch", backend="cpu"), "cpu", False),
        (asked("torch", backend="cpu", gpu=True), "cpu", True),
        (asked("torch", backend="auto"), "cpu", False),
        (asked("torch", backend="auto", gpu=True), "auto", True),
        (asked("torch", backend="cu128"), "cu128", True),
        (asked("transformers", backend="cu128"), "cu128", True),
        (asked("torch", backend="default"), "", True),
        (asked("torch", variable="cu128"), "cu128", True),
        (asked("torch", variable="cu128", backend="cpu"), "cpu", False),
        (asked("torch", index="https://download.pytorch.org/whl/cu128", backend="cpu"), "cpu", False),
        (asked("torch==2.1.2+cu118"), "cu118", True),
        (asked("torch==2.1.2+cpu"), "cpu", False),
        (asked("torch==2.1.2+cu118", index="https://mirror.example/simple"), "", False),
    ],
)
def test_what_is_tried_first_and_whether_cuda_may_come(of: Asked, flag: str, cuda: bool) -> None:
    assert (of.flag, of.allows_cuda) == (flag, cuda)


@pytest.mark.parametrize(("backend", "explicit"), [("", False), ("auto", False), ("cpu", False), ("default", False),
                                                   ("cu128", True), ("xpu", True)])  # fmt: skip
def test_one_accelerators_build_has_no_substitute(backend: str, explicit: bool) -> None:
    assert asked("torch", backend=backend).explicit is explicit


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ([], None),
        ([Candidate("a")], None),
        ([Candidate("a", "2.15.0")], None),  # PyPI's, for CUDA
        ([Candidate("a", "2.9.0+cpu"), Candidate("b", "2.13.0+cpu"), Candidate("c", "2.14.0+cu130")], "b"),
        ([Candidate("a", "2.9.0+cpu"), Candidate("b", "2.9.0+cpu")], "a"),
        ([Candidate("a", "2.13.0+cpu.cxx11.abi")], "a"),
        ([Candidate("a", pythons=">=3.11,<3.12"), Candidate("b", "2.9.0+cpu")], "b"),
        ([Candidate("a"), Candidate("b", pythons=">=3.11,<3.12")], "b"),
    ],
)
def test_the_newest_build_for_cpus_is_taken(candidates: list[Candidate], chosen: str | None) -> None:
    found = choose_candidate(candidates)
    assert (found.place if found else None) == chosen


def test_the_places_are_those_of_the_settings_each_alone() -> None:
    places = list_indexes(
        {
            "UV_FIND_LINKS": "/wheels",
            "UV_INDEX": "https://user:secret@extra.example/simple corp=https://second.example/",
            "UV_DEFAULT_INDEX": "https://main.example/simple",
        }
    )
    assert [each.name for each in places] == ["pip --find-links", "extra.example", "second.example", "main.example"]
    assert places[0].flags == ("--no-index",)
    assert places[1].variables["UV_DEFAULT_INDEX"] == "https://user:secret@extra.example/simple"
    assert places[2].variables["UV_DEFAULT_INDEX"] == "https://second.example/"
    assert {places[1].variables[each] for each in ("UV_INDEX", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL")} == {None}
    assert "secret" not in repr(places)
    assert list_indexes({}) == ()
    (without_scheme,) = list_indexes({"UV_DEFAULT_INDEX": "user:secret@main.example/simple"})
    assert without_scheme.name == "main.example/simple"


def test_a_place_is_asked_for_the_version_that_is_wanted() -> None:
    assert build_probe(Definition("a", requirements=("numpy", "torch<2.10"))) == "torch<2.10"
    assert build_probe(Definition("a", requirements=("transformers",))) == "torch"


def test_what_was_chosen_is_said() -> None:
    cpu = {"torch": "2.13.0+cpu", "numpy": "2.4"}
    assert explain_build(cpu, "pip --find-links", cuda=False) == "torch 2.13.0+cpu for CPUs, from pip --find-links"
    assert explain_build({"torch": "2.15.0"}, "", cuda=False) == "torch 2.15.0 for CPUs"
    assert explain_build({"torch": "2.15.0"}, "", cuda=True) == "torch 2.15.0 for GPUs"
    assert explain_build({"torch": "2.9.0+rocm6.4"}, "download.pytorch.org", cuda=False) == (
        "torch 2.9.0+rocm6.4 for GPUs, from download.pytorch.org"
    )
    assert explain_build({"numpy": "2.4"}, "", cuda=False, variable="cpu") == ""
    assert explain_build({"torch": "2.9.0+cu128"}, "download.pytorch.org", cuda=True, variable="cu128") == (
        "torch 2.9.0+cu128 for GPUs, from download.pytorch.org (UV_TORCH_BACKEND=cu128)"
    )


def test_a_refusal_has_the_size_the_places_and_the_command() -> None:
    said = str(explain_refusal(Definition("mine", requirements=TORCH), "2.15.0", ["find-links", "extra.example"]))
    for part in ("torch 2.15.0", "3.0 GB", "(asked: download.pytorch.org, find-links, extra.example)",
                 "`paddock env update mine --torch-backend default`"):  # fmt: skip
        assert part in said


@pytest.mark.parametrize(
    ("requirements", "packages"),
    [
        (TORCH, ("torch", "numpy")),
        (("torchvision", "NumPy<2"), ("torchvision", "NumPy<2")),
        (("transformers",), ("transformers",)),
        ((), ()),
    ],
)
def test_numpy_is_added_as_torch_warns_without_it(requirements: tuple[str, ...], packages: tuple[str, ...]) -> None:
    assert add_companions(requirements) == packages
    assert Definition("mine", requirements=requirements).packages == packages


def test_cudas_packages_count_beside_torch_alone() -> None:
    cuda = dict.fromkeys(("nvidia-cublas", "cuda-toolkit", "triton"), "1.0")
    assert find_cuda({"torch": "2.15.0", **cuda, "numpy": "2.4", "nvidiax": "1.0"}) == tuple(cuda)
    assert find_cuda({"paddlepaddle-gpu": "3.3.1", "nvidia-cublas": "12.9"}) == ()
    # xgboost's
    assert find_cuda({"torch": "2.13.0+cpu", "nvidia-nccl-cu12": "2.29"}) == ()
    assert find_torch(["torchaudio", "torch==2.9.0"]) == "torch==2.9.0"


def test_the_build_is_a_part_of_the_key_and_of_no_other_environments() -> None:
    def key(*requirements: str, backend: str = "") -> str:
        return build_key(Definition("mine", requirements=requirements, torch_backend=backend), (3, 11), "linux")

    assert len({key("torch"), key("torch", backend="cpu"), key("torch", backend="cu128")}) == 3
    assert key("torch") == key("torch", "numpy")
    # as earlier versions made it: their directories stay
    assert key("numpy") == "5d4bc9b29505f9f894c3"
    spec = {"metadata": {"name": "a"}, "spec": {"requirements": ["numpy"]}}
    assert build_spec_digest(spec) == "8162bc73ad1eb6c8"


@pytest.mark.parametrize(
    ("definition", "variable", "gpu", "chosen"),
    [
        (Definition("a", requirements=TORCH), "cu128", False, "cu128"),
        (Definition("a", requirements=TORCH), "default", False, "default"),
        # what is built is the same
        (Definition("a", requirements=TORCH), "", False, ""),
        (Definition("a", requirements=TORCH), "cpu", False, ""),
        (Definition("a", requirements=TORCH), "auto", False, ""),
        (Definition("a", requirements=TORCH), "auto", True, ""),
        (Definition("a", requirements=TORCH), "cpu", True, "cpu"),
        # the Environment's own comes first
        (Definition("a", requirements=TORCH, torch_backend="cpu"), "cu128", False, ""),
        # with an index of its own uv reads the variable itself
        (Definition("a", requirements=TORCH, index_url="https://pypi.example.com"), "auto", False, "auto"),
        # a package that may require torch, and PaddlePaddle
        (Definition("a", requirements=("transformers",)), "cu128", False, "cu128"),
        (Definition("a", requirements=("paddlepaddle", "numpy")), "cu128", False, ""),
        (Definition("a", requirements=("paddlepaddle", "torch")), "cu128", False, "cu128"),
    ],
)
def test_the_variable_counts_where_another_build_comes_of_it(
    definition: Definition, variable: str, gpu: bool, chosen: str
) -> None:
    assert read_variable(definition, {"UV_TORCH_BACKEND": variable}, gpu) == chosen


def test_each_value_of_the_variable_has_a_directory_of_its_own() -> None:
    def key(requirement: str, backend: str, torch_backend: str = "") -> str:
        definition = Definition("mine", requirements=(requirement,), torch_backend=torch_backend)
        return build_key(definition, (3, 11), "linux", backend=backend)

    for requirement in "torch", "transformers":
        assert len({key(requirement, each) for each in ("", "cu128", "cu130")}) == 3
    assert key("torch", "cu128") == key("torch", "", "cu128")


def test_machines_with_and_without_a_gpu_have_directories_of_their_own() -> None:
    def key(requirement: str, *, gpu: bool) -> str:
        return build_key(Definition("mine", requirements=(requirement,)), (3, 11), "linux", gpu=gpu)

    assert key("torch", gpu=True) != key("torch", gpu=False)
    assert key("paddlepaddle", gpu=True) == key("paddlepaddle", gpu=False)


@pytest.mark.parametrize("text", ["auto", "cpu", "default", "cu128", "xpu", "rocm6.2.4", ""])
def test_the_names_of_builds(text: str) -> None:
    assert re.match(BACKEND_PATTERN, text)


@pytest.mark.parametrize("text", ["cuda", "CPU", "cu", "cu128 ", "gpu"])
def test_what_is_no_name_of_a_build(text: str) -> None:
    assert not re.match(BACKEND_PATTERN, text)


def test_room_for_torch_is_reckoned_by_its_build() -> None:
    ratios = {"torch+cpu": 3.6, "*": 1.1}
    assert find_ratios(ratios, {"torch": "2.13.0+cpu", "numpy": "2.4"})["torch"] == 3.6
    assert "torch" not in find_ratios(ratios, {"torch": "2.15.0"})
