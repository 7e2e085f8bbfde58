"""A job waits for the Datasets that it mounts, and tells how far they are; pods that are there are left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import NOW, TEMPLATE, build_job, build_pods, build_services, build_status, created, deleted, observe
from paddock.jobs import causes
from paddock.jobs.causes import Cause, WaitingForDataset
from paddock.jobs.datasets import find_awaited, find_named, find_relevant, plan_gate
from paddock.jobs.model import CauseRecord, Child, Datasets, Job, Mount, Observed, Phase, Role, Status
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain
from paddock.kube import datasets as kube
from paddock.kube.datasets import DatasetStatus, claim_name
from paddock.kube.meta import SERVICES

GB = 1_000_000_000
IMAGENET, WORDS = Mount("imagenet", "/data"), Mount("words", "/words")
JOB = build_job(mounts=(IMAGENET,))
BOTH = build_job(mounts=(IMAGENET, WORDS))


def stored(name: str, phase: kube.Phase, **changes: Any) -> DatasetStatus:
    return DatasetStatus("team", name, phase, changes.pop("claim", claim_name(name)), **changes)


def fetching(name: str = "imagenet", percent: int = 41, done: float = 3.2, total: float = 7.8) -> DatasetStatus:
    return stored(name, kube.Phase.FETCHING, percent=percent, done=int(done * GB), total=int(total * GB))


def ready(name: str = "imagenet", **changes: Any) -> DatasetStatus:
    return stored(name, kube.Phase.READY, **changes)


def there(*found: DatasetStatus, known: tuple[str, ...] = ()) -> Datasets:
    return Datasets({status.name: status for status in found}, known)


STATES: dict[str, tuple[Datasets, str]] = {
    "missing": (there(), "DatasetMissing"),
    "pending": (there(stored("imagenet", kube.Phase.PENDING)), "WaitingForDataset"),
    "fetching": (there(fetching()), "WaitingForDataset"),
    "failed": (there(stored("imagenet", kube.Phase.FAILED)), "DatasetFailed"),
    "failed and tried again": (there(stored("imagenet", kube.Phase.FAILED, retries=True)), "DatasetFailed"),
    "ready": (there(ready()), ""),
    "ready and being deleted": (there(ready(deleting=True)), "DatasetMissing"),
    "not served": (Datasets(unserved=""), "DatasetsUnserved"),
    "refused": (Datasets(unserved="datasets is forbidden"), "DatasetsUnserved"),
}
"""What the operator sees of the one Dataset that JOB mounts -> the cause of the job that waits for it."""
BEGINS = (Phase.NONE, Phase.PENDING, Phase.RESTARTING)
"""Phases of a job in which an attempt may have no pod yet."""


@pytest.mark.parametrize("phase", BEGINS)
@pytest.mark.parametrize("state", STATES)
def test_no_pod_of_an_attempt_is_created_before_its_dataset_is_ready(state: str, phase: Phase) -> None:
    datasets, reason = STATES[state]
    status = Status() if phase is Phase.NONE else build_status(JOB, phase, started=None, attempt=1)
    found = plan(JOB, status, Observed(datasets=datasets), NOW)
    pods = [name for name in created(found) if name.startswith("Pod ")]
    assert (found.status.cause.reason if found.status.cause and not pods else "") == reason
    assert bool(pods) == (not reason)
    assert not reason or not created(found), "neither Services nor a PodGroup stand there for a job that waits"


@pytest.mark.parametrize("state", STATES)
def test_pods_that_are_there_are_left_alone_whatever_becomes_of_the_dataset(state: str) -> None:
    before = plan(JOB, build_status(JOB), observe(JOB, datasets=there(ready())), NOW)
    assert plan(JOB, build_status(JOB), observe(JOB, datasets=STATES[state][0]), NOW) == before
    assert not deleted(before)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.COMPLETED, Phase.FAILED, Phase.TERMINATING])
def test_a_job_that_needs_no_pods_waits_for_nothing(phase: Phase, state: str) -> None:
    status = build_status(JOB, phase, finished=NOW - 5 if phase.terminal else None, cause=CauseRecord("Suspended"))
    job = replace(JOB, policies=replace(JOB.policies, suspend=phase is Phase.SUSPENDED))
    job = replace(job, deleting=phase is Phase.TERMINATING)
    found = plan(job, status, Observed(datasets=STATES[state][0]), NOW)
    assert found.status.cause == status.cause or (found.status.cause and found.status.cause.reason == "Suspended")


@pytest.mark.parametrize("state", STATES)
def test_half_a_gang_goes_on_as_its_other_pods_hold_devices(state: str) -> None:
    observed = Observed(pods=build_pods(JOB)[:1], services=build_services(JOB), datasets=STATES[state][0])
    assert "Pod demo-worker-1" in created(plan(JOB, build_status(JOB, Phase.PENDING, started=None), observed, NOW))


def test_a_new_attempt_waits_for_a_dataset_that_is_fetched_again() -> None:
    restarting = build_status(JOB, Phase.RESTARTING, attempt=1, cause=CauseRecord("RankRestarted", {}, NOW - 99))
    found = plan(JOB, restarting, Observed(datasets=there(fetching())), NOW)
    assert found.status.cause == WaitingForDataset("imagenet", 41, int(3.2 * GB), int(7.8 * GB)).record(NOW)
    assert found.status.phase is Phase.PENDING
    begun = plan(JOB, found.status, Observed(datasets=there(ready())), NOW + 9)
    assert "Pod demo-worker-0" in created(begun)


def test_an_object_in_the_way_is_told_first_as_somebody_must_remove_it() -> None:
    foreign = (Child(SERVICES, "demo-worker-0", "somebody's"),)
    found = plan(JOB, Status(), Observed(foreign=foreign, datasets=there(fetching())), NOW)
    assert found.status.cause and found.status.cause.reason == "ObjectInTheWay"


def test_a_claim_of_a_template_waits_for_the_dataset_of_its_name_if_there_is_one() -> None:
    job = with_claim("dataset-imagenet")
    assert find_named(job) == ("imagenet",)
    assert plan_gate(job, there()) is None, "only a claim"
    assert plan_gate(job, Datasets(unserved="")) is None
    assert isinstance(plan_gate(job, there(fetching())), WaitingForDataset)
    assert plan_gate(job, there(ready())) is None
    assert plan_gate(job, there(replace(fetching(), claim="other"))) is None, "it has another claim: claim://other"
    assert find_named(with_claim("imagenet")) == ()


def with_claim(claim: str) -> Job:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    return build_job(roles=(Role("worker", 2, {"spec": {**TEMPLATE["spec"], "volumes": [volume]}}),))


def test_what_a_person_must_mend_is_told_before_what_goes_on_by_itself() -> None:
    def tell(*found: DatasetStatus) -> str:
        gate = plan_gate(BOTH, there(*found))
        return f"{gate.reason} {gate.args['dataset'] if isinstance(gate, CauseRecord) else vars_of(gate)}"

    failed = stored("words", kube.Phase.FAILED)
    assert tell(fetching()) == "DatasetMissing words"
    assert tell(fetching(), failed) == "DatasetFailed words"
    assert tell(stored("imagenet", kube.Phase.FAILED, retries=True), failed) == "DatasetFailed words"
    assert tell(fetching(), fetching("words", 12)) == "WaitingForDataset words"
    assert tell(fetching(percent=0), stored("words", kube.Phase.PENDING)) == "WaitingForDataset words"
    assert tell(ready(), fetching("words")) == "WaitingForDataset words"


def vars_of(gate: Cause | None) -> Any:
    assert gate is not None
    return gate.args()["dataset"]


def waiting(**args: Any) -> CauseRecord:
    return WaitingForDataset("imagenet", **args).record(NOW)


SENTENCES = {
    "waiting for dataset imagenet: 41 %, 3.2 of 7.8 GB": waiting(percent=41, done=3_210_000_000, total=7_800_000_000),
    "waiting for dataset imagenet: 11 %, 900 MB of 7.8 GB": waiting(percent=11, done=900_000_000, total=7_800_000_000),
    "waiting for dataset imagenet: 0 %, 0 B of 7.8 GB": waiting(total=7_800_000_000),
    "waiting for dataset imagenet: 3.2 GB so far": waiting(done=3_200_000_000),
    "waiting for dataset imagenet: 41 %, 3.2 GB": waiting(percent=41, done=3_200_000_000),
    "waiting for dataset imagenet: 41 %": waiting(percent=41),
    "waiting for dataset imagenet": waiting(),
    "waiting for dataset imagenet: its claim is not bound": waiting(message="its claim is not bound."),
    "waiting for dataset imagenet: 41 %, and for 1 more dataset": waiting(percent=41, more=1),
    "waiting for dataset imagenet: 41 %, and for 2 more datasets": waiting(percent=41, more=2),
    "waiting for dataset x, which namespace team lacks; it has a and b; create it, and the job goes on by itself": (
        causes.DatasetMissing("x", "team", "", ("a", "b")).record(NOW)
    ),
    "waiting for dataset x, which is being deleted; create it again, and the job goes on by itself": (
        causes.DatasetMissing("x", "team", deleting=True).record(NOW)
    ),
    "waiting: dataset x failed: the disk is full; it is tried again by itself": (
        causes.DatasetFailed("x", "the disk is full.", retries=True).record(NOW)
    ),
    "waiting for dataset x: this cluster has no Datasets; `paddock manifests --datasets --image IMAGE` prints what an "
    "administrator installs": causes.DatasetsUnserved("x").record(NOW),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_wait_has_its_sentence(sentence: str) -> None:
    assert explain(SENTENCES[sentence]) == sentence


def test_a_missing_dataset_is_told_with_the_nearest_name() -> None:
    gate = plan_gate(build_job(mounts=(Mount("imagnet", "/data"),)), there(known=("words", "imagenet")))
    assert gate == causes.DatasetMissing("imagnet", "team", "imagenet", ("imagenet", "words"))


def test_the_status_is_written_once_for_each_whole_per_cent() -> None:
    status, writes = Status(), 0
    total = 7_800_000_000
    for done in range(0, total, total // 1000):
        dataset = stored("imagenet", kube.Phase.FETCHING, percent=done * 100 // total, done=done, total=total)
        after = plan(JOB, status, Observed(datasets=there(dataset)), NOW + done / GB).status
        writes, status = writes + (after != status), after
    assert 90 < writes <= 101
    assert status.cause and status.cause.since == NOW, "it waits since then"


@given(st.lists(st.integers(0, 10**13), min_size=1))
def test_without_a_total_two_digits_are_told(counts: list[int]) -> None:
    for count in counts:
        gate = plan_gate(JOB, there(stored("imagenet", kube.Phase.FETCHING, done=count)))
        assert isinstance(gate, WaitingForDataset)
        assert gate.done <= count
        assert str(gate.done).rstrip("0") == str(count)[:2].rstrip("0")


states = st.builds(
    lambda phase, percent, done, total, deleting: stored(
        "imagenet", phase, percent=percent, done=done, total=total, deleting=deleting, message="m"
    ),
    st.sampled_from(list(kube.Phase)), st.integers(0, 100), st.integers(0, 10**6), st.integers(0, 10**6), st.booleans(),
)  # fmt: skip


@given(states, st.integers(0, 10**6), st.integers(0, 9), st.sampled_from("mn"))
def test_what_is_not_relevant_changes_no_cause(one: DatasetStatus, done: int, files: int, message: str) -> None:
    """The operator queues no job for a change of which `find_relevant` sees nothing."""
    other = replace(one, done=done, files=files, message=message)
    if find_relevant(one) == find_relevant(other):
        first = plan(JOB, Status(), Observed(datasets=there(one)), NOW)
        assert plan(JOB, first.status, Observed(datasets=there(other)), NOW).status == first.status


@given(states)
def test_what_holds_a_job_back_is_awaited(status: DatasetStatus) -> None:
    """Else nothing would queue it when that changes."""
    assert bool(list(find_awaited(JOB, there(status)))) == (plan_gate(JOB, there(status)) is not None)


def test_pods_mount_the_claim_of_the_dataset() -> None:
    found = plan(JOB, Status(), Observed(datasets=there(ready(claim="nfs"))), NOW)
    pod = next(action.manifest for action in found.actions if getattr(action, "manifest", {}).get("kind") == "Pod")
    (volume,) = pod["spec"]["volumes"]
    assert volume == {"name": "dataset-imagenet", "persistentVolumeClaim": {"claimName": "nfs", "readOnly": True}}
