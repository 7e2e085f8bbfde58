"""For every name that Kubernetes allows, the job's objects have valid names, different from those of other jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.samples import read_sample
from jobs.test_pods import as_text, build_all
from paddock.jobs import names
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import Child, Job, Observed, Rank, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.policies.children import plan_leftovers, plan_services
from paddock.kube.meta import POD_GROUPS, SERVICES, VOLCANO_POD_GROUPS, Key, labels_of, name_of
from paddock.kube.validation.names import DNS1035_LABEL, DNS_LABEL, DNS_SUBDOMAIN, LABEL_VALUE

LONG = "team-vision.resnet50-imagenet-2012-mixed-precision-label-smoothing-0.1-cosine-decay-run-17"
DOTTED = "2026.03-resnet50"
WORKER = Rank("worker", 0)
SETTINGS = (Settings(), Settings(pod_groups=POD_GROUPS), Settings(pod_groups=VOLCANO_POD_GROUPS))

_PARTS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?", fullmatch=True)
JOB_NAMES = st.lists(_PARTS, min_size=1, max_size=5).map(".".join).filter(lambda name: len(name) <= 244)
"""DNS subdomains. 244 is what `-worker-0` leaves of 253."""


def called(name: str, sample: str = "wide_and_deep") -> Job:
    return replace(read_sample(sample), key=Key("default", name))


@given(JOB_NAMES)
def test_every_name_that_is_made_is_legal_and_no_two_are_alike(name: str) -> None:
    job = called(name)
    ranks = job.ranks()
    hosts = [names.host_name(job, rank) for rank in ranks]
    assert [DNS1035_LABEL.allows(host) and DNS_LABEL.allows(host) for host in hosts] == [True] * len(ranks)
    assert len(set(hosts)) == len({names.rank_label(job, rank) for rank in ranks}) == len(ranks)
    called_so = [names.config_map_name(job, attempt) for attempt in (0, 1, 9999)]
    assert [DNS_SUBDOMAIN.allows(each) for each in called_so] == [True] * len(set(called_so))


@given(JOB_NAMES, st.sampled_from(SETTINGS), st.sampled_from(["wide_and_deep", "kubeflow_distributed"]))
def test_every_label_is_legal_and_a_service_selects_the_pod_of_its_rank_alone(
    name: str, settings: Settings, sample: str
) -> None:
    job = called(name, sample)
    made = [pods.build_pod(job, rank, 0, None, settings) for rank in job.ranks()]
    services = [pods.build_service(job, rank) for rank in job.ranks()]
    values = [value for each in (*made, *services) for value in labels_of(each).values()]
    assert {value: LABEL_VALUE.allows(value) for value in values} == dict.fromkeys(values, True)
    for number, service in enumerate(services):
        wanted = service["spec"]["selector"].items()
        assert [wanted <= labels_of(pod).items() for pod in made].index(True) == number
        assert sum(wanted <= labels_of(pod).items() for pod in made) == 1
        assert made[number]["spec"]["hostname"] == made[number]["spec"]["subdomain"] == name_of(service)
    assert {labels_of(pod)[JOB_LABEL] for pod in made} == {names.job_label(name)}


@given(st.from_regex(r"[a-z]([-a-z0-9]{0,52}[a-z0-9])?", fullmatch=True))
def test_a_name_that_fits_everywhere_is_used_unchanged(name: str) -> None:
    """So objects of paddle-operator are found."""
    job = called(name)
    assert names.host_name(job, WORKER) == names.rank_label(job, WORKER) == names.pod_name(job, WORKER)
    assert names.job_label(name) == names.pod_group_name(job, POD_GROUPS) == name
    assert names.former_config_map_name(job, 0) == name
    assert names.former_config_map_name(job, 3) == f"{name}-attempt-3"


def test_no_attempt_of_any_job_has_the_config_map_of_another() -> None:
    """A kubelet keeps one that is immutable by its name, also for the pods of the next job of that name."""
    job = called("demo")
    jobs = [replace(job, uid=uid) for uid in ("u-1", "u-2", "u-3")]
    made = [function(each, attempt) for each in jobs for attempt in range(20)
            for function in (names.config_map_name, names.former_config_map_name)]  # fmt: skip
    assert len(set(made)) == len(jobs) * 20 + 20, "those of before were the same for every job of a name"


@given(JOB_NAMES, JOB_NAMES)
def test_two_jobs_share_no_name(one: str, other: str) -> None:
    assume(one != other)
    assert names.host_name(called(one), WORKER) != names.host_name(called(other), WORKER)
    assert names.job_label(one) != names.job_label(other)


ONE_LETTER_APART = [
    ("a.b", "a-b"),
    ("a.b-c", "a-b.c"),
    ("1st", "job-1st"),
    (LONG, LONG.replace("17", "18")),
    ("x" * 100, "x" * 101),
]


@pytest.mark.parametrize(("one", "other"), ONE_LETTER_APART)
def test_names_with_the_same_beginning_stay_distinct_when_shortened(one: str, other: str) -> None:
    assert names.host_name(called(one), WORKER) != names.host_name(called(other), WORKER)


SHORTENED = [
    ("a.b", "a-b-"),
    ("1st", "job-1st-"),
    (LONG, "team-vision-resnet50-imagenet-2012-mixed-pr"),
    ("x" * 54, "x" * 54 + "-worker-0"),
    ("x" * 55, "x" * 43 + "-"),
    ("x" * 42 + "---" + "y" * 20, "x" * 42 + "-"),
]


@pytest.mark.parametrize(("name", "host"), SHORTENED)
def test_a_shortened_name_begins_with_the_jobs_name_and_ends_with_the_rank(name: str, host: str) -> None:
    found = names.host_name(called(name), WORKER)
    assert found.startswith(host)
    assert found.endswith("-worker-0")
    assert "--" not in found


@given(JOB_NAMES)
def test_existing_services_are_neither_recreated_nor_deleted(name: str) -> None:
    job = called(name)
    there = tuple(Child(SERVICES, names.host_name(job, rank), f"uid-of-{rank}") for rank in job.ranks())
    observed = Observed(services=(*there, Child(SERVICES, "of-a-rank-that-is-no-more", "a-uid")))
    assert plan_services(job, observed) == ()
    assert [delete.uid for delete in plan_leftovers(job, Status(), observed)] == ["a-uid"]


def test_pods_have_the_name_of_their_pod_group() -> None:
    """A label has at most 63 characters. Volcano's name is in an annotation, and unchanged, as users create its
    group."""
    job = called(LONG)
    pod = pods.build_pod(job, WORKER, 0, None, Settings(pod_groups=POD_GROUPS))
    assert labels_of(pod)[pods.POD_GROUP_LABEL] == name_of(pods.build_pod_group(job, POD_GROUPS)) != LONG
    pod = pods.build_pod(job, WORKER, 0, None, Settings(pod_groups=VOLCANO_POD_GROUPS))
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == LONG
    assert name_of(pods.build_pod_group(job, VOLCANO_POD_GROUPS)) == LONG


@pytest.mark.parametrize(("name", "golden"), [(LONG, "long_name"), (DOTTED, "dotted_name")])
def test_a_job_of_this_name_gets_these_objects(
    name: str, golden: str, match_golden: Callable[[str, str], None]
) -> None:
    made = build_all(called(name, "wide_and_deep_service"), None, Settings(pod_groups=POD_GROUPS))
    match_golden(f"{golden}.yaml", as_text(made))
