"""What a Prometheus is asked, and what it may answer."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import subprocess
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.idle_jobs import ask_prometheus
from paddock.app.prometheus import (
    LARGEST,
    TOKEN,
    Address,
    PrometheusError,
    find_address,
    query,
    read_address,
    read_answer,
)
from paddock.kube.meta import Key
from paddock.views.usage import Held, read_series, write_query
from support.answers import serve_answers
from support.programs import need

KIND = "paddlejobs.batch.paddlepaddle.org"
AT = Address("http://127.0.0.1:9090")

# As Prometheus 2.42 answered, whole.
ANSWER = (
    b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"kind":"paddlejobs.batch.paddlepaddle.org",'
    b'"namespace":"team-a","resource":"cpu"},"value":[1795998666.355,"230400"]},{"metric":{"kind":'
    b'"paddlejobs.batch.paddlepaddle.org","namespace":"team-a","resource":"nvidia.com/gpu"},"value":[1795998666.355,'
    b'"28800"]}]}}'
)
REFUSAL = (
    b'{"status":"error","errorType":"bad_data","error":"invalid parameter \\"query\\": 1:9: parse error: unexpected '
    b'\\"(\\" in grouping opts, expected label"}'
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.0.0.1:9090", Address("http://127.0.0.1:9090")),
        (" https://host/prometheus/ ", Address("https://host/prometheus")),
        ("http://[::1]:9090", Address("http://[::1]:9090")),
        ("https://ann:p%40ss@host:1/x", Address("https://host:1/x", "ann", "p@ss")),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert "p@ss" not in repr(read_address(text))


@pytest.mark.parametrize(
    "text", ["", "prom:9090", "ftp://host", "http://", "http://h?x=1", "http://h#a", "http://h:x", "http://[", "://"]
)
def test_what_is_no_address_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(PrometheusError, match=r"http://HOST:PORT or https://HOST/PATH"):
        read_address(text)


def test_a_wrong_address_is_told_without_its_password() -> None:
    with pytest.raises(PrometheusError) as caught:
        read_address("ftp://ann:secret@host")
    assert "secret" not in str(caught.value) and "host" in str(caught.value)


def test_a_real_answer_is_read() -> None:
    series = read_answer(AT, 200, ANSWER)
    assert [value for _, value in series] == [230_400.0, 28_800.0]
    assert read_series(series) == [Held("team-a", KIND, {"cpu": 230_400.0, "nvidia.com/gpu": 28_800.0})]


def vector(*series: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (vector(), []),
        (vector({"metric": {}, "value": [1, "NaN"]}, {"metric": {}, "value": [1, "+Inf"]}), []),
        (vector(None, 1, {}, {"metric": []}, {"metric": {}, "value": []}, {"metric": {}, "value": [1, {}]}), []),
        (vector({"metric": {"a": 1}, "value": [1, "1.5"]}), [1.5]),
    ],
)
def test_a_series_without_a_number_is_left_out(body: bytes, values: list[float]) -> None:
    assert [value for _, value in read_answer(AT, 200, body)] == values


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (400, REFUSAL, "refuses: invalid parameter \"query\": 1:9: parse error"),
        (503, b'{"status":"error","errorType":"timeout","error":""}', "refuses: timeout"),
        (401, b"Unauthorized", "wants a name and a password or a token, or another one (HTTP 401)"),
        (404, b"404 page not found", "is no Prometheus (HTTP 404): its address ends before /api/v1 or /graph"),
        (200, b"<html>", "is no Prometheus (HTTP 200)"),
        (200, b"[" * 100_000, "is no Prometheus"),
        (200, b"\xff", "is no Prometheus"),
        (200, b'{"status":"success","data":{"resultType":"matrix","result":[]}}', "has no series"),
        (200, b'{"status":"success","data":{"resultType":"vector","result":null}}', "has no series"),
        (200, b'{"status":"success"}', "has no series"),
        (200, b" " * (LARGEST + 1), "is longer than 16 MiB: ask for one namespace, by -n"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_sentence(code: int, body: bytes, said: str) -> None:
    with pytest.raises(PrometheusError) as caught:
        read_answer(AT, code, body)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


_KEYS = st.sampled_from(["status", "data", "result", "resultType", "metric", "value", "error"]) | st.text(max_size=3)
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(
    st.binary(max_size=200)
    | _JSON.map(lambda value: json.dumps(value).encode())
    | st.lists(_JSON, max_size=4).map(lambda each: vector(*each))
)
def test_whatever_answers_there_is_series_or_a_sentence(body: bytes) -> None:
    try:
        series = read_answer(AT, 200, body)
    except PrometheusError as error:
        assert str(error)
        return
    read_series(series)
    assert all(isinstance(labels, dict) and math.isfinite(value) for labels, value in series)


async def test_the_query_and_the_password_go_where_they_belong_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("default login other password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    asked: dict[str, Any] = {}

    async def answer(request: web.Request) -> web.Response:
        asked.update(await request.post(), path=request.path, header=request.headers.get("Authorization"))
        return web.Response(body=ANSWER, content_type="application/json")

    async with serve_answers(answer) as url:
        series = await query(Address(f"{url}/prometheus", "ann", "s€cret"), "up")
    assert len(series) == 2
    assert (asked["query"], asked["path"]) == ("up", "/prometheus/api/v1/query")
    assert b64decode(asked["header"].removeprefix("Basic ")) == "ann:s€cret".encode()
    async with serve_answers(answer) as url:
        await query(Address(url), "up")
    assert asked["header"] is None


async def test_a_token_of_the_environment_goes_to_the_prometheus_and_along_no_redirect() -> None:
    seen: list[str | None] = []

    async def lead_away(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        raise web.HTTPTemporaryRedirect(f"{url.replace('127.0.0.1', 'localhost')}/elsewhere")

    async with serve_answers(lead_away) as url:
        address = find_address(url, {TOKEN: "s3cret\n"})
        with pytest.raises(PrometheusError, match="HTTP 307") as caught:
            await query(address, "up")
    assert seen == ["Bearer s3cret"]
    assert "s3cret" not in f"{address!r} {caught.value}"


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        ("http://prometheus.monitoring:9090", "s3cret", "would go to http://prometheus.monitoring:9090 unencrypted"),
        ("https://ann:pass@host", "s3cret", "leave one of them out"),
        ("https://host", "s3cret two", "what PADDOCK_PROMETHEUS_TOKEN has is no token"),
        ("https://host", "s3cret\nX-Other: 1", "what PADDOCK_PROMETHEUS_TOKEN has is no token"),
        ("host", "s3cret", "the address of a Prometheus is"),
    ],
)
def test_a_token_that_cannot_be_sent_as_it_should_is_refused_and_not_shown(url: str, token: str, said: str) -> None:
    with pytest.raises(PrometheusError) as caught:
        find_address(url, {TOKEN: token})
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value) and "pass@" not in str(caught.value)


def test_without_a_token_the_address_is_as_it_was() -> None:
    assert find_address("http://ann:pass@host", {}) == Address("http://host", "ann", "pass")
    assert (
        find_address("http://127.0.0.1:1", {TOKEN: "a"}).token == find_address("https://h", {TOKEN: "a"}).token == "a"
    )


async def test_a_redirect_is_not_followed_and_an_answer_without_an_end_is_cut() -> None:
    async def lead_away(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/away"):
            raise web.HTTPFound("http://127.0.0.1:1/")
        response = web.StreamResponse()
        await response.prepare(request)
        with pytest.raises(ConnectionError):
            while True:
                await response.write(b" " * 2**20)
        return response

    async with serve_answers(lead_away, cancels=True) as url:
        with pytest.raises(PrometheusError, match=r"HTTP 302"):
            await query(Address(f"{url}/away"), "up")
        with pytest.raises(PrometheusError, match="longer than 16 MiB"):
            await query(Address(url), "up")


async def test_one_that_is_not_there_is_told_without_a_password() -> None:
    with pytest.raises(PrometheusError) as caught:
        await query(Address("http://127.0.0.1:1", "ann", "secret"), "up")
    assert str(caught.value) == "the Prometheus at http://127.0.0.1:1 cannot be reached: Connection refused"


# A real one.


def write_metrics(path: Path, now: int) -> None:
    """Two hours of two operators of which the second took over after one, its counter begun at 0."""
    lines = ["# TYPE paddock_resource_seconds counter"]
    for instance, first in (("a", 0), ("b", 60)):
        for resource, rate in (("nvidia.com/gpu", 8), ("cpu", 0.5)):
            labels = f'namespace="team",kind="{KIND}",resource="{resource}",instance="{instance}"'
            for minute in range(61):
                at = now - 7200 + 60 * (first + minute)
                lines.append(f"paddock_resource_seconds_total{{{labels}}} {rate * 60 * minute} {at}")
    lines.append("# TYPE DCGM_FI_DEV_GPU_UTIL gauge")
    for pod, value in (("idle", 0), ("busy", 97)):
        labels = f'namespace="gpu-operator",pod="dcgm-1",exported_namespace="team",exported_pod="{pod}",gpu="0"'
        lines += [f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {value} {now - 60 * minute}" for minute in (3, 2, 1, 0)]
    path.write_text("\n".join([*lines, "# EOF", ""]))


@contextmanager
def serve_prometheus(directory: Path) -> Iterator[str]:
    """The address of a real Prometheus that has these two hours."""
    program, tool, data = need("prometheus"), need("promtool"), directory / "data"
    write_metrics(directory / "metrics", int(time.time()) // 60 * 60)
    subprocess.run([tool, "tsdb", "create-blocks-from", "openmetrics", directory / "metrics", data], check=True,
                   capture_output=True, timeout=60)  # fmt: skip
    (directory / "prometheus.yaml").write_text("global: {}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [program, f"--config.file={directory}/prometheus.yaml", f"--storage.tsdb.path={data}",
         f"--web.listen-address={address}", "--storage.tsdb.retention.time=10y"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


@asynccontextmanager
async def ready(directory: Path) -> AsyncIterator[Address]:
    with serve_prometheus(directory) as url:
        for _ in range(600):
            try:
                await query(Address(url), "vector(1)")
                break
            except PrometheusError:
                await asyncio.sleep(0.1)
        yield Address(url)


async def test_a_real_prometheus_adds_up_what_two_operators_counted_one_after_another(tmp_path: Path) -> None:
    async with ready(tmp_path) as address:
        (held,) = read_series(await query(address, write_query("3h", "team")))
        assert (held.namespace, held.kind) == ("team", KIND)
        # increase() extrapolates by less than a scrape at each end.
        assert held.seconds["nvidia.com/gpu"] == pytest.approx(8 * 7200, rel=0.03)
        assert held.seconds["cpu"] == pytest.approx(0.5 * 7200, rel=0.03)
        assert read_series(await query(address, write_query("3h", "other"))) == []
        read = ask_prometheus(address)
        asked = {"u-1": Key("team", "idle"), "u-2": Key("team", "busy"), "u-3": Key("team", "unknown")}
        assert await read(asked) == {"u-1": 0.0, "u-2": 97.0}
        with pytest.raises(PrometheusError, match=r"refuses: .*parse error"):
            await query(address, "sum by ((")
