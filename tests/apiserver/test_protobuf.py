"""Protobuf as kubectl sends it: read into the manifest that it means, and refused where a part is not understood."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.http.protobuf import decode_body, encode_field
from paddock.kube.errors import ApiError, BadRequest, UnsupportedMediaType


def body(kind: str, raw: bytes, version: str = "v1") -> bytes:
    type_meta = encode_field(1, version) + encode_field(2, kind)
    return b"k8s\0" + encode_field(1, type_meta) + encode_field(2, raw) + encode_field(3, "") + encode_field(4, "")


METADATA = encode_field(1, encode_field(1, "a") + encode_field(2, "") + encode_field(3, "ns") + encode_field(8, b""))


def test_a_namespace_as_kubectl_1_33_sends_it() -> None:
    raw = METADATA + encode_field(2, b"") + encode_field(3, encode_field(1, ""))
    expected = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "namespace": "ns"}}
    assert decode_body(body("Namespace", raw)) == expected


def test_maps_lists_numbers_and_flags() -> None:
    entry = encode_field(1, "k") + encode_field(2, "v")
    config_map = decode_body(body("ConfigMap", METADATA + encode_field(2, entry) + b"\x20\x01"))
    assert (config_map["data"], config_map["immutable"]) == ({"k": "v"}, True)
    secret = decode_body(body("Secret", METADATA + encode_field(2, entry)))
    assert secret["data"] == {"k": "dg=="}
    minus_one = b"\x10" + b"\xff" * 9 + b"\x01"
    assert decode_body(body("PriorityClass", METADATA + minus_one, "scheduling.k8s.io/v1"))["value"] == -1


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (body("Deployment", METADATA, "apps/v1"), UnsupportedMediaType),
        (body("Namespace", METADATA + encode_field(9, "new")), UnsupportedMediaType),
        (body("Namespace", b"\x0a\x05a"), BadRequest),
        (body("Namespace", b"\x08"), BadRequest),
        (body("Namespace", encode_field(1, encode_field(1, b"\xff"))), BadRequest),
        (b"{}", BadRequest),
    ],
    ids=["another kind", "another field", "cut", "cut in a number", "no UTF-8", "JSON"],
)
def test_what_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_body(data)


@given(st.binary(max_size=60))
def test_no_bytes_are_a_fault_of_the_server(data: bytes) -> None:
    for sent in (b"k8s\0" + data, body("Secret", data), body("ClusterRole", data, "rbac.authorization.k8s.io/v1")):
        with contextlib.suppress(ApiError):
            decode_body(sent)


def test_a_long_field_has_a_length_of_several_bytes() -> None:
    assert encode_field(1, "a" * 300)[:3] == b"\x0a\xac\x02"
