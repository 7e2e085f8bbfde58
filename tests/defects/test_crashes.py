"""One invalid job stopped paddle-operator for all tenants: it crashed, restarted, and crashed at the same job again.

 1  test_a_job_that_crashed_the_operator_is_refused_with_its_field_and_the_next_job_is_served
 2  test_a_job_that_crashed_the_operator_is_refused_with_its_field_and_the_next_job_is_served
 3  test_a_role_that_is_removed_while_its_pods_run_makes_a_smaller_gang
21  test_a_role_of_no_replicas_is_refused_and_no_job_hangs_for_it
31  test_fields_that_were_silently_ignored_are_refused_with_their_path
"""

from __future__ import annotations

from typing import Any

import pytest

from defects.users_jobs import refusals
from paddock.jobs.model import Settings
from paddock.kube.errors import Invalid
from paddock.kube.meta import Manifest
from paddock.preflight import Document, check
from support.operator_seam import JOBS, build_job, have_pods, pods_of, running, status_of
from support.waiting import until
from support.worlds import World

CRASHES: dict[str, tuple[dict[str, Any], str]] = {
    "no template": ({"worker": {"replicas": 1}}, "spec.worker.template"),
    "no containers": (
        {"worker": {"replicas": 1, "template": {"spec": {"containers": []}}}},
        "spec.worker.template.spec.containers",
    ),
    "elastic without workers": ({**build_job(worker=0)["spec"], "elastic": 0}, "spec.worker"),
}


@pytest.mark.parametrize("name", CRASHES)
async def test_a_job_that_crashed_the_operator_is_refused_with_its_field_and_the_next_job_is_served(
    world: World, name: str
) -> None:
    """1, 2: by the API server if the CRD has the rule, else by the operator, in the status of the job."""
    spec, field = CRASHES[name]
    api, namespace = world.api, world.namespace
    async with running(api, Settings(status_wait=0)):
        try:
            await api.create(JOBS, {**build_job("bad", namespace=namespace), "spec": spec})
        except Invalid as refusal:
            assert field in refusal.message
        else:
            said = await until(lambda: _told(world, "bad"))
            assert any(problem.startswith(field) for problem in said)
        await api.create(JOBS, build_job(namespace=namespace))
        await until(lambda: have_pods(api, 4, namespace=namespace))
        assert await pods_of(api, "bad", namespace) == {}


async def _told(world: World, name: str) -> list[str]:
    status = await status_of(world.api, name, world.namespace)
    return list((status.get("cause") or {}).get("args", {}).get("problems") or ())


async def test_a_role_that_is_removed_while_its_pods_run_makes_a_smaller_gang(world: World) -> None:
    """3: it crashed if the ConfigMap did not exist yet."""
    api, namespace = world.api, world.namespace
    async with running(api, Settings(status_wait=0)):
        await api.create(JOBS, build_job(namespace=namespace))
        first = await until(lambda: have_pods(api, 4, namespace=namespace))
        await api.patch(JOBS, namespace, "demo", {"spec": {"ps": None}})
        second = await until(lambda: _all_new(world, first, {"demo-worker-0", "demo-worker-1"}))
    assert {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in second.values()} == {"1"}
    status = await status_of(api, namespace=namespace)
    assert (status["cause"]["reason"], status.get("ps")) != ("InvalidJob", {})


async def _all_new(world: World, before: dict[str, Manifest], names: set[str]) -> dict[str, Manifest]:
    now = await pods_of(world.api, namespace=world.namespace)
    old = {pod["metadata"]["uid"] for pod in before.values()}
    return now if set(now) == names and old.isdisjoint(pod["metadata"]["uid"] for pod in now.values()) else {}


@pytest.mark.parametrize("spec", [{"ps": {"replicas": 0}}, {"worker": {"replicas": 0}}, None])
def test_a_role_of_no_replicas_is_refused_and_no_job_hangs_for_it(spec: dict[str, Any] | None) -> None:
    """21: such a role was never "made", so its peers waited for it for ever; `spec: {}` was Running for ever."""
    job = build_job()
    for role, change in (spec or {}).items():
        job["spec"][role] |= change
    if spec is None:
        job["spec"] = {}
    field = "spec.worker" if spec is None else f"spec.{next(iter(spec))}.replicas"
    assert field in refusals(job)


WORKER = "spec.worker.template.spec"
SILENT: list[tuple[str, Any, str]] = [
    ("spec.runPolicy.cleanPodPolicy", "OnFailed", "OnFailure"),
    ("spec.intranet", "HostNetwork", "Host"),
    ("spec.withGloo", 3, "2"),
    ("spec.worker.replicas", -1, "1"),
    (f"{WORKER}.restartPolicy", "Always", "Never or OnFailure"),
    ("spec.cleanPodPolcy", "Never", "cleanPodPolicy"),
    ("spec.schedulingPolicy.minAvailable", 9, "4"),
]


@pytest.mark.parametrize(("path", "value", "said"), SILENT)
def test_fields_that_were_silently_ignored_are_refused_with_their_path(path: str, value: object, said: str) -> None:
    """31: the message names allowed or similar values."""
    job = build_job()
    *way, last = path.split(".")
    place: Any = job
    for step in way:
        place = place.setdefault(step, {})
    place[last] = value
    problems = {problem.path: problem for problem in check(Document(job)) if problem.severity == "error"}
    assert set(problems) == {path}
    assert said in f"{problems[path].message} {problems[path].allowed} {problems[path].suggestion}"
