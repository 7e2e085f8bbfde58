"""Ranks got environment variables that could not work: they waited for each other for ever, or failed at their start.

 4  test_a_server_on_any_network_finds_itself_in_the_list_of_servers
 5  test_the_first_worker_opens_the_rendezvous_by_its_own_address_whatever_the_network
 6  test_gloo_has_a_port_of_its_own_on_the_first_server
 7  test_a_heter_job_finds_what_paddlepaddle_reads_or_is_told_that_it_cannot_run
 8  test_an_elastic_job_starts_with_endpoints_and_is_told_what_elastic_does
 9  test_on_the_hosts_network_names_of_services_are_known
10  test_on_the_hosts_network_no_two_ranks_share_a_node_and_its_port
11  test_ports_of_jobs_on_one_machine_differ_however_often_the_operator_is_started
22  test_ranks_get_ipv6_addresses_and_do_not_wait_for_ever
34  test_a_side_car_that_is_the_first_container_and_the_users_host_name_stay_unchanged
"""

from __future__ import annotations

import pytest

from defects.users_jobs import addresses_of, environment, pod_of, read, stored
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import PORTS_IN_BLOCK, RestartPolicy
from paddock.jobs.objects import pods
from paddock.jobs.policies.ports import choose_port
from paddock.kube.meta import annotations_of
from support.operator_seam import build_job

NETWORKS = ["PodIP", "Service", "Host"]
PORTS = [None, 20_020]
"""A cluster's, where every pod has an address of its own, and one that was chosen on a shared machine."""


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_server_on_any_network_finds_itself_in_the_list_of_servers(network: str, port: int | None) -> None:
    """4: PADDLE_PORT was random, the list said 36000: "not in list". PaddlePaddle looks for `POD_IP:PADDLE_PORT`."""
    job = read(intranet=network)
    for index in range(2):
        found = environment(job, f"ps-{index}", port)
        servers = found["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
        assert servers.index(f"{found['POD_IP']}:{found['PADDLE_PORT']}") == index


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_first_worker_opens_the_rendezvous_by_its_own_address_whatever_the_network(
    network: str, port: int | None
) -> None:
    """5: the launcher compares the host of the first endpoint with its own address, which is no name."""
    job = read(ps=0, worker=3, intranet=network)
    for index in range(3):
        found = environment(job, f"worker-{index}", port)
        hosts = [endpoint.rpartition(":")[0] for endpoint in found["PADDLE_TRAINER_ENDPOINTS"].split(",")]
        assert hosts[index] == found["POD_IP"]
        assert found["POD_IP"][0].isdigit()
        assert len(set(hosts)) == 3  # the launcher's number of nodes


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("network", NETWORKS)
def test_gloo_has_a_port_of_its_own_on_the_first_server(network: str, port: int | None) -> None:
    """6: it was the port of the server itself, so only one of them could listen."""
    found = environment(read(intranet=network, withGloo=1), "ps-0", port)
    host, _, gloo = found["PADDLE_GLOO_HTTP_ENDPOINT"].rpartition(":")
    assert host == found["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")[0].rpartition(":")[0]
    assert 0 < int(gloo) - int(found["PADDLE_PORT"]) < PORTS_IN_BLOCK


def test_a_heter_job_finds_what_paddlepaddle_reads_or_is_told_that_it_cannot_run() -> None:
    """7: TRAINING_ROLE=HETER was refused by the role maker, and what else it asks for was not there."""
    template = build_job()["spec"]["worker"]
    job = PADDLEPADDLE.read_job(stored(build_job(heter=template)))
    found = environment(job, "heter-1")
    assert found["TRAINING_ROLE"] == "HETER_TRAINER"
    listed = found["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"].split(",")
    assert listed.index(f"{found['POD_IP']}:{found['PADDLE_PORT']}") == 1
    assert {"STAGE_ID", "STAGE_NUM", "PADDLE_STAGE_TRAINERS_NUM", "HETER_DEVICE_TYPE"} <= set(found)
    assert found["PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"] == found["PADDLE_TRAINER_ENDPOINTS"]
    worker = environment(job, "worker-0")
    assert worker["PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"].split(",") == listed
    assert any("heter" in warning.path for warning in job.warnings)


def test_an_elastic_job_starts_with_endpoints_and_is_told_what_elastic_does() -> None:
    """8: it was given no endpoints and no etcd, and the launcher's legacy mode."""
    job = read(ps=0, worker=3, elastic=1)
    found = environment(job, "worker-0")
    assert found["PADDLE_TRAINERS_NUM"] == "3"
    assert [name for name in found if "ELASTIC" in name] == []
    assert [role.restart for role in job.roles] == [RestartPolicy.ON_FAILURE]
    assert [warning.path for warning in job.warnings] == ["spec.elastic"]


def test_on_the_hosts_network_names_of_services_are_known() -> None:
    """9: the node's DNS knows no Service, and an init container asked it a thousand times."""
    spec = pod_of(read(intranet="Host"), "worker-0")["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert "initContainers" not in spec


@pytest.mark.parametrize(("ps", "rank"), [(2, "ps-0"), (0, "worker-1")])
def test_on_the_hosts_network_no_two_ranks_share_a_node_and_its_port(ps: int, rank: str) -> None:
    """10: the API server makes a declared port a port of the node, and the scheduler gives that to one pod alone."""
    job = read(ps=ps, intranet="Host")
    (port,) = pod_of(job, rank)["spec"]["containers"][0]["ports"]
    assert port["containerPort"] == int(environment(job, rank)["PADDLE_PORT"])


def test_ports_of_jobs_on_one_machine_differ_however_often_the_operator_is_started() -> None:
    """11: the generator had no seed, so that each start began with the same ports. Here there is none to forget."""
    first = choose_port("job-1", 0, frozenset())
    assert first is not None
    assert choose_port("job-1", 0, frozenset()) == first
    assert len({choose_port(f"job-{number}", 0, frozenset()) for number in range(50)}) > 40
    assert choose_port("job-1", 0, frozenset({first + 3})) != first


def test_ranks_get_ipv6_addresses_and_do_not_wait_for_ever() -> None:
    """22: no ConfigMap was created, and nothing reported it."""
    job = read(worker=2)
    data = pods.build_config_map(job, 0, addresses_of(job, "fd00::{}"), None)["data"]
    assert data["PADDLE_PSERVERS_IP_PORT_LIST"] == "[fd00::2]:36000,[fd00::3]:36000"
    assert data["PADDLE_TRAINERS"] == "fd00::4,fd00::5"


def test_a_side_car_that_is_the_first_container_and_the_users_host_name_stay_unchanged() -> None:
    """34: the first container got what the one named `paddle` needs."""
    job = build_job(ps=0)
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["containers"].insert(0, {"name": "proxy", "image": "proxy:1"})
    spec |= {"hostname": "mine", "subdomain": "ours"}
    made = pod_of(PADDLEPADDLE.read_job(stored(job)), "worker-0")
    pod = made["spec"]
    proxy, trained = pod["containers"]
    assert proxy == {"name": "proxy", "image": "proxy:1"}
    assert {"TRAINING_ROLE", "PADDLE_TRAINER_ID"} <= {entry["name"] for entry in trained["env"]}
    assert trained["envFrom"] == [{"configMapRef": {"name": annotations_of(made)["paddock.dev/config-map"]}}]
    assert (pod["hostname"], pod["subdomain"]) == ("mine", "ours")
