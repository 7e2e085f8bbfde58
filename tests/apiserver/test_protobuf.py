"""Protobuf as kubectl sends it: read into the manifest that it means, and refused where a part is not understood."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paddock.apiserver.http.protobuf import MOST_FIELDS, decode_body, encode_field
from paddock.kube.errors import ApiError, BadRequest, TooLarge, UnsupportedMediaType
from paddock.kube.meta import Manifest


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
        (body("Job", METADATA, "batch/v1"), UnsupportedMediaType),
        (body("Namespace", METADATA + encode_field(9, "new")), UnsupportedMediaType),
        (body("Pod", METADATA + encode_field(2, encode_field(99, "new"))), UnsupportedMediaType),
        (body("Namespace", b"\x0a\x05a"), BadRequest),
        (body("Namespace", b"\x08"), BadRequest),
        (body("Namespace", encode_field(1, encode_field(1, b"\xff"))), BadRequest),
        (b"{}", BadRequest),
        (body("PriorityClass", METADATA + b"\x10" + b"\xff" * 9 + b"\x02", "scheduling.k8s.io/v1"), BadRequest),
        (body("PriorityClass", METADATA + b"\x10" + b"\xff" * 10 + b"\x01", "scheduling.k8s.io/v1"), BadRequest),
        (body("Namespace", b"\x02\x00"), BadRequest),
        (body("Namespace", b"\x82\x80\x80\x80\x10\x00"), BadRequest),
        (body("ConfigMap", b"\x22\x01a" + b"\x20\x01"), BadRequest),
    ],
    ids=[
        "another kind",
        "another field",
        "another field of a pod",
        "cut",
        "cut in a number",
        "no UTF-8",
        "JSON",
        "a number of 65 bits",
        "a number of 77 bits",
        "field 0",
        "a field above all",
        "a text where a flag belongs",
    ],
)
def test_what_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_body(data)


def test_of_a_value_that_comes_twice_the_last_one_counts() -> None:
    twice = METADATA + b"\x10\x01" + b"\x10\x02"
    assert decode_body(body("PriorityClass", twice, "scheduling.k8s.io/v1"))["value"] == 2


def test_what_go_always_writes_says_nothing_and_what_it_writes_where_it_is_set_does() -> None:
    port = encode_field(1, "") + b"\x10\x00\x18\x50" + encode_field(4, "") + encode_field(5, "")
    probed = encode_field(2, encode_field(2, b"\x08\x01\x10\x00" + encode_field(3, "http")) + encode_field(4, ""))
    container = encode_field(1, "main") + encode_field(2, "") + encode_field(6, port) + encode_field(8, b"")
    container += encode_field(10, encode_field(1, probed) + b"\x10\x00\x20\x05") + b"\x80\x01\x00"
    volume = encode_field(1, "v") + encode_field(2, encode_field(2, b""))
    spec = encode_field(1, volume) + encode_field(2, container) + encode_field(3, "") + b"\x20\x00" + b"\x58\x00"
    assert decode_body(body("Pod", METADATA + encode_field(2, spec)))["spec"] == {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [
            {
                "name": "main",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
            }
        ],
        "terminationGracePeriodSeconds": 0,
    }


@given(st.binary(max_size=60))
def test_no_bytes_are_a_fault_of_the_server(data: bytes) -> None:
    for sent in (b"k8s\0" + data, body("Secret", data), body("Pod", data), body("Pod", encode_field(2, data))):
        with contextlib.suppress(ApiError):
            decode_body(sent)


def test_a_long_field_has_a_length_of_several_bytes() -> None:
    assert encode_field(1, "a" * 300)[:3] == b"\x0a\xac\x02"


def read_priority(raw: bytes) -> Manifest:
    return decode_body(body("PriorityClass", raw, "scheduling.k8s.io/v1"))


def as_written(number: int, length: int = 1) -> bytes:
    """A number of Protobuf in at least `length` bytes."""
    words = []
    while number > 0x7F or len(words) + 1 < length:
        words.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*words, number))


@example(2**63 + 5, 10)
@example(2**69 + 5, 10)
@given(st.integers(0, 2**70 - 1), st.integers(1, 10))
def test_a_number_has_64_bits_however_many_bytes_it_is_sent_in(sent: int, length: int) -> None:
    if sent >= 2**64:
        with pytest.raises(BadRequest, match="more than 64 bits"):
            read_priority(b"\x10" + as_written(sent, length))
        return
    expected = sent - 2**64 if sent >= 2**63 else sent
    assert read_priority(b"\x10" + as_written(sent, length))["value"] == expected


METADATA_PARTS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["", "a", "b"]),
        "namespace": st.sampled_from(["", "c", "d"]),
        "labels": st.dictionaries(st.sampled_from("klm"), st.sampled_from("vw"), min_size=1),
        "finalizers": st.lists(st.sampled_from("xy"), min_size=1),
    },
)
PARTS = st.fixed_dictionaries(
    {}, optional={"metadata": METADATA_PARTS, "value": st.integers(0, 3), "globalDefault": st.booleans()}
)


def encode_part(part: Manifest) -> bytes:
    metadata = part.get("metadata") or {}
    sent = b"".join(encode_field(number, metadata[name]) for number, name in ((1, "name"), (3, "namespace"))
                    if name in metadata)  # fmt: skip
    for key, value in (metadata.get("labels") or {}).items():
        sent += encode_field(11, encode_field(1, key) + encode_field(2, value))
    sent += b"".join(encode_field(14, each) for each in metadata.get("finalizers") or ())
    scalars = ((b"\x10", "value"), (b"\x18", "globalDefault"))
    numbers = b"".join(key + as_written(int(part[name])) for key, name in scalars if name in part)
    return (encode_field(1, sent) if "metadata" in part else b"") + numbers


def merge(parts: list[Manifest]) -> Manifest:
    """Protobuf's rule: the last of each scalar, all of each list, the entries of all maps. An empty text or message
    is absent."""
    result: Manifest = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, list):
                result[name] = [*result.get(name, ()), *value]
            elif name == "labels":
                result[name] = {**result.get(name, {}), **value}
            else:
                result[name] = [*result.get(name, ()), value] if isinstance(value, dict) else value
    merged = {name: merge(value) if name == "metadata" else value for name, value in result.items()}
    return {name: value for name, value in merged.items() if value or name in ("value", "globalDefault")}


@example([{"metadata": {"name": "a"}}, {"metadata": {"namespace": "c"}}])
@given(st.lists(PARTS, max_size=4))
def test_what_comes_twice_is_merged(parts: list[Manifest]) -> None:
    read = read_priority(b"".join(map(encode_part, parts)))
    assert {name: read[name] for name in read if name not in ("apiVersion", "kind")} == merge(parts)


def test_a_last_text_that_is_empty_holds() -> None:
    raw = encode_field(1, encode_field(1, "a")) + encode_field(1, encode_field(1, ""))
    assert "metadata" not in decode_body(body("Namespace", raw))


def test_a_field_of_a_pod_in_two_messages_is_one() -> None:
    volume = encode_field(1, "v") + encode_field(2, encode_field(19, encode_field(1, encode_field(1, "one"))))
    volume += encode_field(2, encode_field(19, b"\x18\x07"))
    spec = encode_field(2, encode_field(1, volume))
    expected = {"name": "v", "configMap": {"name": "one", "defaultMode": 7}}
    assert decode_body(body("Pod", spec))["spec"]["volumes"] == [expected]


SMALL = {
    "objects": b"\x12\x00",
    "volumes": b"\x0a\x00",
    "texts that are empty": b"\x1a\x00",
    "numbers that are unset": b"\x58\x00",
}


@pytest.mark.parametrize("piece", SMALL.values(), ids=SMALL)
@pytest.mark.slow
def test_a_body_has_so_many_fields_and_no_more(piece: bytes) -> None:
    # Three of the envelope: its two messages, and of the types two more; the spec is one.
    others = 7
    decode_body(body("Pod", encode_field(2, piece * (MOST_FIELDS - others))))
    with pytest.raises(TooLarge, match="100000 fields"):
        decode_body(body("Pod", encode_field(2, piece * (MOST_FIELDS - others + 1))))
