"""Any request has one of Kubernetes' answers: whatever is sent, the server does not fail."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import os
import ssl
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.embedded import config_map, pod, widget, widget_crd
from apiserver.served import Served

DEFAULT = "/api/v1/namespaces/default"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class Client:
    """Sends one request after the other; the objects that the requests are about exist before each."""

    def __init__(self, served: Served) -> None:
        context = ssl.create_default_context(cafile=str(served.certificate_authority))
        port = int(served.url.rpartition(":")[2])
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=120)
        self._token = served.token
        bound = pod("p")
        bound["spec"]["nodeName"] = "n"
        labels = {"app": "d"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
        deployment = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
        self._objects = (
            (CRDS, widget_crd()), (f"{DEFAULT}/pods", bound), (f"{DEFAULT}/configmaps", config_map("c")),
            (WIDGETS, widget("w")), (DEPLOYMENTS, deployment), ("/api/v1/nodes", {"metadata": {"name": "n"}}),
        )  # fmt: skip

    def prepare(self) -> None:
        for path, manifest in self._objects:
            assert self.send("POST", path, json.dumps(manifest).encode())[0] in (201, 409)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        sent = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, body=body, headers=sent)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, text

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Served(tmp_path_factory.mktemp("any") / "cluster", environment) as served:
        made = Client(served)
        made.prepare()
        yield made
        made.close()


ODD = [
    None, True, 0, -1, 5, 1.5, 10**20, -(10**20), 2**63, 2**63 - 1, 10**17, 1e300, "", "All", "5", "-5", "--5",
    "x" * 300, "Background", "Orphan", "\x00", "é", "\U0001f600", "٣", "0001-01-01T00:00:00",
    "9999-12-31T23:59:59-23:59", "..", "1Gi",
]  # fmt: skip
_json = st.recursive(
    st.sampled_from(ODD) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_delete_options = st.fixed_dictionaries(
    {},
    optional={
        "gracePeriodSeconds": _json, "dryRun": _json | st.lists(st.sampled_from(["All", "None", 5])),
        "propagationPolicy": _json, "orphanDependents": _json, "kind": _json, "apiVersion": _json,
        "preconditions": _json | st.fixed_dictionaries({}, optional={"uid": _json, "resourceVersion": _json}),
        "ignoreStoreReadErrorWithClusterBreakingPotential": _json, "x": _json,
    },
)  # fmt: skip
_tokens = _json.map(lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode())
_values = st.sampled_from([str(value) for value in ODD]) | st.text(max_size=8) | _tokens
_names = st.sampled_from(
    ["dryRun", "fieldValidation", "force", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "limit",
     "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "allowWatchBookmarks",
     "sendInitialEvents", "includeObject", "container", "previous", "tailLines", "sinceSeconds", "sinceTime",
     "limitBytes"]
)  # fmt: skip
_query = st.lists(st.tuples(_names, _values.map(lambda text: quote(text, safe="")) | st.just("%ff")), max_size=4)
_TABLE, _PARTIAL = (f"application/json;as={shape};v=v1;g=meta.k8s.io" for shape in ("Table", "PartialObjectMetadata"))
_accepts = st.sampled_from(["*/*", _TABLE, _PARTIAL])
_objects = [f"{DEFAULT}/pods/p", f"{DEFAULT}/configmaps/c", f"{WIDGETS}/w", f"{DEPLOYMENTS}/d", "/api/v1/nodes/n"]
_collections = [path.rpartition("/")[0] for path in _objects]
_settings = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _check(status: int, body: bytes) -> None:
    # 504 is Kubernetes' answer to a resourceVersion that is yet to come.
    assert status < 500 or (status == 504 and b"Too large resource version" in body), (status, body)


def _path(path: str, query: list[tuple[str, str]]) -> str:
    return f"{path}?{'&'.join(f'{name}={value}' for name, value in query)}"


@_settings
@given(st.sampled_from([*_objects, f"{DEFAULT}/configmaps"]), _delete_options | _json, _query)
def test_any_options_of_a_deletion(client: Client, path: str, options: Any, query: list[tuple[str, str]]) -> None:
    client.prepare()
    _check(*client.send("DELETE", _path(path, query), json.dumps(options).encode()))


@_settings
@given(st.sampled_from([*_objects, *_collections, f"{DEFAULT}/pods/p/log", f"{WIDGETS}/w/scale"]), _query, _accepts)
def test_any_parameters_of_a_query(client: Client, path: str, query: list[tuple[str, str]], accept: str) -> None:
    _check(*client.send("GET", _path(path, query), Accept=accept))


_fields = ("labels", "annotations", "finalizers", "ownerReferences", "generation", "uid", "resourceVersion",
           "managedFields", "deletionTimestamp", "generateName")  # fmt: skip
_metadata = st.fixed_dictionaries(
    {"name": st.sampled_from(["c", "p", "w", "d", "n", "new"])}, optional=dict.fromkeys(_fields, _json)
)
_bodies = _json | st.fixed_dictionaries(
    {"metadata": _metadata | _json},
    optional={"spec": _json, "status": _json, "data": _json, "kind": _json, "target": _json, "immutable": _json},
)
_operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x", 5])},
        optional={
            "path": st.sampled_from(["", "/", "/metadata", "/metadata/labels", "/spec", "/data/a", "/a~1b", "/~2", 5]),
            "from": st.sampled_from(["", "/metadata", "/spec", "/x", None]), "value": _json,
        },
    ) | _json,
    max_size=3,
)  # fmt: skip
_patches = [f"application/{kind}-patch+json" for kind in ("merge", "json", "strategic-merge")]
_media = st.sampled_from(
    [*_patches, "application/json", "application/yaml", "application/apply-patch+yaml",
     "application/vnd.kubernetes.protobuf", "x/y"]
)  # fmt: skip
_subresources = [
    *(f"{DEFAULT}/pods/p/{name}" for name in ("binding", "status")), f"{DEPLOYMENTS}/d/scale",
    *(f"{WIDGETS}/w/{name}" for name in ("scale", "status")),
]  # fmt: skip


@settings(_settings)
@given(
    st.sampled_from(["POST", "PUT", "PATCH"]),
    st.sampled_from([*_objects, *_collections, *_subresources, CRDS, f"{DEFAULT}/services", f"{DEFAULT}/events"]),
    (_bodies | _operations).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20),
    _media,
)
def test_any_body(client: Client, method: str, path: str, body: bytes, media: str) -> None:
    client.prepare()
    _check(*client.send(method, path, body, Content_Type=media))


@_settings
@given(_json)
def test_any_definition_and_its_objects(client: Client, value: Any) -> None:
    """A part of a kind's definition is replaced; what it then serves is asked for in each way."""
    for place in ("columns", "scale", "schema", "names", "column", "status"):
        crd = widget_crd()
        crd["metadata"]["name"] = "gadgets.example.org"
        crd["spec"]["names"] = {"kind": "Gadget", "plural": "gadgets"}
        version = crd["spec"]["versions"][0]
        match place:
            case "columns":
                version["additionalPrinterColumns"] = value
            case "column":
                version["additionalPrinterColumns"] = [{"name": "x", "type": "string", "jsonPath": value}]
            case "scale":
                version["subresources"]["scale"] = {"specReplicasPath": value, "statusReplicasPath": value}
            case "schema":
                version["schema"]["openAPIV3Schema"]["properties"]["spec"] = value
            case "names":
                crd["spec"]["names"]["shortNames"] = value
            case "status":
                crd["status"] = value
        status, body = client.send("POST", CRDS, json.dumps(crd).encode())
        _check(status, body)
        if status != 201:
            continue
        path = WIDGETS.replace("widgets", "gadgets")
        gadget = {"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": value}
        _check(*client.send("POST", path, json.dumps(gadget).encode()))
        _check(*client.send("GET", path, Accept=_TABLE))
        _check(*client.send("GET", f"{path}/g/scale"))
        _check(*client.send("PUT", f"{path}/g/scale", b'{"spec":{"replicas":3}}'))
        for document in ("/openapi/v3/apis/example.org/v1", "/apis/example.org/v1", "/openapi/v2"):
            _check(*client.send("GET", document))
        for one in (path, f"{CRDS}/gadgets.example.org"):
            _check(*client.send("DELETE", one))
        while client.send("GET", f"{CRDS}/gadgets.example.org")[0] != 404:
            pass


ANSWERS: dict[str, tuple[str, str, bytes, int, str]] = {
    "a grace period of more than 64 bits": (
        "DELETE", "/pods/p", b'{"gracePeriodSeconds": 100000000000000000000}', 400, "gracePeriodSeconds"
    ),
    "a grace period of 64 bits": ("DELETE", "/pods/p", b'{"gracePeriodSeconds": 9223372036854775807}', 200, ""),
    "a number as dryRun": ("DELETE", "/configmaps/c", b'{"dryRun": 5}', 400, "dryRun"),
    "another dryRun": ("DELETE", "/configmaps/c", b'{"dryRun": ["None"]}', 422, "supported values"),
    "another kind": ("DELETE", "/configmaps/c", b'{"kind": "Pod"}', 400, "found a Pod"),
    "a number with two signs": ("GET", "/configmaps?limit=--5", b"", 400, "limit"),
    "labels of a Binding that are a list": (
        "POST", "/pods/p/binding", b'{"target": {"name": "n"}, "metadata": {"labels": [1]}}', 422, "labels"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_what_is_wrong_is_said(client: Client, case: str) -> None:
    method, path, body, status, said = ANSWERS[case]
    client.prepare()
    found, text = client.send(method, DEFAULT + path, body or None)
    assert (found, said.encode() in text) == (status, True), text


@pytest.mark.parametrize(
    "body", [b"{}", b"\x1f\x8b", b"", gzip.compress(b"{}", mtime=0)], ids=["JSON", "broken", "empty", "gzip"]
)
def test_an_encoded_body_is_refused(client: Client, body: bytes) -> None:
    status, text = client.send("POST", f"{DEFAULT}/configmaps", body, Content_Encoding="gzip")
    assert (status, b"encoded (gzip)" in text) == (400, True)


def test_a_scale_that_is_no_object_is_refused(client: Client) -> None:
    client.prepare()
    assert client.send("PUT", f"{DEPLOYMENTS}/d/scale", b"[]")[0] == 400
