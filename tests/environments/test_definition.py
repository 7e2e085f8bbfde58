"""Environment objects as values, and the fields that their key covers."""

from dataclasses import replace

import pytest

from paddock.environments.definition import (
    Definition,
    build_check_key,
    build_key,
    build_spec_digest,
    explain_requirement,
    normalise_requirement,
    read_definition,
)

BASE = Definition("a", requirements=("paddlepaddle==3.0.0", "protobuf<7"), python=">=3.9")


def key(definition: Definition, python: tuple[int, ...] = (3, 11, 7), platform: str = "linux-x86_64") -> str:
    return build_key(definition, python, platform)


@pytest.mark.parametrize(
    "same",
    [
        replace(BASE, name="b"),
        replace(BASE, program="resnet", command=("python3",), images=("*",)),
        replace(BASE, environment=(("A", "1"),), verify="import x"),
        replace(BASE, python="==3.11.*"),
        replace(BASE, requirements=("protobuf < 7", "PaddlePaddle == 3.0.0")),
    ],
)
def test_fields_that_do_not_affect_the_files_are_not_in_the_key(same: Definition) -> None:
    assert key(same) == key(BASE)


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, requirements=("paddlepaddle==3.0.0", "protobuf<6")),
        replace(BASE, requirements=("paddlepaddle==3.0.1", "protobuf<7")),
        replace(BASE, index_url="https://example.com/simple"),
        replace(BASE, extra_index_urls=("https://example.com/simple",)),
    ],
)
def test_fields_that_affect_the_files_are_in_the_key(other: Definition) -> None:
    assert key(other) != key(BASE)


def test_python_and_platform_are_in_the_key_but_not_the_patch_release() -> None:
    assert key(BASE, (3, 12, 0)) != key(BASE) != key(BASE, platform="linux-aarch64")
    assert key(BASE, (3, 11, 2)) == key(BASE)


def test_the_check_covers_its_snippet_and_variables() -> None:
    assert build_check_key(BASE) == build_check_key(replace(BASE, name="b"))
    assert build_check_key(BASE) != build_check_key(replace(BASE, verify="import x"))
    assert build_check_key(BASE) != build_check_key(replace(BASE, environment=(("A", "1"),)))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Opt_Einsum == 3.3", "opt-einsum==3.3"),
        ("x [b] >=1, <2 ; python_version < '3.12'", "x[b]>=1,<2;python_version < '3.12'"),
        ("x @ https://example.com/A_b.whl", "x@https://example.com/A_b.whl"),
    ],
)
def test_requirements_are_normalised(text: str, normal: str) -> None:
    assert normalise_requirement(text) == normal


@pytest.mark.parametrize(
    ("text", "words"),
    [("paddlepaddle==3.0.0", "paddlepaddle 3.0.0"), ("torch[x] == 2.1+cpu ; x", "torch 2.1+cpu"), ("six>=1", "six")],
)
def test_requirements_in_words(text: str, words: str) -> None:
    assert explain_requirement(text) == words


def test_a_definition_is_read_and_its_repr_has_no_password() -> None:
    spec = {"images": ["a"], "indexURL": "https://u:secret@example.com/", "env": [{"name": "A"}], "verify": "x"}
    definition = read_definition({"metadata": {"name": "n"}, "spec": spec})
    assert definition == Definition(
        "n", images=("a",), index_url="https://u:secret@example.com/", environment=(("A", ""),), verify="x"
    )
    assert "secret" not in repr(definition)
    assert read_definition({}) == Definition("")


def test_the_digest_of_a_spec_ignores_its_form() -> None:
    plain = {"metadata": {"name": "n"}, "spec": {"images": ["a"]}}
    assert build_spec_digest(plain) == build_spec_digest({"metadata": {}, "spec": {"python": "", "images": ["a"]}})
    assert build_spec_digest(plain) != build_spec_digest({"spec": {"images": ["b"]}})
