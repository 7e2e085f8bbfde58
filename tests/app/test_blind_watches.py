"""A right to watch that is taken away from an operator is in its log once, in its probes, and in its metrics."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web

from app.test_cluster import FREE, fetch, started
from paddock.app.cluster import BLIND_SECONDS, ClusterOperator, Options
from paddock.client.watches import Watches
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS
from paddock.operator.blind_watches import RefusalLog
from paddock.operator.metrics import Prometheus
from support.answers import serve_answers
from support.operator_seam import JOBS, open_cluster
from support.waiting import until


def test_each_refusal_is_logged_once_until_the_watch_is_granted_again(caplog: pytest.LogCaptureFixture) -> None:
    watches = Watches(on_refusal=RefusalLog([JOBS]).tell)
    watch, other = watches.add(PODS, ""), watches.add(PODS, "team")
    with caplog.at_level(logging.INFO, "paddock.cluster"):
        for why in ("no list", "no watch", "no list", "no watch"):
            watches.end(watch, Forbidden(why))
        watches.end(other, Forbidden("no list"))
        watches.hear(watch)
        watches.end(watch, Forbidden("no list"))
    said = [record.message.partition(". ")[0] for record in caplog.records]
    assert said == [
        "cannot watch pods in all namespaces, trying again: no list",
        "cannot watch pods in all namespaces, trying again: no watch",
        "cannot watch pods in namespace team, trying again: no list",
        "pods can be watched again",
        "cannot watch pods in all namespaces, trying again: no list",
    ]


async def test_an_operator_that_is_refused_for_a_minute_is_not_ready(tmp_path: Path) -> None:
    now = [1000.0]
    watches, measures, stop = Watches(clock=lambda: now[0]), Prometheus("1"), asyncio.Event()
    async with open_cluster(tmp_path) as api:
        cluster = ClusterOperator(api, api, Options("ops", probes=FREE), measures, watches=watches)
        running = asyncio.create_task(cluster.run(stop))
        await asyncio.wait_for(cluster.operator.ready.wait(), 60)
        ready = f"http://{cluster.endpoints.addresses['/readyz']}/readyz"
        watch = watches.add(PODS, "team")
        watches.end(watch, Forbidden("pods is forbidden"))
        assert await fetch(ready) == (200, "ok\n"), "a role may just be edited"
        now[0] += BLIND_SECONDS
        why = "what changes of pods in namespace team is not known any more: pods is forbidden\n"
        assert await fetch(ready) == (503, why)
        assert _read(measures) == {"silence_seconds": BLIND_SECONDS, "es_refused": 1.0}
        watches.hear(watch)
        assert await fetch(ready) == (200, "ok\n")
        assert _read(measures) == {"silence_seconds": 0.0, "es_refused": 0.0}
        stop.set()
        await asyncio.wait_for(running, 60)


def _read(measures: Prometheus) -> dict[str, float]:
    lines = [line for line in measures.scrape()[0].decode().splitlines() if line.startswith("paddock_watch")]
    values = dict(line.removeprefix("paddock_watch").split() for line in lines)
    return {name.strip("_"): float(value) for name, value in values.items()}


@pytest.mark.slow
async def test_the_operator_s_process_logs_a_right_that_is_taken_away(tmp_path: Path) -> None:
    tries: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.20.2"})
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        tries[request.path] += 1
        if tries["/api/v1/pods"] > 1 and request.path == "/api/v1/pods":
            status = {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "pods is forbidden"}
            return web.json_response(status, status=403)
        if tries[request.path] == 1:
            return web.StreamResponse()  # it ends at once
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async with serve_answers(answer) as server, started(tmp_path, "--log-format=text", server=server) as found:
        process, log = found
        await until(lambda: tries["/api/v1/pods"] >= 4, 60)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
    said = [line for line in log.read_text().splitlines() if "WARNING" in line]
    assert len(said) == 1
    assert "cannot watch pods in all namespaces, trying again: pods is forbidden" in said[0]
