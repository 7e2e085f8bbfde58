"""Whether a job has room in its namespace: what is refused, what is told, and the amounts that are advised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.limit_ranges import read_limit_range
from paddock.kube.meta import Manifest
from paddock.kube.quantities import read_quantity
from paddock.kube.quotas import explain_gang, read_quota
from paddock.script.manifest import build_manifest
from paddock.script.request import ScriptRequest
from paddock.submission.documents import find_resource
from paddock.submission.room import Judgement, Room, explain_too_large, judge, with_cpu_limits
from paddock.words.amounts import round_down


def read(manifest: Manifest) -> Job:
    return KINDS[find_resource(manifest)].read_job(manifest)


def type_job(workers: int = 2, **options: Any) -> Manifest:
    return build_manifest(ScriptRequest(("python", "t.py"), "pytorch", namespace="team-a", workers=workers, **options))


def build_room(hard: Mapping[str, str] | None = None, used: Mapping[str, str] | None = None, **limits: Any) -> Room:
    quota = {"metadata": {"name": "training"}, "spec": {"hard": hard or {}}, "status": {"used": used or {}}}
    bounds = {"metadata": {"name": "bounds"}, "spec": {"limits": [{"type": "Container", **limits}]}}
    return Room("team-a", [read_quota(quota)] if hard else [], [read_limit_range(bounds)] if limits else [])


def say(judged: Judgement) -> list[str]:
    return [str(each) for each in (*judged.refused, *judged.told)]


def test_in_a_namespace_without_bounds_nothing_is_said() -> None:
    assert judge(read(type_job()), Room("team-a"), typed=True) == Judgement()


@pytest.mark.parametrize(
    ("hard", "used", "options", "said"),
    [
        (
            {"requests.cpu": "10"}, {"requests.cpu": "7"}, {"cpus": "4"},
            "by the quota training of team-a it waits until others have ended: it asks for "
            "8 CPUs, 4 each, with 3 of 10 left; --cpus 1 fits",
        ),
        (
            {"requests.cpu": "10"}, {"requests.cpu": "10"}, {"cpus": "4"},
            "by the quota training of team-a it waits until others have ended: it asks for "
            "8 CPUs, 4 each, with 0 of 10 left",
        ),
        (
            {"requests.memory": "8Gi", "cpu": "4"}, {}, {"cpus": "1", "memory": "5Gi"},
            "by the quota training of team-a it can never start: it asks for "
            "10 GiB, 5.0 GiB each, with 8.0 GiB of 8.0 GiB left; --memory 4Gi fits",
        ),
        (
            {"requests.memory": "8Gi", "limits.memory": "8Gi"}, {}, {"memory": "5Gi"},
            "by the quota training of team-a it can never start: it asks for "
            "10 GiB, 5.0 GiB each, with 8.0 GiB of 8.0 GiB left; --memory 4Gi fits",
        ),
        (
            {"requests.memory": "16Gi", "limits.memory": "8Gi"}, {}, {"memory": "5Gi"},
            "by the quota training of team-a it can never start: it asks for "
            "limits of 10 GiB, 5.0 GiB each, with 8.0 GiB of 8.0 GiB left; --memory 4Gi fits",
        ),
        (
            {"requests.nvidia.com/gpu": "8"}, {"requests.nvidia.com/gpu": "2"}, {"gpus": 4},
            "by the quota training of team-a it waits until others have ended: it asks for 8 GPUs, 4 each, with 6 of 8 "
            "left; --gpus 3 fits",
        ),
        (
            {"pods": "1"}, {}, {},
            "by the quota training of team-a it can never start: it asks for 2 pods, with 1 of 1 left",
        ),
    ],
)  # fmt: skip
def test_a_quota_says_in_numbers_what_would_fit(
    hard: Mapping[str, str], used: Mapping[str, str], options: Mapping[str, Any], said: str
) -> None:
    judged = judge(read(type_job(**options)), build_room(hard, used), typed=True)
    assert say(judged) == [said]
    assert bool(judged.refused) is ("never" in said), "who only has to wait is not refused"


def test_a_suspended_job_may_wait_for_a_larger_quota() -> None:
    manifest = type_job(cpus="4")
    manifest["spec"]["runPolicy"]["suspend"] = True
    judged = judge(read(manifest), build_room({"requests.cpu": "2"}), typed=False)
    assert not judged.refused and "it can never start" in say(judged)[0]


def test_a_job_with_room_is_told_nothing() -> None:
    room = build_room({"requests.cpu": "8", "requests.memory": "8Gi", "pods": "2"})
    assert judge(read(type_job(cpus="4", memory="4Gi")), room, typed=True) == Judgement()


@pytest.mark.parametrize(
    ("hard", "used", "advised"),
    [
        ({"requests.cpu": "64", "requests.memory": "256Gi"}, {}, "--cpus 1 --memory 2Gi fits"),
        ({"cpu": "64", "memory": "256Gi"}, {}, "--cpus 1 --memory 2Gi fits"),
        ({"requests.cpu": "10"}, {"requests.cpu": "9"}, "--cpus 500m fits"),
        ({"limits.memory": "3Gi"}, {}, "--memory 1536Mi fits"),
        ({"requests.cpu": "10"}, {"requests.cpu": "10"}, "--cpus 1 fits"),
    ],
)
def test_a_quota_that_wants_amounts_says_which_would_fit(
    hard: Mapping[str, str], used: Mapping[str, str], advised: str
) -> None:
    (said,) = judge(read(type_job()), build_room(hard, used), typed=True).refused
    assert str(said).startswith("the quota training of team-a takes no rank that does not say what it asks for (")
    assert str(said).endswith(advised)


def test_of_a_file_the_fields_are_named() -> None:
    (said, other) = judge(
        read(type_job()), build_room({"requests.cpu": "64", "limits.memory": "8Gi"}), typed=False
    ).refused
    assert str(said) == (
        "the quota training of team-a takes no pod without resources.limits.memory and resources.requests.cpu: in the "
        "containers of master, resources.limits.memory: 2Gi and resources.requests.cpu: 1 fits"
    )
    assert "containers of worker" in str(other)


@pytest.mark.parametrize(
    ("limits", "options", "said"),
    [
        ({"min": {"cpu": "250m"}}, {"cpus": "100m"},
         "--cpus is 0.1 CPUs: the LimitRange bounds of team-a wants 0.25 CPUs at least"),
        ({"max": {"memory": "4Gi"}}, {"memory": "5Gi"},
         "--memory is 5.0 GiB: the LimitRange bounds of team-a allows 4.0 GiB at most"),
        ({"min": {"cpu": "250m"}}, {},
         "--cpus is not set: the LimitRange bounds of team-a wants 0.25 CPUs at least"),
        ({"max": {"nvidia.com/gpu": "2"}}, {"gpus": 4},
         "--gpus is 4 GPUs: the LimitRange bounds of team-a allows 2 GPUs at most"),
        ({"maxLimitRequestRatio": {"cpu": "1"}, "default": {"cpu": "8"}, "defaultRequest": {"cpu": "4"}}, {},
         "--cpus: the LimitRange bounds of team-a refuses it: cpu max limit to request ratio per Container is 1, but "
         "provided ratio is 2.000000"),
    ],
)  # fmt: skip
def test_a_limit_range_refuses_with_the_option_and_what_is_allowed(
    limits: Mapping[str, Any], options: Mapping[str, Any], said: str
) -> None:
    refused = judge(read(type_job(1, **options)), build_room(**limits), typed=True).refused
    assert [str(each) for each in refused] == [said]


def test_what_a_limit_range_fills_in_is_told_and_counts() -> None:
    room = build_room({"requests.cpu": "4"}, default={"cpu": "3"}, defaultRequest={"cpu": "3"})
    (refused, told) = say(judge(read(type_job()), room, typed=True))
    assert told == "by the LimitRange bounds of team-a each rank asks for 3 CPUs, and may have 3 CPUs at most"
    assert "it asks for 6 CPUs, 3 each, with 4 of 4 left; --cpus 2 fits" in refused


@pytest.mark.parametrize("room", [build_room({"limits.cpu": "8"}), build_room(default={"cpu": "1"})])
def test_cpus_are_limited_where_the_namespace_wants_it(room: Room) -> None:
    manifest = type_job(cpus="2")
    assert judge(read(manifest), room, typed=True).wants_cpu_limit
    limited = read(with_cpu_limits(manifest, read(manifest)))
    assert judge(limited, room, typed=True) == Judgement()
    (said, *_) = judge(read(manifest), room, typed=False).refused
    assert "limit" in str(said), "nothing is added to a file"


def test_a_job_that_would_cost_too_much_to_judge_is_not_judged() -> None:
    manifest = type_job(1)
    spec = manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    spec["containers"] += [{"name": f"c{number}", "image": "x"} for number in range(5000)]
    assert judge(read(manifest), build_room({"requests.cpu": "1"}), typed=False) == Judgement()


def test_no_limit_of_cpus_is_added_elsewhere() -> None:
    room = build_room({"requests.cpu": "8"}, default={"cpu": "4"})
    assert not judge(read(type_job(cpus="2")), room, typed=True).wants_cpu_limit
    assert not judge(read(type_job()), build_room({"limits.cpu": "8"}), typed=True).wants_cpu_limit


def node(**amounts: str) -> Manifest:
    return {"status": {"allocatable": amounts}}


@pytest.mark.parametrize(
    ("is_local", "said"),
    [
        (True, ["--cpus: the job asks for 6 CPUs, and this machine has 4; --cpus 2 fits"]),
        (False, []),
    ],
)
def test_a_machine_holds_all_ranks_and_a_cluster_each_on_a_node(is_local: bool, said: list[str]) -> None:
    found = explain_too_large(read(type_job(cpus="3")), [node(cpu="4", memory="8Gi")], is_local=is_local)
    assert [str(each) for each in found] == said


def test_what_is_more_than_any_node_has_is_told_of_a_cluster() -> None:
    found = explain_too_large(read(type_job(cpus="64")), [node(cpu="4"), node(cpu="16")], is_local=False)
    assert [str(each) for each in found] == ["--cpus: each rank asks for 64 CPUs, and the largest node has 16"]


AMOUNTS = st.fractions(min_value=0, max_value=2**40)


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), AMOUNTS)
def test_a_round_amount_is_never_more(resource: str, amount: Fraction) -> None:
    text = round_down(resource, amount)
    assert not text or 0 < read_quantity(text) <= amount


@given(
    st.integers(1, 5), st.integers(1, 64), st.integers(0, 64), st.integers(1, 32), st.integers(1, 32)
)  # fmt: skip
def test_what_is_advised_fits(workers: int, hard: int, used: int, cpus: int, gib: int) -> None:
    """As the API server counts: by the same functions that judge it when it is typed again."""
    limits = {"requests.cpu": str(hard), "requests.memory": f"{hard * 4}Gi"}
    room = build_room(limits, {"requests.cpu": str(min(used, hard))})
    judged = judge(read(type_job(workers, cpus=str(cpus), memory=f"{gib}Gi")), room, typed=True)
    for said in say(judged):
        options = dict(re.findall(r"--(cpus|memory) (\S+)", said.partition(";")[2]))
        typed = {"cpus": str(cpus), "memory": f"{gib}Gi"} | options
        again = read(type_job(workers, **typed))
        if options and not judged.refused:
            assert not say(judge(again, room, typed=True)), said
        elif options:
            assert not judge(again, room, typed=True).refused, said


def test_the_pods_are_counted_as_the_server_counts_them() -> None:
    job = read(type_job(2, cpus="4"))
    pods = [({"metadata": {}, "spec": dict(role.template["spec"])}, role.replicas) for role in job.roles]
    room = build_room({"requests.cpu": "7"})
    assert explain_gang(pods, room.quotas) and judge(job, room, typed=True).refused
