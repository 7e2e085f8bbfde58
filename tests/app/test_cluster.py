"""The operator's process on a cluster: its HTTP endpoints, its log, its shutdown, and its wait for a cluster."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from paddock.app.cluster import ClusterOperator, Options, build_lease_annotations, build_settings, serve
from paddock.app.health import Address, CannotServe, Endpoints, Handlers, read_address
from paddock.app.json_logs import Format, JsonLines, start_logging
from paddock.client.kubeconfig import Config
from paddock.datasets.fetch_jobs import FetchPod
from paddock.install.own_accounts import build_own_accounts
from paddock.jobs.model import Settings
from paddock.kube.api import Api, Event
from paddock.kube.meta import LEASES, POD_GROUPS, PODS, VOLCANO_POD_GROUPS, Key, Resource, name_of
from paddock.kube.printable import show
from paddock.operator.election import Election
from paddock.operator.job_state import JobRef
from paddock.operator.metrics import Prometheus
from support.answers import serve_answers
from support.operator_seam import JOBS, Request, Seam, build_job, open_cluster
from support.waiting import until

FREE = Address("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", Address(None, 8080)), ("127.0.0.1:8080", Address("127.0.0.1", 8080)), ("0", None),
        ("[::1]:80", Address("::1", 80)), ("localhost:0", Address("localhost", 0)),
    ],
)  # fmt: skip
def test_addresses_are_written_as_in_go(text: str, address: Address | None) -> None:
    assert read_address(text) == address
    assert address is None or str(address) == text


@asynccontextmanager
async def listening(
    handlers: Handlers, metrics: Address | None, probes: Address | None
) -> AsyncIterator[dict[str, str]]:
    """The URL of each path."""
    endpoints = Endpoints(handlers, metrics, probes)
    try:
        await endpoints.start()
        yield {path: f"http://{address}{path}" for path, address in endpoints.addresses.items()}
    finally:
        await endpoints.stop()


async def fetch(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def scrape(measures: Prometheus) -> tuple[bytes, str]:
    return await measures.scrape_from(asyncio.get_running_loop())


async def nothing() -> tuple[bytes, str]:
    return b"", "text/plain"


async def test_readiness_names_unsynced_caches_and_liveness_ignores_them() -> None:
    why = ["not all is known yet of pods"]
    async with listening(Handlers(nothing, lambda: why[0]), None, FREE) as urls:
        assert await fetch(urls["/readyz"]) == (503, "not all is known yet of pods\n")
        assert await fetch(urls["/healthz"]) == (200, "ok\n")
        why[0] = ""
        assert await fetch(urls["/readyz"]) == (200, "ok\n")
        assert "/metrics" not in urls
        assert (await fetch(urls["/readyz"].replace("readyz", "metrics")))[0] == 404


async def test_one_address_can_serve_metrics_and_probes() -> None:
    measures = Prometheus("1.2.3")
    async with listening(Handlers(lambda: scrape(measures), str), FREE, FREE) as urls:
        assert len({url.rpartition("/")[0] for url in urls.values()}) == 1
        status, text = await fetch(urls["/metrics"])
    assert status == 200
    assert 'paddock_build_info{version="1.2.3"} 1.0' in text


async def test_a_scrape_does_not_stop_the_event_loop() -> None:
    """It may take seconds, in which a leader renews its Lease: this one takes until the loop has gone on."""
    measures, went_on = Prometheus("1"), threading.Event()

    class Slow:
        def collect(self) -> Iterator[Metric]:
            assert went_on.wait(60)
            yield GaugeMetricFamily("slow", "Waits for the event loop.", 1)

    measures.registry.register(Slow())
    async with listening(Handlers(lambda: scrape(measures), str), FREE, FREE) as urls:
        scraping = asyncio.create_task(fetch(urls["/metrics"]))
        assert await fetch(urls["/healthz"]) == (200, "ok\n")
        went_on.set()
        assert "slow 1.0" in (await scraping)[1]


async def test_the_error_for_an_address_in_use_names_the_flag_to_change() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(CannotServe) as refused:
            async with listening(Handlers(nothing, str), None, address):
                pass
    assert str(refused.value) == (
        f"cannot listen at {address}: Address already in use. Choose another address with "
        "--health-probe-bind-address, or 0 for none"
    )


async def test_a_standby_is_ready_before_it_leads(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api:
        options = Options("default", leader_elect=True, probes=FREE)
        stops = asyncio.Event(), asyncio.Event()
        measured = [Prometheus("1") for _ in stops]
        both = [ClusterOperator(api, api, options, measures) for measures in measured]
        tasks = [asyncio.create_task(each.run(stop)) for each, stop in zip(both, stops, strict=True)]
        for each in both:
            await asyncio.wait_for(each.operator.ready.wait(), 60)
            assert await fetch(f"http://{each.endpoints.addresses['/readyz']}/readyz") == (200, "ok\n")
        await until(lambda: _leads(both))
        assert sum(each.election.leads for each in both if each.election) == 1
        texts = [measures.scrape()[0].decode() for measures in measured]
        assert sum("paddock_leader 1.0" in text for text in texts) == 1
        assert sum('paddock_lease_renewals_total{result="ok"} 0.0' in text for text in texts) == 1, "the standby's"
        for stop in stops:
            stop.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)


async def _leads(both: list[ClusterOperator]) -> bool:
    return any(each.election and each.election.leads for each in both)


async def test_an_operator_whose_caches_are_not_synced_takes_no_shard_and_is_not_counted(tmp_path: Path) -> None:
    """Another gives shards to it, whose jobs would wait."""
    async with open_cluster(tmp_path) as api:
        seam, synced, stop = Seam(api), asyncio.Event(), asyncio.Event()

        async def lag(resource: Resource, event: Event) -> None:
            if resource == PODS:
                await synced.wait()

        seam.lag = lag
        cluster = ClusterOperator(seam, api, Options("default", leader_elect=True, shards=2), Prometheus("1"))
        running = asyncio.create_task(cluster.run(stop))
        await until(lambda: _waits_for_pods_alone(cluster))
        await asyncio.sleep(0.5)
        assert (await api.list(LEASES, "default")).items == []
        synced.set()
        await until(lambda: _leads_all(cluster))
        stop.set()
        await asyncio.wait_for(running, 60)


async def test_an_operator_that_ends_is_counted_no_more_and_holds_its_shards_until_its_reconciles_have_ended(
    tmp_path: Path,
) -> None:
    async with open_cluster(tmp_path) as api:
        seam, begun, goes_on, stop = Seam(api), asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def hang(request: Request) -> None:
            if request[:2] == ("create", "pods"):
                begun.set()
                await goes_on.wait()

        seam.before = hang
        cluster = ClusterOperator(seam, api, Options("default", leader_elect=True, shards=2), Prometheus("1"))
        running = asyncio.create_task(cluster.run(stop))
        await api.create(JOBS, build_job())
        await asyncio.wait_for(begun.wait(), 60)
        await until(lambda: _leads_all(cluster))
        stop.set()
        await until(lambda: _has_no_member(api))
        assert await _leads_all(cluster)
        goes_on.set()
        await asyncio.wait_for(running, 60)
        leases = (await api.list(LEASES, "default")).items
        assert [lease["spec"].get("holderIdentity") for lease in leases] == [None, None]


async def _has_no_member(api: Api) -> bool:
    return not [lease for lease in (await api.list(LEASES, "default")).items if "member" in name_of(lease)]


async def _waits_for_pods_alone(cluster: ClusterOperator) -> bool:
    return cluster.operator.unsynced() == ("pods",)


async def _leads_all(cluster: ClusterOperator) -> bool:
    return cluster.election is not None and len(cluster.election.terms) == cluster.election.shards


class Broken(Election):
    async def acquire_or_renew(self) -> tuple[float, bool]:
        raise KeyError("a bug of ours")


async def test_a_bug_in_the_election_is_raised(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api:
        cluster = ClusterOperator(api, api, Options("default", leader_elect=True), Prometheus("1"))
        cluster.election = Broken(api, "default", "us")
        with pytest.raises(KeyError, match="a bug of ours"):
            await asyncio.wait_for(cluster.run(asyncio.Event()), 60)


async def test_an_unexpected_error_is_logged_before_the_process_ends(caplog: pytest.LogCaptureFixture) -> None:
    """The log is the only output: the root file system of the pod is read-only."""
    with pytest.raises(KeyError):
        await serve(Config(server="http://127.0.0.1:1"), Options("default", kinds=(None,), probes=FREE))  # type: ignore[arg-type]
    (line,) = [record for record in caplog.records if record.exc_info]
    assert "bug" in line.getMessage()


async def test_probes_are_answered_while_the_operator_waits_for_the_cluster(tmp_path: Path) -> None:
    """Otherwise the kubelet would end the pod of an operator that only waits."""
    connected = asyncio.Event()

    async def connect() -> bool:
        return await connected.wait()

    async with open_cluster(tmp_path) as api:
        cluster, stop = ClusterOperator(api, api, Options("default", probes=FREE), Prometheus("1")), asyncio.Event()
        running = asyncio.create_task(cluster.run(stop, connect))
        await until(lambda: _is_listening(cluster))
        urls = {path: f"http://{address}{path}" for path, address in cluster.endpoints.addresses.items()}
        assert await fetch(urls["/healthz"]) == (200, "ok\n")
        assert await fetch(urls["/readyz"]) == (503, "waiting for the cluster\n")
        connected.set()
        await asyncio.wait_for(cluster.operator.ready.wait(), 60)
        assert await fetch(urls["/readyz"]) == (200, "ok\n")
        stop.set()
        await asyncio.wait_for(running, 60)


async def _is_listening(cluster: ClusterOperator) -> bool:
    return bool(cluster.endpoints.addresses)


def test_on_a_cluster_nothing_is_replaced_and_no_gang_made_unless_asked_for() -> None:
    own = build_own_accounts("ops", None)
    assert build_settings(Options("ops")) == Settings(own_accounts=own, avoids_nodes=True)
    assert not Settings().substitutes and not Settings().avoids_nodes, "a laptop has one node"
    asked = Options("ops", pod_groups=POD_GROUPS, gang_scheduler="gangs", substitutes=True)
    wanted = Settings(
        pod_groups=POD_GROUPS, gang_scheduler="gangs", substitutes=True, own_accounts=own, avoids_nodes=True
    )
    assert build_settings(asked) == wanted


def test_the_leaders_annotations_hold_its_settings() -> None:
    options = Options("ops", namespaces=("a", "b"), pod_groups=VOLCANO_POD_GROUPS, gang_scheduler="volcano")
    annotations = build_lease_annotations(options)
    assert json.loads(annotations["paddock.dev/settings"]) == {
        "namespaces": ["a", "b"],
        "kinds": ["paddlejobs.batch.paddlepaddle.org"],
        "podGroups": "podgroups.scheduling.volcano.sh",
        "gangScheduler": "volcano",
        "substitute": False,
        "datasets": False,
        "ownAccounts": [
            "ops/paddle-console-sa",
            "ops/paddle-manager-sa",
            "ops/paddle-webhook-sa",
            "paddle-console/paddle-console-sa",
        ],
    }
    fetching = build_lease_annotations(Options("ops", datasets=FetchPod("paddock:1")))
    assert json.loads(fetching["paddock.dev/settings"])["datasets"] is True


def test_a_json_line_about_a_job_has_its_name_and_the_traceback_as_fields() -> None:
    logger, stream = logging.Logger("paddock.operator"), StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    ref = JobRef(JOBS, Key("team-a", "resnet"))
    logger.warning("%s: %s; again in %.1f s", ref, "训练\nfailed", 0.5)
    try:
        raise ValueError("wrong")
    except ValueError:
        logger.exception("%s: a pass failed", ref)
    logger.info("nothing of a job, 100 %")
    first, second, third = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first["msg"] == "PaddleJob team-a/resnet: 训练\nfailed; again in 0.5 s"
    assert (first["level"], first["logger"]) == ("warning", "paddock.operator")
    assert first["ts"].endswith("Z")
    assert first["job"] == {
        "kind": "PaddleJob", "group": "batch.paddlepaddle.org", "namespace": "team-a", "name": "resnet",
    }  # fmt: skip
    assert second["traceback"].endswith("ValueError: wrong")
    assert third["msg"] == "nothing of a job, 100 %"
    assert "job" not in third


def test_the_text_format_is_plain_lines() -> None:
    stream, root = StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        start_logging(stream, "text")
        logging.getLogger("paddock.cluster").info("ended in order")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert stream.getvalue().endswith("Z INFO paddock.cluster ended in order\n")


ACTING = "\x1b]52;c;aGk=\x07 \x9b31m \u202e \u2028 \ud800 \x7f \r\n2026-01-01T00:00:00Z INFO paddock forged"


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_others_say_in_a_log_acts_on_no_terminal_and_begins_no_line(form: Format) -> None:
    """Of a message, and of an exception."""
    stream, root = StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        start_logging(stream, form)
        logging.getLogger("paddock.operator").info("训练: %s", ACTING)
        try:
            raise ValueError(ACTING.replace("\n", ""))
        except ValueError:
            logging.getLogger("paddock.operator").exception("a pass failed")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    text = stream.getvalue()
    assert show(text) == text
    assert text.encode()
    assert not [line for line in text.splitlines() if line.endswith("paddock forged") and line.startswith("2026-01-01")]
    if form == "json":
        first, second = [json.loads(line) for line in text.splitlines()]
        assert first["msg"] == f"训练: {ACTING}"
        assert ACTING.replace("\n", "") in second["traceback"]
    else:
        assert r"训练: \x1b]52;c;aGk=\x07 \x9b31m \u202e \u2028 \ud800 \x7f \r\n2026" in text


@asynccontextmanager
async def started(
    tmp_path: Path, *words: str, server: str = "http://127.0.0.1:1"
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Path]]:
    """`paddock operator`, with its log in a file. No cluster answers at the default `server`."""
    kubeconfig, log = tmp_path / "config", tmp_path / "log"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "dead",
                "contexts": [{"name": "dead", "context": {"cluster": "dead"}}],
                "clusters": [{"name": "dead", "cluster": {"server": server}}],
            }
        )
    )
    command = [sys.executable, "-m", "paddock.cli.main", "operator", "--kubeconfig", str(kubeconfig), *words]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    with log.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(*command, stderr=stream, env=dict(os.environ))
    try:
        yield process, log
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _contains(log: Path, text: str) -> bool:
    return text in log.read_text()


@pytest.mark.slow
async def test_the_operator_waits_for_a_cluster_that_does_not_answer_and_logs_it_once(tmp_path: Path) -> None:
    async with started(tmp_path, "--initImage=alpine:3.10", "--zap-devel") as (process, log):
        await until(lambda: _contains(log, "waiting for the cluster"))
        await asyncio.sleep(1.5)  # it has tried again
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
        said = [json.loads(line)["msg"] for line in log.read_text().splitlines()]
    assert said[:2] == [
        "--initImage is not needed and changes nothing: pods find their peers without an init container",
        "--zap-devel is not needed and changes nothing: logs are set by --log-format",
    ]
    assert [line for line in said if "waiting" in line] == [said[2]]
    assert "nothing answers at http://127.0.0.1:1" in said[2]


@pytest.mark.slow
async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    """After the first, the process waits for the reconcile, whose request is never answered."""
    async with hanging_cluster() as (server, asked), started(tmp_path, "--log-format=json", server=server) as found:
        process, log = found
        await asyncio.wait_for(asked.wait(), 60)
        process.send_signal(signal.SIGTERM)
        await until(lambda: _contains(log, "SIGTERM: ending in order"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.wait(), 0.5)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 128 + signal.SIGTERM


@asynccontextmanager
async def hanging_cluster() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server's URL, and an event for the first GET of its one job. That GET and the watches get no answer."""
    asked = asyncio.Event()
    job = {"metadata": {"name": "demo", "namespace": "default", "uid": "u", "resourceVersion": "1"}, "spec": {}}

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.20.2"})
        if request.path.endswith("/paddlejobs/demo"):
            asked.set()
        elif "watch" not in request.query:
            items = [job] if request.path.endswith("/paddlejobs") else []
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async with serve_answers(answer) as url:
        yield url, asked
