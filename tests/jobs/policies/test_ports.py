from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import NOW, build_job, build_pods
from paddock.jobs.actions import Create, Plan
from paddock.jobs.labels import PORT_ANNOTATION
from paddock.jobs.model import PORTS_IN_BLOCK, Intranet, Network, Observed, Settings, Status
from paddock.jobs.plan import plan
from paddock.jobs.policies.ports import FIRST_PORT, LAST_PORT, choose_port
from paddock.kube.meta import PODS, annotations_of

NODE_PORTS = 30_000
"""The first node port of Kubernetes; Linux's ephemeral ports are above."""
taken_ports = st.frozensets(st.integers(1, 65_535), max_size=200)


@given(st.text(), st.integers(0, 10**6), taken_ports)
def test_a_block_is_free_below_the_node_ports_and_the_same_each_time(
    uid: str, attempt: int, taken: frozenset[int]
) -> None:
    port = choose_port(uid, attempt, taken)
    assert port is not None
    block = range(port, port + PORTS_IN_BLOCK)
    assert not taken.intersection(block)
    assert block[0] >= FIRST_PORT
    assert block[-1] <= LAST_PORT < NODE_PORTS
    assert choose_port(uid, attempt, taken) == port


def test_jobs_and_attempts_spread() -> None:
    assert len({choose_port(f"job-{number}", number % 3, frozenset()) for number in range(100)}) > 80


@pytest.mark.parametrize(
    ("intranet", "laptop", "shared"),
    [
        (Intranet.POD_IP, False, False),
        (Intranet.SERVICE, False, False),
        (Intranet.HOST, False, True),
        (Intranet.POD_IP, True, True),
    ],
)
def test_pods_share_a_network_on_a_laptop_and_where_the_job_asks_for_the_nodes(
    intranet: Intranet, laptop: bool, shared: bool
) -> None:
    job = build_job(network=Network(intranet))
    assert Settings(shared_network=laptop).shares_network(job) is shared


def test_two_jobs_on_the_nodes_network_get_ports_of_their_own() -> None:
    job = build_job(network=Network(Intranet.HOST))
    ours = {_port_of(plan(replace(job, uid=uid), Status(), Observed(), NOW)) for uid in ("one", "two")}
    assert len(ours) == 2
    assert None not in ours
    assert _port_of(plan(build_job(), Status(), Observed(), NOW)) is None


def test_half_a_gang_of_another_operator_keeps_the_default_port() -> None:
    job = build_job(network=Network(Intranet.HOST))
    assert _port_of(plan(job, Status(), Observed(pods=build_pods(job)[:1]), NOW)) is None


def _port_of(planned: Plan) -> str | None:
    """The port of all new pods."""
    made = [each.manifest for each in planned.actions if isinstance(each, Create) and each.resource == PODS]
    (port,) = {annotations_of(pod).get(PORT_ANNOTATION) for pod in made}
    return port
