"""The API over HTTPS, as Kubernetes clients use it."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import stat
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from apiserver.embedded import WIDGETS, Http, config_map, pod, widget
from paddock.apiserver.http.pod_logs import LogOptions
from paddock.apiserver.http.server import CannotListen, Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import BadRequest
from paddock.kube.meta import CONFIG_MAPS, PODS, Manifest
from paddock.kube.pod_stacks import PodStacks, ProcessStacks
from support.waiting import until

CONFIG_MAPS_PATH = "/api/v1/namespaces/default/configmaps"
WIDGETS_PATH = "/apis/example.org/v1/namespaces/default/widgets"
PODS_PATH = "/api/v1/namespaces/default/pods"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


def _typed(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type}


async def test_create_read_replace_and_delete(http: Http) -> None:
    status, created, _ = await http.ask("POST", CONFIG_MAPS_PATH, config_map() | {"data": {"a": "1"}})
    assert status == 201
    status, read, _ = await http.ask("GET", f"{CONFIG_MAPS_PATH}/c")
    assert (status, read) == (200, created)
    status, replaced, _ = await http.ask("PUT", f"{CONFIG_MAPS_PATH}/c", created | {"data": {"a": "2"}})
    assert (status, replaced["data"]) == (200, {"a": "2"})
    status, refused, _ = await http.ask("PUT", f"{CONFIG_MAPS_PATH}/c", created | {"data": {"a": "3"}})
    assert (status, refused["reason"]) == (409, "Conflict")
    status, answer, _ = await http.ask("DELETE", f"{CONFIG_MAPS_PATH}/c", {"propagationPolicy": "Background"})
    assert (status, answer["status"], answer["details"]["uid"]) == (200, "Success", created["metadata"]["uid"])
    status, missing, _ = await http.ask("GET", f"{CONFIG_MAPS_PATH}/c")
    assert (status, missing["reason"], missing["details"]["name"]) == (404, "NotFound", "c")


PATCHES: dict[str, tuple[str, Any, int]] = {
    "a merge patch": ("application/merge-patch+json", {"spec": {"size": 5}}, 200),
    "a JSON patch": ("application/json-patch+json", [{"op": "replace", "path": "/spec/size", "value": 5}], 200),
    "a JSON patch that is an object": ("application/json-patch+json", {"spec": {}}, 400),
    "a JSON patch whose test fails": (
        "application/json-patch+json",
        [{"op": "test", "path": "/spec/size", "value": 9}],
        422,
    ),
    "a merge patch that is a list": ("application/merge-patch+json", [], 422),
    "a strategic patch of a custom resource": ("application/strategic-merge-patch+json", {}, 415),
    "no patch at all": ("application/json", {}, 415),
    "a patch to another name": ("application/merge-patch+json", {"metadata": {"name": "other"}}, 400),
    "a patch to another kind": ("application/merge-patch+json", {"kind": "Other"}, 400),
    "a patch of an old version": ("application/merge-patch+json", {"metadata": {"resourceVersion": "1"}}, 409),
    "a wrong value": ("application/merge-patch+json", {"spec": {"size": "x"}}, 422),
    "apply": ("application/apply-patch+yaml", widget(size=5), 200),
}


@pytest.mark.parametrize("case", PATCHES)
async def test_patches(widgets: LocalApi, http: Http, case: str) -> None:
    content_type, patch, expected = PATCHES[case]
    await widgets.create(WIDGETS, widget(), namespace="default")
    data, query = msgspec.json.encode(patch), "?fieldManager=me&force=true" if case == "apply" else ""
    status, body, _ = await http.ask("PATCH", f"{WIDGETS_PATH}/w{query}", data=data, headers=_typed(content_type))
    assert status == expected, body
    size = (await widgets.get(WIDGETS, "default", "w"))["spec"]["size"]
    assert size == (5 if expected == 200 else 3)


@pytest.mark.parametrize(
    ("validation", "status", "warning"),
    [("Strict", 400, ""), ("Warn", 201, 'unknown field \\"spec.sise\\"'), ("Ignore", 201, "")],
)
async def test_unknown_fields(http: Http, validation: str, status: int, warning: str) -> None:
    answered, body, headers = await http.ask("POST", f"{WIDGETS_PATH}?fieldValidation={validation}", widget(sise=1))
    assert answered == status
    assert warning in headers.get("Warning", "")
    if status == 400:
        assert 'unknown field "spec.sise"' in body["message"]


async def test_duplicate_fields_are_refused_by_strict_validation(http: Http) -> None:
    data = b'{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1,"size":2}}'
    path = f"{WIDGETS_PATH}?fieldValidation=Strict"
    status, body, _ = await http.ask("POST", path, data=data, headers=_typed("application/json"))
    assert status == 400
    assert 'duplicate field "size"' in body["message"]


async def test_a_body_without_content_type_is_json_and_yaml_is_accepted(server: Server, http: Http) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with http.session.post(
        server.url + CONFIG_MAPS_PATH, data=b'{"metadata": {"name": "j"}}', headers=headers,
        skip_auto_headers=["Content-Type"],
    ) as answer:  # fmt: skip
        assert answer.status == 201
    status, _, _ = await http.ask(
        "POST", CONFIG_MAPS_PATH, data=b"metadata:\n  name: y\n", headers=_typed("application/yaml")
    )
    assert status == 201
    status, body, _ = await http.ask(
        "POST", CONFIG_MAPS_PATH, data=b"k8s\0", headers=_typed("application/vnd.kubernetes.protobuf")
    )
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


async def test_lists_are_paged_and_later_pages_keep_the_resource_version(widgets: LocalApi, http: Http) -> None:
    for name in "abcde":
        await widgets.create(CONFIG_MAPS, config_map(name), namespace="default")
    _, first, _ = await http.ask("GET", f"{CONFIG_MAPS_PATH}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    await widgets.create(CONFIG_MAPS, config_map("dd"), namespace="default")
    names, page = [item["metadata"]["name"] for item in first["items"]], first
    while token := page["metadata"].get("continue"):
        _, page, _ = await http.ask("GET", f"{CONFIG_MAPS_PATH}?limit=2&continue={token}")
        names += [item["metadata"]["name"] for item in page["items"]]
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert names == ["a", "b", "c", "d", "dd", "e"]
    assert (await http.ask("GET", f"{CONFIG_MAPS_PATH}?limit=2&continue=nonsense"))[0] == 400
    widgets.objects.store.changelog.compacted = 10**6
    token = first["metadata"]["continue"]
    assert (await http.ask("GET", f"{CONFIG_MAPS_PATH}?limit=2&continue={token}"))[0] == 410


async def test_lists_by_label_and_by_field(widgets: LocalApi, http: Http) -> None:
    await widgets.create(CONFIG_MAPS, config_map("a", labels={"x": "1"}), namespace="default")
    await widgets.create(CONFIG_MAPS, config_map("b", labels={"x": "2"}), namespace="kubeflow")
    _, by_label, _ = await http.ask("GET", "/api/v1/configmaps?labelSelector=x+in+(1,3)")
    assert [item["metadata"]["name"] for item in by_label["items"]] == ["a"]
    _, by_name, _ = await http.ask("GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Db")
    assert [item["metadata"]["name"] for item in by_name["items"]] == ["b"]
    status, body, _ = await http.ask("GET", f"{WIDGETS_PATH}?fieldSelector=spec.size%3D3")
    assert (status, "field label not supported: spec.size" in body["message"]) == (400, True)


async def test_a_list_at_a_future_version_asks_the_client_to_retry(http: Http) -> None:
    status, body, headers = await http.ask("GET", f"{CONFIG_MAPS_PATH}?resourceVersion=999999999")
    assert (status, body["reason"], headers["Retry-After"]) == (504, "Timeout", "1")
    assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_tables_and_partial_object_metadata(widgets: LocalApi, http: Http) -> None:
    await widgets.create(PODS, pod(), namespace="default")
    for path in (PODS_PATH, f"{PODS_PATH}/p"):
        _, table, _ = await http.ask("GET", path, headers=TABLE)
        assert table["kind"] == "Table"
        assert table["columnDefinitions"][0]["name"] == "Name"
        assert table["rows"][0]["cells"][0] == "p"
        assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    partial = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    _, bare, _ = await http.ask("GET", PODS_PATH, headers=partial)
    assert set(bare["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_subresources(widgets: LocalApi, http: Http) -> None:
    await widgets.create(WIDGETS, widget(), namespace="default")
    merge = _typed("application/merge-patch+json")
    status, scaled, _ = await http.ask(
        "PATCH", f"{WIDGETS_PATH}/w/scale", data=b'{"spec":{"replicas":3}}', headers=merge
    )
    assert (status, scaled["kind"], scaled["spec"]) == (200, "Scale", {"replicas": 3})
    assert (await http.ask("GET", f"{WIDGETS_PATH}/w/scale"))[1]["spec"] == {"replicas": 3}
    status, body, _ = await http.ask("PATCH", f"{WIDGETS_PATH}/w/status", data=b'{"status":{"a":1}}', headers=merge)
    assert (status, body["status"]) == (200, {"a": 1})
    await widgets.create(PODS, pod(), namespace="default")
    status, body, _ = await http.ask("POST", f"{PODS_PATH}/p/binding", {"target": {"kind": "Node", "name": "n"}})
    assert (status, body["status"]) == (201, "Success")
    assert (await http.ask("GET", f"{PODS_PATH}/p/ephemeralcontainers"))[0] == 405
    assert (await http.ask("GET", f"{PODS_PATH}/p/resize"))[0] == 404


async def test_a_whole_collection_is_deleted(widgets: LocalApi, http: Http) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {})):
        await widgets.create(CONFIG_MAPS, config_map(name, labels=labels), namespace="default")
    status, deleted, _ = await http.ask("DELETE", f"{CONFIG_MAPS_PATH}?labelSelector=x%3D1")
    assert (status, [item["metadata"]["name"] for item in deleted["items"]]) == (200, ["a", "b"])
    assert [item["metadata"]["name"] for item in (await widgets.list(CONFIG_MAPS, "default")).items] == ["c"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/nothings", 404),
        ("GET", "/apis/nothing.org", 404),
        ("GET", "/apis/nothing.org/v1", 404),
        ("PUT", CONFIG_MAPS_PATH, 405),
        ("POST", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/configmaps/c", 404),
        ("GET", f"{CONFIG_MAPS_PATH}?resourceVersion=x", 400),
        ("GET", f"{CONFIG_MAPS_PATH}?limit=-1", 400),
        ("GET", f"{CONFIG_MAPS_PATH}?watch=perhaps", 400),
        ("POST", f"{CONFIG_MAPS_PATH}?dryRun=Some", 422),
        ("POST", f"{CONFIG_MAPS_PATH}?fieldValidation=Hard", 422),
    ],
)
async def test_unknown_paths_and_methods_are_status_objects(http: Http, method: str, path: str, status: int) -> None:
    answered, body, _ = await http.ask(method, path, {} if method == "POST" else None)
    assert (answered, body["kind"], body["code"]) == (status, "Status", status)


async def test_a_body_too_large_is_refused(http: Http) -> None:
    data = b'{"metadata": {"name": "x"}, "data": {"a": "' + b"x" * (3 * 1024 * 1024) + b'"}}'
    status, body, _ = await http.ask("POST", CONFIG_MAPS_PATH, data=data, headers=_typed("application/json"))
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_dry_run_over_http(widgets: LocalApi, http: Http) -> None:
    status, _, _ = await http.ask("POST", f"{CONFIG_MAPS_PATH}?dryRun=All", config_map())
    assert status == 201
    assert not (await widgets.list(CONFIG_MAPS, "default")).items


async def test_discovery_in_both_forms(http: Http) -> None:
    assert (await http.ask("GET", "/api"))[1]["versions"] == ["v1"]
    assert "example.org" in [group["name"] for group in (await http.ask("GET", "/apis"))[1]["groups"]]
    assert "widgets" in [one["name"] for one in (await http.ask("GET", "/apis/example.org/v1"))[1]["resources"]]
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList, application/json"}
    status, aggregated, headers = await http.ask("GET", "/apis", headers=accept)
    assert (status, aggregated["kind"]) == (200, "APIGroupDiscoveryList")
    assert headers["Content-Type"].startswith("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")


async def test_a_cached_document_is_answered_with_not_modified(widgets: LocalApi, http: Http) -> None:
    _, index, _ = await http.ask("GET", "/openapi/v3")
    path = index["paths"]["apis/example.org/v1"]["serverRelativeURL"]
    status, document, headers = await http.ask("GET", path)
    assert (status, document["openapi"]) == (200, "3.0.0")
    status, body, _ = await http.ask("GET", path, headers={"If-None-Match": headers["ETag"]})
    assert (status, bool(body)) == (304, False)


async def test_discovery_drops_a_deleted_crd(widgets: LocalApi, http: Http) -> None:
    assert (await http.ask("GET", "/apis/example.org/v1"))[0] == 200
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org"
    await http.ask("DELETE", path)

    async def is_gone() -> bool:
        return (await http.ask("GET", path))[0] == 404

    await until(is_gone)
    assert (await http.ask("GET", "/apis/example.org/v1"))[0] == 404


async def test_access_reviews_allow_everything(http: Http) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    status, body, _ = await http.ask("POST", path, review)
    assert (status, body["status"]["allowed"]) == (201, True)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version", "/version/"])
async def test_probes_need_no_token(server: Server, http: Http, path: str) -> None:
    async with http.session.get(server.url + path) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("path", ["/api", CONFIG_MAPS_PATH, "/nothing", "/", "/livez/x", "/metrics", "/paddock/status"])
@pytest.mark.parametrize("token", [None, "wrong"])
async def test_all_other_paths_need_a_token(server: Server, http: Http, path: str, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with http.session.get(server.url + path, headers=headers) as answer:
        assert answer.status == 401
        assert (await answer.json())["reason"] == "Unauthorized"


async def test_a_foreign_host_is_refused_also_with_the_token(server: Server, http: Http) -> None:
    status, body, _ = await http.ask("GET", "/api", headers={"Host": "attacker.example"})
    assert (status, body["reason"]) == (403, "Forbidden")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_tls_before_1_2_is_refused(server: Server, http: Http) -> None:
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
        await http.session.get(server.url + "/version", ssl=context)


async def test_files_are_readable_by_this_user_only(server: Server, tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


async def test_a_port_in_use_is_named_in_the_error(widgets: LocalApi, server: Server, tmp_path: Path) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    second = Server(widgets, tmp_path / "second")
    with pytest.raises(CannotListen, match=f"port {port} of 127.0.0.1 is taken"):
        await second.start(port)
    await second.start(0)
    assert second.url != server.url
    await second.stop()


async def test_the_last_request_is_now_while_somebody_watches(tmp_path: Path) -> None:
    now = [time.time()]  # certificates are made by the same clock
    api = await LocalApi.open(tmp_path, clock=lambda: now[0])
    server = Server(api, tmp_path)
    await server.start()
    client = Http(server)
    now[0] += 10
    await client.ask("GET", "/version")
    now[0] += 10
    assert server.last_request == now[0] - 10
    async with client.stream(f"{CONFIG_MAPS_PATH}?watch=true&resourceVersion={api.objects.store.revision}"):
        now[0] += 10
        assert server.last_request == now[0]
    await client.session.close()
    await server.stop()
    await api.close()


async def test_the_bodies_of_watches_hold_no_room(server: Server, http: Http) -> None:
    """Kubernetes reads none of a GET. Those of all open watches would keep the others' large bodies waiting."""
    async with AsyncExitStack() as watches:
        for _ in range(3):
            asked = http.session.get(
                f"{server.url}{CONFIG_MAPS_PATH}?watch=true",
                data=bytes(2 * 1024 * 1024),
                headers={"Authorization": f"Bearer {server.token}"},
            )
            assert (await watches.enter_async_context(asked)).status == 200
        body = {"metadata": {"name": "large"}, "data": {"x": "x" * 1_000_000}}
        async with asyncio.timeout(180):
            assert (await http.ask("POST", CONFIG_MAPS_PATH, body))[0] == 201


async def test_an_internal_error_is_a_status_and_a_log_line(
    widgets: LocalApi, server: Server, http: Http, caplog: pytest.LogCaptureFixture
) -> None:
    widgets.objects.store.db.execute("drop table owners")
    with caplog.at_level(logging.ERROR):
        status, body, _ = await http.ask("POST", CONFIG_MAPS_PATH, config_map(ownerReferences=[
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}
        ]))  # fmt: skip
    assert (status, body["kind"]) == (500, "Status")
    assert "Traceback" not in body["message"]
    assert caplog.records


class FakeLogs:
    """A node with a log of three lines; a followed log continues until the test ends it."""

    def __init__(self) -> None:
        self.asked: LogOptions | None = None
        self.more = asyncio.Event()

    async def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        self.asked = options
        if options.previous:
            raise BadRequest(f'previous terminated container "{options.container}" in pod "p" not found')
        if options.follow:
            await self.more.wait()
        yield b"one\n"
        yield b"two\n"


class FakeStacks:
    async def take(self, pod: Manifest) -> PodStacks:
        return PodStacks(pod["metadata"]["name"], (ProcessStacks(7, "paddle", "python", trouble="NoAnswer"),))


async def test_stacks_of_a_pod(widgets: LocalApi, tmp_path: Path) -> None:
    server = Server(widgets, tmp_path / "cluster", stacks=FakeStacks())
    await server.start()
    client = Http(server)
    await widgets.create(PODS, pod(), namespace="default")
    status, body, _ = await client.ask("GET", f"{PODS_PATH}/p/stacks")
    assert (status, body["kind"], body["pod"]) == (200, "PodStacks", "p")
    assert body["processes"][0] | {"pid": 7, "trouble": "NoAnswer", "threads": []} == body["processes"][0]
    assert (await client.ask("GET", f"{PODS_PATH}/other/stacks"))[0] == 404
    assert (await client.ask("DELETE", f"{PODS_PATH}/p/stacks"))[0] == 405
    await client.session.close()
    await server.stop()


async def test_without_a_node_no_stacks_are_served(widgets: LocalApi, tmp_path: Path) -> None:
    server = Server(widgets, tmp_path / "cluster")
    await server.start()
    client = Http(server)
    await widgets.create(PODS, pod(), namespace="default")
    status, body, _ = await client.ask("GET", f"{PODS_PATH}/p/stacks")
    assert (status, body["message"]) == (
        404, "no node takes the stacks of pod p: this API server runs without one",
    )  # fmt: skip
    await client.session.close()
    await server.stop()


async def test_logs_of_a_pod(widgets: LocalApi, tmp_path: Path) -> None:
    logs = FakeLogs()
    server = Server(widgets, tmp_path / "cluster", logs=logs)
    await server.start()
    client = Http(server)
    await widgets.create(PODS, pod(), namespace="default")
    status, body, _ = await client.ask("GET", f"{PODS_PATH}/p/log")
    assert (status, body["message"]) == (400, "pod p does not have a host assigned")
    binding = {"target": {"kind": "Node", "name": "n"}}
    await widgets.create(PODS, binding, namespace="default", name="p", subresource="binding")
    status, text, headers = await client.ask("GET", f"{PODS_PATH}/p/log?tailLines=5")
    assert (status, text, headers["Content-Type"]) == (200, b"one\ntwo\n", "text/plain")
    assert logs.asked == LogOptions("main", tail_lines=5)
    status, body, _ = await client.ask("GET", f"{PODS_PATH}/p/log?previous=true")
    assert (status, body["reason"]) == (400, "BadRequest")
    async with client.stream(f"{PODS_PATH}/p/log?follow=true") as answer:
        assert answer.status == 200
        logs.more.set()
        assert await answer.read() == b"one\ntwo\n"
    await client.session.close()
    await server.stop()


async def test_paths_with_their_own_login_need_no_token(widgets: LocalApi, tmp_path: Path) -> None:
    server = Server(widgets, tmp_path / "cluster")
    server.own_login.add("console")

    async def greet(_: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(text="welcome")

    server.application.router.add_get("/console/hello", greet)
    server.application.router.add_get("/closed", greet)
    await server.start()
    client = Http(server)
    async with client.session.get(server.url + "/console/hello") as answer:
        assert await answer.text() == "welcome"
    for path in ("/closed", "/console/../closed", "/console/../api/v1/pods", "//console/../api/v1/pods"):
        async with client.session.get(server.url + path) as answer:
            assert answer.status == 401
    await client.session.close()
    await server.stop()


def _nested(depth: int) -> bytes:
    return b'{"metadata":{"annotations":' + b'{"a":' * depth + b"1" + b"}" * (depth + 2)


@pytest.mark.parametrize("kind", ["strategic-merge", "merge"])
async def test_a_deeply_nested_patch_is_a_bad_request(http: Http, kind: str) -> None:
    await http.ask("POST", CONFIG_MAPS_PATH, config_map())
    for depth in (150, 400, 700, 900):
        typed = _typed(f"application/{kind}-patch+json")
        status, body, _ = await http.ask("PATCH", f"{CONFIG_MAPS_PATH}/c", data=_nested(depth), headers=typed)
        assert (status, body["reason"]) == (400, "BadRequest")


async def _ask_raw(server: Server, request: bytes) -> bytes:
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    port = int(server.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(request.replace(b"HOST", f"127.0.0.1:{port}".encode()).replace(b"TOKEN", server.token.encode()))
    answer = await asyncio.wait_for(reader.readuntil(b"\r\n"), 60)
    writer.close()
    return answer.strip()


async def test_a_token_that_is_not_utf8_is_refused(server: Server) -> None:
    request = b"GET /api HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer \xff\xfe\r\n\r\n"
    assert await _ask_raw(server, request) == b"HTTP/1.1 401 Unauthorized"


async def test_the_longest_stall_of_the_loop_is_told(http: Http) -> None:
    await asyncio.sleep(0.3)
    time.sleep(0.6)  # noqa: ASYNC251 - this holds up the loop
    status, metrics, headers = await http.ask("GET", "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain")
    found = re.search(r"^paddock_event_loop_longest_stall_seconds (\S+)$", metrics.decode(), re.MULTILINE)
    assert found is not None and 0.3 < float(found[1]) < 300
    told = (await http.ask("GET", "/paddock/status"))[1]
    # A busy machine may hold the loop up for longer between the two requests.
    assert told["longestStall"] >= float(found[1]) - 0.001 and told["minutes"] == 5
    for path in ("/paddock", "/paddock/other", "/metrics/other"):
        assert (await http.ask("GET", path))[0] == 404
    assert (await http.ask("POST", "/metrics"))[0] == 404


@pytest.mark.parametrize(
    ("authorization", "answer"),
    [(b"", b"HTTP/1.1 401 Unauthorized"), (b"Authorization: Bearer TOKEN\r\n", b"HTTP/1.1 404 Not Found")],
)
async def test_options_of_an_asterisk_is_not_served(server: Server, authorization: bytes, answer: bytes) -> None:
    request = b"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n" + authorization + b"\r\n"
    assert await _ask_raw(server, request) == answer


async def _speak(server: Server, *lines: bytes) -> bytes:
    """What is answered to a request of these lines, until the server ends the connection."""
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    known = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.token}\r\nConnection: close".encode()
    writer.write(b"\r\n".join([lines[0], known, *lines[1:], b"", b""]))
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return answer


@pytest.mark.parametrize("query", [b"", b"?watch=true&timeoutSeconds=1"])
async def test_a_client_of_http_1_0_is_sent_lists_and_watches(widgets: LocalApi, server: Server, query: bytes) -> None:
    """nginx speaks it to what is behind it, unless it is told otherwise."""
    for name in "ab":
        large = config_map(name, namespace="default") | {"data": {"x": "y" * 200_000}}
        await widgets.create(CONFIG_MAPS, large)
    answer = await _speak(server, b"GET " + CONFIG_MAPS_PATH.encode() + query + b" HTTP/1.0")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (head.startswith(b"HTTP/1.0 200"), b"chunked" in head) == (True, False), head
    assert body.startswith(b"{") and body.rstrip().endswith(b"}") and len(body) > 400_000


@pytest.mark.parametrize(
    ("method", "path", "header", "code"),
    [
        (b"POST", CONFIG_MAPS_PATH, b"Content-Type: a/b\x80", 415),
        (b"POST", CONFIG_MAPS_PATH, b"Content-Encoding: \xff", 400),
        (b"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"Impersonate-User: u\x80", 400),
        (b"GET", CONFIG_MAPS_PATH, b"User-Agent: \xff\x80", 200),
        (b"GET", CONFIG_MAPS_PATH, b"Expect: \x80", 417),
        (b"GET", "/nowhere", b"Expect: \x80", 417),
    ],
)
async def test_a_header_may_have_any_bytes(
    server: Server, caplog: pytest.LogCaptureFixture, method: bytes, path: str, header: bytes, code: int
) -> None:
    body = [b"Content-Length: 2", b"", b"{}"] if method == b"POST" else []
    answer = await _speak(server, method + b" " + path.encode() + b" HTTP/1.1", header, *body)
    assert (answer[9:12], caplog.text) == (str(code).encode(), "")


async def test_what_is_no_http_is_not_in_the_log_with_its_token(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await _speak(server, b"GET / HTTP/1.1", b"Author\x80ization: Bearer secret")
    assert (answer[9:12], caplog.text) == (b"400", "")
