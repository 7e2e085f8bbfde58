"""Each reader of what a client sends, as a function of bytes, with the inputs that are tried on it.

A new one is an entry of `TARGETS`. Inputs are bytes, so that one that fails can be kept in a file and tried again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st
from multidict import CIMultiDict, MultiDict

from apiserver.fuzz import recorded
from apiserver.fuzz.inputs import ODD, as_json, broken, changed, grown, texts, values
from paddock.apiserver.access.tokens import Tokens
from paddock.apiserver.access.users import read_impersonated
from paddock.apiserver.http import protobuf, requests
from paddock.apiserver.http.answers import answer_json
from paddock.apiserver.http.yaml_bodies import read_yaml
from paddock.apiserver.kinds.custom import explain_crd, read_crd
from paddock.apiserver.objects.field_owners import Manager, Shape, apply, track_update, with_owners
from paddock.apiserver.objects.pages import build_token, read_token
from paddock.apiserver.objects.worker import MOST_STEPS
from paddock.apiserver.printing.tables import build_table
from paddock.apiserver.schema.json_path import find
from paddock.apiserver.schema.resource import Column, ServedResource
from paddock.apiserver.storage.hub import read_selection
from paddock.apiserver.streaming import spdy
from paddock.apiserver.streaming.multiplex import Multiplex
from paddock.apiserver.streaming.sessions import read_sizes
from paddock.client.errors import ConfigError
from paddock.client.kubeconfig import read_config
from paddock.kube.budget import Budget, Exhausted
from paddock.kube.errors import ApiError
from paddock.kube.meta import Resource
from paddock.kube.patches import apply_patch
from paddock.kube.selectors import match_fields, match_labels

NOW = 1_790_000_000.0
_REFUSALS = (ApiError, Exhausted)


@dataclass(frozen=True, slots=True)
class Target:
    """`read` answers, or raises one of `refusals`."""

    read: Callable[[bytes], object]
    inputs: Callable[[int], st.SearchStrategy[bytes]]
    """Of about so many bytes at most."""
    refusals: tuple[type[Exception], ...] = _REFUSALS
    most: int = 3 * 2**20
    """Bytes that a client can send to it."""
    free: int = 4 * 2**20
    """Bytes of memory that an input may take whatever its size: what it is tried on is copied."""


def _languages(originals: Sequence[str]) -> Callable[[int], st.SearchStrategy[bytes]]:
    return lambda most: texts(originals, most).map(lambda text: text.encode("utf-8", "replace"))


def _bodies(originals: Sequence[bytes]) -> Callable[[int], st.SearchStrategy[bytes]]:
    return lambda most: broken(originals) | grown(originals, most) | st.binary(max_size=40)


def _documents(originals: Sequence[Any]) -> Callable[[int], st.SearchStrategy[bytes]]:
    """JSON, changed as values and as bytes."""
    known = [json.dumps(each).encode() for each in originals]
    return lambda most: as_json(changed(originals)) | as_json(values) | _bodies(known)(most)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _load(data: bytes) -> Any:
    return requests.read_body(data, "application/json")[0]


# Bodies


def _read_protobuf(data: bytes) -> object:
    return protobuf.decode_body(data)


def _read_json(data: bytes) -> object:
    return requests.read_body(data, "application/json", duplicates=True)


def _read_delete(data: bytes) -> object:
    return requests.read_delete({}, _load(data))


def _patch(kind: Literal["json", "merge", "strategic"]) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        return apply_patch(recorded.OBJECTS[f"{recorded.NAMESPACE}/pods"], _load(data), kind, Budget(MOST_STEPS))

    return read


_SHAPES = (Shape(), Shape(custom=True, schema={"properties": {
    "spec": {"properties": {"l": {"type": "array", "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"]},
                            "s": {"type": "array", "x-kubernetes-list-type": "set"}}}}}))  # fmt: skip


def _apply(data: bytes) -> object:
    """Applied to an object, and again by others; then the fields are somebody else's."""
    wanted = _load(data)
    if not isinstance(wanted, dict) or not isinstance(wanted.get("metadata"), dict):
        return None
    for shape in _SHAPES:
        live = recorded.OBJECTS[f"{recorded.NAMESPACE}/pods"]
        for manager, force in (("a", True), ("b", False), ("a", False)):
            made = apply(
                live, wanted, Manager(manager, "Apply"), shape, force=force, now="n", budget=Budget(MOST_STEPS)
            )
            live = with_owners(made.manifest, made.owners)
        track_update(live, wanted, Manager("c"), shape, now="n", budget=Budget(MOST_STEPS))
    return None


# Parameters and headers


def _select_labels(data: bytes) -> object:
    return match_labels(_text(data))({"a": "b"})


def _select_fields(data: bytes) -> object:
    return match_fields(_text(data))({"metadata": {"name": "a"}})


def _select(data: bytes) -> object:
    labels, _, fields = _text(data).partition("&")
    return read_selection("/pods", "default", labels=labels, fields=fields)


def _read_continue(data: bytes) -> object:
    revision, last = read_token(_text(data))
    return build_token(revision, last)


def _read_query(data: bytes) -> object:
    """All that reads parameters, each by itself: one refusal keeps no other reader out."""
    pairs = [part.partition("=") for part in _text(data).split("&")]
    query = MultiDict((name, value) for name, _, value in pairs)
    pod = recorded.OBJECTS[f"{recorded.NAMESPACE}/pods"]
    readers: Sequence[Callable[[], object]] = [
        lambda: requests.read_watch(query), lambda: requests.read_write_options(query),
        lambda: requests.read_revision(query),
        lambda: requests.read_delete(query, {}), lambda: requests.read_log_options(query, pod, NOW),
        lambda: requests.read_stream_request(query, pod, command=True), lambda: requests.read_ports(query),
        lambda: requests.check_patch_options(query, applies=True), lambda: requests.read_accept("", query),
        lambda: requests.read_attributes("GET", "/api/v1/pods", query), lambda: requests.read_number(query, "limit"),
    ]  # fmt: skip
    for read in readers:
        try:
            read()
        except ApiError:
            continue
    return None


def _read_path(data: bytes) -> object:
    return requests.read_path(_text(data)), requests.read_attributes("POST", _text(data), {})


def _read_accept(data: bytes) -> object:
    return requests.read_accept(_text(data), {})


def _read_users(data: bytes) -> object:
    pairs = [line.partition(":") for line in _text(data).split("\n")]
    return read_impersonated(CIMultiDict((name, value) for name, _, value in pairs))


_tokens = Tokens(Path("key"), lambda path, key: None, lambda: NOW)


def _read_bearer(data: bytes) -> object:
    return _tokens.read(_text(data))


def _write_warnings(data: bytes) -> object:
    return answer_json(b"{}", warnings=(_text(data), _text(data)))


# Definitions, and what is shown of objects


def _read_definition(data: bytes) -> object:
    crd = _load(data)
    if not isinstance(crd, dict) or explain_crd(crd, Budget(MOST_STEPS)):
        return None
    return read_crd(crd)


def _find_path(data: bytes) -> object:
    return [find(_text(data), each) for each in recorded.OBJECTS.values()]


def _show_table(data: bytes) -> object:
    """A column of any path and type, for any object."""
    path, _, rest = _text(data).partition("\n")
    kind = Resource("example.org", "v1", "Widget", "widgets")
    types = ("integer", "number", "string", "boolean", "date")
    columns = tuple(Column(each, each, path) for each in types)
    served = ServedResource(resource=kind, singular="widget", columns=columns, custom=True)
    objects = [each for each in (_load(rest.encode("utf-8", "replace")),) if isinstance(each, dict)]
    named = [{**each, "metadata": {"name": "a"}} for each in objects]
    return build_table(served, named, "1", NOW)


# Frames


def _read_frames(data: bytes) -> object:
    """Whole, and byte by byte at first: the frames are the same, wherever the network cuts them."""
    whole = _join(list(spdy.Reader().feed(data)))
    cut = spdy.Reader()
    pieces = [data[:1], data[1:3], data[3:11], data[11:]]
    parts = _join([frame for piece in pieces for frame in cut.feed(piece)])
    assert parts == whole
    return whole


def _join(frames: Sequence[spdy.Frame]) -> list[spdy.Frame]:
    """With the parts of a data frame put together."""
    joined: list[spdy.Frame] = []
    for frame in frames:
        before = joined[-1] if joined else None
        if _go_on(before, frame):
            joined[-1] = spdy.Data(frame.stream, before.data + frame.data, frame.fin)
        else:
            joined.append(frame)
    return joined


def _go_on(before: Any, frame: spdy.Frame) -> bool:
    both = isinstance(before, spdy.Data) and isinstance(frame, spdy.Data)
    return both and before.stream == frame.stream and not before.fin


class _Wire:
    """Sends what it was given, and forgets what it is told."""

    def __init__(self, data: bytes) -> None:
        self._parts = [data[at : at + 50_000] for at in range(0, len(data), 50_000)]

    async def read(self) -> bytes:
        return self._parts.pop(0) if self._parts else b""

    async def write(self, data: bytes) -> None:
        pass

    async def close(self) -> None:
        pass


def _serve_frames(data: bytes) -> object:
    """A connection whose streams are read to their ends."""

    async def serve() -> None:
        tasks = []

        async def opened(stream: Any) -> None:
            tasks.append(asyncio.create_task(read(stream)))

        async def read(stream: Any) -> None:
            try:
                while got := await stream.read():
                    await stream.write(got)
                await stream.finish()
            except ConnectionError:
                pass

        try:
            await Multiplex(_Wire(data), opened).run()
        finally:
            await asyncio.gather(*tasks)

    asyncio.run(serve())
    return None


def _record_spdy() -> list[bytes]:
    """What kubectl sends: the streams of an exec, and of a forward; and what no client sends."""
    found = []
    for kinds in (("error", "stdin", "stdout"), ("error", "data")):
        writer = spdy.Writer()
        frames = b"".join(
            writer.write(spdy.SynStream(2 * i + 1, {"streamtype": kind, "requestid": "0", "port": "80"}))
            for i, kind in enumerate(kinds)
        )
        frames += (
            writer.write(spdy.Data(3, b"hello")) + writer.write(spdy.Ping(1)) + writer.write(spdy.Data(3, b"", True))
        )
        found += [frames, frames + writer.write(spdy.RstStream(1)) + writer.write(spdy.GoAway(5))]
    bomb = spdy.Writer().write(spdy.SynStream(1, {"x": "y" * 2_000_000}))
    many = b"".join(spdy.Writer().write(spdy.SynStream(1, {str(i): "" for i in range(300)})) for _ in range(2))
    return [
        *found,
        bomb,
        many,
        spdy.Writer().write(spdy.SynReply(1)),
        b"\x80\x03\x00\x08\x00\x00\x00\x04\x00\x00\x00\x01",
    ]


_KUBECONFIG = b"""apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]
clusters:
- name: k
  cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: AAAA, insecure-skip-tls-verify: true}
users:
- name: u
  user:
    token: t
    client-certificate-data: AAAA
    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, env: [{name: a, value: b}]}
"""


class _Folder:
    """Where a kubeconfig lies, made when it is first wanted."""

    path: Path | None = None


def _read_kubeconfig(data: bytes) -> object:
    import tempfile

    folder = _Folder.path = _Folder.path or Path(tempfile.mkdtemp())
    (folder / "config").write_bytes(data)
    return read_config(str(folder / "config"), environment={}, home=folder)


_LABELS = ["a=b", "a in (b, c),d notin (e)", "!a,b", "a==b,c!=d", "app.kubernetes.io/name=x", " a = b ", "a in ()"]
_FIELDS = [
    "metadata.name=a",
    "metadata.name!=a,metadata.namespace==b",
    "involvedObject.uid=",
    "a=b=c",
    "status.phase!=,",
]
_PATHS = [".spec.size", ".status.conditions[?(@.type==\"Ready\")].status", ".a[0].b", ".a[*]", "{.a['b.c']}",
    ".a[1:-1]",
          ".spec.containers[*].name", "$.metadata.labels.app\\.x", "[?(@.a!='b')]", ".*"]  # fmt: skip
_TOKENS = ["eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhIn0.AAAA", "eyJhbGciOiJub25lIn0.e30.", "W10.W10.W10",
           "eyJhbGciOltdfQ.e30.AA", "eyJhbGciOiJFUzI1NiIsImNyaXQiOlsieCJdLCJ4IjoxfQ.e30.AAAA", "..",
           "MQ.MQ.MQ"]  # fmt: skip
_URLS = ["/api/v1/namespaces/default/pods/p/log", "/apis/apps/v1/deployments", "/api/v1/namespaces/a/status", "/api/v1",
         "/apis/a/b/namespaces/c/d/e/f/g", "//api///v1//pods", "/api/v1/pods/../x", "*"]  # fmt: skip
_USERS = ["Impersonate-User:a\nImpersonate-Group:g\nImpersonate-Extra-a%2fb:c",
    "Impersonate-User:system:serviceaccount:a:b",
          "Impersonate-Group:g", "impersonate-extra-%ff%zz:x\nImpersonate-User:u"]  # fmt: skip
_STREAMS = ["command=sh&command=-c&stdin=true&stdout=1&tty=t", "ports=80&ports=81,82", "container=main&stdout=true"]
_SIZES = ['{"Width":80,"Height":24}', '{"Width":80}{"Height":1e3,"Width":[]}', '{"Width":null,"Height":65536}']
_LISTS = [{"metadata": {"name": "a"}, "spec": {"l": [{"k": 1, "v": 2}, {"k": "x"}], "s": [1, "a", None]}, "status": {}}]
_DEFINITION = recorded.OBJECTS[recorded.CRDS]


def _strictly(path: Sequence[Any]) -> Callable[[int], st.SearchStrategy[bytes]]:
    """Definitions in whose schema anything stands."""

    def build(value: Any, keyword: str) -> Any:
        crd = json.loads(json.dumps(_DEFINITION))
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec[keyword] = value
        return crd

    return lambda most: as_json(st.builds(build, values, st.sampled_from(path))) | _documents([_DEFINITION])(most)


_KEYWORDS = ["type", "properties", "items", "additionalProperties", "default", "enum", "pattern", "format", "minimum",
             "multipleOf", "maxLength", "minItems", "required", "nullable", "allOf", "not", "oneOf",
             "x-kubernetes-list-type",
             "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
             "x-kubernetes-embedded-resource", "x-kubernetes-validations", "uniqueItems", "$ref",
             "description"]  # fmt: skip

_LINE = 8 * 1024
"""What a line of a head may have, which the query is in."""
TARGETS: Mapping[str, Target] = {
    # Its 100,000 fields, and as many values of YAML, take so much at most.
    "protobuf": Target(_read_protobuf, _bodies(recorded.PROTOBUFS), free=24 * 2**20),
    "YAML": Target(read_yaml, _bodies([*recorded.YAMLS, *recorded.manifests()]), free=80 * 2**20),
    "JSON": Target(_read_json, _documents([*recorded.OBJECTS.values(), *ODD])),
    "delete options": Target(_read_delete, _documents(recorded.DELETE_OPTIONS)),
    "JSON patches": Target(_patch("json"), _documents(recorded.JSON_PATCHES), free=16 * 2**20),
    "merge patches": Target(_patch("merge"), _documents(recorded.STRATEGIC_PATCHES)),
    "strategic patches": Target(_patch("strategic"), _documents(recorded.STRATEGIC_PATCHES)),
    "apply": Target(_apply, _documents([*recorded.OBJECTS.values(), *_LISTS])),
    "label selectors": Target(_select_labels, _languages(_LABELS), (ValueError,), _LINE),
    "field selectors": Target(_select_fields, _languages(_FIELDS), (ValueError,), _LINE),
    "selections": Target(_select, _languages([f"{a}&{b}" for a in _LABELS[:3] for b in _FIELDS]), most=_LINE),
    "continue tokens": Target(
        _read_continue, _languages(["WzEsImRlZmF1bHQiLCJhIl0", build_token(2**70, ("\U0001f600", ""))]), most=_LINE
    ),
    "queries": Target(_read_query, _languages([*recorded.QUERIES, *recorded.WATCHES, *_STREAMS]), most=_LINE),
    "paths": Target(_read_path, _languages([*_URLS, *recorded.OBJECTS]), most=_LINE),
    "Accept headers": Target(_read_accept, _languages(recorded.ACCEPTS), most=_LINE),
    "impersonation": Target(_read_users, _languages(_USERS), most=_LINE),
    "bearer tokens": Target(_read_bearer, _languages(_TOKENS), most=_LINE),
    "warnings": Target(_write_warnings, _languages(['a "b" \\ \r\n', "\u2028\x85é"])),
    "definitions": Target(_read_definition, _strictly(_KEYWORDS)),
    "paths of columns": Target(_find_path, _languages(_PATHS), (ValueError,)),
    "tables": Target(_show_table, _languages([f'{path}\n{{"a": [{{"b": 1}}]}}' for path in _PATHS]), free=16 * 2**20),
    "SPDY frames": Target(_read_frames, _bodies(_record_spdy()), (spdy.ProtocolError,)),
    "SPDY connections": Target(_serve_frames, _bodies(_record_spdy()), (spdy.ProtocolError, ConnectionError)),
    "terminal sizes": Target(read_sizes, _bodies([each.encode() for each in _SIZES])),
    "kubeconfig files": Target(_read_kubeconfig, _bodies([_KUBECONFIG]), (ConfigError,), most=64 * 1024),
}  # fmt: skip
