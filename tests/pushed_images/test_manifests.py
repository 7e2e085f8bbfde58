"""Which image of an index is meant, and what becomes of its configuration and its manifest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddock.images.errors import ImageError
from paddock.images.manifests import (
    DOCKER_LAYER,
    DOCKER_MANIFEST,
    OCI_LAYER,
    OCI_MANIFEST,
    Blob,
    Changes,
    Layer,
    build_config,
    build_manifest,
    choose_manifest,
    config_type,
    read_blobs,
    read_image,
    read_json,
)
from paddock.images.platforms import Platform

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")


def entry(digest: str, architecture: str, **platform: str) -> dict[str, Any]:
    return {"digest": digest, "platform": {"os": "linux", "architecture": architecture, **platform}}


@pytest.mark.parametrize(
    ("entries", "platform", "digest"),
    [
        ([entry(A, "amd64"), entry(B, "arm64", variant="v8")], Platform("arm64"), B),
        ([entry(A, "amd64", variant="v3"), entry(B, "amd64")], Platform("amd64"), B),
        ([entry(A, "unknown", os="unknown"), entry(B, "amd64")], Platform("amd64"), B),
        ([entry("sha256:1", "amd64"), entry(B, "amd64")], Platform("amd64"), B),
    ],
)
def test_of_an_index_the_image_for_the_nodes_is_taken(
    entries: list[dict[str, Any]], platform: Platform, digest: str
) -> None:
    assert choose_manifest({"manifests": entries}, platform, "x") == digest


def test_an_index_without_the_platform_is_refused_with_those_that_it_has() -> None:
    index = {"manifests": [entry(A, "amd64"), entry(B, "arm64", variant="v8")]}
    with pytest.raises(ImageError, match="x is for linux/amd64 and linux/arm64/v8, and the nodes are linux/riscv64"):
        choose_manifest(index, Platform("riscv64"), "x")


def blob(digest: str) -> dict[str, Any]:
    return {"digest": digest, "size": 3, "mediaType": DOCKER_LAYER}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"schemaVersion": 1, "fsLayers": []}, "schema 1"),
        ({"config": blob(A), "layers": []}, "has no layers"),
        ({"layers": [blob(A)]}, "has no layers"),
        ({"config": blob(A), "layers": [{"digest": "sha256:../x", "size": 3}]}, "has no layers"),
        ({"config": blob(A), "layers": [{"digest": B, "size": -3}]}, "has no layers"),
        ({"config": blob(A), "layers": [blob(B)] * 126}, "has 126 layers, and at most 125"),
        ({"config": [], "layers": 4}, "has no layers"),
    ],
)
def test_a_manifest_that_is_none_of_a_container_is_refused(manifest: dict[str, Any], said: str) -> None:
    with pytest.raises(ImageError, match=said):
        read_blobs(manifest, "x")


@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b"[" * 100_000])
def test_what_is_no_json_object_is_told(content: bytes) -> None:
    with pytest.raises(ImageError, match="is no JSON"):
        read_json(content, "x")


CONFIG = {
    "architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z",
    "config": {"Env": ["PATH=/usr/bin", "A=1=2"], "Entrypoint": ["/start"], "User": "7", "Labels": {"own": "yes"}},
    "rootfs": {"type": "layers", "diff_ids": [C]}, "history": [{"created_by": "base"}],
}  # fmt: skip
MANIFEST = {"mediaType": DOCKER_MANIFEST, "config": blob(A), "layers": [blob(B)]}


def test_a_configuration_that_does_not_fit_its_layers_is_refused() -> None:
    with pytest.raises(ImageError, match="does not fit its layers"):
        read_image(A, MANIFEST, "", {**CONFIG, "rootfs": {"diff_ids": []}}, "x")


@pytest.mark.parametrize("settings", [[1], {"Env": 5}, {"Labels": ["own"]}])
def test_a_configuration_of_another_form_is_refused(settings: object) -> None:
    with pytest.raises(ImageError, match="its configuration is none"):
        read_image(A, MANIFEST, "", {**CONFIG, "config": settings}, "x")


def change(**variables: str) -> Changes:
    layers = (Layer(Blob(C, 5, DOCKER_LAYER), A, "RUN pip install x"), Layer(Blob(B, 6, DOCKER_LAYER), B, "COPY 2"))
    return Changes(layers, variables, "/paddock/workdir", {"base": "x"}, Platform())


def test_the_image_is_the_base_with_layers_variables_and_a_directory() -> None:
    base = read_image(A, MANIFEST, DOCKER_MANIFEST, CONFIG, "x")
    config = json.loads(build_config(base, change(PATH="/p:/usr/bin", NEW="1")))
    assert config["config"] == {
        "Env": ["PATH=/p:/usr/bin", "A=1=2", "NEW=1"], "Entrypoint": ["/start"], "User": "7",
        "WorkingDir": "/paddock/workdir", "Labels": {"own": "yes", "base": "x"},
    }  # fmt: skip
    assert config["rootfs"]["diff_ids"] == [C, A, B]
    assert [each["created_by"] for each in config["history"]] == ["base", "RUN pip install x", "COPY 2"]
    assert config["created"] == CONFIG["created"]
    assert build_config(base, change(NEW="1")) == build_config(base, change(NEW="1"))


@pytest.mark.parametrize(
    ("form", "manifest_type", "layer_type"),
    [
        (DOCKER_MANIFEST, DOCKER_MANIFEST, DOCKER_LAYER),
        (OCI_MANIFEST, OCI_MANIFEST, OCI_LAYER),
        ("", OCI_MANIFEST, OCI_LAYER),
    ],
)
def test_the_manifest_has_the_form_of_the_base_image(form: str, manifest_type: str, layer_type: str) -> None:
    base = read_image(A, {**MANIFEST, "mediaType": form} if form else {**MANIFEST, "mediaType": None}, "", CONFIG, "x")
    assert base.layer_type == layer_type
    built = json.loads(build_manifest(base, Blob(A, 9, config_type(base)), change().layers))
    assert built["mediaType"] == manifest_type
    assert [each["digest"] for each in built["layers"]] == [B, C, B]
    assert ("docker" in built["config"]["mediaType"]) is ("docker" in manifest_type)
