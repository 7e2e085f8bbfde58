"""A container's environment and arguments, as tables."""

from __future__ import annotations

import base64
from fractions import Fraction
from typing import Any

import pytest

from node.cluster import container, pod
from paddock.kube.downward import expand
from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import (
    Configs,
    ContainerWaiting,
    build_arguments,
    build_environment,
    select_inherited,
)
from paddock.node.runtime.images import Image

CONFIGS = Configs(
    "default",
    {"cm": {"data": {"A": "1", "B": "two"}}},
    {"key": {"data": {"TOKEN": base64.b64encode(b"s3cret").decode()}}},
)
CAPACITY = {"cpu": Fraction(4), "memory": Fraction(2**33)}
FIELDS = {
    "uid": "u-1",
    "labels": {"app": "x", "y/z": "1"},
    "annotations": {"note": "n"},
}
STATUS = {"podIP": "127.64.0.9", "podIPs": [{"ip": "127.64.0.9"}, {"ip": "::1"}], "hostIP": "127.0.0.1"}


def build(main: Manifest, image: Image | None = None, **options: Any) -> dict[str, str]:
    manifest = pod(main, serviceAccountName="robot")
    manifest["metadata"] |= FIELDS
    manifest["status"] = STATUS
    given = {"inherited": {}, "capacity": CAPACITY, **options}
    return build_environment(manifest, main, image or Image("any"), CONFIGS, **given)[0]


def env(*entries: Manifest, **more: Any) -> Manifest:
    return container("x", env=list(entries), **more)


def origin(kind: str, **reference: Any) -> Manifest:
    return {"name": "V", "valueFrom": {kind: reference}}


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (origin("fieldRef", fieldPath="metadata.name"), "p"),
        (origin("fieldRef", fieldPath="metadata.namespace"), "default"),
        (origin("fieldRef", fieldPath="metadata.uid"), "u-1"),
        (origin("fieldRef", fieldPath="metadata.labels['y/z']"), "1"),
        (origin("fieldRef", fieldPath="metadata.labels['no']"), ""),
        (origin("fieldRef", fieldPath="metadata.annotations['note']"), "n"),
        (origin("fieldRef", fieldPath="spec.nodeName"), "here"),
        (origin("fieldRef", fieldPath="spec.serviceAccountName"), "robot"),
        (origin("fieldRef", fieldPath="status.podIP"), "127.64.0.9"),
        (origin("fieldRef", fieldPath="status.podIPs"), "127.64.0.9,::1"),
        (origin("fieldRef", fieldPath="status.hostIP"), "127.0.0.1"),
        (origin("configMapKeyRef", name="cm", key="B"), "two"),
        (origin("configMapKeyRef", name="cm", key="no", optional=True), None),
        (origin("configMapKeyRef", name="no", key="no", optional=True), None),
        (origin("secretKeyRef", name="key", key="TOKEN"), "s3cret"),
        (origin("resourceFieldRef", resource="limits.cpu"), "4"),
        (origin("resourceFieldRef", resource="limits.memory", divisor="1Gi"), "8"),
        (origin("resourceFieldRef", resource="requests.cpu"), "0"),
        ({"name": "V"}, ""),
        ({"name": "V", "value": "$(HOSTNAME)"}, "$(HOSTNAME)"),
        ({"name": "V", "value": "$(V)"}, "$(V)"),
        ({"name": "V", "value": "$HOSTNAME"}, "$HOSTNAME"),
    ],
)
def test_where_a_value_comes_from(entry: Manifest, value: str | None) -> None:
    assert build(env(entry)).get("V") == value


def test_a_request_or_limit_is_rounded_up_to_whole_divisors() -> None:
    entry = origin("resourceFieldRef", resource="requests.cpu")
    assert build(env(entry, resources={"limits": {"cpu": "1500m"}}))["V"] == "2"


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (env(origin("configMapKeyRef", name="no", key="A")), 'configmap "no" not found'),
        (env(origin("secretKeyRef", name="no", key="A")), 'secret "no" not found'),
        (env(origin("configMapKeyRef", name="cm", key="C")), "couldn't find key C in ConfigMap default/cm"),
        (env(origin("secretKeyRef", name="key", key="C")), "couldn't find key C in Secret default/key"),
        (container("x", envFrom=[{"secretRef": {"name": "no"}}]), 'secret "no" not found'),
        (env(origin("fieldRef", fieldPath="spec.color")), "fieldPath 'spec.color' is not supported"),
    ],
)
def test_missing_references_are_reported_in_kubelets_words(broken: Manifest, sentence: str) -> None:
    with pytest.raises(ContainerWaiting, match="^" + sentence.replace("(", r"\(")) as raised:
        build(broken)
    assert raised.value.obstacle.reason == "CreateContainerConfigError"


def test_later_sources_win() -> None:
    image = Image("any", {"PATH": "/env/bin:/bin", "A": "image", "FLAG": "image"})
    main = env({"name": "B", "value": "own $(A)"}, envFrom=[{"prefix": "P_", "configMapRef": {"name": "cm"}},
                                                            {"configMapRef": {"name": "cm"}}])  # fmt: skip
    found = build(main, image, inherited={"HOME": "/home/anna", "LANG": "de_DE.UTF-8"})
    assert {name: found[name] for name in ("PATH", "FLAG", "A", "B", "P_A", "HOME", "LANG", "PYTHONUNBUFFERED")} == {
        "PATH": "/env/bin:/bin", "FLAG": "image", "A": "1", "B": "own 1", "P_A": "1", "HOME": "/home/anna",
        "LANG": "de_DE.UTF-8", "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def test_names_are_replaced_in_values_but_not_in_the_pods_identity() -> None:
    main = env(
        {"name": "PEER", "value": "q:1"}, {"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    )
    found = build(main, rename=lambda value: value.replace("q", "127.64.0.2").replace("u-1", "wrong"))
    assert (found["PEER"], found["V"]) == ("127.64.0.2:1", "u-1")


def test_few_variables_of_the_daemon_are_inherited() -> None:
    found = select_inherited({"HOME": "/h", "LC_ALL": "C", "SECRET_TOKEN": "x", "PYTHONPATH": "/x", "https_proxy": "p"})
    assert found == {"HOME": "/h", "LC_ALL": "C", "https_proxy": "p"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$(A)", "1"), ("x$(A)y$(A)", "x1y1"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$(NO)", "$(NO)"), ("$A", "$A"),
        ("$(A", "$(A"), ("$", "$"), ("$$", "$"), ("$()", "$()"), ("a$b$(A)", "a$b1"),
    ],
)  # fmt: skip
def test_variables_are_expanded_as_in_kubernetes(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value


@pytest.mark.parametrize(
    ("main", "words"),
    [
        ({"command": ["a"], "args": ["b"]}, ("a", "b")),
        ({"args": ["b"]}, ("start", "$(A)", "b")),
        ({}, ("start", "$(A)")),
        ({"command": ["a", "$(A)"]}, ("a", "1")),
    ],
)
def test_command_replaces_the_images_and_args_follow(main: Manifest, words: tuple[str, ...]) -> None:
    assert build_arguments(main, Image("any", command=("start", "$(A)")), {"A": "1"}) == words


def test_a_missing_command_is_reported() -> None:
    with pytest.raises(ContainerWaiting, match=r"no command: .* image 'bare' brings none"):
        build_arguments({}, Image("bare"), {})
