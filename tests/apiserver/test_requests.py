"""Parsing of HTTP requests, without HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.apiserver.http import requests
from paddock.apiserver.http.requests import Format, Target
from paddock.apiserver.objects.strategy import DeleteOptions
from paddock.kube.errors import ApiError, BadRequest, Invalid, TooLarge, UnsupportedMediaType

PATHS = {
    "/api/v1/pods": Target("", "v1", "pods"),
    "/api/v1/namespaces": Target("", "v1", "namespaces"),
    "/api/v1/namespaces/x": Target("", "v1", "namespaces", name="x"),
    "/api/v1/namespaces/x/status": Target("", "v1", "namespaces", name="x", subresource="status"),
    "/api/v1/namespaces/x/pods": Target("", "v1", "pods", "x"),
    "/api/v1/namespaces/x/pods/p/": Target("", "v1", "pods", "x", "p"),
    "/api/v1/namespaces/x/pods/p/log": Target("", "v1", "pods", "x", "p", "log"),
    "/apis/example.org/v1/widgets/w": Target("example.org", "v1", "widgets", name="w"),
    "/apis/example.org/v1/namespaces/x/widgets/w/scale": Target("example.org", "v1", "widgets", "x", "w", "scale"),
    "/apis/example.org/v1": None,
    "/api/v1/namespaces/x/pods/p/proxy/deeper": None,
    "/metrics": None,
    "/": None,
}


@pytest.mark.parametrize("path", PATHS)
def test_the_target_of_a_path(path: str) -> None:
    assert requests.read_path(path) == PATHS[path]


@pytest.mark.parametrize("text", ["1", "t", "T", "true", "TRUE", "True", ""])
def test_true_flags(text: str) -> None:
    assert requests.read_flag({"watch": text}, "watch") is True


@pytest.mark.parametrize("text", ["0", "f", "F", "false", "FALSE", "False"])
def test_false_flags(text: str) -> None:
    assert requests.read_flag({"watch": text}, "watch") is False
    with pytest.raises(BadRequest):
        requests.read_flag({"watch": "perhaps"}, "watch")


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "9" * 30, "٣"])
def test_invalid_numbers_are_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        requests.read_number({"limit": text}, "limit")


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (f"application/json,{TABLE}", Format()),
        ("application/vnd.kubernetes.protobuf,application/json", Format()),
        ("application/vnd.kubernetes.protobuf, */*", Format()),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Format("PartialObjectMetadata")),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", Format("APIGroupDiscoveryList", "v2")),
    ],
)
def test_the_first_supported_format_is_used(accept: str, expected: Format) -> None:
    assert requests.read_accept(accept, {}) == expected


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ({"propagationPolicy": "Foreground"}, {"propagationPolicy": "Orphan"}, DeleteOptions(propagation="Foreground")),
        ({}, {"orphanDependents": False}, DeleteOptions(propagation="Background")),
    ],
)
def test_delete_options(query: dict[str, str], body: Any, expected: DeleteOptions) -> None:
    assert requests.read_delete(query, body) == (expected, False)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ([], BadRequest),
        ({"gracePeriodSeconds": "5"}, BadRequest),
        ({"preconditions": 1}, BadRequest),
    ],
)
def test_invalid_delete_options_are_refused(body: Any, error: type[ApiError]) -> None:
    with pytest.raises(error):
        requests.read_delete({}, body)


POD = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]},
}
ALONE = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}


def test_the_container_of_a_log() -> None:
    assert requests.read_log_options({}, ALONE, 0).container == "a"
    assert requests.read_log_options({"container": "i"}, POD, 0).container == "i"
    with pytest.raises(BadRequest, match=r"choose one of: \[a b\] or one of the init containers: \[i\]"):
        requests.read_log_options({}, POD, 0)
    with pytest.raises(BadRequest, match="container x is not valid for pod p"):
        requests.read_log_options({"container": "x"}, POD, 0)


def test_the_options_of_a_log() -> None:
    query = {"follow": "true", "previous": "1", "timestamps": "t", "tailLines": "0", "limitBytes": "9",
             "sinceTime": "1970-01-01T00:01:40Z"}  # fmt: skip
    read = requests.read_log_options(query, ALONE, 160.0)
    assert (read.follow, read.previous, read.timestamps) == (True, True, True)
    assert (read.tail_lines, read.limit_bytes, read.since_seconds) == (0, 9, 60)
    options = requests.read_log_options({"sinceTime": "1970-01-01T00:01:40.25Z"}, ALONE, 90.0)
    assert options.since_seconds == -10.25  # of lines that are to come
    with pytest.raises(Invalid, match="at most one of"):
        requests.read_log_options({"sinceTime": "1970-01-01T00:01:40Z", "sinceSeconds": "5"}, ALONE, 90.0)
    with pytest.raises(BadRequest, match="sinceTime"):
        requests.read_log_options({"sinceTime": "yesterday"}, ALONE, 0)


@pytest.mark.parametrize(
    "content_type", [None, "application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"]
)
def test_json_bodies(content_type: str | None) -> None:
    assert requests.read_body(b'{"a": [1, null]}', content_type) == ({"a": [1, None]}, ())


def test_yaml_bodies_are_read_as_json_values() -> None:
    body = b"a: 2026-11-20\nb: [1, x]\nc: on\n"
    assert requests.read_body(body, "application/yaml")[0] == {"a": "2026-11-20", "b": [1, "x"], "c": True}
    assert requests.read_body(b'{"a": 1}', "application/apply-patch+yaml")[0] == {"a": 1}


YAML_VALUES: dict[bytes, object] = {
    b"1:30": "1:30",
    b"190:20:30.15": "190:20:30.15",
    b"017": 15,
    b"0x1f": 31,
    b"0b11": 3,
    b"1_000": 1000,
    b"-1.5e+3": -1500.0,
    b"1e3": "1e3",
    b"!!float 3": 3.0,
    b'!!int "7"': 7,
    b"!!str 5": "5",
    b"1" * 500: "1" * 500,
    b"{a: 1, b: [x]}": {"a": 1, "b": ["x"]},
    b"1: 2": {"1": 2},
    b"<<: {a: 1}": {"a": 1},
    b"": None,
}


@pytest.mark.parametrize("text", YAML_VALUES)
def test_values_of_yaml(text: bytes) -> None:
    read = requests.read_body(b"---\n" + text, "application/yaml")[0]
    assert (read, type(read)) == (YAML_VALUES[text], type(YAML_VALUES[text]))


@pytest.mark.parametrize(
    ("body", "content_type", "error"),
    [
        (b"{", None, BadRequest),
        (b"", None, BadRequest),
        (b"\xff\xfe", None, BadRequest),
        (b"[" * 100_000, None, BadRequest),
        (b"a: [", "application/yaml", BadRequest),
        (b"a: &x [1]\nb: *x", "application/yaml", BadRequest),
        (b"- " * 50_000, "application/yaml", BadRequest),
        (b"? [a]\n: 1", "application/yaml", BadRequest),
        (b"!!python/object:os.system x", "application/yaml", BadRequest),
        (b'!!int "1:1"', "application/yaml", BadRequest),
        (b"!!bool x", "application/yaml", BadRequest),
        (b"!!timestamp x", "application/yaml", BadRequest),
        (b"x: 0x_", "application/yaml", BadRequest),
        (b"x: [" + b"a," * 100_000 + b"]", "application/yaml", TooLarge),
        (b"k8s\0", "application/vnd.kubernetes.protobuf", UnsupportedMediaType),
        (b"{}", "application/octet-stream", UnsupportedMediaType),
    ],
)
def test_invalid_bodies_are_refused(body: bytes, content_type: str | None, error: type[Exception]) -> None:
    with pytest.raises(error):
        requests.read_body(body, content_type)


@pytest.mark.parametrize("body", [b"[]," * 200_001, b'{"":{}},' * 100_001])
def test_a_body_of_more_lists_and_objects_than_a_manifest_has_is_refused(body: bytes) -> None:
    for media in ("application/json", "application/apply-patch+yaml"):  # kubectl sends JSON under both
        with pytest.raises(TooLarge, match="200000 lists and objects"):
            requests.read_body(b"[" + body[:-1] + b"]", media)


def test_brackets_in_a_text_are_no_lists() -> None:
    data = {"script": "[{" * 150_000 + '"[\\"', "list": [[]]}
    assert requests.read_body(json.dumps(data).encode(), "application/json") == (data, ())


@given(st.binary(max_size=200), st.sampled_from([None, "application/yaml"]))
def test_any_body_is_read_or_raises_an_api_error(body: bytes, content_type: str | None) -> None:
    try:
        read, _ = requests.read_body(body, content_type, duplicates=True)
    except BadRequest:
        return
    json.dumps(read)
