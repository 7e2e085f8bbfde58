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

import aiohttp
import pytest

from apiserver.embedded import Http, config_map, pod
from paddock.apiserver.http.pod_logs import LogOptions
from paddock.apiserver.http.server import CannotListen, Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import BadRequest
from paddock.kube.meta import CONFIG_MAPS, PODS, Manifest
from paddock.kube.pod_stacks import PodStacks, ProcessStacks
from support.waiting import until

CONFIG_MAPS_PATH = "/api/v1/namespaces/default/configmaps"
PODS_PATH = "/api/v1/namespaces/default/pods"


def _typed(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type}


async def test_a_body_without_content_type_is_json(server: Server, http: Http) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with http.session.post(
        server.url + CONFIG_MAPS_PATH, data=b'{"metadata": {"name": "j"}}', headers=headers,
        skip_auto_headers=["Content-Type"],
    ) as answer:  # fmt: skip
        assert answer.status == 201


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


async def test_a_list_at_a_future_version_asks_the_client_to_retry(http: Http) -> None:
    status, body, headers = await http.ask("GET", f"{CONFIG_MAPS_PATH}?resourceVersion=999999999")
    assert (status, body["reason"], headers["Retry-After"]) == (504, "Timeout", "1")
    assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/api/v1/configmaps/c", 404),
        (f"{CONFIG_MAPS_PATH}?resourceVersion=x", 400),
        (f"{CONFIG_MAPS_PATH}?limit=-1", 400),
        (f"{CONFIG_MAPS_PATH}?watch=perhaps", 400),
    ],
)
async def test_what_is_wrong_in_an_address_is_a_status_object(http: Http, path: str, status: int) -> None:
    answered, body, _ = await http.ask("GET", path)
    assert (answered, body["kind"], body["code"]) == (status, "Status", status)


async def test_a_body_too_large_is_refused(http: Http) -> None:
    data = b'{"metadata": {"name": "x"}, "data": {"a": "' + b"x" * (3 * 1024 * 1024) + b'"}}'
    status, body, _ = await http.ask("POST", CONFIG_MAPS_PATH, data=data, headers=_typed("application/json"))
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")


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
