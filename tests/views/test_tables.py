"""Ranks, roles, attempts and events of a job as rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import PODS, Manifest
from paddock.kube.times import format_time
from paddock.views.events import (
    EventRow,
    build_event_rows,
    count_by_reason,
    is_about,
    list_owned,
)
from paddock.views.outputs import trained_container
from paddock.views.ranks import JobPod, build_rank_rows, build_role_rows, read_job_pod, tell_amounts, total_asked
from paddock.views.stored import read_stored
from paddock.views.timeline import AttemptRow, build_timeline
from support.consoles import PADDLE
from support.written import build_event, build_pod, build_written_job

JOB = read_stored(PADDLE, build_written_job()).job
assert JOB is not None
RUNNING = Status(phase=Phase.RUNNING, attempt=1)


def read(pods: Sequence[Manifest]) -> list[JobPod]:
    return [read_job_pod(PODS, pod) for pod in pods]


def rows_of(*pods: Manifest, status: Status = RUNNING) -> list[str]:
    rows = build_rank_rows(JOB, status, read(pods), "one")
    return [f"{row.rank} {row.pod.state if row.pod else '-'}{' old' if row.old else ''}" for row in rows]


def test_ranks_with_trouble_come_first_and_each_wanted_rank_has_a_row() -> None:
    pods = [build_pod("worker", 0), build_pod("worker", 1, "Failed"), build_pod("ps", 0, "Pending")]
    assert rows_of(*pods) == ["worker-1 Error", "ps-0 Pending", "worker-0 Running"]
    assert rows_of(pods[0]) == ["ps-0 -", "worker-1 -", "worker-0 Running"]


def as_spare(pod: Manifest) -> Manifest:
    pod["metadata"]["labels"]["paddock.dev/spare"] = "true"
    return pod


def test_a_spare_pod_is_told_as_one_and_is_no_trouble() -> None:
    pods = [build_pod("ps", 0), build_pod("worker", 0), as_spare(build_pod("worker", 1, "Pending"))]
    assert rows_of(*pods) == ["ps-0 Running", "worker-0 Running", "worker-1 Spare"]


def test_a_gang_that_runs_smaller_lacks_no_rank() -> None:
    manifest = build_written_job()
    manifest["metadata"]["annotations"] = {"paddock.dev/elastic": "1-2"}
    manifest["status"] = {"gangSize": 1, "phase": "Running", "attempt": 1}
    job = read_stored(PADDLE, manifest).job
    rows = build_rank_rows(job, RUNNING, read([build_pod("worker", 0), build_pod("ps", 0)]), "one")
    assert [row.rank for row in rows] == ["ps-0", "worker-0"]


def test_ranks_of_an_ended_job_are_those_that_have_pods() -> None:
    assert rows_of(build_pod("worker", 0, "Succeeded"), status=Status(phase=Phase.COMPLETED, attempt=1)) == [
        "worker-0 Completed"
    ]


def test_a_pod_of_an_earlier_attempt_comes_last_and_takes_no_ranks_place() -> None:
    old = build_pod("worker", 0, "Failed", attempt=0)
    assert rows_of(old) == ["ps-0 -", "worker-0 -", "worker-1 -", "worker-0 Error old"]


def test_a_pod_of_another_owner_is_no_rank() -> None:
    other = build_pod("worker", 0, uid="two")
    assert rows_of(other) == ["ps-0 -", "worker-0 -", "worker-1 -"]


def test_ranks_are_in_the_order_of_numbers() -> None:
    pods = [build_pod("worker", index) for index in (10, 9, 2)]
    rows = build_rank_rows(None, RUNNING, read(pods), "one")
    assert [row.rank for row in rows] == ["worker-2", "worker-9", "worker-10"]


@pytest.mark.parametrize(
    ("spec", "times", "said"),
    [
        ({}, 1, ""),
        ({"containers": [{"resources": {"requests": {"cpu": "500m"}}}]}, 3, "1.5 CPUs"),
        (
            {"containers": [{"resources": {"requests": {"memory": "2Gi"}, "limits": {"x.y/gpu": 1, "cpu": 2}}}]},
            2,
            "4 CPUs, 4.0 GiB, 2 x.y/gpu",
        ),
        ({"containers": [{"resources": {"requests": {"cpu": "many"}}}]}, 1, ""),
        ({"containers": ["wrong"]}, 1, ""),
    ],
)
def test_what_pods_ask_for_is_told_in_words(spec: Any, times: int, said: str) -> None:
    assert tell_amounts(spec, times) == said


def test_roles_have_what_each_asks_for_and_the_job_all_of_it() -> None:
    assert JOB is not None
    rows = build_role_rows(JOB, Status(), [trained_container(JOB, role) for role in JOB.roles])
    assert [(row.name, row.replicas, row.asked, row.asked_in_all) for row in rows] == [
        ("ps", 1, "1 CPU, 2.0 GiB", "1 CPU, 2.0 GiB"),
        ("worker", 2, "1 CPU, 2.0 GiB", "2 CPUs, 4.0 GiB"),
    ]
    assert rows[1].command == ("python", "train.py")
    assert total_asked(JOB) == "3 CPUs, 6.0 GiB"
    assert total_asked(JOB, "zh") == "3 核 CPU、6.0 GiB"


# -- attempts


def pod_of(attempt: int, *, placed: float | None, started: float | None) -> Manifest:
    pod = build_pod("worker", 0, attempt=attempt)
    pod["status"] = {"phase": "Pending"}
    if placed is None:
        pod["spec"]["nodeName"] = ""
    else:
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": format_time(placed)}
        pod["status"]["conditions"] = [scheduled]
    running = {"running": {"startedAt": format_time(started)}} if started else {"waiting": {"reason": "Creating"}}
    pod["status"]["containerStatuses"] = [{"state": running}]
    return pod


def lengths(row: AttemptRow) -> tuple[Any, ...]:
    return row.queued, row.prepared, row.ran, row.now


@pytest.mark.parametrize(
    ("placed", "started", "known"),
    [
        (None, None, (50.0, None, None, "queued")),
        (110.0, None, (10.0, 40.0, None, "prepared")),
        (110.0, 125.0, (10.0, 15.0, 25.0, "ran")),
        (90.0, 95.0, (0.0, 5.0, 55.0, "ran")),  # clocks that disagree
    ],
)
def test_an_attempt_is_queued_then_prepared_then_runs(placed: Any, started: Any, known: tuple[Any, ...]) -> None:
    pods = [pod_of(0, placed=placed, started=started)]
    (row,) = build_timeline(Status(phase=Phase.PENDING), 100.0, {}, {}, read(pods), "one", 150.0)
    assert lengths(row) == known
    assert (row.begun, row.ended) == (100.0, None)


def test_the_slowest_pod_counts() -> None:
    pods = [pod_of(0, placed=110.0, started=120.0), pod_of(0, placed=130.0, started=None)]
    (row,) = build_timeline(Status(), 100.0, {}, {}, read(pods), "one", 150.0)
    assert lengths(row) == (30.0, 20.0, None, "prepared")


def test_a_spare_pod_that_has_no_room_is_no_part_of_the_attempt_that_runs() -> None:
    pods = [pod_of(0, placed=110.0, started=120.0), as_spare(pod_of(0, placed=None, started=None))]
    (row,) = build_timeline(Status(), 100.0, {}, {}, read(pods), "one", 150.0)
    assert lengths(row) == (10.0, 10.0, 30.0, "ran")


def test_an_attempt_ends_where_the_next_one_begins_and_the_last_with_the_job() -> None:
    cause = CauseRecord("RankFailed", {"ranks": ["worker-0"]})
    status = Status(phase=Phase.FAILED, attempt=2, finished=180.0)
    rows = build_timeline(status, 100.0, {0: 101.0, 1: 130.0, 2: 160.0}, {1: cause}, [], "one", 999.0)
    assert [(row.number, row.begun, row.ended, row.cause) for row in rows] == [
        (2, 160.0, 180.0, None), (1, 130.0, 160.0, cause), (0, 101.0, 130.0, None),
    ]  # fmt: skip
    assert {row.now for row in rows} == {""}


def test_durations_of_an_attempt_whose_pods_are_gone_are_those_that_were_recorded() -> None:
    status = Status(phase=Phase.FAILED, attempt=2, finished=180.0)
    steps = {0: (105.0, 110.0), 1: (131.0, None), 2: (None, None)}
    rows = build_timeline(status, 100.0, {0: 100.0, 1: 130.0, 2: 160.0}, {}, [], "one", 999.0, steps)
    assert [lengths(row) for row in rows] == [
        (None, None, None, ""), (1.0, 29.0, None, ""), (5.0, 5.0, 20.0, ""),
    ]  # fmt: skip


def test_an_attempt_that_begins_again_is_told_before_a_history_knows_of_it() -> None:
    cause = CauseRecord("RankRestarted", {"ranks": ["worker-0"]}, 130.0)
    status = Status(phase=Phase.RESTARTING, attempt=1, cause=cause)
    rows = build_timeline(status, 100.0, {}, {}, [], "one", 150.0, {0: (105.0, 110.0)})
    assert [(row.number, row.begun, row.ended, row.cause, row.now) for row in rows] == [
        (1, 130.0, None, cause, ""), (0, 100.0, 130.0, None, ""),
    ]  # fmt: skip
    assert lengths(rows[1]) == (5.0, 5.0, 20.0, "")


def test_an_attempt_whose_end_nobody_knows_does_not_go_on() -> None:
    (_, row) = build_timeline(RUNNING, 100.0, {}, {}, [], "one", 150.0, {0: (105.0, 110.0)})
    assert lengths(row) == (5.0, 5.0, None, "")


def test_what_was_recorded_goes_before_what_later_pods_say() -> None:
    pods = [pod_of(0, placed=140.0, started=145.0)]  # of a rank that was started again alone
    (row,) = build_timeline(RUNNING.with_(attempt=0), 100.0, {}, {}, read(pods), "one", 150.0, {0: (105.0, 110.0)})
    assert lengths(row) == (5.0, 5.0, 40.0, "ran")


def test_many_attempts_of_many_pods_are_read_once() -> None:
    pods = [pod_of(0, placed=110.0, started=120.0) for _ in range(300)]
    begun = time.process_time()
    rows = build_timeline(
        RUNNING, 100.0, {number: 100.0 + number for number in range(1_000)}, {}, read(pods), "one", 9e9
    )
    assert len(rows) == 1_000 and rows[-1].queued == 10.0
    assert time.process_time() - begun < 3.0, "it took 48 s when each attempt read all pods"


def test_without_a_history_the_last_attempt_has_no_beginning() -> None:
    rows = build_timeline(Status(phase=Phase.RUNNING, attempt=3), 100.0, {}, {}, [], "one", 999.0)
    assert [(row.number, row.begun) for row in rows] == [(3, None), (0, 100.0)]


# -- events


def test_events_are_those_of_the_job_and_of_all_that_it_owns() -> None:
    owned = list_owned(build_written_job(), [build_pod("worker", 0), build_pod("worker", 1, uid="two")])
    assert owned == {"one", "p-worker-0"}
    assert is_about(build_event("A", uid="p-worker-0"), owned)
    assert not is_about(build_event("A", uid="p-worker-1"), owned)
    assert not is_about({"involvedObject": {}}, owned)


def test_the_newest_event_comes_first() -> None:
    found = build_event_rows([build_event("Old", last=10.0), build_event("New", last=20.0), {"message": "no time"}])
    assert [row.reason for row in found] == ["New", "Old", ""]
    assert found[2] == EventRow("Normal", "", "", "no time", 1, None, None)


def test_an_event_of_the_newer_api_is_read_too() -> None:
    event = {
        "regarding": {"kind": "Pod", "name": "p"}, "note": "said", "eventTime": format_time(5.0),
        "series": {"count": 7, "lastObservedTime": format_time(9.0)},
    }  # fmt: skip
    assert build_event_rows([event]) == [EventRow("Normal", "", "Pod p", "said", 7, 5.0, 9.0)]


def test_many_events_are_counted_by_reason_with_warnings_first() -> None:
    events = [build_event("Started", name=f"p-{i}", last=float(i), kind="Normal") for i in range(3)]
    events += [build_event("BackOff", count=4, last=2.0), build_event("BackOff", count=1, last=9.0)]
    warned, normal = count_by_reason(build_event_rows(events))
    assert (warned.reason, warned.count, warned.last, warned.objects) == ("BackOff", 5, 9.0, 1)
    assert (normal.reason, normal.count, normal.objects, normal.message) == ("Started", 3, 3, "Started happened")
