"""Kubernetes' Protobuf, as far as kubectl sends it: newer ones speak it in typed commands, such as `create namespace`.

A body is the four bytes `k8s\\0` and an `Unknown`, which names the kind and holds the object. The tables below are
the field numbers of Kubernetes' `generated.proto` files, others in `protobuf_pods` and `protobuf_kinds`; a kind or a
field that is not in them is refused, never dropped.
Answers are JSON, which kubectl reads as well. Encoding is for OpenAPI v2, which older kubectls read as Protobuf alone.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from paddock.apiserver.http.protobuf_fields import Field, read_table
from paddock.apiserver.http.protobuf_kinds import CORE, NEW_EVENTS
from paddock.apiserver.http.protobuf_pods import PODS
from paddock.kube.errors import BadRequest, TooLarge, UnsupportedMediaType
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
MOST_FIELDS = 100_000
"""Of one body, those of all its messages together, as of values in YAML: a field takes 3 µs, and one of two bytes may
become an object of JSON."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LAST_FIELD = 2**29 - 1

_STATUS = Field("status", "ours")
_ENTRIES: Mapping[str, Mapping[int, Field]] = {
    "texts": {1: Field("key"), 2: Field("value")},
    "blobs": {1: Field("key"), 2: Field("value", "bytes")},
    "quantities": {1: Field("key"), 2: Field("value", "quantity")},
}
_MESSAGES = (*_ENTRIES, "quantity", "int-or-string", "time", "micro-time")
"""The types that are messages on the wire, beside those with fields."""
_QUANTITY = {1: Field("string")}
_TIME = {1: Field("seconds", "number"), 2: Field("nanos", "number")}
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799
"""Of the years 1 to 9999. Go's zero time is the first one, and some write it as 0: both mean that there is none."""
# The type is 0 for a number and 1 for a text, and the other of the two is written too.
_INT_OR_STRING = {1: Field("type", "number"), 2: Field("number", "number"), 3: Field("text")}
_OWNER = {
    1: Field("kind"), 3: Field("name"), 4: Field("uid"), 5: Field("apiVersion"), 6: Field("controller", "flag"),
    7: Field("blockOwnerDeletion", "flag"),
}  # fmt: skip
_METADATA = {
    1: Field("name"), 2: Field("generateName"), 3: Field("namespace"), 5: Field("uid"),
    6: Field("resourceVersion"), 7: Field("generation", "number", unset=(0, b"")), 11: Field("labels", "texts"),
    12: Field("annotations", "texts"), 13: Field("ownerReferences", _OWNER, repeated=True),
    14: Field("finalizers", repeated=True),
    # Who writes an object that was read sends these back.
    4: Field("selfLink", "ours"), 8: Field("creationTimestamp", "ours"), 9: Field("deletionTimestamp", "ours"),
    10: Field("deletionGracePeriodSeconds", "ours"), 17: Field("managedFields", "ours"),
}  # fmt: skip
_OBJECT = {1: Field("metadata", _METADATA)}
_RULE = {
    1: Field("verbs", repeated=True), 2: Field("apiGroups", repeated=True), 3: Field("resources", repeated=True),
    4: Field("resourceNames", repeated=True), 5: Field("nonResourceURLs", repeated=True),
}  # fmt: skip
_ROLE = {**_OBJECT, 2: Field("rules", _RULE, repeated=True)}
_SUBJECT = {1: Field("kind"), 2: Field("apiGroup"), 3: Field("name"), 4: Field("namespace")}
_ROLE_REF = {1: Field("apiGroup"), 2: Field("kind"), 3: Field("name")}
_BINDING = {**_OBJECT, 2: Field("subjects", _SUBJECT, repeated=True), 3: Field("roleRef", _ROLE_REF)}
_ATTRIBUTES = dict(
    enumerate(map(Field, ("namespace", "verb", "group", "version", "resource", "subresource", "name")), start=1)
)
_REVIEW = {
    1: Field("resourceAttributes", _ATTRIBUTES),
    2: Field("nonResourceAttributes", {1: Field("path"), 2: Field("verb")}),
}
_DELETE_OPTIONS = {
    1: Field("gracePeriodSeconds", "number", unset=()),
    2: Field("preconditions", {1: Field("uid"), 2: Field("resourceVersion")}), 3: Field("orphanDependents", "flag"),
    4: Field("propagationPolicy"), 5: Field("dryRun", repeated=True),
    6: Field("ignoreStoreReadErrorWithClusterBreakingPotential", "flag"),
}  # fmt: skip
_OTHER_REVIEW = {**_REVIEW, 3: Field("user"), 4: Field("groups", repeated=True), 6: Field("uid")}
_TOKEN_REQUEST = {
    1: Field("audiences", repeated=True),
    3: Field("boundObjectRef", {1: Field("kind"), 2: Field("apiVersion"), 3: Field("name"), 4: Field("uid")}),
    4: Field("expirationSeconds", "number"),
}
_REQUIREMENT = {1: Field("key"), 2: Field("operator"), 3: Field("values", repeated=True)}
_FOREIGN = {
    "ObjectMeta": _METADATA,
    "LabelSelector": {
        1: Field("matchLabels", "texts"), 2: Field("matchExpressions", _REQUIREMENT, repeated=True, unset=())
    },
}  # fmt: skip
_PODS = read_table(PODS, _FOREIGN)
_CORE = read_table(CORE, {**_PODS, **_FOREIGN})
_KINDS: Mapping[tuple[str, str], Mapping[int, Field]] = {
    **{
        ("v1", kind): {**_CORE[kind], 3: _STATUS}
        for kind in ("Service", "PersistentVolumeClaim", "ResourceQuota", "LimitRange")
    },
    **{("v1", kind): _CORE[kind] for kind in ("Event", "Endpoints", "Binding", "ServiceAccount")},
    ("events.k8s.io/v1", "Event"): read_table(NEW_EVENTS, {**_CORE, **_FOREIGN})["Event"],
    ("coordination.k8s.io/v1", "Lease"): _CORE["Lease"],
    ("apps/v1", "Deployment"): {**_CORE["Deployment"], 3: _STATUS},
    ("v1", "Namespace"): {**_OBJECT, 2: Field("spec", {1: Field("finalizers", repeated=True)}), 3: _STATUS},
    ("v1", "ConfigMap"): {
        **_OBJECT, 2: Field("data", "texts"), 3: Field("binaryData", "blobs"), 4: Field("immutable", "flag")
    },
    ("v1", "Secret"): {
        **_OBJECT, 2: Field("data", "blobs"), 3: Field("type"), 4: Field("stringData", "texts"),
        5: Field("immutable", "flag"),
    },
    ("v1", "Pod"): {**_PODS["Pod"], 3: _STATUS},
    ("rbac.authorization.k8s.io/v1", "Role"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): _BINDING,
    ("scheduling.k8s.io/v1", "PriorityClass"): {
        **_OBJECT, 2: Field("value", "number"), 3: Field("globalDefault", "flag"), 4: Field("description"),
        5: Field("preemptionPolicy"),
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {**_OBJECT, 2: Field("spec", _REVIEW), 3: _STATUS},
    ("authorization.k8s.io/v1", "SubjectAccessReview"): {**_OBJECT, 2: Field("spec", _OTHER_REVIEW), 3: _STATUS},
    ("authorization.k8s.io/v1", "LocalSubjectAccessReview"): {**_OBJECT, 2: Field("spec", _OTHER_REVIEW), 3: _STATUS},
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"): {
        **_OBJECT, 2: Field("spec", {1: Field("namespace")}), 3: _STATUS
    },
    ("policy/v1", "Eviction"): {**_OBJECT, 2: Field("deleteOptions", _DELETE_OPTIONS)},
    ("policy/v1beta1", "Eviction"): {**_OBJECT, 2: Field("deleteOptions", _DELETE_OPTIONS)},
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {**_OBJECT, 2: _STATUS},
    ("authentication.k8s.io/v1", "TokenReview"): {
        **_OBJECT, 2: Field("spec", {1: Field("token"), 2: Field("audiences", repeated=True)}), 3: _STATUS
    },
    ("authentication.k8s.io/v1", "TokenRequest"): {**_OBJECT, 2: Field("spec", _TOKEN_REQUEST), 3: _STATUS},
}  # fmt: skip
_ENVELOPE = {1: Field("typeMeta", {1: Field("apiVersion"), 2: Field("kind")}), 2: Field("raw", "bytes")}


def decode_body(body: bytes) -> Manifest:
    """The object. Raises BadRequest of what is no Protobuf, UnsupportedMediaType of a kind or a field that is not in
    the tables, TooLarge of more than `MOST_FIELDS`."""
    if not body.startswith(_MAGIC):
        raise BadRequest("the body is not Kubernetes' Protobuf: it does not begin with k8s")
    reading = _Reading()
    try:
        # Fields 3 and 4 are contentEncoding and contentType, which say nothing about an object in Protobuf.
        envelope = reading.decode(body[len(_MAGIC) :], _ENVELOPE, ignored=(3, 4))
        type_meta = envelope.get("typeMeta") or {}
        key = (str(type_meta.get("apiVersion")), str(type_meta.get("kind")))
        # Go sends DeleteOptions in the version of what is deleted.
        fields = _DELETE_OPTIONS if key[1] == "DeleteOptions" else _KINDS.get(key)
        # kubectl does not try again in JSON after this answer, so the message must say what to do.
        if fields is None:
            raise UnsupportedMediaType(
                f"the body of the request is a {key[1]} in Protobuf, which this server reads of few kinds: send"
                " application/json (with kubectl, `create -f FILE` or `apply -f FILE` in place of `create KIND`)"
            )
        return {**type_meta, **reading.decode(base64.b64decode(envelope.get("raw", "")), fields)}
    except (IndexError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not Protobuf: {error}") from None


class _Reading:
    """Of one body: its fields are counted, those of all messages in it together.

    Rule: a field that is no list may come more than once. Then the last of texts, numbers and flags holds, also one
    that says nothing, and messages are merged, which is what their bytes one after another mean
    (protobuf.dev/programming-guides/encoding, "Last One Wins")."""

    def __init__(self) -> None:
        self._count = 0

    def decode(self, data: bytes, fields: Mapping[int, Field], ignored: tuple[int, ...] = ()) -> dict[str, Any]:
        found: dict[int, list[int | bytes]] = {}
        for number, value in self._read(data):
            field = fields.get(number)
            if field is None:
                # Go also writes empty messages and a zero time, which say nothing.
                if number not in ignored and value not in (0, b"", b"\x08\x00\x10\x00"):
                    raise UnsupportedMediaType(
                        f"field {number} of the body's Protobuf is not read by this server: send application/json"
                    )
            elif field.type == "ours":
                continue
            elif field.repeated or _is_message(field):
                found.setdefault(number, []).append(value)
            else:
                found[number] = [_check(value, field)]
        result: dict[str, Any] = {}
        for number, values in found.items():
            self._put(result, fields[number], values)
        return result

    def _put(self, result: dict[str, Any], field: Field, values: list[int | bytes]) -> None:
        # Protobuf encodes a map as one message per entry, with the key and the value.
        if isinstance(field.type, str) and field.type in _ENTRIES:
            entries = (self.decode(_bytes(value), _ENTRIES[field.type]) for value in values)
            result[field.name] = {entry.get("key", ""): entry.get("value", "") for entry in entries}
            return
        if field.repeated:
            result[field.name] = [self._value(value, field) for value in values]
            return
        value = b"".join(map(_bytes, values)) if _is_message(field) else values[-1]
        if value not in field.unset:
            read = self._value(value, field)
            if read is None or (field.type == "int-or-string" and read in (0, "") and b"" in field.unset):
                return
            if field.inline:
                result.update(read)
            # Of a message that is always written, one whose fields are all unset.
            elif read != {} or b"" not in field.unset:
                result[field.name] = read

    def _value(self, value: int | bytes, field: Field) -> Any:
        if isinstance(field.type, Mapping):
            return self.decode(_bytes(value), field.type)
        if field.type == "quantity":
            return self.decode(_bytes(value), _QUANTITY).get("string", "")
        if field.type == "int-or-string":
            either = self.decode(_bytes(value), _INT_OR_STRING)
            return either.get("text", "") if either.get("type") == 1 else either.get("number", 0)
        if field.type in ("time", "micro-time"):
            return _format_time(self.decode(_bytes(value), _TIME), micro=field.type == "micro-time")
        if field.type == "bytes":
            return base64.b64encode(_bytes(value)).decode()
        if field.type == "text":
            return _bytes(value).decode()
        number = _check(value, field)
        assert isinstance(number, int)
        if field.type == "flag":
            return bool(number)
        # Protobuf writes a negative number as its two's complement of 64 bits.
        return number - 2**64 if number >= 2**63 else number

    def _read(self, data: bytes) -> Iterator[tuple[int, int | bytes]]:
        for each in _read(data):
            self._count += 1
            if self._count > MOST_FIELDS:
                raise TooLarge(f"the body is Protobuf of more than {MOST_FIELDS} fields: send application/json")
            yield each


def _format_time(read: Mapping[str, Any], *, micro: bool) -> str | None:
    """As JSON has it; None for no time."""
    seconds = read.get("seconds", 0)
    if seconds == 0 or not _FIRST_SECOND < seconds <= _LAST_SECOND:
        return None
    text = format_time(seconds)
    return f"{text.removesuffix('Z')}.{read.get('nanos', 0) // 1000 % 10**6:06d}Z" if micro else text


def _is_message(field: Field) -> bool:
    return not isinstance(field.type, str) or field.type in _MESSAGES


def _check(value: int | bytes, field: Field) -> int | bytes:
    """The value, if it is of the kind that the field has."""
    if field.type not in ("number", "flag"):
        return _bytes(value)
    if isinstance(value, bytes):
        raise IndexError(f"{field.name} is no number")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise IndexError("a number stands where text belongs")
    return value


def _read(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and their raw values. Raises IndexError where the bytes end too early."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        if not 0 < key >> 3 <= _LAST_FIELD:
            raise IndexError(f"no field has the number {key >> 3}")
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
            break
    else:
        raise IndexError("a number of more than ten bytes")
    if result >= 2**64:
        raise IndexError("a number of more than 64 bits")
    return result, place


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
