"""What PaddlePaddle needs beside the packages that its wheels require, row by row."""

from __future__ import annotations

import pytest

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import Definition, build_key, read_definition
from paddock.environments.packages.paddle import add_companions, add_servers, find_paddle, lacks_servers


@pytest.mark.parametrize(
    ("requirements", "added"),
    [
        (("paddlepaddle==3.3.1",), ("setuptools",)),
        (("pyyaml", "PaddlePaddle-GPU >= 3"), ("setuptools",)),
        (("paddlepaddle-xpu",), ("setuptools",)),
        (("paddlepaddle @ file:///w/paddlepaddle-3.3.1-cp311-none-any.whl",), ("setuptools",)),
        (('paddlepaddle==3.3.1; sys_platform == "linux"',), ("setuptools",)),
        (("paddlepaddle==3.3.1", "setuptools<81"), ()),
        (("paddlepaddle==3.3.1", "SetupTools"), ()),
        (("paddlepaddle==3.0.0",), ("setuptools", "protobuf<7")),
        (("paddlepaddle-gpu == 2.6.2",), ("setuptools", "protobuf<7")),
        (("paddlepaddle<=3.0.0",), ("setuptools", "protobuf<7")),
        (("paddlepaddle==3.0.0", "Protobuf==4.25.8"), ("setuptools",)),
        (("paddlepaddle>=2.6,<3.1",), ("setuptools", "protobuf<7")),
        (("paddlepaddle<3.0.1",), ("setuptools", "protobuf<7")),
        (("paddlepaddle~=3.0.0",), ("setuptools", "protobuf<7")),
        (("paddlepaddle~=2.6",), ("setuptools", "protobuf<7")),
        (("paddlepaddle~=3.0",), ("setuptools",)),
        (("paddlepaddle<4",), ("setuptools",)),
        (("paddlepaddle>=3.0.0",), ("setuptools",)),  # the newest one is taken
        (("paddlenlp", "numpy"), ()),
        ((), ()),
    ],
)
def test_what_its_wheels_forget_is_added(requirements: tuple[str, ...], added: tuple[str, ...]) -> None:
    assert add_companions(requirements) == (*requirements, *added)


def test_a_directory_that_lacked_it_gets_another_key_and_no_other_one_does() -> None:
    key = lambda *packages: build_key(Definition("mine", requirements=packages), (3, 11), "linux")  # noqa: E731
    assert key("paddlepaddle==3.3.1") == key("paddlepaddle==3.3.1", "setuptools")
    assert key("numpy") != key("numpy", "setuptools")


def test_the_defaults_keep_the_directories_of_earlier_versions() -> None:
    for definition in map(read_definition, build_defaults()):
        if find_paddle(definition.requirements):
            assert definition.packages == definition.requirements


@pytest.mark.parametrize(
    ("requirement", "lacks"),
    [
        ("paddlepaddle==3.0.0", False),
        ("paddlepaddle==2.6.2", False),
        ("paddlepaddle", False),
        ("paddlepaddle>=2.6", False),
        ("paddlepaddle<4", False),
        ("paddlepaddle==3.3.1", True),
        ("paddlepaddle == 3.1", True),
        ("paddlepaddle>3.0.0", True),
        ("paddlepaddle>=3.1,<3.3", True),
        ("paddlepaddle~=3.2.0", True),
        ("paddlepaddle-gpu==3.3.1", False),  # a wheel of another index, which may have them
        ("paddlepaddle @ file:///w/paddlepaddle-3.3.1-cp311-none-any.whl", False),
        ("numpy==9", False),
    ],
)
def test_which_versions_have_no_parameter_servers(requirement: str, lacks: bool) -> None:
    assert lacks_servers(requirement) == lacks


@pytest.mark.parametrize(
    ("requirements", "more"),
    [
        (("paddlepaddle==3.0.0",), ("protobuf<7",)),
        (("paddlepaddle", "pyyaml"), ("paddlepaddle<=3.0.0", "protobuf<7")),
        (("paddlepaddle>=2.6", "protobuf==4.25.8"), ("paddlepaddle<=3.0.0",)),
        (("paddlepaddle-gpu==3.0.0",), ("protobuf<7",)),
    ],
)
def test_what_parameter_servers_need_is_added(requirements: tuple[str, ...], more: tuple[str, ...]) -> None:
    assert add_servers(requirements) == (*requirements, *more)


def test_paddlepaddle_is_found_for_any_device() -> None:
    assert find_paddle(("numpy", "paddlepaddle_gpu==2.6.2")) == "paddlepaddle_gpu==2.6.2"
    assert find_paddle(("paddlenlp", "paddle2onnx")) == ""
