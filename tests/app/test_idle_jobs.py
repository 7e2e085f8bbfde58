"""Jobs whose GPUs do nothing: what is told, what is suspended, and what is left alone as nobody knows."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.idle_jobs import (
    FORGET_SECONDS,
    UNKNOWN_SECONDS,
    IdleJobs,
    _Known,
    choose_percent,
    read_percents,
    read_recorded,
)
from paddock.app.prometheus import PrometheusError
from paddock.app.running_logs import RunningLogs
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.labels import IDLE_ANNOTATION
from paddock.jobs.model import Job, Phase, Pod, Status
from paddock.jobs.policies.idle_gpus import Watched
from paddock.kube.calls import Call, Patch, T
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from paddock.kube.gpu_shares import GPU
from paddock.kube.meta import PODS, Key, Resource
from paddock.node.usage.records import UsageRecord, usage_file
from paddock.node.usage.samples import Sample
from paddock.operator.readings import Readings
from paddock.words.phrases import phrase
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    have_pods,
    open_cluster,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        yield api


class Gpus:
    """What GPUs do, as a test says it: of all pods, or of those whose name has an entry."""

    def __init__(self) -> None:
        self.percent: float | None = 0.0
        self.of: dict[str, float] = {}
        self.asked: list[int] = []
        self.fails = False

    async def __call__(self, pods: Mapping[str, Key]) -> Mapping[str, float]:
        self.asked.append(len(pods))
        if self.fails:
            raise PrometheusError(phrase("it does not answer"))
        found = {uid: self.of.get(key.name, self.percent) for uid, key in pods.items()}
        return {uid: percent for uid, percent in found.items() if percent is not None}


class Scene:
    """A job of two GPU ranks that runs, beside a parameter server, and who looks at it."""

    def __init__(self, cluster: LocalApi, known: bool = True) -> None:
        self.cluster, self.gpus, self.now = cluster, Gpus(), 0.0
        self.told: list[tuple[str, str]] = []
        self.idle = IdleJobs(
            cluster, self.gpus if known else None, self.hear, why_not="nobody was named", clock=lambda: self.now,
        )  # fmt: skip
        self.seam = Seam(cluster)

    def hear(self, about: Mapping[str, Any], reason: str, message: str, type: str) -> None:
        self.told.append((reason, message))

    async def begin(self, idle: str, gpus: bool = True, pods: int = 4) -> None:
        job = build_job()
        if pods == 1:
            job["spec"] = {"worker": {**job["spec"]["worker"], "replicas": 1}}
        job["metadata"]["annotations"] = {IDLE_ANNOTATION: idle}
        job["spec"]["worker"] = deepcopy(job["spec"]["worker"])
        if gpus:
            job["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
        await self.cluster.create(JOBS, job)
        await self.run_pods(pods)

    async def run_pods(self, count: int = 4) -> None:
        pods = await until(lambda: have_pods(self.cluster, count))
        for number, pod in enumerate(sorted(pods)):
            await set_phase(self.cluster, pod, "Running", address=f"127.0.0.{number + 2}")
        await until(lambda: self.has("phase", "Running"))
        await settled(self.seam)

    async def has(self, field: str, value: Any) -> bool:
        return (await status_of(self.cluster)).get(field) == value

    async def look(self, seconds: float = 60.0, count: int = 1) -> None:
        for _ in range(count):
            self.now += seconds
            await self.idle.look()


async def test_an_idle_job_is_suspended_with_its_cause_and_resumed_it_is_no_failure(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("5m=Suspend")
        await scene.look(count=5)
        assert not await scene.has("phase", "Suspended"), "its time began with the first look"
        await scene.look()
        await until(lambda: scene.has("phase", "Suspended"))
        status = await status_of(cluster)
        assert (status["cause"]["reason"], status["cause"]["args"]) == ("SuspendedIdle", {"seconds": 300})
        await until(lambda: _has_no_pods(cluster))
        assert scene.told == [
            ("GpusIdle", "the GPUs of demo-worker-0, demo-worker-1 have done nothing for 5m, and nobody else can have "
                         "them"),
        ]  # fmt: skip
        await settled(scene.seam)
        await scene.look(count=10)
        assert scene.gpus.asked == [2] * 6, "nothing is asked about a job that does not run"
        await cluster.patch(JOBS, "default", "demo", {"spec": {"runPolicy": {"suspend": False}}})
        await until(lambda: scene.has("attempt", 1))
        await scene.run_pods()
        status = await status_of(cluster)
        assert status.get("restarts", 0) == 0
        await scene.look(count=4)
        assert await scene.has("phase", "Running"), "a new attempt has its whole time"
        await cluster.patch(JOBS, "default", "demo", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: scene.has("phase", "Suspended"))
        assert (await status_of(cluster))["cause"]["reason"] == "Suspended", "that was a person"


class Noted:
    """What the operator tells who looks."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []

    def note(self, job: Job, status: Status, pods: Sequence[Pod]) -> None:
        self.phases.append(status.phase)

    def forget(self, resource: Resource, key: Key) -> None:
        pass


async def test_a_job_is_told_of_when_it_begins_as_its_record_wakes_nobody(cluster: LocalApi) -> None:
    scene, noted, before = Scene(cluster), Noted(), list[bool]()

    async def look(request: Request) -> None:
        if request[1] == "paddlejobs/status" and await scene.has("phase", "Running"):
            before.append(Phase.RUNNING in noted.phases)

    scene.seam.after = look
    async with running(scene.seam, readings=Readings(gpus=noted)):
        await scene.begin("5m=Suspend", pods=1)
    assert before[0] is True


@pytest.mark.parametrize(
    ("percent", "of"),
    [(0.0, {"demo-worker-1": 55.0}), (100.0, {}), (None, {}), (0.0, {"demo-worker-1": math.nan})],
)
async def test_a_job_of_which_one_gpu_works_or_is_not_known_is_left_alone(
    cluster: LocalApi, percent: float | None, of: dict[str, float]
) -> None:
    scene = Scene(cluster)
    scene.gpus.percent, scene.gpus.of = percent, of
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        await scene.look(count=8)
        assert await scene.has("phase", "Running")
        assert scene.told == []


async def test_an_idle_job_is_told_of_once_and_again_after_it_has_worked(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m")
        await scene.look(count=5)
        assert [reason for reason, _ in scene.told] == ["GpusIdle"]
        scene.gpus.percent = 80.0
        await scene.look()
        scene.gpus.percent = 0.0
        await scene.look(count=5)
        assert [reason for reason, _ in scene.told] == ["GpusIdle"] * 2
        assert await scene.has("phase", "Running")


class WithoutSuspend(Seam):
    """An API whose definition of the kind has no runPolicy.suspend, so it drops the field."""

    suspended = 0

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Patch) and isinstance(call.patch, Mapping) and "spec" in call.patch:
            self.suspended += 1
            kept = {"metadata": call.patch["metadata"]}
            dropped = Patch(resource=call.resource, namespace=call.namespace, name=call.name, patch=kept)
            return cast(T, await super().send(dropped))
        return await super().send(call)


async def test_a_suspension_that_a_definition_drops_is_asked_for_once_and_told_once(cluster: LocalApi) -> None:
    scene, api = Scene(cluster), WithoutSuspend(cluster)
    scene.idle = IdleJobs(api, scene.gpus, scene.hear, clock=lambda: scene.now)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        for _ in range(4):
            await scene.look()
            await settled(scene.seam)
        assert (api.suspended, [reason for reason, _ in scene.told]) == (1, ["GpusIdle"])
        assert scene.told[0][1].endswith("it goes on, as its definition knows no runPolicy.suspend")


@pytest.mark.parametrize(("error", "told"), [(Forbidden("it may not"), 1), (Unavailable("nobody is there"), 0)])
async def test_a_suspension_that_is_refused_is_told_once_and_tried_at_each_look(
    cluster: LocalApi, error: ApiError, told: int
) -> None:
    scene, api = Scene(cluster), Seam(cluster)
    scene.idle = IdleJobs(api, scene.gpus, scene.hear, clock=lambda: scene.now)

    async def refuse(request: Request) -> None:
        if request[0] == "patch":
            raise error

    api.before = refuse
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        await scene.look(count=4)
        assert [message.rpartition("; ")[2] for _, message in scene.told] == [
            "the job is not suspended: it may not"
        ] * told
        api.before = None
        await scene.look()
        await until(lambda: scene.has("phase", "Suspended"))
        assert len(scene.told) == told + 1


async def test_idle_jobs_do_not_wait_for_each_other(cluster: LocalApi) -> None:
    """The first answers when the second one is asked for too."""
    api, now = Seam(cluster), [0.0]
    idle = IdleJobs(api, Gpus(), lambda *event: None, clock=lambda: now[0])
    both, asked = asyncio.Barrier(2), list[str]()

    async def meet(request: Request) -> None:
        asked.append(request[2])
        await both.wait()
        raise NotFound("it is gone")

    api.before = meet
    for name in ("one", "two"):
        manifest = build_job(name)
        manifest["metadata"].update(uid=name, annotations={IDLE_ANNOTATION: "1m=Suspend"})
        job = PADDLEPADDLE.read_job(manifest)
        assert job.idle is not None
        watched = Watched(job, job.idle, 0, {f"pod-{name}": Key("default", f"{name}-worker-0")})
        idle._jobs[(job.resource, job.key)] = _Known(watched)
    await idle.look()
    now[0] = 60.0
    async with asyncio.timeout(120):
        await idle.look()
    assert sorted(asked) == ["one", "two"] and not idle._jobs


async def test_where_nobody_answers_the_time_goes_on_for_a_while_and_then_begins_anew(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("10m=Tell")
        await scene.look(count=6)
        scene.gpus.fails = True
        await scene.look(count=2)
        scene.gpus.fails = False
        await scene.look(count=2)
        assert scene.told == []
        scene.gpus.fails = True
        await scene.look(FORGET_SECONDS + 60)
        scene.gpus.fails = False
        await scene.look(count=10)
        assert scene.told == [], "it may have worked while nobody looked"
        await scene.look()
        assert [reason for reason, _ in scene.told] == ["GpusIdle"]


@pytest.mark.parametrize(
    ("known", "gpus", "why"),
    [
        (False, True, "the annotation paddock.dev/idle has no effect: nobody was named"),
        (True, False, "the annotation paddock.dev/idle has no effect: the job asks for no GPU, and an idle processor"),
    ],
)
async def test_what_cannot_be_known_is_told_once(cluster: LocalApi, known: bool, gpus: bool, why: str) -> None:
    scene = Scene(cluster, known)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend", gpus)
        await scene.look(count=5)
        ((reason, message),) = scene.told
        assert reason == "IdleUnknown" and message.startswith(why)
        assert scene.gpus.asked == []
        assert await scene.has("phase", "Running")


async def test_what_nobody_tells_for_long_is_told_once(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    scene.gpus.percent = None
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        await scene.look(count=int(UNKNOWN_SECONDS // 60) + 5)
        assert [reason for reason, _ in scene.told] == ["IdleUnknown"]
        assert "nobody has told for 10 minutes what the GPUs of all its pods do" in scene.told[0][1]


async def test_a_job_that_is_gone_or_changed_is_not_suspended(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        await scene.look()
        await settled(scene.seam)
    # The operator has ended, so nobody tells who looks of the edit.
    await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {IDLE_ANNOTATION: None}}})
    await scene.look(count=3)
    job = await cluster.get(JOBS, "default", "demo")
    assert not (job["spec"].get("runPolicy") or {}).get("suspend")
    assert scene.gpus.asked == [2, 2], "and it is watched no more"


async def test_a_job_that_is_deleted_is_forgotten(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1h=Suspend")
        assert len(scene.idle._jobs) == 1
        await cluster.delete(JOBS, "default", "demo")
        await until(lambda: _is_forgotten(scene))


async def _has_no_pods(cluster: LocalApi) -> bool:
    return not (await cluster.list(PODS)).items


async def _is_forgotten(scene: Scene) -> bool:
    return not scene.idle._jobs


async def test_another_operator_s_jobs_are_not_asked_about(cluster: LocalApi) -> None:
    scene = Scene(cluster)
    scene.idle._may_act = lambda namespace: False
    async with running(scene.seam, readings=Readings(gpus=scene.idle)):
        await scene.begin("1m=Suspend")
        await scene.look(count=5)
    assert (scene.gpus.asked, scene.told) == ([], [])


# Who tells.

NAN = math.nan


@pytest.mark.parametrize(
    ("samples", "percent"),
    [
        ([], NAN),
        ([(995, 0.0)], 0.0),
        ([(100, 90.0), (950, 0.0), (995, 1.0)], 1.0),
        ([(950, 90.0), (995, 0.0)], 90.0),
        ([(950, NAN), (995, 0.0)], NAN),
        ([(600, 0.0)], 0.0),  # those of a long run are far apart
        ([(90, 0.0)], NAN),  # too long ago
    ],
)
def test_the_most_that_a_record_says_of_the_last_two_minutes_counts(
    samples: list[tuple[float, float]], percent: float
) -> None:
    found = choose_percent([Sample(at, 0.0, 0.0, gpu) for at, gpu in samples], 1000.0)
    assert found == percent or (math.isnan(found) and math.isnan(percent))


async def test_on_a_laptop_the_node_s_own_record_tells(cluster: LocalApi, tmp_path: Path) -> None:
    logs = FoundLogs(cluster, tmp_path, tuple)
    record = UsageRecord(usage_file(tmp_path / "0.log"))
    for second in range(60):
        record.add(Sample(1000.0 + second, 1.0, 1.0, 3.0 if second == 30 else 0.0, 1.0))
    read = read_recorded(logs, lambda: 1060.0)
    assert await read({"u-1": Key("default", "a"), "u-2": Key("default", "b")}) == {"u-1": 3.0}


class FoundLogs(RunningLogs):
    async def find(self, pods: Any) -> dict[str, Path]:
        return {"u-1": self._records.directory / "0.log"}


PODS_ASKED = {"u-1": Key("team", "demo-worker-0"), "u-2": Key("team", "demo-worker-1")}


@pytest.mark.parametrize(
    ("series", "found"),
    [
        ([({"namespace": "team", "pod": "demo-worker-0"}, 3.0)], {"u-1": 3.0}),
        # Scraped without honorLabels: namespace and pod are the exporter's.
        ([({"namespace": "gpu-operator", "pod": "dcgm-x", "exported_namespace": "team",
            "exported_pod": "demo-worker-1"}, 0.0)], {"u-2": 0.0}),
        ([({"namespace": "other", "pod": "demo-worker-0"}, 0.0), ({}, 0.0)], {}),
        ([({"namespace": "team", "pod": "demo-worker-0"}, value) for value in (0.0, 7.0, 2.0)], {"u-1": 7.0}),
    ],
)  # fmt: skip
def test_dcgm_s_series_are_those_of_pods(series: list[tuple[dict[str, str], float]], found: dict[str, float]) -> None:
    assert read_percents(series, PODS_ASKED) == found
