"""What a page says of the plan: the operator's own decision, as rows."""

from __future__ import annotations

from dataclasses import replace

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase, Settings, Status
from paddock.jobs.objects.observation import find_children, read_observed
from paddock.jobs.plan import plan
from paddock.kube.meta import Key, Manifest, Resource, key_of
from paddock.views.foresight import Foresight, foresee, tell_emptiness
from paddock.views.stored import StoredJob, read_stored
from support.consoles import PADDLE, sort_objects
from support.datasets import build_dataset, mounting
from support.written import build_pod, build_written_job

NOW = 1000.0


class Seen:
    def __init__(self, *objects: Manifest) -> None:
        self._objects = sort_objects(objects)

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return next((each for each in self._objects.get(resource, ()) if key_of(each) == key), None)

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return find_children(self._objects.get(resource, ()), owner, key)


def look(stored: StoredJob, *objects: Manifest, language: str = "en") -> Foresight:
    assert stored.job is not None
    return foresee(stored, stored.job, Seen(*objects), Settings(), NOW, language)


def with_status(status: Status) -> StoredJob:
    """A stored job whose status is written as its API group does."""
    job = build_written_job()
    job["status"] = KINDS[PADDLE].write_status({}, status, NOW, job)
    return read_stored(PADDLE, job)


def said(found: Foresight) -> list[str]:
    return [f"{action.said} {action.kind} {action.name}" for action in found.actions]


def test_a_new_job_gets_its_objects() -> None:
    found = look(read_stored(PADDLE, build_written_job()))
    assert "create Pod demo-worker-1" in said(found)
    assert "create Service demo-ps-0" in said(found)
    changes = {str(each.title): (each.before, each.after) for each in found.changes}
    assert changes["State"] == ("", "Pending")
    assert tell_emptiness(found, Status()) == ""


def test_a_job_waits_for_its_dataset_in_the_forecast_too() -> None:
    written = mounting(build_written_job(), "words:/data")
    fetching = {**build_dataset("words"), "status": {"phase": "Fetching", "progress": 41}}
    fetching["metadata"] = {**fetching["metadata"], "namespace": written["metadata"]["namespace"]}
    stored = read_stored(PADDLE, written)
    assert stored.job is not None
    serving = Settings(datasets=True)
    found = foresee(stored, stored.job, Seen(fetching), serving, NOW)
    assert said(found) == []
    changes = {str(each.title): each.after for each in found.changes}
    assert changes["Cause"] == "waiting for dataset words: 41 %"
    ready = {**fetching, "status": {"phase": "Ready"}}
    assert "create Pod demo-worker-1" in said(foresee(stored, stored.job, Seen(ready), serving, NOW))
    without = foresee(stored, stored.job, Seen(ready), Settings(), NOW)
    assert "this cluster has no Datasets" in {str(each.title): each.after for each in without.changes}["Cause"]


def test_a_failed_rank_is_recorded_before_anything_is_done() -> None:
    stored = with_status(Status(phase=Phase.RUNNING, attempt=1, mode="PS"))
    pods = [build_pod("ps", 0), build_pod("worker", 0), build_pod("worker", 1, "Failed")]
    found = look(stored, *pods)
    assert {str(each.title) for each in found.changes} >= {"Cause", "Ranks of worker"}
    assert found.actions == ()


def test_the_cause_is_told_in_the_readers_language() -> None:
    stored = with_status(Status(phase=Phase.RUNNING, attempt=1, mode="PS"))
    pods = [build_pod("ps", 0), build_pod("worker", 0), build_pod("worker", 1, "Failed")]
    (cause,) = [each.after for each in look(stored, *pods, language="zh").changes if str(each.title) == "Cause"]
    assert "worker-1" in cause and "已结束" in cause


def test_a_settled_job_has_an_empty_plan() -> None:
    """What the operator would record is recorded until nothing is left of it, as its reconciles do."""
    stored = read_stored(PADDLE, build_written_job())
    assert stored.job is not None
    pods = [build_pod("ps", 0, "Succeeded", attempt=0)]
    pods += [build_pod("worker", index, "Succeeded", attempt=0) for index in (0, 1)]
    for _ in range(4):
        observed = read_observed(stored.job, stored.status.attempt, Seen(*pods), pod_groups=None)
        decided = plan(stored.job, stored.status, observed, NOW)
        raw = stored.manifest.get("status") or {}
        status = KINDS[PADDLE].write_status(raw, decided.status, NOW, stored.manifest)
        stored = read_stored(PADDLE, {**stored.manifest, "status": {**raw, **status}})
        gone = {action.key for action in decided.actions if hasattr(action, "key")}
        pods = [pod for pod in pods if key_of(pod) not in gone]
    found = look(stored, *pods)
    assert stored.status.phase is Phase.COMPLETED
    assert (found.changes, found.actions, found.records) == ((), (), False)
    assert tell_emptiness(found, stored.status) == "nothing: the job has ended"
    assert tell_emptiness(found, Status(phase=Phase.RUNNING)) == "nothing: the job is as it should be"
    assert tell_emptiness(replace(found, records=True), stored.status) == ""
