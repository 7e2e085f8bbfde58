"""What Go programs and typed commands of kubectl send in Protobuf beside pods: read as the JSON of the same objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apiserver.embedded import Http, config_map
from apiserver.test_protobuf import METADATA, body
from paddock.apiserver.http.protobuf import decode_body, encode_field
from paddock.kube.meta import Manifest

PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def write(fields: Mapping[int, Any]) -> bytes:
    """A message of these fields by number; a list is a repeated one."""
    out = b""
    for number, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                out += encode_field(number, write(value) if isinstance(value, Mapping) else value)
    return out


META = {1: "a", 2: "", 3: "default", 4: "", 5: "", 6: "", 7: 0}
TIME = {1: 1764403200, 2: 123456789}
POD = {1: "Pod", 2: "default", 3: "p", 4: "u", 5: "v1", 6: "", 7: ""}
REGARDING = {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u", "apiVersion": "v1"}
LEASE = {1: META, 2: {1: "me", 2: 15, 3: TIME, 4: TIME, 5: 0}}
SPEC = {"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2025-11-29T08:00:00.123456Z", "renewTime": "2025-11-29T08:00:00.123456Z"}  # fmt: skip
READ: list[tuple[str, str, Mapping[int, Any], Manifest]] = [
    ("coordination.k8s.io/v1", "Lease", LEASE, {"spec": SPEC}),
    (
        "v1", "Event",
        {1: META, 2: POD, 3: "Started", 4: "it started", 5: {1: "kubelet", 2: ""}, 6: TIME, 7: b"", 8: 3, 9: "Normal",
         10: b"", 12: "", 14: "", 15: ""},
        {"involvedObject": REGARDING, "reason": "Started", "message": "it started", "source": {"component": "kubelet"},
         "firstTimestamp": "2025-11-29T08:00:00Z", "count": 3, "type": "Normal"},
    ),
    (
        "events.k8s.io/v1", "Event",
        {1: META, 2: TIME, 3: {1: 2, 2: TIME}, 4: "c", 5: "i", 6: "Looking", 7: "Ready", 8: POD, 10: "n", 11: "Normal",
         12: {1: "", 2: ""}, 13: b"", 14: {1: 0, 2: 0}, 15: 0},
        {"eventTime": "2025-11-29T08:00:00.123456Z", "reportingController": "c", "reportingInstance": "i", "note": "n",
         "series": {"count": 2, "lastObservedTime": "2025-11-29T08:00:00.123456Z"}, "action": "Looking",
         "reason": "Ready", "regarding": REGARDING, "type": "Normal"},
    ),
    (
        "v1", "Service",
        {1: META, 2: {1: [{1: "http", 2: "TCP", 3: 80, 4: {1: 0, 2: 8080, 3: ""}, 5: 0},
                          {1: "", 2: "", 3: 81, 4: {1: 0, 2: 0, 3: ""}}],
                      2: {1: "app", 2: "x"}, 3: "None", 4: "ClusterIP", 13: 0},
         3: {1: b""}},
        {"spec": {"ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}, {"port": 81}],
                  "selector": {"app": "x"}, "clusterIP": "None", "type": "ClusterIP"}},
    ),
    (
        "v1", "Endpoints",
        {1: META, 2: [{1: [{1: "10.0.0.1", 2: POD, 3: ""}], 3: [{1: "", 2: 80, 3: "TCP"}]}]},
        {"subsets": [{"addresses": [{"ip": "10.0.0.1", "targetRef": REGARDING}],
                      "ports": [{"port": 80, "protocol": "TCP"}]}]},
    ),
    (
        "v1", "ResourceQuota", {1: META, 2: {1: {1: "pods", 2: {1: "3"}}}, 3: b""}, {"spec": {"hard": {"pods": "3"}}},
    ),
    (
        "v1", "LimitRange", {1: META, 2: {1: [{1: "Container", 4: {1: "cpu", 2: {1: "1"}}}]}},
        {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}},
    ),
    (
        "apps/v1", "Deployment",
        {1: META, 2: {1: 0, 2: {1: {1: "a", 2: "b"}},
                      3: {1: {8: b""}, 2: {2: [{1: "main", 2: "busybox", 16: 0}], 6: ""}}, 4: {1: ""}, 5: 0, 7: 0},
         3: {1: 0}},
        {"spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
                  "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}}},
    ),
    (
        "policy/v1", "DeleteOptions", {1: 0, 4: "Background"},
        {"gracePeriodSeconds": 0, "propagationPolicy": "Background"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("version", "kind", "sent", "read"), READ, ids=[f"{each[1]}.{each[0]}" for each in READ])
def test_each_kind_is_read_as_its_json(version: str, kind: str, sent: Mapping[int, Any], read: Manifest) -> None:
    found = decode_body(body(kind, write(sent), version))
    meta = {} if kind == "DeleteOptions" else {"metadata": {"name": "a", "namespace": "default"}}
    assert found == {"apiVersion": version, "kind": kind, **meta, **read}


@pytest.mark.parametrize("seconds", [0, 2**64 - 62135596800, 2**62, 2**64 - 2**62])
def test_what_is_no_time_is_left_out(seconds: int) -> None:
    sent = METADATA + write({2: {4: {1: seconds, 2: 0}}})
    assert "spec" not in decode_body(body("Lease", sent, "coordination.k8s.io/v1"))


def test_what_the_server_sets_is_not_read() -> None:
    """A client that writes what it has read sends it back."""
    meta = {**META, 8: TIME, 9: TIME, 10: 30, 17: [{1: "me", 2: "Update", 7: {1: b"{}"}}]}
    found = decode_body(body("ConfigMap", write({1: meta})))
    assert found["metadata"] == {"name": "a", "namespace": "default"}


async def test_a_lease_is_taken_and_renewed(http: Http) -> None:
    """As client-go's leader election does with Protobuf: create, and a PUT of what was read."""
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    sent = body("Lease", write(LEASE), "coordination.k8s.io/v1")
    code, made, _ = await http.ask("POST", path, data=sent, headers=PROTOBUF)
    assert (code, made["spec"]) == (201, SPEC)
    meta = {**META, 5: made["metadata"]["uid"], 6: made["metadata"]["resourceVersion"], 8: TIME}
    renewed = {1: meta, 2: {**LEASE[2], 4: {1: 1764403210, 2: 0}}}
    code, answer, _ = await http.ask(
        "PUT", f"{path}/a", data=body("Lease", write(renewed), "coordination.k8s.io/v1"), headers=PROTOBUF
    )
    assert (code, answer["spec"]["renewTime"]) == (200, "2025-11-29T08:00:10.000000Z")
    assert answer["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


async def test_a_delete_has_its_options_in_protobuf(http: Http) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await http.ask("POST", path, config_map())
    wrong = body("DeleteOptions", write({2: {1: "another uid"}}))
    assert (await http.ask("DELETE", f"{path}/c", data=wrong, headers=PROTOBUF))[0] == 409
    right = body("DeleteOptions", write({4: "Background"}))
    assert (await http.ask("DELETE", f"{path}/c", data=right, headers=PROTOBUF))[0] == 200
