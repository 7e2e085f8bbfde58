"""What PaddlePaddle needs beside the packages that its wheels require, row by row."""

from __future__ import annotations

import pytest

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import Definition, build_key, read_definition
from paddock.environments.packages.paddle import add_companions, add_servers, find_broken, find_paddle, lacks_servers


@pytest.mark.parametrize(
    ("requirements", "added"),
    [
        (("paddlepaddle==3.3.1",), ("setuptools", "numpy<2.4")),
        (("pyyaml", "PaddlePaddle-GPU >= 3"), ("setuptools", "numpy<2.4")),
        (("paddlepaddle-xpu",), ("setuptools", "numpy<2.4")),
        (("paddlepaddle @ file:///w/paddlepaddle-3.3.1-cp311-none-any.whl",), ("setuptools", "numpy<2.4")),
        (('paddlepaddle==3.3.1; sys_platform == "linux"',), ("setuptools", "numpy<2.4")),
        (("paddlepaddle==3.4.0",), ("setuptools",)),
        (("paddlepaddle>=3.4",), ("setuptools",)),
        (("paddlepaddle==3.3.1", "setuptools<81"), ("numpy<2.4",)),
        (("paddlepaddle==3.3.1", "SetupTools"), ("numpy<2.4",)),
        (("paddlepaddle==3.0.0",), ("setuptools", "protobuf<7", "numpy<2.4")),
        (("paddlepaddle-gpu == 2.6.2",), ("setuptools", "protobuf<7", "numpy<2")),
        (("paddlepaddle-gpu==2.4.2.post117",), ("setuptools", "protobuf<7", "numpy<2")),
        (("paddlepaddle<=3.0.0",), ("setuptools", "protobuf<7", "numpy<2.4")),
        (("paddlepaddle==3.0.0", "Protobuf==4.25.8"), ("setuptools", "numpy<2.4")),
        (("paddlepaddle>=2.6,<3.1",), ("setuptools", "protobuf<7", "numpy<2.4")),
        (("paddlepaddle<3.0.1",), ("setuptools", "protobuf<7", "numpy<2.4")),
        (("paddlepaddle~=3.0.0",), ("setuptools", "protobuf<7", "numpy<2.4")),
        (("paddlepaddle~=2.6",), ("setuptools", "protobuf<7", "numpy<2")),
        (("paddlepaddle~=3.0",), ("setuptools", "numpy<2.4")),
        (("paddlepaddle<4",), ("setuptools", "numpy<2.4")),
        (("paddlepaddle>=3.0.0",), ("setuptools", "numpy<2.4")),  # the newest one is taken
        # what the user bounds is not bounded again, and what is only named is
        (("paddlepaddle", "numpy==1.26.4"), ("setuptools",)),
        (("paddlepaddle", "numpy>=2.4"), ("setuptools",)),
        (("paddlepaddle", "numpy @ file:///w/numpy-2.4.6-cp311-none-any.whl"), ("setuptools",)),
        (("paddlepaddle", "numpy"), ("setuptools", "numpy<2.4")),
        (("paddlepaddle", "numpy>=1.20"), ("setuptools", "numpy<2.4")),
        (("paddlepaddle", "numpy<2; python_version < '3.9'"), ("setuptools", "numpy<2.4")),
        (("paddlepaddle==2.6.2", "protobuf", "numpy!=1.25.0"), ("setuptools", "protobuf<7", "numpy<2")),
        (("paddlenlp", "numpy"), ()),
        ((), ()),
    ],
)
def test_what_its_wheels_forget_is_added(requirements: tuple[str, ...], added: tuple[str, ...]) -> None:
    assert add_companions(requirements) == (*requirements, *added)


def test_a_directory_that_lacked_it_gets_another_key_and_no_other_one_does() -> None:
    key = lambda *packages: build_key(Definition("mine", requirements=packages), (3, 11), "linux")  # noqa: E731
    assert key("paddlepaddle==3.3.1") == key("paddlepaddle==3.3.1", "setuptools", "numpy<2.4")
    assert key("numpy") != key("numpy", "setuptools")


def test_the_defaults_name_all_that_is_added() -> None:
    for definition in map(read_definition, build_defaults()):
        if find_paddle(definition.requirements):
            assert definition.packages == definition.requirements


@pytest.mark.parametrize(
    ("requirements", "broken"),
    [
        (("paddlepaddle==3.3.1", "numpy==2.4.6"), [("numpy==2.4.6", "numpy<2.4")]),
        (("paddlepaddle==2.6.2", "numpy~=2.0", "protobuf>=7"),
         [("protobuf>=7", "protobuf<7"), ("numpy~=2.0", "numpy<2")]),
        (("paddlepaddle==3.3.1", "numpy>=1.20", "protobuf==7.1"), []),
        (("paddlepaddle==3.4.0", "numpy==2.4.6"), []),
        (("torch", "numpy==2.4.6"), []),
    ],
)  # fmt: skip
def test_a_users_own_version_with_which_it_surely_fails_is_found(
    requirements: tuple[str, ...], broken: list[tuple[str, str]]
) -> None:
    assert [(own, each.requirement) for own, each in find_broken(requirements)] == broken


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
