"""Image names matched against patterns, and the sentences for names without a match."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import Definition, read_definition
from paddock.environments.images import (
    Choice,
    choose,
    choose_definition,
    complete_image,
    explain_no_environment,
    explain_no_name,
    match_image,
    read_used,
)
from paddock.kube.environments import DEFAULT_ANNOTATION, ENVIRONMENT_ANNOTATION, write_default

DEFAULTS = [read_definition(manifest) for manifest in build_defaults()]


@pytest.mark.parametrize(
    ("image", "environment"),
    [
        ("registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1", "paddle-ps"),
        ("mirror.example:5000/registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1", "paddle-ps"),
        ("kuizhiqing/demo-wide-and-deep", "paddle-ps"),
        ("registry.baidubce.com/paddle-operator/demo-resnet:v1", "paddle-resnet"),
        ("registry.baidubce.com/paddle-operator/paddle-ubuntu:2.0.0-18.04", "paddle-ubuntu"),
        ("registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu", "paddle"),
        ("paddlepaddle/paddle", "paddle"),
        ("paddlepaddle/paddle@sha256:0123", "paddle"),
        ("python:3.11", "host"),
        ("docker.io/library/python:3.11-slim", "host"),
        ("busybox", "host"),
        ("quay.io/somebody/python:3.11", None),
        ("registry.baidubce.com/paddle-operator/demo-wide-and-deep-2:v1", None),
        ("nginx", None),
        ("", None),
    ],
)
def test_images_of_the_documents_match_their_environment(image: str, environment: str | None) -> None:
    chosen = choose_definition(image, DEFAULTS)
    assert (chosen.name if chosen else None) == environment


@pytest.mark.parametrize(
    ("pattern", "image", "matches"),
    [
        ("*", "anything/at:all", True),
        ("busybox", "busybox:1.36", True),
        ("busybox:1.36", "busybox", False),
        ("*/team/train:v?", "registry.example/team/train:v1", True),
        ("*/team/train:v?", "registry.example/team/train:v10", False),
        ("registry.example/*", "registry.example/a/b:c", True),
        ("localhost/x:*", "localhost/x:1", True),
        ("localhost:5000/x:*", "localhost:5000/x", True),
        ("team/train", "docker.io/team/train:v1", True),
    ],
)
def test_patterns(pattern: str, image: str, matches: bool) -> None:
    assert match_image(pattern, image) is matches


def test_the_most_specific_pattern_wins_and_of_equals_the_first_by_name() -> None:
    definitions = [
        Definition("any", images=("*",)),
        Definition("team", images=("*/team/*",)),
        Definition("train", images=("*/team/train:*",)),
        Definition("a-train", images=("*/team/train:*",)),
    ]
    assert choose_definition("x.example/team/train:1", definitions) == definitions[3]
    assert choose_definition("x.example/team/other:1", definitions) == definitions[1]
    assert choose_definition("nginx", definitions) == definitions[0]


@given(
    st.from_regex(r"[a-z0-9]{1,8}(\.[a-z]{2,3}(:[0-9]{2,4})?)?(/[a-z0-9]{1,6}){0,3}(:[a-z0-9]{1,4})?", fullmatch=True)
)
def test_completing_a_name_is_idempotent_and_a_name_matches_itself(image: str) -> None:
    assert complete_image(complete_image(image)) == complete_image(image)
    assert match_image(image, complete_image(image))


TRAINS = {"name": "paddle", "image": "team.example/strange:v1", "command": ["python", "train.py"]}


@pytest.mark.parametrize(
    ("container", "annotations", "environment"),
    [
        (TRAINS, {}, "paddle"),
        ({**TRAINS, "image": "tensorflow/tensorflow:2.16.1"}, {}, "paddle"),
        ({**TRAINS, "image": "pytorch/pytorch:2.9.0"}, {}, "pytorch"),
        ({**TRAINS, "image": "busybox"}, {}, "host"),
        ({**TRAINS, "command": []}, {}, None),
        ({"name": "paddle", "image": TRAINS["image"], "args": ["train.py"]}, {}, None),
        ({**TRAINS, "name": "sidecar"}, {}, None),
        (TRAINS, {ENVIRONMENT_ANNOTATION: "paddle-resnet"}, "paddle-resnet"),
        (TRAINS, {ENVIRONMENT_ANNOTATION: "absent"}, None),
        (TRAINS, {DEFAULT_ANNOTATION: write_default("paddle", "absent")}, None),
        (TRAINS, {DEFAULT_ANNOTATION: ""}, None),
        (TRAINS, {DEFAULT_ANNOTATION: "paddle"}, None),
        ({**TRAINS, "image": ""}, {}, "host"),
    ],
)
def test_a_command_runs_in_the_default_of_its_container_where_nothing_else_decides(
    container: dict[str, Any], annotations: dict[str, str], environment: str | None
) -> None:
    owner = {"apiVersion": "v1", "kind": "PaddleJob", "name": "j", "uid": "u", "controller": True}
    defaults = {DEFAULT_ANNOTATION: write_default("paddle", "paddle"), **annotations}
    pod = {"metadata": {"annotations": defaults, "ownerReferences": [owner]}, "spec": {"containers": [container]}}
    choice = choose(container, pod, DEFAULTS)
    assert (choice.definition and choice.definition.name) == environment
    taken = environment == "paddle"
    assert (choice.said is not None) == (taken or environment is None)
    assert str(choice.said or "").endswith("makes another one") == taken
    names = {each["metadata"]["name"] for each in build_defaults()} & read_used(pod, build_defaults())
    assert names == ({environment} if environment else set())


def test_the_notice_has_the_image_its_environment_and_what_makes_another() -> None:
    owner = {"apiVersion": "v1", "kind": "PyTorchJob", "name": "j", "uid": "u", "controller": True}
    annotations = {DEFAULT_ANNOTATION: write_default("paddle", "pytorch")}
    image = "nvcr.io/nvidia/tritonserver:24.01"
    choice = choose({**TRAINS, "image": image}, {"metadata": {"annotations": annotations, "ownerReferences": [owner]}},
                    DEFAULTS)  # fmt: skip
    assert str(choice.said) == (
        f"image {image} has no Environment here: its command runs in pytorch, the default of this PyTorchJob, "
        f"without the files of the image; `paddock env create NAME -r requirements.txt --image '{image}'` "
        "makes another one"
    )


def test_an_environment_that_matches_comes_before_the_default_from_the_next_start_on() -> None:
    pod = {"metadata": {"annotations": {DEFAULT_ANNOTATION: write_default("paddle", "paddle")}}}
    own = Definition("own", images=("team.example/*",))
    assert choose(TRAINS, pod, [*DEFAULTS, own]) == Choice(own)


def test_the_error_for_an_unknown_image_names_similar_patterns_and_both_remedies() -> None:
    sentence = str(explain_no_environment("example.com/me/demo-wide-n-deep:v2", DEFAULTS))
    assert sentence.startswith('image "example.com/me/demo-wide-n-deep:v2" stands for no environment on this machine')
    assert "paddle-ps (*/paddle-operator/demo-wide-and-deep:*" in sentence
    assert "kubectl create -f" in sentence
    assert "paddock.dev/environment" in sentence
    assert "environments here: baize-notebook, host, jax, paddle" in str(explain_no_environment("zzz", DEFAULTS))
    assert "environments here: none" in str(explain_no_environment("zzz", []))


def test_the_error_for_a_wrong_annotation_names_the_nearest_environment() -> None:
    assert str(explain_no_name("padle-ps", DEFAULTS)).endswith(
        'no Environment "padle-ps" exists; did you mean paddle-ps?'
    )
    assert "there are: baize-notebook, host" in str(explain_no_name("zzz", DEFAULTS))
