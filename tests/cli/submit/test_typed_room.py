"""The room of a typed command, as `paddock run` judges it before it sends anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import QUEUES, ROOM, Submission
from paddock.cli.submit.script.requests import build_documents
from paddock.jobs.labels import QUEUE_LABEL
from paddock.kube.meta import LIMIT_RANGES, NODES, RESOURCE_QUOTAS, Manifest, labels_of
from paddock.script.request import ScriptRequest


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    status = {"allocatable": {"cpu": "4", "memory": "8Gi"}}
    await opened.create(NODES, {"metadata": {"name": "here"}})
    await opened.patch(NODES, "", "here", {"status": status}, subresource="status")
    yield opened
    await opened.close()


class Typed:
    """One typed command, and what was said of it."""

    def __init__(self, api: LocalApi, root: Path, **options: Any) -> None:
        request = ScriptRequest(("python", "t.py"), "none", namespace="default", **options)
        self.said: list[str] = []
        place = Local(Home(root / "home", root / "cache"))
        self.submission = Submission(
            cast("Any", api), place, build_documents(request), lambda said: self.said.append(str(said)), runs=True,
            typed=True, queue=request.queue, priority=request.priority,
        )  # fmt: skip

    @property
    def job(self) -> Manifest:
        return next(each.manifest for each in self.submission.checked if each.is_job)

    async def refusals(self) -> list[str]:
        return [str(each.shown) for each in await ROOM.find(self.submission)]


async def test_more_than_this_machine_has_is_refused_with_what_fits(api: LocalApi, tmp_path: Path) -> None:
    assert await Typed(api, tmp_path, workers=2, cpus="64", memory="1Gi").refusals() == [
        "--cpus: the job asks for 128 CPUs, and this machine has 4; --cpus 2 fits"
    ]
    assert await Typed(api, tmp_path, memory="1Ti").refusals() == [
        "--memory: the job asks for 1024 GiB, and this machine has 8.0 GiB; --memory 8Gi fits"
    ]
    assert not await Typed(api, tmp_path, workers=2, cpus="2", memory="4Gi").refusals()


async def test_a_limit_of_cpus_is_added_where_the_namespace_wants_one(api: LocalApi, tmp_path: Path) -> None:
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"limits.cpu": "4"}}}
    await api.create(RESOURCE_QUOTAS, quota)
    typed = Typed(api, tmp_path, cpus="2")
    assert not await typed.refusals()
    assert typed.said == ["default wants a limit of CPUs: that of each rank is what it asks for"]
    (container,) = typed.job["spec"]["worker"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}


async def test_what_a_limit_range_fills_in_is_told_once(api: LocalApi, tmp_path: Path) -> None:
    limits = [{"type": "Container", "default": {"memory": "1Gi"}}]
    await api.create(LIMIT_RANGES, {"metadata": {"name": "d", "namespace": "default"}, "spec": {"limits": limits}})
    typed = Typed(api, tmp_path, workers=3)
    assert not await typed.refusals()
    assert typed.said == ["by the LimitRange d of default each rank asks for 1.0 GiB, and may have 1.0 GiB at most"]


async def test_a_queue_is_left_out_on_a_laptop_and_a_priority_stays(api: LocalApi, tmp_path: Path) -> None:
    typed = Typed(api, tmp_path, queue="team-a", priority="high")
    assert labels_of(typed.job)[QUEUE_LABEL] == "team-a"
    assert not await QUEUES.find(typed.submission)
    assert "kueue" not in str(typed.job) and "'priorityClassName': 'high'" in str(typed.job)
    assert len(typed.said) == 1 and typed.said[0].startswith("--queue team-a is left out: the local cluster has no")
