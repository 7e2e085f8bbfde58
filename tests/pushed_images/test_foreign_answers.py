"""Whatever a registry answers: the image below is read, or a sentence tells that it is none."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.fuzz.inputs import ODD, broken, changed, values
from paddock.images.answers import read_text
from paddock.images.challenges import read_challenge
from paddock.images.errors import ImageError
from paddock.images.manifests import build_config, build_manifest, choose_manifest, is_index, read_blobs, read_image
from paddock.images.platforms import Platform
from pushed_images.test_manifests import CONFIG, MANIFEST, A, B, change, entry

INDEX = {"manifests": [entry(A, "amd64"), entry(B, "arm64", variant="v8")]}
ANSWER = {"errors": [{"code": "DENIED", "message": "requested access to the resource is denied"}]}
objects = st.one_of(values, st.sampled_from(ODD)).filter(lambda value: isinstance(value, dict))


settings = changed([CONFIG["config"]]).map(lambda value: {**CONFIG, "config": value})


@given(st.just(MANIFEST) | changed([MANIFEST]) | objects, settings | changed([CONFIG], most=3) | objects)
def test_an_image_of_any_manifest_and_configuration_gets_its_layers_or_is_refused(manifest: Any, config: Any) -> None:
    if not isinstance(manifest, dict) or not isinstance(config, dict):  # `read_json` has refused it
        return
    with suppress(ImageError):
        read_blobs(manifest, "x")
        base = read_image(A, manifest, "", config, "x")
        added = change(PATH="/p")
        assert json.loads(build_config(base, added))["rootfs"]["diff_ids"][-2:] == [A, B]
        assert len(json.loads(build_manifest(base, added.layers[0].blob, added.layers))["layers"]) >= 3
        str(base.platform)


@given(changed([INDEX]) | objects)
def test_of_any_index_an_image_is_chosen_or_it_is_refused(index: Any) -> None:
    if not isinstance(index, dict):
        return
    is_index(index, "")
    with suppress(ImageError):
        assert choose_manifest(index, Platform(), "x") in (A, B)


@given(
    broken([json.dumps(ANSWER).encode(), b"<html>"]) | changed([ANSWER]).map(lambda value: json.dumps(value).encode())
)
def test_the_words_of_a_registry_are_one_short_line(body: bytes) -> None:
    text = read_text(body)
    assert len(text) <= 200
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", text)


@given(broken([b'Bearer realm="https://auth.example.org/token",service="r"', b"Basic realm=x", b"Negotiate"]))
def test_any_challenge_is_read(header: bytes) -> None:
    read_challenge([header.decode("latin-1")])
