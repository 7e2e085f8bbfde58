"""The metrics of a running operator."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.client import Client
from paddock.client.kubeconfig import Config
from paddock.client.watches import Watches
from paddock.jobs import causes
from paddock.jobs.causes import CAUSES
from paddock.jobs.model import Phase, Settings
from paddock.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from paddock.kube.meta import PODS, SERVICES, Key, Resource
from paddock.operator.election import NO_TERMS, Term
from paddock.operator.job_metrics import ENDS, KEPT_SECONDS
from paddock.operator.metrics import MeasuredApi, Prometheus
from paddock.operator.operator import MAX_CONCURRENT_RECONCILES
from paddock.operator.readings import Readings
from paddock.operator.transitions import Finished, Ran, Restarted
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    have_pods,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until

KIND = "paddlejobs.batch.paddlepaddle.org"
MANUAL = Path(__file__).resolve().parents[2] / "docs" / "operator.md"


def read(measures: Prometheus, name: str, **labels: str) -> float:
    """One value of a scrape; 0 without a series."""
    body, kind = measures.scrape()
    assert kind.startswith("text/plain")
    return sum(
        sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


async def test_a_scrape_has_jobs_reconciles_calls_and_the_queue(cluster: LocalApi) -> None:
    measures = Prometheus("1.2.3")
    seam = Seam(MeasuredApi(cluster, measures))
    async with running(seam, measures=measures):
        await cluster.create(JOBS, build_job("a-job-of-mine"))
        await until(lambda: have_pods(cluster, 4, "a-job-of-mine"))
        await settled(seam)
        assert read(measures, "paddock_jobs", kind=KIND, phase="Pending") == 1
        assert read(measures, "paddock_jobs") == 1
        assert read(measures, "paddock_passes_total", kind=KIND, result="ok") >= 1
        passes = read(measures, "paddock_passes_total")
        assert read(measures, "paddock_pass_duration_seconds_count") == passes
        assert read(measures, "paddock_queue_wait_seconds_count") == passes
        assert read(measures, "paddock_queue_wait_seconds_sum") < 600
        assert read(measures, "paddock_queue_depth") == 0
        assert read(measures, "paddock_api_requests_total", verb="create", resource="pods", code="201") == 4
        assert read(measures, "paddock_api_request_duration_seconds_count", verb="create", resource="pods") == 4
        assert read(measures, "paddock_leader") == 1
        assert read(measures, "paddock_build_info", version="1.2.3") == 1
        assert read(measures, "process_resident_memory_bytes") > 2**20
        body = measures.scrape()[0].decode()
        assert "a-job-of-mine" not in body, "no label names a job"
        assert "_created" not in body
        await cluster.delete(JOBS, "default", "a-job-of-mine")
        await until(lambda: _have_no_jobs(measures))


async def _have_no_jobs(measures: Prometheus) -> bool:
    return read(measures, "paddock_jobs") == 0


@pytest.mark.parametrize(
    ("error", "result"),
    [(Conflict("x"), "conflict"), (Unavailable("x"), "error"), (RuntimeError("x"), "bug")],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_reconciles_are_counted_by_result(cluster: LocalApi, error: Exception, result: str) -> None:
    measures, seam, thrown = Prometheus("1"), Seam(cluster), asyncio.Event()

    async def throw_once(request: Request) -> None:
        if request[1] == "paddlejobs/status" and not thrown.is_set():
            thrown.set()
            raise error

    seam.before = throw_once
    async with running(seam, measures=measures):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        assert read(measures, "paddock_passes_total", result=result) == 1


async def test_calls_are_counted_with_the_code_of_their_answer(cluster: LocalApi) -> None:
    measures = Prometheus("1")
    api = MeasuredApi(cluster, measures)
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "one", "namespace": "default"},
        "spec": {"clusterIP": "None"},
    }  # fmt: skip
    made = await api.create(SERVICES, service)
    with pytest.raises(AlreadyExists):
        await api.create(SERVICES, service)
    await api.replace(SERVICES, made)
    await api.patch(SERVICES, "default", "one", {"metadata": {"labels": {"a": "b"}}})
    assert len((await api.list(SERVICES, labels="a=b")).items) == 1
    await api.delete(SERVICES, "default", "one")
    with pytest.raises(NotFound):
        await api.get(SERVICES, "default", "one")
    calls = [
        (verb, code, read(measures, "paddock_api_requests_total", verb=verb, code=code, resource="services"))
        for verb, code in (
            ("create", "201"), ("create", "409"), ("update", "200"), ("patch", "200"), ("list", "200"),
            ("delete", "200"), ("get", "404"),
        )
    ]  # fmt: skip
    assert {count for *_, count in calls} == {1.0}, calls
    assert read(measures, "paddock_api_requests_total") == 7


async def test_a_call_that_is_cancelled_has_no_answer_and_is_not_counted(cluster: LocalApi) -> None:
    measures, seam, asked = Prometheus("1"), Seam(cluster), asyncio.Event()

    async def never(_: Request) -> None:
        asked.set()
        await asyncio.Event().wait()

    seam.before = never
    call = asyncio.create_task(MeasuredApi(seam, measures).get(SERVICES, "default", "one"))
    await asked.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert call.cancelled()
    assert read(measures, "paddock_api_requests_total") == 0


def test_a_job_is_counted_once_whatever_its_way_through_the_phases() -> None:
    measures, key = Prometheus("1"), Key("default", "demo")
    for phase in (Phase.NONE, Phase.PENDING, Phase.PENDING, Phase.RUNNING):
        measures.count_job(JOBS, key, phase)
    assert read(measures, "paddock_jobs", phase="Running") == 1
    assert read(measures, "paddock_jobs") == 1
    for _ in range(2):
        measures.count_job(JOBS, key, None)
    assert read(measures, "paddock_jobs") == 0


FINISHED, RESTARTS = "paddock_jobs_finished_total", "paddock_job_restarts_total"
TO_RUNNING, DURATION = "paddock_job_time_to_running_seconds", "paddock_job_duration_seconds"


async def test_what_a_job_went_through_outlives_it_also_when_an_answer_is_lost(cluster: LocalApi) -> None:
    """Four ranks run, one fails, and the operator does not hear that this was recorded."""
    measures, seam = Prometheus("1"), Seam(cluster)

    async def lose(request: Request) -> None:
        if request[1] == "paddlejobs/status" and (await status_of(cluster)).get("phase") == "Failed":
            seam.after = None
            raise Unavailable("the answer was lost")

    seam.after = lose
    async with running(seam, Settings(shared_network=True, status_wait=0), measures=measures):
        await cluster.create(JOBS, build_job())
        pods = await until(lambda: have_pods(cluster, 4))
        job = {"namespace": "default", "kind": KIND}
        assert read(measures, FINISHED, **job, outcome="Failed", reason="RankFailed") == 0
        for number, pod in enumerate(sorted(pods)):
            await set_phase(cluster, pod, "Running", address=f"127.0.0.{number + 2}")
        await until(lambda: _is(measures, 1, f"{TO_RUNNING}_count", **job))
        await set_phase(cluster, "demo-worker-0", "Failed", 1)
        await until(lambda: _is(measures, 1, FINISHED, **job, outcome="Failed"))
        await cluster.delete(JOBS, "default", "demo")
        await until(lambda: _have_no_jobs(measures))
        await settled(seam)
    assert seam.after is None, "the answer was lost"
    assert read(measures, FINISHED) == 1
    assert read(measures, FINISHED, reason="RankFailed") == 1
    assert read(measures, f"{DURATION}_count", **job, outcome="Failed") == 1
    assert read(measures, f"{TO_RUNNING}_sum") < 600


async def _is(measures: Prometheus, value: float, name: str, **labels: str) -> bool:
    return read(measures, name, **labels) == value


def test_transitions_are_counted_by_namespace_and_kind() -> None:
    measures, key = Prometheus("1"), Key("team", "demo")
    for transition in (
        Ran(7.0),
        Restarted("RankRestarted", True),
        Restarted("PodsLost", False),
        Restarted("PodsLost", False),
        Finished(Phase.COMPLETED, "Completed", 90.0),
        Finished(Phase.FAILED, "RankFailed", None),
    ):
        measures.passed(JOBS, key, transition)
    job = {"namespace": "team", "kind": KIND}
    assert read(measures, RESTARTS, **job, cause="RankRestarted", counted="true") == 1
    assert read(measures, RESTARTS, **job, cause="PodsLost", counted="false") == 2
    assert read(measures, FINISHED, **job, outcome="Completed", reason="Completed") == 1
    assert read(measures, FINISHED, **job, outcome="Failed", reason="RankFailed") == 1
    assert (read(measures, f"{TO_RUNNING}_sum", **job), read(measures, f"{DURATION}_sum", **job)) == (7.0, 90.0)
    assert [read(measures, f"{TO_RUNNING}_bucket", le=edge) for edge in ("5.0", "10.0", "3600.0")] == [0, 1, 1]


def series_of(measures: Prometheus, namespace: str) -> int:
    return measures.scrape()[0].decode().count(f'namespace="{namespace}"')


def test_a_namespace_has_its_counters_from_its_first_job_on_and_until_an_hour_after_the_last() -> None:
    """Prometheus does not see the first increment of a series that begins with it."""
    now = [1000.0]
    measures, keys = Prometheus("1", clock=lambda: now[0]), [Key("team", name) for name in "ab"]
    for key in keys:
        measures.count_job(JOBS, key, Phase.NONE)
    body = measures.scrape()[0].decode()
    for phase, cause in ENDS:
        labels = f'kind="{KIND}",namespace="team",outcome="{phase}",reason="{cause.__name__}"'
        assert f"{FINISHED}{{{labels}}} 0.0" in body
    assert f'paddock_passes_total{{kind="{KIND}",result="bug"}} 0.0' in body
    for reason in causes.NEW_ATTEMPT_REASONS:
        counted = "true" if reason == "RankRestarted" else "false"
        assert f'{RESTARTS}{{cause="{reason}",counted="{counted}",kind="{KIND}",namespace="team"}} 0.0' in body
    measures.passed(JOBS, keys[0], Ran(5.0))
    before = series_of(measures, "team")
    for key in keys:
        now[0] += 2 * KEPT_SECONDS
        assert series_of(measures, "team") == before, "as long as it has a job"
        measures.count_job(JOBS, key, None)
    now[0] += KEPT_SECONDS - 1
    assert series_of(measures, "team") == before
    now[0] += 1
    assert series_of(measures, "team") == 0
    measures.count_job(JOBS, keys[0], Phase.NONE)
    assert series_of(measures, "team") == len(ENDS) + len(causes.NEW_ATTEMPT_REASONS), "it begins anew"


def test_the_manual_tells_how_many_series_a_namespace_has_at_most() -> None:
    measures, key = Prometheus("1"), Key("team", "demo")
    measures.count_job(JOBS, key, Phase.NONE)
    measures.passed(JOBS, key, Ran(5.0))
    for phase in (Phase.COMPLETED, Phase.FAILED):
        measures.passed(JOBS, key, Finished(phase, "Other", 5.0))
    assert f"at most {series_of(measures, 'team')} for each kind of job" in MANUAL.read_text()


def test_a_namespace_that_comes_back_within_the_hour_keeps_its_counts() -> None:
    now = [0.0]
    measures, key = Prometheus("1", clock=lambda: now[0]), Key("team", "demo")
    measures.passed(JOBS, key, Ran(5.0))  # before its watch has told of the job
    for _ in range(3):
        measures.count_job(JOBS, key, Phase.RUNNING)
        measures.count_job(JOBS, key, None)
        now[0] += KEPT_SECONDS - 1
    assert read(measures, f"{TO_RUNNING}_count", namespace="team") == 1
    measures.passed(JOBS, Key("other", "demo"), Ran(5.0))
    now[0] += KEPT_SECONDS
    assert (series_of(measures, "team"), series_of(measures, "other")) == (0, 0)


def test_every_end_begins_at_zero() -> None:
    """The causes that end a job are those of the last part of `jobs.causes`."""
    names = list(CAUSES)
    ends = names[names.index("Completed") :]
    assert [cause.__name__ for _, cause in ENDS] == ends


async def test_the_age_of_the_queue_grows_while_no_pass_begins(cluster: LocalApi) -> None:
    measures, seam, now = Prometheus("1"), Seam(cluster), [0.0]
    asked = asyncio.Event()

    async def never(request: Request) -> None:
        if request[1] != "events":
            asked.set()
            await asyncio.Event().wait()

    async with running(seam, measures=measures, readings=Readings(steady=lambda: now[0])) as operator:
        seam.before = never
        assert read(measures, "paddock_queue_age_seconds") == 0
        for number in range(MAX_CONCURRENT_RECONCILES + 3):
            await cluster.create(JOBS, build_job(f"job-{number}"))
        await asyncio.wait_for(asked.wait(), 60)
        await until(lambda: _is(measures, 3, "paddock_queue_depth"))
        now[0] += 100
        assert read(measures, "paddock_queue_age_seconds") == 100
        operator._leadership = Standby()
        assert read(measures, "paddock_queue_age_seconds") == 0, "a standby's queue waits for its turn"


class Standby:
    shards = 1
    terms: Mapping[int, Term | None] = {}

    def holds(self, shard: int, term: Term | None) -> bool:
        return False

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        await asyncio.Event().wait()


async def test_a_halted_kind_is_told(cluster: LocalApi) -> None:
    measures, seam, now = Prometheus("1"), Seam(cluster), [1_700_000_000.0]
    seam.answers = lambda request, answer: {**answer, "status": {}}
    async with running(seam, measures=measures, readings=Readings(lambda: now[0])):
        await cluster.create(JOBS, build_job())
        await until(lambda: _is(measures, 1, "paddock_kind_halted", kind=KIND))
        now[0] += 3600
        assert read(measures, "paddock_kind_halted", kind=KIND) == 0, "until a job of it is tried again"
    assert read(measures, FINISHED) + read(measures, RESTARTS) == 0


async def test_a_watch_that_is_started_again_is_counted() -> None:
    measures, told = Prometheus("1"), asyncio.Event()

    def note(resource: Resource) -> None:
        measures.watch_ended(resource)
        told.set()

    async with Client(Config("http://127.0.0.1:1"), watches=Watches(on_end=note)) as client:
        following = asyncio.create_task(anext(client.follow(PODS)))
        await asyncio.wait_for(told.wait(), 60)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert read(measures, "paddock_watch_restarts_total", resource="pods") >= 1


def test_the_manual_lists_every_metric_with_its_labels() -> None:
    listed = dict(re.findall(r"^\| `(paddock_\w+)` \|([^|]*)\|", MANUAL.read_text(), re.MULTILINE))
    there = {
        vars(collector)["_name"]: vars(collector)["_labelnames"]
        for collector in Prometheus("1").registry._collector_to_names
        if getattr(collector, "_name", "").startswith("paddock_")
    }
    named = {
        re.sub(r"_(total|info)$", "", name): tuple(re.findall(r"`(\w+)`", labels)) for name, labels in listed.items()
    }
    there["paddock_build"] = ("version",)  # an Info's own
    assert named == there
