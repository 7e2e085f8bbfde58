"""Whether pods still have the addresses in the ConfigMap of endpoints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, observe, with_pod
from paddock.jobs.model import Child, Intranet, Network, Pod, PodPhase
from paddock.jobs.names import config_map_name
from paddock.jobs.objects.pods import build_config_map, hash_addresses
from paddock.jobs.plan import plan
from paddock.kube.meta import CONFIG_MAPS, annotations_of, name_of

JOB = build_job(workers=2)
ADDRESSES = {pod.rank: pod.address for pod in build_pods(JOB)}
MARK = hash_addresses(JOB, ADDRESSES)


def test_a_config_map_has_the_hash_of_its_addresses() -> None:
    assert annotations_of(build_config_map(JOB, 0, ADDRESSES, None)) == {"paddock.dev/addresses": MARK}


def moved(pod: Pod) -> Pod:
    return replace(pod, address="127.0.0.99")


@pytest.mark.parametrize(
    ("pods", "hashed", "attempt"),
    [
        (build_pods(JOB), MARK, 0),
        (with_pod(build_pods(JOB), "worker-1", moved), MARK, 1),
        (with_pod(build_pods(JOB), "worker-1", moved), "", 0),  # paddle-operator's: nobody knows what it was made from
        (with_pod(build_pods(JOB), "worker-1", lambda pod: replace(pod, address="")), MARK, 0),
        (with_pod(build_pods(JOB), "worker-1", lambda pod: replace(moved(pod), phase=PodPhase.SUCCEEDED)), MARK, 0),
    ],
)
def test_another_address_recreates_the_gang_once(pods: tuple[Pod, ...], hashed: str, attempt: int) -> None:
    told = (Child(CONFIG_MAPS, config_map_name(JOB, 0), "config-0", addresses=hashed),)
    planned = plan(JOB, build_status(JOB), observe(JOB, pods, config_maps=told), NOW)
    assert (planned.status.attempt, planned.status.restarts) == (attempt, 0)
    assert (planned.status.cause.reason if planned.status.cause else "") == ("AddressesChanged" if attempt else "")


@pytest.mark.parametrize(("intranet", "attempt"), [(Intranet.SERVICE, 0), (Intranet.POD_IP, 1)])
@pytest.mark.parametrize("hashed", ["", "of another version"])
def test_with_endpoints_of_names_an_address_may_change(intranet: Intranet, attempt: int, hashed: str) -> None:
    job = build_job(ps=1, workers=2, network=Network(intranet))
    pods = build_pods(job)
    made = build_config_map(job, 0, {pod.rank: pod.address for pod in pods}, None)
    hashed = hashed or annotations_of(made).get("paddock.dev/addresses", "")
    told = Child(CONFIG_MAPS, name_of(made), "config-0", addresses=hashed)
    seen = observe(job, with_pod(pods, "worker-1", moved), config_maps=(told,))
    assert plan(job, build_status(job), seen, NOW).status.attempt == attempt
