"""On a laptop a gang is begun only if the quotas of its namespace have room for all of it."""

from __future__ import annotations

import asyncio

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.controllers import schedule
from paddock.jobs.model import Settings
from paddock.kube.meta import LIMIT_RANGES, PODS, RESOURCE_QUOTAS, Manifest
from paddock.kube.quantities import Quantity
from paddock.kube.quotas import Quota
from paddock.operator.quotas import has_more_room
from support.operator_seam import JOBS, Seam, build_job, have_pods, running, set_phase, settled, status_of
from support.waiting import until

SETTINGS = Settings(quotas=True)


async def allow(api: LocalApi, pods: int) -> None:
    quota: Manifest = {"metadata": {"name": "team", "namespace": "default"}, "spec": {"hard": {"pods": str(pods)}}}
    await api.create(RESOURCE_QUOTAS, quota)


async def raise_to(api: LocalApi, pods: int) -> None:
    await api.patch(RESOURCE_QUOTAS, "default", "team", {"spec": {"hard": {"pods": str(pods)}}})


async def cause_of(api: LocalApi, name: str = "demo") -> Manifest:
    found: Manifest = (await status_of(api, name)).get("cause") or {}
    return found


async def is_refused(api: LocalApi) -> Manifest | None:
    cause = await cause_of(api)
    return cause["args"] if cause.get("reason") == "QuotaExceeded" else None


async def test_a_gang_without_room_is_not_begun_and_starts_as_the_quota_is_raised(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    await allow(cluster, 1)
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, build_job(ps=1, worker=2))
        said = await until(lambda: is_refused(cluster))
        assert {name: said[name] for name in ("quota", "pods", "names", "asked", "used", "hard", "fits")} == {
            "quota": "team", "pods": 3, "names": ["pods"], "asked": ["3"], "used": ["0"], "hard": ["1"], "fits": 1,
        }  # fmt: skip
        assert not (await cluster.list(PODS, "default")).items
        assert not [each for each in seam.requests if each[:2] == ("create", "pods")], "no half of it"
        await raise_to(cluster, 3)
        await until(lambda: have_pods(cluster, 3))


async def test_two_gangs_that_do_not_fit_together_run_one_after_the_other(cluster: LocalApi) -> None:
    """Half of each would keep the other half out for ever."""
    await allow(cluster, 3)
    async with running(cluster, SETTINGS):
        await asyncio.gather(*(cluster.create(JOBS, build_job(name, ps=0, worker=2)) for name in ("one", "two")))
        first = await until(lambda: _whose(cluster))
        (other,) = {"one", "two"} - {first}

        async def waits() -> bool:
            return (await cause_of(cluster, other)).get("reason") == "QuotaExceeded"

        await until(waits)
        for index in range(2):
            await set_phase(cluster, f"{first}-worker-{index}", "Running")
        for index in range(2):
            await set_phase(cluster, f"{first}-worker-{index}", "Succeeded")

        async def follows() -> bool:
            names = {each["metadata"]["name"] for each in (await cluster.list(PODS, "default")).items}
            return {f"{other}-worker-0", f"{other}-worker-1"} <= names

        await until(follows)


async def _whose(cluster: LocalApi) -> str | None:
    """The job that has both its pods, where no other has any."""
    pods = [each["metadata"]["name"].rpartition("-worker-")[0] for each in (await cluster.list(PODS, "default")).items]
    return pods[0] if len(pods) == 2 and len(set(pods)) == 1 else None


async def test_a_job_that_waits_for_a_quota_asks_no_more_than_its_back_off_allows(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    await allow(cluster, 0)
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=1))
        await until(lambda: is_refused(cluster))
        await settled(seam)
        before = seam.requests.count(("list", "resourcequotas", ""))
        await raise_to(cluster, 0)  # nothing has changed
        await settled(seam)
        assert seam.requests.count(("list", "resourcequotas", "")) - before <= 4


@pytest.mark.parametrize(
    ("before", "now", "more"),
    [
        (("2", "2"), ("3", "2"), True), (("2", "2"), ("2", "1"), True), (("2", "1"), ("2", "2"), False),
        (("2", "1"), ("2", "1"), False), (("3", "1"), ("2", "1"), False), (("3", "1"), ("2", "0"), False),
    ],
)  # fmt: skip
def test_a_quota_has_more_room_if_more_is_left(before: tuple[str, str], now: tuple[str, str], more: bool) -> None:
    first, second = (
        Quota("q", {"pods": Quantity.read(hard)}, {"pods": Quantity.read(used)}) for hard, used in (before, now)
    )
    assert has_more_room(first, second) is more
    assert has_more_room(first, Quota("q")), "what is not limited any more"


async def give_cpu(api: LocalApi, amount: str) -> None:
    limits = [{"type": "Container", "defaultRequest": {"cpu": amount}, "default": {"cpu": amount}}]
    await api.create(
        LIMIT_RANGES, {"metadata": {"name": "defaults", "namespace": "default"}, "spec": {"limits": limits}}
    )


async def limit_cpu(api: LocalApi, amount: str) -> None:
    quota = {"metadata": {"name": "cpus", "namespace": "default"}, "spec": {"hard": {"requests.cpu": amount}}}
    await api.create(RESOURCE_QUOTAS, quota)


async def test_what_a_limit_range_gives_the_pods_of_a_gang_counts_before_the_first_is_created(
    cluster: LocalApi,
) -> None:
    """Else one pod of two would use the quota, and wait for ever for the other."""
    seam = Seam(cluster)
    await give_cpu(cluster, "400m")
    await limit_cpu(cluster, "600m")
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=2))
        said = await until(lambda: is_refused(cluster))
        assert {name: said[name] for name in ("quota", "pods", "names", "asked", "used", "hard", "never")} == {
            "quota": "cpus", "pods": 2, "names": ["requests.cpu"], "asked": ["800m"], "used": ["0"], "hard": ["600m"],
            "never": True,
        }  # fmt: skip
        assert not (await cluster.list(PODS, "default")).items, "no half of it"


async def test_a_pod_that_a_limit_range_makes_too_large_for_a_quota_begins_no_gang(cluster: LocalApi) -> None:
    await give_cpu(cluster, "700m")
    await limit_cpu(cluster, "600m")
    async with running(cluster, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=2))
        said = await until(lambda: is_refused(cluster))
        assert (said["asked"], said["never"]) == (["700m"], True)


async def test_a_quota_of_the_best_effort_holds_a_whole_gang_back(cluster: LocalApi) -> None:
    spec = {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}
    await cluster.create(RESOURCE_QUOTAS, {"metadata": {"name": "team", "namespace": "default"}, "spec": spec})
    async with running(cluster, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=2))
        assert (await until(lambda: is_refused(cluster)))["pods"] == 2
        assert not (await cluster.list(PODS, "default")).items


async def reason_of(api: LocalApi) -> str:
    return str((await cause_of(api)).get("reason"))


async def change_limits(api: LocalApi, how: str) -> None:
    """As `kubectl create`, `patch` and `delete limitrange`."""
    if how == "made":
        await give_cpu(api, "100m")
    elif how == "changed":
        limits = [{"type": "Container", "defaultRequest": {"cpu": "100m"}}]
        await api.patch(LIMIT_RANGES, "default", "least", {"spec": {"limits": limits}})
    else:
        await api.delete(LIMIT_RANGES, "default", "least")


@pytest.mark.parametrize("how", ["made", "changed", "deleted"])
async def test_a_job_that_was_refused_is_tried_again_as_a_limit_range_is_made_changed_or_deleted(
    cluster: LocalApi, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "made":
        await limit_cpu(cluster, "600m")
    else:
        limits = {"limits": [{"type": "Pod", "min": {"cpu": "1"}}]}
        await cluster.create(LIMIT_RANGES, {"metadata": {"name": "least", "namespace": "default"}, "spec": limits})
    seam = Seam(cluster)
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=2))

        async def is_told() -> bool:
            return await reason_of(cluster) == "ObjectsRefused"

        await until(is_told)
        monkeypatch.setattr(schedule, "exponential_backoff", lambda *_: 3600.0)
        await settled(seam, 2.0)
        assert not (await cluster.list(PODS, "default")).items
        await change_limits(cluster, how)
        await until(lambda: have_pods(cluster, 2))


async def test_another_reason_of_a_refusal_is_told_at_once_and_not_at_the_next_try(
    cluster: LocalApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    seam = Seam(cluster)
    await allow(cluster, 1)
    async with running(seam, SETTINGS):
        await cluster.create(JOBS, build_job(ps=0, worker=2))
        await until(lambda: is_refused(cluster))
        monkeypatch.setattr(schedule, "exponential_backoff", lambda *_: 3600.0)
        await settled(seam, 2.0)
        limits = {"limits": [{"type": "Pod", "min": {"cpu": "1"}}]}
        await cluster.create(LIMIT_RANGES, {"metadata": {"name": "least", "namespace": "default"}, "spec": limits})
        await raise_to(cluster, 9)

        async def is_told() -> bool:
            return (await cause_of(cluster)).get("reason") == "ObjectsRefused"

        await until(is_told)
