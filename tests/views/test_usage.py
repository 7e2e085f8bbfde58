"""What jobs have held, by what each of three sources tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.history.records import Attempt, RunRecord, Size
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.labels import CREATED_BY_ANNOTATION, SUCCESS_ANNOTATION
from paddock.jobs.model import Phase, Status
from paddock.kube.gpu_shares import GPU, SHARE_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time
from paddock.operator.metrics import Prometheus
from paddock.views.stored import StoredJob
from paddock.views.usage import (
    METRIC,
    By,
    Held,
    Row,
    Window,
    add_up,
    group_pods,
    list_devices,
    list_times,
    measure_pod,
    read_run,
    read_series,
    read_stored_job,
    sum_rows,
    write_query,
)

JOBS = PADDLEPADDLE.resource
WINDOW = Window(1000.0, 10_000.0)


def build_manifest(workers: int = 2, gpus: str = "4", **annotations: str) -> Manifest:
    container = {"name": "main", "image": "x", "resources": {"limits": {GPU: gpus}, "requests": {"cpu": "500m"}}}
    worker = {"replicas": workers, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": JOBS.api_version, "kind": JOBS.kind,
        "metadata": {"name": "demo", "namespace": "team", "uid": "u", "annotations": annotations},
        "spec": {"worker": worker},
    }  # fmt: skip


def build_run(*attempts: Attempt, ended: float | None = None, **others: Any) -> RunRecord:
    manifest = build_manifest()
    return RunRecord(
        JOBS.api_version, JOBS.kind, "team", "demo", "u", 1, 1000.0, ended=ended, spec=manifest["spec"],
        attempts=attempts, **others,
    )  # fmt: skip


def read_job(manifest: Manifest) -> Any:
    return KINDS[JOBS].read_job(manifest)


@pytest.mark.parametrize(
    ("run", "used", "is_up", "times"),
    [
        (build_run(Attempt(0, 1000, placed=1010), ended=1110), {}, True, [(1010, 1110, None)]),
        (build_run(Attempt(0, 1000, started=1020), ended=1110), {}, True, [(1020, 1110, None)]),
        (build_run(Attempt(0, 1000), ended=1110), {}, True, []),  # it never had its nodes
        (build_run(Attempt(0, 1000), ended=1110), {0: 1105.0}, True, [(1000, 1110, None)]),  # nobody saw it begin
        (build_run(Attempt(0, 1000, placed=1010)), {}, True, [(1010, 10_000, None)]),  # it runs
        (build_run(Attempt(0, 1000, placed=1010)), {}, False, []),  # the cluster is down, and nothing tells since when
        (build_run(Attempt(0, 1000, placed=1010)), {0: 1500.0}, False, [(1010, 1500, None)]),
        (build_run(Attempt(0, 1000, placed=1010)), {0: 9900.0}, True, [(1010, 10_000, None)]),
        (build_run(Attempt(0, 1000, placed=1010)), {0: 2000.0}, True, [(1010, 2000, None)]),  # suspended since
        (build_run(Attempt(0, 1000, placed=1010), Attempt(1, 5000, placed=5010), ended=6000), {0: 2000.0}, True,
         [(1010, 2000, None), (5010, 6000, None)]),  # suspended and resumed
        (build_run(Attempt(0, 1000, placed=1010), Attempt(1, 1200), ended=1300), {}, True, [(1010, 1200, None)]),
        (build_run(Attempt(0, 1000, placed=1010), ended=1110, sizes=(Size(0, 1010, 3),)), {}, True,
         [(1010, 1110, 3)]),
        # An end is told in whole seconds.
        (build_run(Attempt(0, 1000, placed=1010.9), ended=1010), {}, True, [(1010.9, 1010, None)]),
        (build_run(Attempt(0, 1000, placed=1010.9), ended=1009), {}, True, []),
    ],
)  # fmt: skip
def test_an_attempt_held_its_nodes_from_when_it_had_them_until_it_used_nothing_more(
    run: RunRecord, used: dict[int, float], is_up: bool, times: list[tuple[float, float, int | None]]
) -> None:
    assert list_times(run, used, 10_000.0, is_up=is_up) == times


@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [
        (2000.0, 2100.0, 100.0),
        (2000.0, 2000.0, 0.5),  # within one second
        (2000.9, 2000.0, 0.5),  # the end has whole seconds
        (2000.0, 2000.2, 0.5),
        (2000.9, 1999.0, 0.0),  # a clock that was set back tells nothing
        (900.0, 900.0, 0.0),  # before the window
        (900.0, 1100.0, 100.0),
        (11_000.0, 11_000.0, 0.0),
    ],
)
def test_what_lasted_for_less_than_a_second_was_held_all_the_same(begin: float, end: float, seconds: float) -> None:
    assert WINDOW.clip(begin, end) == seconds


def test_a_run_holds_what_its_ranks_ask_for() -> None:
    run = build_run(Attempt(0, 1000, placed=1010), ended=1110, annotations={CREATED_BY_ANNOTATION: "ann"})
    held = read_run(run, read_job(build_manifest()), {}, WINDOW)
    assert held == Held("team", JOBS.qualified, {GPU: 800.0, "cpu": 100.0, "pods": 200.0}, "demo", "ann")
    assert read_run(run, None, {}, WINDOW).seconds == {}, "of a manifest that nobody can read"
    shared = build_manifest(gpus="1", **{SHARE_ANNOTATION: "4"})
    assert read_run(run, read_job(shared), {}, WINDOW).seconds[GPU] == 50.0, "a quarter of a GPU each"


def test_an_elastic_run_holds_what_the_ranks_that_trained_ask_for() -> None:
    run = build_run(Attempt(0, 1000, placed=1010), ended=1110, sizes=(Size(0, 1010, 1),))
    assert read_run(run, read_job(build_manifest()), {}, WINDOW).seconds[GPU] == 800.0
    elastic = read_job(build_manifest(**{"paddock.dev/elastic": "1-2", SUCCESS_ANNOTATION: "AllRanks"}))
    assert elastic.elasticity is not None
    assert read_run(run, elastic, {}, WINDOW).seconds[GPU] == 400.0


def build_pod(
    phase: str = "Running", node: str = "n", scheduled: float | None = 2000, end: float | None = None
) -> Manifest:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled and format_time(scheduled)}
    ended = {"terminated": {"finishedAt": format_time(end)}} if end is not None else {}
    spec = {**build_manifest()["spec"]["worker"]["template"]["spec"], "nodeName": node}
    status = {
        "phase": phase, "startTime": format_time(3000), "containerStatuses": [{"state": ended}, {"state": {}}],
        "conditions": [condition] if scheduled else [],
    }  # fmt: skip
    owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": "demo", "uid": "u", "controller": True}
    metadata = {"name": "demo-worker-0", "namespace": "team", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        (build_pod(), 8000.0),
        (build_pod(scheduled=None), 7000.0),
        (build_pod(node=""), 0.0),
        (build_pod("Succeeded", end=2500), 500.0),
        (build_pod("Failed"), 0.0),  # evicted: nobody told when it ended
        (build_pod(scheduled=500), 9000.0),  # the window
        (build_pod("Succeeded", scheduled=100, end=900), 0.0),
        ({}, 0.0),
    ],
)
def test_a_pod_of_a_cluster_holds_its_node_from_its_schedule_to_its_end(pod: Manifest, seconds: float) -> None:
    assert measure_pod(pod, WINDOW) == seconds


def test_a_job_that_ended_counts_by_its_own_times_and_another_by_the_pods_that_are_there() -> None:
    manifest = build_manifest(**{CREATED_BY_ANNOTATION: "ann"})
    ended = Status(phase=Phase.COMPLETED, started=2000.0, finished=2100.0)
    pods = group_pods([build_pod()])
    stored = StoredJob(JOBS, manifest, ended, read_job(manifest))
    assert read_stored_job(stored, pods, WINDOW) == Held(
        "team", JOBS.qualified, {GPU: 800.0, "cpu": 100.0, "pods": 200.0}, "demo", "ann"
    )
    for job in (read_job(manifest), None):
        runs = read_stored_job(StoredJob(JOBS, manifest, Status(phase=Phase.RUNNING), job), pods, WINDOW)
        assert runs.seconds == {GPU: 32_000.0, "cpu": 4000.0, "pods": 8000.0}
    assert read_stored_job(StoredJob(JOBS, manifest, Status(), None), {}, WINDOW).seconds == {}


def test_a_job_that_was_cancelled_before_it_ran_held_nothing() -> None:
    cancelled = Status(phase=Phase.FAILED, finished=2100.0)
    manifest = build_manifest()
    held = [
        read_stored_job(StoredJob(JOBS, manifest, cancelled, read_job(manifest)), {}, WINDOW),
        read_run(build_run(Attempt(0, 1000), ended=2100), read_job(manifest), {}, WINDOW),
    ]
    assert [each.seconds for each in held] == [{}, {}]
    assert sum_rows(held, [By.NAME]) == []


def test_series_that_are_none_of_ours_are_left_out() -> None:
    ours = {"namespace": "team", "kind": JOBS.qualified, "resource": GPU}
    series = [
        (ours, 10.0),
        ({**ours, "resource": "cpu"}, 2.0),
        ({**ours, "resource": "example.com/foo"}, 2.0),
        ({**ours, "namespace": ""}, 2.0),
        ({"kind": "x"}, 2.0),
        ({**ours, "namespace": "b"}, -1.0),
    ]
    assert read_series(series) == [Held("team", JOBS.qualified, {GPU: 10.0, "cpu": 2.0})]


def test_the_query_names_the_metric_and_the_labels_that_the_operator_has() -> None:
    metrics = {
        vars(each).get("_name"): vars(each).get("_labelnames")
        for each in Prometheus("1").registry._names_to_collectors.values()
    }
    assert metrics[METRIC.removesuffix("_total")] == ("namespace", "kind", "resource")
    assert write_query("3600s", "team") == (
        'sum by (namespace, kind, resource) (increase(paddock_resource_seconds_total{namespace="team"}[3600s]))'
    )
    assert "{" not in write_query("3600s")


HELD = st.builds(
    Held,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["k", "l"]),
    st.dictionaries(st.sampled_from([GPU, "cpu", "amd.com/gpu"]), st.integers(0, 100).map(float)),
    st.sampled_from(["", "x", "y"]),
    st.sampled_from(["", "ann"]),
)


@given(st.lists(HELD), st.sampled_from([(By.NAMESPACE, By.KIND), (By.KIND,), (By.NAMESPACE,), (By.PERSON,)]))
def test_nothing_is_lost_and_nothing_counted_twice_by_the_way_it_is_added_up(
    held: list[Held], by: tuple[By, ...]
) -> None:
    rows = sum_rows(held, by)
    assert len({row.key for row in rows}) == len(rows)
    total = add_up(rows)
    for resource in (GPU, "cpu", "amd.com/gpu"):
        assert total.seconds.get(resource, 0.0) == sum(each.seconds.get(resource, 0.0) for each in held)
    assert total.jobs == sum(bool(each.name) and any(each.seconds.values()) for each in held)
    devices = [sum(row.seconds.get(name, 0.0) for name in (GPU, "amd.com/gpu")) for row in rows]
    assert devices == sorted(devices, reverse=True)


@pytest.mark.parametrize(
    ("held", "devices"),
    [
        ([], [GPU]),
        (["cpu"], [GPU]),
        (["amd.com/gpu", "cpu"], ["amd.com/gpu"]),
        (["amd.com/gpu", GPU], [GPU, "amd.com/gpu"]),
    ],
)
def test_each_accelerator_that_was_held_has_a_column(held: list[str], devices: list[str]) -> None:
    assert list_devices([Row(("a",), dict.fromkeys(held, 1.0))]) == devices
