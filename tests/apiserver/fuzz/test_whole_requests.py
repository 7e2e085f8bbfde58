"""Whole requests, made of those that clients send: none is a fault of the server, and others are served."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.fuzz import recorded
from apiserver.fuzz.inputs import broken, changed, texts, values
from apiserver.fuzz.recorded import NAMESPACE, OBJECTS, REVIEWS, TABLE
from apiserver.fuzz.wholes import Client, frame, serving
from paddock.apiserver.streaming import spdy

_settings = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


def _name(manifest: Any) -> str:
    meta = manifest.get("metadata") if isinstance(manifest, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return quote(name, safe="") if isinstance(name, str) else ""


_pairs = st.sampled_from(sorted(OBJECTS)).flatmap(
    lambda path: st.tuples(st.just(path), changed([OBJECTS[path]]), changed([OBJECTS[path]]))
)


@_settings
@given(_pairs, st.sampled_from(["Strict", "Warn", "Ignore"]))
def test_an_object_of_any_kind_that_is_changed_at_a_place(
    client: Client, given: tuple[str, Any, Any], validation: str
) -> None:
    """Created, shown in each form, replaced with its status, and deleted."""
    path, manifest, other = given
    status, _ = client.send("POST", f"{path}?fieldValidation={validation}", json.dumps(manifest).encode())
    one = f"{path}/{_name(manifest) or 'a'}"
    client.send("GET", path, Accept=TABLE)
    for place in (one, f"{one}/status", f"{one}/scale"):
        client.send("PUT", f"{place}?fieldValidation={validation}", json.dumps(other).encode())
        client.send("GET", place, Accept=TABLE)
    client.send(
        "PATCH",
        f"{one}?fieldManager=f&force=true",
        json.dumps(other).encode(),
        Content_Type="application/apply-patch+yaml",
    )
    client.send("GET", f"{path}?watch=true&timeoutSeconds=1&resourceVersion=0&limit=1" if status == 0 else path)
    if status == 201:
        no_finalizers = b'{"metadata": {"finalizers": null}}'
        client.send("PATCH", one, no_finalizers, Content_Type="application/merge-patch+json")
        client.send("DELETE", f"{one}?gracePeriodSeconds=0")


_patches = st.sampled_from(sorted(recorded.PATCHES)).flatmap(
    lambda media: st.tuples(st.just(media), changed(recorded.PATCHES[media]))
)


@_settings
@given(st.sampled_from(sorted(OBJECTS)), _patches, st.sampled_from(["", "/status", "/scale"]))
def test_any_patch(client: Client, path: str, patch: tuple[str, Any], part: str) -> None:
    media, body = patch
    client.send("POST", path, json.dumps(OBJECTS[path]).encode())
    client.send("PATCH", f"{path}/a{part}?dryRun=All", json.dumps(body).encode(), Content_Type=media)


@_settings
@given(
    st.sampled_from(sorted(REVIEWS)).flatmap(lambda path: st.tuples(st.just(path), changed([REVIEWS[path]]) | values)),
    st.sampled_from(recorded.ACCEPTS),
)
def test_any_review(client: Client, given: tuple[str, Any], accept: str) -> None:
    client.send("POST", given[0] + "?dryRun=All", json.dumps(given[1]).encode(), Accept=accept)


@_settings
@given(
    st.sampled_from([b"application/vnd.kubernetes.protobuf", b"application/yaml"]).flatmap(
        lambda media: st.tuples(
            st.just(media.decode()), broken(recorded.PROTOBUFS if media.endswith(b"protobuf") else recorded.YAMLS)
        )
    ),
    st.sampled_from([*OBJECTS, *REVIEWS]),
)
def test_any_body_of_another_form(client: Client, given: tuple[str, bytes], path: str) -> None:
    client.send("POST", path + "?dryRun=All", given[1], Content_Type=given[0])


_places = [
    *OBJECTS, *(f"{path}/a" for path in OBJECTS), f"{NAMESPACE}/pods/p/log", f"{NAMESPACE}/pods/p/exec",
    f"{NAMESPACE}/pods/p/portforward", *recorded.DOCUMENTS,
]  # fmt: skip
_words = [
    each.encode() for each in (*recorded.QUERIES, *(part for each in recorded.QUERIES for part in each.split("&")))
]


def _clean(data: bytes) -> str:
    return quote(data.decode("latin-1"), safe="%=&+:,./?~!()*;@$'", encoding="latin-1")


@_settings
@given(
    st.sampled_from(["GET", "GET", "HEAD", "DELETE", "OPTIONS", "PUT", "POST", "PATCH", "TRACE"]),
    st.sampled_from(_places), broken(_words), st.sampled_from(recorded.ACCEPTS),
)  # fmt: skip
def test_any_query_of_any_path(client: Client, method: str, path: str, query: bytes, accept: str) -> None:
    client.send(method, f"{path}?dryRun=All&{_clean(query)}", Accept=accept)


_RULES = [
    "self.size > 1 && self.replicas <= 10", "has(self.size) ? self.size == oldSelf.size : true", "self.size in [1, 2]",
    "'abc'.matches('^a+$')", "[1, 2].all(x, x > 0)", "string(self.size).size() < 3", "self == {'a': 1}", "!(1u < 2u)",
]  # fmt: skip


@_settings
@given(texts(_RULES, 300))
def test_any_rule_of_a_definition(client: Client, rule: str) -> None:
    crd = json.loads(json.dumps(OBJECTS[recorded.CRDS]).replace("widget", "gadget").replace("Widget", "Gadget"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": rule, "message": "m"}]
    client.send("POST", f"{recorded.CRDS}?dryRun=All", json.dumps(crd).encode())


_HEADERS: Mapping[str, Sequence[bytes]] = {
    "Impersonate-User": [b"system:serviceaccount:default:default", b"u\x80"], "Impersonate-Group": [b"g", b"\xff"],
    "Impersonate-Extra-a%2Fb": [b"c"], "User-Agent": [b"kubectl/v1.36.4 (linux/amd64)", b"\xff\x80/1"],
    "Content-Type": [b"application/json", b"application/yaml; charset=\xff", b"a/b\x80"],
    "Content-Encoding": [b"gzip", b"\x80"], "If-None-Match": [b'"A"', b"\x80"], "Accept-Encoding": [b"gzip"],
    "Authorization": [b"Bearer a.b.c", b"bearer\xff", b"Basic YTpi"], "Expect": [b"100-continue", b"x"],
    "Connection": [b"Upgrade", b"close"], "Upgrade": [b"websocket", b"SPDY/3.1"], "Sec-WebSocket-Key": [b"a"],
    "Sec-WebSocket-Protocol": [b"v4.channel.k8s.io", b"\x80"], "Host": [b"localhost", b"[::1]:"],
    "X-Stream-Protocol-Version": [b"v4.channel.k8s.io", b"\x80"],
}  # fmt: skip
_TARGETS = [
    ("GET", f"{NAMESPACE}/pods"), ("GET", f"{NAMESPACE}/pods/p/exec?command=a&stdout=1"), ("GET", "/openapi/v2"),
    ("POST", f"{NAMESPACE}/configmaps?dryRun=All"), *(("POST", f"{each}?dryRun=All") for each in sorted(REVIEWS)),
]  # fmt: skip
_headers = st.lists(st.sampled_from(sorted(_HEADERS)), unique=True, max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: broken(_HEADERS[name]) for name in names})
)


@_settings
@given(_headers, st.sampled_from(_TARGETS))
def test_any_headers(client: Client, headers: dict[str, bytes], target: tuple[str, str]) -> None:
    clean = {name: data.translate(None, b"\r\n\0").decode("latin-1") for name, data in headers.items()}
    body = json.dumps(REVIEWS.get(target[1].partition("?")[0], {})).encode()
    client.send(*target, body if target[0] == "POST" else None, **{k.replace("-", "_"): v for k, v in clean.items()})


def _record_heads() -> Sequence[bytes]:
    """Requests as bytes, without a token: a head that is broken must not reach further than one that is whole."""
    json_head = b"Content-Type: application/json\r\nAuthorization: Bearer TOKEN\r\n"
    start = b"POST /api/v1/namespaces/default/configmaps?dryRun=All HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n" + json_head
    return [
        start + b'Content-Length: 27\r\n\r\n{"metadata": {"name": "a"}}',
        start + b'Transfer-Encoding: chunked\r\n\r\n1b\r\n{"metadata": {"name": "a"}}\r\n0\r\nX: y\r\n\r\n',
        start + b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n\r\n5;x=y\r\nabcde\r\nzz\r\n",
        start + b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        start + b"Expect: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n",
        b"GET /api/v1/pods?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n" + json_head + b"\r\n",
        b"GET /api/v1/namespaces/default/pods/p/exec?command=a&stdout=1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
        + json_head + b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        + b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n\x80\x03\0\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", b"GET http://127.0.0.1:PORT/readyz HTTP/1.0\r\n\r\n",
    ]  # fmt: skip


@_settings
@given(broken(_record_heads()))
def test_any_bytes_in_place_of_a_request(client: Client, data: bytes) -> None:
    client.speak(data.replace(b"PORT", str(client.port).encode()).replace(b"TOKEN", client.token.encode()))


_EXEC = f"{NAMESPACE}/pods/p/exec?command=cat&stdin=1&stdout=1&tty=1"
_ATTACH = f"{NAMESPACE}/pods/p/attach?stdin=1&stdout=1"
_FORWARD = f"{NAMESPACE}/pods/p/portforward?ports=80&ports=81"
_WEB_SOCKETS = [
    (_EXEC, "v5.channel.k8s.io"), (_ATTACH, "v4.channel.k8s.io"), (_FORWARD, "v4.channel.k8s.io"),
    (_FORWARD, "SPDY/3.1+portforward.k8s.io"),
]  # fmt: skip
_messages = st.binary(max_size=20) | st.sampled_from(
    [b"\x00hello", b'\x04{"Width":80,"Height":24}', b"\x04{}", b"\xff\x00", b"\xff\x09", b"\x03x", b"\x01",
     b"\x04" + b"{" * 300]
)  # fmt: skip
_frames = st.lists(
    st.builds(
        frame, st.sampled_from([2, 2, 2, 1, 0, 8, 9, 10, 3, 15]), _messages, fin=st.sampled_from([True, True, False]),
        masked=st.sampled_from([True, True, True, False]), odd=st.sampled_from([0, 0, 0, 0, 4]),
    ),
    max_size=6,
)  # fmt: skip


@_settings
@given(st.sampled_from(_WEB_SOCKETS), _frames, st.integers(0, 6))
def test_any_frames_of_a_websocket(client: Client, kind: tuple[str, str], frames: list[bytes], cut: int) -> None:
    path, protocol = kind
    data = b"".join(frames)
    with client.enter(path, "websocket", f"Sec-WebSocket-Protocol: {protocol}") as opened:
        opened.sendall(data[: len(data) - cut])


def _record_streams() -> list[bytes]:
    writer = spdy.Writer()
    kinds = ("error", "stdin", "stdout", "resize", "data")
    opened = b"".join(
        writer.write(spdy.SynStream(2 * i + 1, {"streamtype": kind, "port": "80", "requestid": "1"}))
        for i, kind in enumerate(kinds)
    )
    return [
        opened + writer.write(spdy.Data(3, b"hello")) + writer.write(spdy.Data(3, b"", True)),
        opened + writer.write(spdy.Data(7, b'{"Width":1,"Height":1}')) + writer.write(spdy.RstStream(1)),
        opened + writer.write(spdy.Data(9, b"hello")) + writer.write(spdy.GoAway(9)) + writer.write(spdy.Ping(1)),
    ]


@_settings
@given(
    st.sampled_from([(_EXEC, "v4.channel.k8s.io"), (_ATTACH, "v2.channel.k8s.io"), (_FORWARD, "portforward.k8s.io")]),
    broken(_record_streams()),
)
def test_any_frames_of_spdy(client: Client, kind: tuple[str, str], data: bytes) -> None:
    path, protocol = kind
    with client.enter(path, "SPDY/3.1", f"X-Stream-Protocol-Version: {protocol}") as opened:
        opened.sendall(data)
