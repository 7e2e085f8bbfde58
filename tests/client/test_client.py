"""The client over TLS: its requests, its reading of answers, and how `follow` survives failures of the server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from client.tls_server import Handler, make_certificate, serve
from paddock.client.client import Client
from paddock.client.connection import CONNECTIONS, Connection
from paddock.client.kubeconfig import Config
from paddock.client.requests import MOST_PAGE_BYTES, PAGE, build, build_watch
from paddock.kube.calls import Get, List
from paddock.kube.errors import ApiError, Conflict, Forbidden, InternalError, NotFound, TooManyRequests, Unavailable
from paddock.kube.meta import PODS, Manifest
from support.answers import serve_answers
from support.waiting import until


def pod(name: str, version: int = 1) -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": name, "uid": f"u-{name}", "resourceVersion": str(version)}}


def page(*pods: dict[str, Any], version: int, token: str = "") -> web.Response:
    return web.json_response({"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(pods)})


def refusal(code: int, reason: str, **headers: str) -> web.Response:
    return web.json_response(
        {"kind": "Status", "reason": reason, "message": "no", "code": code}, status=code, headers=headers
    )


def answering(*answers: web.Response) -> tuple[Handler, list[web.Request]]:
    """A handler that gives these answers in turn, and the requests that it got."""
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1]

    return handle, seen


class Sleeps:
    """Replaces the sleep of the client, and records its delays."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


async def test_a_get_sends_the_token_and_returns_the_object(tmp_path: Path) -> None:
    handler, seen = answering(web.json_response(pod("a")))
    async with serve(handler, tmp_path) as config, Client(config) as api:
        found = await api.get(PODS, "n", "a")
    assert (found["kind"], found["metadata"]["name"]) == ("Pod", "a")
    assert (seen[0].path, seen[0].headers["Authorization"]) == ("/api/v1/namespaces/n/pods/a", "Bearer secret")


@pytest.mark.parametrize(
    ("act", "method", "path", "query", "content_type", "body"),
    [
        (lambda api: api.create(PODS, pod("a"), strict=True), "POST", "/api/v1/namespaces/n/pods",
         {"fieldValidation": "Strict"}, "application/json", pod("a")),
        (lambda api: api.create(PODS, {"target": {}}, namespace="n", name="a", subresource="binding"), "POST",
         "/api/v1/namespaces/n/pods/a/binding", {}, "application/json", {"target": {}}),
        (lambda api: api.replace(PODS, pod("a"), subresource="status"), "PUT",
         "/api/v1/namespaces/n/pods/a/status", {}, "application/json", pod("a")),
        (lambda api: api.replace(PODS, pod("a"), strict=True, dry_run=True), "PUT", "/api/v1/namespaces/n/pods/a",
         {"fieldValidation": "Strict", "dryRun": "All"}, "application/json", pod("a")),
        (lambda api: api.patch(PODS, "n", "a", {"x": None}, kind="strategic"), "PATCH",
         "/api/v1/namespaces/n/pods/a", {}, "application/strategic-merge-patch+json", {"x": None}),
        (lambda api: api.patch(PODS, "n", "a", {"x": 1}, strict=True, dry_run=True), "PATCH",
         "/api/v1/namespaces/n/pods/a", {"fieldValidation": "Strict", "dryRun": "All"},
         "application/merge-patch+json", {"x": 1}),
        (lambda api: api.delete(PODS, "n", "a", uid="u", grace=0), "DELETE", "/api/v1/namespaces/n/pods/a", {},
         "application/json", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
                              "preconditions": {"uid": "u"}, "gracePeriodSeconds": 0}),
    ],
)  # fmt: skip
async def test_writes_are_encoded_as_kubernetes_expects(
    tmp_path: Path,
    act: Callable[[Client], Any],
    method: str,
    path: str,
    query: dict[str, str],
    content_type: str,
    body: dict[str, Any],
) -> None:
    handler, seen = answering(web.json_response(pod("a")))
    async with serve(handler, tmp_path) as config, Client(config) as api:
        await act(api)
    (request,) = seen
    assert (request.method, request.path, dict(request.query)) == (method, path, query)
    assert (request.content_type, json.loads(await request.text())) == (content_type, body)


@pytest.mark.parametrize(
    ("answer", "expected", "sentence"),
    [
        (refusal(404, "NotFound"), NotFound, "no"),
        (refusal(409, "Conflict"), Conflict, "no"),
        (web.Response(status=502, text="<html>bad gateway"), InternalError, "the server answered 502: <html>bad"),
        (web.Response(status=302, headers={"Location": "/login"}), InternalError, "the server answered 302"),
        (web.Response(text="<html>sign in"), InternalError, "not one of a Kubernetes API"),
        (refusal(429, "TooManyRequests"), TooManyRequests, "no"),  # does not say when: not repeated
        (refusal(429, "TooManyRequests", **{"Retry-After": "60"}), TooManyRequests, "no"),  # too long to wait here
    ],
)
async def test_an_error_answer_raises_its_api_error(
    tmp_path: Path, answer: web.Response, expected: type[ApiError], sentence: str
) -> None:
    handler, seen = answering(answer)
    async with serve(handler, tmp_path) as config, Client(config) as api:
        with pytest.raises(expected, match=sentence):
            await api.get(PODS, "n", "a")
    assert len(seen) == 1


async def test_a_write_with_429_is_sent_again_after_retry_after(tmp_path: Path) -> None:
    sleeps = Sleeps()
    handler, seen = answering(refusal(429, "TooManyRequests", **{"Retry-After": "3"}), web.json_response(pod("a")))
    async with serve(handler, tmp_path) as config, Client(config, sleep=sleeps) as api:
        await api.create(PODS, pod("a"))
    assert (len(seen), sleeps.seconds) == (2, [3.0])


async def test_a_list_is_paged_and_starts_again_when_its_token_has_expired(tmp_path: Path) -> None:
    expired = [answer for _ in range(2) for answer in (page(pod("a"), version=5, token="t"), refusal(410, "Expired"))]
    handler, seen = answering(*expired, page(pod("a"), pod("b"), version=9))
    async with serve(handler, tmp_path) as config, Client(config) as api:
        listing = await api.list(PODS, labels="x=y", fields="metadata.name!=z")
    assert ([found["metadata"]["name"] for found in listing.items], listing.resource_version) == (["a", "b"], "9")
    assert seen[1].query["continue"] == "t"
    selection = {"labelSelector": "x=y", "fieldSelector": "metadata.name!=z"}
    assert dict(seen[2].query) == {**selection, "limit": "500"}, "in pages, as before"
    assert dict(seen[4].query) == selection, "the second time at once"


class Library:
    """Serves lists of pods of these sizes, by pages."""

    def __init__(self, *sizes: int, compressed: bool) -> None:
        self.sizes, self.compressed = sizes, compressed
        self.limits: list[int] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        begin, limit = int(request.query.get("continue", 0)), int(request.query["limit"])
        self.limits.append(limit)
        end = min(begin + limit, len(self.sizes))
        pods = [pod(f"p{at:04}") | {"data": "x" * self.sizes[at]} for at in range(begin, end)]
        answer = page(*pods, version=1, token=str(end) if end < len(self.sizes) else "")
        if self.compressed:
            answer.enable_compression()
        return answer


@asynccontextmanager
async def serve_proxy(handler: Handler, directory: Path) -> AsyncIterator[Config]:
    """A proxy that answers by itself for a server that only it knows."""
    async with serve_answers(handler) as url:
        yield Config(server="http://behind.test", proxy=url)


MANY_SMALL_THEN_LARGE = [10] * 1500 + [1_100_000] * 30 + [10] * 300
TOO_LARGE_ALONE = [10, MOST_PAGE_BYTES + 10, 10]


@pytest.mark.parametrize(
    "by_proxy", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["by itself", "through a proxy"]
)
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize(
    "sizes", [pytest.param(MANY_SMALL_THEN_LARGE, marks=pytest.mark.slow), TOO_LARGE_ALONE], ids=["many", "one"]
)
async def test_pages_are_as_short_as_their_objects_are_large(
    tmp_path: Path, sizes: list[int], compressed: bool, by_proxy: bool
) -> None:
    library = Library(*sizes, compressed=compressed)
    async with (serve_proxy if by_proxy else serve)(library.answer, tmp_path) as config, Client(config) as api:
        names = [found["metadata"]["name"] for found in (await api.list(PODS)).items]
    assert names == [f"p{at:04}" for at in range(len(sizes))]
    assert library.limits[0] == PAGE
    assert min(library.limits) == (3 if sizes is MANY_SMALL_THEN_LARGE else 1)
    assert len(library.limits) < 35


@pytest.mark.slow
async def test_of_a_list_no_more_is_held_than_is_to_be_kept_of_it(tmp_path: Path) -> None:
    library, pages = Library(*[1_100_000] * 30, compressed=False), list[int]()

    def keep(found: Manifest) -> Manifest:
        pages.append(len(library.limits))
        return {"name": found["metadata"]["name"]}

    async with serve(library.answer, tmp_path) as config, Client(config) as api:
        listing = await api.send(List(PODS, keep=keep))
    assert listing.items == [{"name": f"p{at:04}"} for at in range(30)]
    assert len(set(pages)) > 5, "each page before the next one is asked for"


async def test_a_refused_connection_names_the_server_and_what_to_do() -> None:
    async with Client(Config(server="http://127.0.0.1:1", source="/k, context here")) as api:
        with pytest.raises(Unavailable, match=r"nothing answers at http://127.0.0.1:1 \(/k, context here\).*refused"):
            await api.get(PODS, "n", "a")


async def test_a_server_that_closes_each_connection_at_once_is_no_empty_reason() -> None:
    """One that has no file left, or a program that is none of HTTPS."""
    server = await asyncio.start_server(lambda _, writer: writer.transport.abort(), "127.0.0.1", 0)
    async with server, Client(Config(server=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")) as api:
        with pytest.raises(Unavailable) as error:
            await api.get(PODS, "n", "a")
    assert ": . Start" not in error.value.message
    assert re.search(r"nothing answers at \S+: \w.+\. Start that cluster", error.value.message)


async def test_a_server_that_does_not_answer_in_time_is_unavailable(tmp_path: Path) -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with serve(never, tmp_path) as config, Client(config, timeout=0.2) as api:
        with pytest.raises(Unavailable, match="did not answer in time"):
            await api.get(PODS, "n", "a")


async def test_an_unknown_certificate_is_not_trusted_unless_the_kubeconfig_says_so(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    _, other = make_certificate(tmp_path / "other")
    handler, seen = answering(web.json_response(pod("a")))
    async with serve(handler, tmp_path) as config:
        async with Client(replace(config, ca=other)) as api:
            with pytest.raises(Unavailable, match="not one that this kubeconfig trusts"):
                await api.get(PODS, "n", "a")
        async with Client(replace(config, ca=other, insecure=True)) as api:
            await api.get(PODS, "n", "a")
    assert len(seen) == 1


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    now = [0.0]
    handler, seen = answering(*(web.json_response(pod("a")) for _ in range(3)))
    async with serve(handler, tmp_path) as config:
        connection = Connection(replace(config, token_file=tmp_path / "token"), clock=lambda: now[0])
        await connection.open()
        for text, moment in (("one", 0.0), ("two", 59.0), ("two", 61.0)):
            (tmp_path / "token").write_text(text)
            now[0] = moment
            await connection.send(build(Get(PODS, "n", "a")))
        await connection.close()
    assert [request.headers["Authorization"] for request in seen] == ["Bearer one", "Bearer one", "Bearer two"]


Step = Callable[[web.Request], Any]


def scripted(*steps: Any) -> tuple[Handler, list[web.Request]]:
    """Answers in turn. A list of bytes is a watch that sends them and ends; `(…, "cut")` breaks the connection."""
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        step = steps[len(seen) - 1] if len(seen) <= len(steps) else [None]
        if not isinstance(step, list):
            assert isinstance(step, web.Response)
            return step
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in step:
            if chunk is None:
                await asyncio.Event().wait()
            elif chunk == "cut":
                assert request.transport is not None
                request.transport.abort()
                return response
            else:
                await response.write(chunk)
        return response

    return handle, seen


def line(kind: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


async def follow(config: Config, count: int) -> tuple[list[tuple[str, str]], list[float]]:
    """The first `count` events, and the delays of the client."""
    sleeps, told = Sleeps(), []
    async with Client(config, sleep=sleeps) as api, asyncio.timeout(180):
        events = api.follow(PODS)
        async for event in events:
            told.append((event.type, event.object.get("metadata", {}).get("name", "")))
            if len(told) == count:
                break
        await events.aclose()  # type: ignore[attr-defined]
    return told, sleeps.seconds


EXPIRED = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


@pytest.mark.parametrize(
    ("steps", "expected", "versions"),
    [
        pytest.param(
            [page(pod("a"), version=5), [line("ADDED", pod("b", 6)), line("DELETED", pod("a", 7)), None]],
            ["ADDED a", "SYNCED ", "ADDED b", "DELETED a"], ["", "5"], id="a list, then changes",
        ),
        pytest.param(
            [page(version=5), [line("ADDED", pod("a", 6))], [line("MODIFIED", pod("a", 7)), None]],
            ["SYNCED ", "ADDED a", "MODIFIED a"], ["", "5", "6"], id="an ended watch goes on where it stood",
        ),
        pytest.param(
            [page(version=5), [line("ADDED", pod("a", 6)), line("ADDED", pod("b", 7))[:20], "cut"],
             [line("ADDED", pod("b", 7)), None]],
            ["SYNCED ", "ADDED a", "ADDED b"], ["", "5", "6"], id="a cut watch loses no half line",
        ),
        pytest.param(
            [page(version=5), [line("BOOKMARK", pod("", 9))], [line("ADDED", pod("a", 10)), None]],
            ["SYNCED ", "ADDED a"], ["", "5", "9"], id="a bookmark moves the start",
        ),
        pytest.param(
            [page(pod("a"), pod("b"), version=5), [EXPIRED], page(pod("a", 8), pod("c", 9), version=9), [None]],
            ["ADDED a", "ADDED b", "SYNCED ", "MODIFIED a", "ADDED c", "DELETED b"], ["", "5", ""],
            id="too old: a new list tells what was missed",
        ),
        pytest.param(
            [refusal(503, "ServiceUnavailable"), refusal(503, "ServiceUnavailable"), page(pod("a"), version=5)],
            ["ADDED a", "SYNCED "], ["", "", ""], id="a server that comes late is waited for",
        ),
        pytest.param(
            [page(pod("a"), version=5), [line("MODIFIED", pod("a", 6))], refusal(404, "NotFound"),
             page(pod("a", 7), version=7)],
            ["ADDED a", "SYNCED ", "MODIFIED a", "MODIFIED a"], ["", "5", "6", ""], id="a kind that went comes back",
        ),
    ],
)  # fmt: skip
async def test_following_survives_failures_of_connections(
    tmp_path: Path, steps: list[Any], expected: list[str], versions: list[str]
) -> None:
    handler, seen = scripted(*steps)
    async with serve(handler, tmp_path) as config:
        told, _ = await follow(config, len(expected))
    assert [" ".join(event) for event in told] == expected
    assert [request.query.get("resourceVersion", "") for request in seen][: len(versions)] == versions


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([refusal(404, "NotFound")], NotFound),
        ([refusal(403, "Forbidden")], Forbidden),
        ([page(version=5), refusal(403, "Forbidden")], Forbidden),
    ],
)
async def test_a_permanent_error_ends_following_at_the_first_try(
    tmp_path: Path, steps: list[Any], expected: type[ApiError]
) -> None:
    handler, _ = scripted(*steps)
    async with serve(handler, tmp_path) as config:
        with pytest.raises(expected):
            await follow(config, 5)


async def test_delays_grow_while_the_server_is_down_and_shrink_when_it_answers(tmp_path: Path) -> None:
    def away() -> web.Response:
        return refusal(503, "ServiceUnavailable")

    first, second = [line("ADDED", pod("a", 6))], [line("ADDED", pod("b", 7))]
    handler, _ = scripted(away(), away(), page(version=5), first, away(), second)
    async with serve(handler, tmp_path) as config:
        _, seconds = await follow(config, 3)
    assert seconds == [0.1, 0.2, 0.1, 0.2]


async def test_a_server_that_breaks_every_watch_at_once_gets_fewer_requests(tmp_path: Path) -> None:
    """An ERROR event is no progress: only a newer version is."""
    broken = [line("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError", "message": "no"})]
    handler, _ = scripted(page(version=5), broken, broken, broken, [line("ADDED", pod("a", 6)), broken[0]], broken)
    async with serve(handler, tmp_path) as config, asyncio.timeout(180):
        sleeps = Sleeps()
        async with Client(config, sleep=sleeps) as api:
            following = asyncio.create_task(_count(api))
            await until(lambda: _reaches(sleeps.seconds, 5))
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    assert sleeps.seconds == [0.1, 0.2, 0.4, 0.1, 0.2]


async def _count(api: Client) -> int:
    return len([event async for event in api.follow(PODS)])


async def test_many_watches_leave_connections_for_requests(tmp_path: Path) -> None:
    """An operator that watches forty namespaces has hundreds of watches."""
    watches, open_now = CONNECTIONS + 4, list[int]()

    async def handle(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response(pod("a"))
        response = web.StreamResponse()
        await response.prepare(request)
        open_now.append(1)
        await asyncio.Event().wait()
        return response

    async with serve(handle, tmp_path) as config:
        connection = Connection(config, timeout=10)
        await connection.open()
        watching = [asyncio.create_task(_drain(connection)) for _ in range(watches)]
        await until(lambda: _reaches(open_now, CONNECTIONS))
        await connection.send(build(Get(PODS, "n", "a")))
        await until(lambda: _reaches(open_now, watches))
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await connection.close()


async def _reaches(several: list[Any], count: int) -> bool:
    return len(several) >= count


async def _drain(connection: Connection) -> None:
    async for _ in connection.stream(build_watch(List(PODS), "1", seconds=60)):
        pass


async def test_a_log_is_streamed_and_its_refusal_is_an_error(tmp_path: Path) -> None:
    handler, seen = scripted([b"step 1\n", b"step 2\n"], refusal(404, "NotFound"))
    async with serve(handler, tmp_path) as config, Client(config) as api:
        chunks = [chunk async for chunk in api.stream_log("n", "a", container="c", follow=True, tail=10, since=0.2)]
        with pytest.raises(NotFound):
            await anext(aiter(api.stream_log("n", "b")))
    assert b"".join(chunks) == b"step 1\nstep 2\n"
    assert dict(seen[0].query) == {"container": "c", "follow": "true", "tailLines": "10", "sinceSeconds": "1"}
