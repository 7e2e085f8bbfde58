"""Kubernetes' Protobuf, as far as kubectl sends it: newer ones speak it in typed commands, such as `create namespace`.

A body is the four bytes `k8s\\0` and an `Unknown`, which names the kind and holds the object. The tables below are the
field numbers of Kubernetes' `generated.proto` files; a kind or a field that is not in them is refused, never dropped.
Answers are JSON, which kubectl reads as well. Encoding is for OpenAPI v2, which older kubectls read as Protobuf alone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from paddock.kube.errors import BadRequest, UnsupportedMediaType
from paddock.kube.meta import Manifest

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _Field(NamedTuple):
    """`type`: text, bytes, number, flag, texts or blobs (maps), status (not read), or the fields of a message."""

    name: str
    type: str | Mapping[int, _Field] = "text"
    repeated: bool = False


_STATUS = _Field("status", "status")
_ENTRY = {1: _Field("key"), 2: _Field("value")}
_BYTES_ENTRY = {1: _Field("key"), 2: _Field("value", "bytes")}
_METADATA = {
    1: _Field("name"), 2: _Field("generateName"), 3: _Field("namespace"), 5: _Field("uid"),
    6: _Field("resourceVersion"), 7: _Field("generation", "number"), 11: _Field("labels", "texts"),
    12: _Field("annotations", "texts"), 14: _Field("finalizers", repeated=True),
}  # fmt: skip
_OBJECT = {1: _Field("metadata", _METADATA)}
_RULE = {
    1: _Field("verbs", repeated=True), 2: _Field("apiGroups", repeated=True), 3: _Field("resources", repeated=True),
    4: _Field("resourceNames", repeated=True), 5: _Field("nonResourceURLs", repeated=True),
}  # fmt: skip
_ROLE = {**_OBJECT, 2: _Field("rules", _RULE, repeated=True)}
_SUBJECT = {1: _Field("kind"), 2: _Field("apiGroup"), 3: _Field("name"), 4: _Field("namespace")}
_ROLE_REF = {1: _Field("apiGroup"), 2: _Field("kind"), 3: _Field("name")}
_BINDING = {**_OBJECT, 2: _Field("subjects", _SUBJECT, repeated=True), 3: _Field("roleRef", _ROLE_REF)}
_ATTRIBUTES = dict(
    enumerate(map(_Field, ("namespace", "verb", "group", "version", "resource", "subresource", "name")), start=1)
)
_REVIEW = {
    1: _Field("resourceAttributes", _ATTRIBUTES),
    2: _Field("nonResourceAttributes", {1: _Field("path"), 2: _Field("verb")}),
}
_KINDS: Mapping[tuple[str, str], Mapping[int, _Field]] = {
    ("v1", "Namespace"): {**_OBJECT, 2: _Field("spec", {1: _Field("finalizers", repeated=True)}), 3: _STATUS},
    ("v1", "ConfigMap"): {
        **_OBJECT, 2: _Field("data", "texts"), 3: _Field("binaryData", "blobs"), 4: _Field("immutable", "flag")
    },
    ("v1", "Secret"): {
        **_OBJECT, 2: _Field("data", "blobs"), 3: _Field("type"), 4: _Field("stringData", "texts"),
        5: _Field("immutable", "flag"),
    },
    ("v1", "ServiceAccount"): _OBJECT,
    ("rbac.authorization.k8s.io/v1", "Role"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): _BINDING,
    ("scheduling.k8s.io/v1", "PriorityClass"): {
        **_OBJECT, 2: _Field("value", "number"), 3: _Field("globalDefault", "flag"), 4: _Field("description"),
        5: _Field("preemptionPolicy"),
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {**_OBJECT, 2: _Field("spec", _REVIEW), 3: _STATUS},
}  # fmt: skip
_ENVELOPE = {1: _Field("typeMeta", {1: _Field("apiVersion"), 2: _Field("kind")}), 2: _Field("raw", "bytes")}


def decode_body(body: bytes) -> Manifest:
    if not body.startswith(_MAGIC):
        raise BadRequest("the body is not Kubernetes' Protobuf: it does not begin with k8s")
    try:
        # Fields 3 and 4 are contentEncoding and contentType, which say nothing about an object in Protobuf.
        envelope = _decode(body[len(_MAGIC) :], _ENVELOPE, ignored=(3, 4))
        type_meta = envelope.get("typeMeta") or {}
        key = (str(type_meta.get("apiVersion")), str(type_meta.get("kind")))
        # kubectl does not try again in JSON after this answer, so the message must say what to do.
        if key not in _KINDS:
            raise UnsupportedMediaType(
                f"the body of the request is a {key[1]} in Protobuf, which this server reads of few kinds: send"
                " application/json (with kubectl, `create -f FILE` or `apply -f FILE` in place of `create KIND`)"
            )
        return {**type_meta, **_decode(base64.b64decode(envelope.get("raw", "")), _KINDS[key])}
    except (IndexError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not Protobuf: {error}") from None


def _decode(data: bytes, fields: Mapping[int, _Field], ignored: tuple[int, ...] = ()) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for number, value in _read(data):
        field = fields.get(number)
        if field is None:
            # Go also writes empty messages and a zero time, which say nothing.
            if number not in ignored and value not in (0, b"", b"\x08\x00\x10\x00"):
                raise UnsupportedMediaType(
                    f"field {number} of the body's Protobuf is not read by this server: send application/json"
                )
            continue
        # The server sets the status of these kinds, so a client's status is not read.
        if field.type == "status":
            continue
        # Protobuf encodes a map as one message per entry, with the key and the value.
        if field.type in ("texts", "blobs"):
            entry = _decode(_bytes(value), _BYTES_ENTRY if field.type == "blobs" else _ENTRY)
            result.setdefault(field.name, {})[entry.get("key", "")] = entry.get("value", "")
        elif field.repeated:
            result.setdefault(field.name, []).append(_value(value, field))
        # Go also writes empty texts and a zero generation, which the client did not set.
        elif value != b"" and not (value == 0 and field.name == "generation"):
            result[field.name] = _value(value, field)
    return result


def _value(value: int | bytes, field: _Field) -> Any:
    if isinstance(field.type, Mapping):
        return _decode(_bytes(value), field.type)
    if field.type == "bytes":
        return base64.b64encode(_bytes(value)).decode()
    if field.type == "text":
        return _bytes(value).decode()
    if isinstance(value, bytes):
        raise IndexError(f"{field.name} is no number")
    if field.type == "flag":
        return bool(value)
    # Protobuf writes a negative number as its two's complement of 64 bits.
    return value - 2**64 if value >= 2**63 else value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise IndexError("a number stands where text belongs")
    return value


def _read(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and their raw values. Raises IndexError where the bytes end too early."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        if key & 7 == _VARINT:
            value, place = _read_varint(data, place)
            yield key >> 3, value
            continue
        if key & 7 == _BYTES:
            size, place = _read_varint(data, place)
        elif key & 7 in (_FIXED64, _FIXED32):
            size = 8 if key & 7 == _FIXED64 else 4
        else:
            raise IndexError(f"no wire type {key & 7}")
        if place + size > len(data):
            raise IndexError("it ends too early")
        yield key >> 3, data[place : place + size]
        place += size


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    result = 0
    # 64 bits take at most ten bytes of seven bits each.
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place
    raise IndexError("a number of more than 64 bits")


def encode_field(number: int, value: str | bytes) -> bytes:
    """One field with a length: a text, or a message that is encoded already."""
    body = value.encode() if isinstance(value, str) else value
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(len(body)) + body


def _encode_varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*result, value))
