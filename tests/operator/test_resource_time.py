"""What pods of jobs have held of their nodes, times seconds."""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from paddock.apiserver.objects.in_process import LocalApi
from paddock.environments.packages.devices import DEVICES, is_part
from paddock.kube.accelerators import is_accelerator
from paddock.kube.meta import PODS, Key, Manifest
from paddock.operator.informers import _keep_rank
from paddock.operator.job_metrics import MOST_NAMESPACES, OTHERS, JobMetrics
from paddock.operator.metrics import Prometheus
from paddock.operator.resource_time import AT_ONCE, MOST_RESOURCES, ResourceTime, read_held
from support.operator_seam import JOBS, Seam, build_job, have_pods, running, set_phase
from support.waiting import until

KIND, HELD = "PaddleJob", "paddock_resource_seconds_total"
GPU = "nvidia.com/gpu"


def advance(held: ResourceTime) -> None:
    for _ in held.advance():
        pass


class Counted(dict[tuple[str, str, str], float]):
    """(namespace, kind, resource) -> what was counted."""

    def __call__(self, namespace: str, kind: str, resource: str, held: float) -> None:
        assert held >= 0
        key = (namespace, kind, resource)
        self[key] = self.get(key, 0.0) + held


def test_a_pod_counts_from_when_it_has_a_node_until_its_end() -> None:
    now, counted = [100.0], Counted()
    held = ResourceTime(lambda: now[0], lambda _: "a term", counted)
    pod = Key("team", "demo-worker-0")
    held.note(pod, KIND, None)
    now[0] += 50
    held.note(pod, KIND, {"cpu": Fraction(1, 2), GPU: Fraction(8)})
    assert counted == {("team", KIND, "cpu"): 0.0, ("team", KIND, GPU): 0.0}, "a series begins at 0"
    now[0] += 10
    held.note(pod, KIND, {"cpu": Fraction(1, 2), GPU: Fraction(8)})
    now[0] += 10
    held.note(pod, KIND, None)
    now[0] += 1000
    advance(held)
    assert counted == {("team", KIND, "cpu"): 10.0, ("team", KIND, GPU): 160.0}


@pytest.mark.parametrize(
    ("terms", "seconds"),
    [
        (["a", "a"], 10.0),
        ([None, "a"], 0.0),  # it began to lead meanwhile
        (["a", None], 0.0),  # it leads no more
        (["a", "b"], 0.0),  # somebody else has led meanwhile
    ],
)
def test_time_counts_within_one_term_alone(terms: list[str | None], seconds: float) -> None:
    now, counted, term = [0.0], Counted(), [terms[0]]
    held = ResourceTime(lambda: now[0], lambda _: term[0], counted)
    held.note(Key("team", "a"), KIND, {"cpu": Fraction(1)})
    now[0], term[0] = 10.0, terms[1]
    advance(held)
    assert counted["team", KIND, "cpu"] == seconds


PODS_OF_TWO = st.sampled_from([Key(namespace, name) for namespace in ("one", "two") for name in "abc"])
AMOUNTS = st.sampled_from(
    [None, {"cpu": Fraction(1)}, {"cpu": Fraction(1, 10), GPU: Fraction(4)}, {GPU: Fraction(1), "memory": Fraction(3)}]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), PODS_OF_TWO, AMOUNTS),
        st.tuples(st.just("wait"), st.integers(0, 100), st.none()),
        st.tuples(st.just("scrape"), st.integers(0, 1), st.none()),
        st.tuples(st.just("lead"), st.integers(0, 2), st.none()),  # 2: nobody leads
        st.tuples(st.just("restart"), st.integers(0, 1), st.none()),
    ),
    max_size=40,
)


TAKEN_BACK = [
    ("lead", 1, None),
    ("pod", Key("one", "a"), {"cpu": Fraction(1)}),
    ("wait", 50, None),
    ("scrape", 1, None),
    ("lead", 0, None),
]


@example(TAKEN_BACK, False)
@given(STEPS, st.booleans())
def test_two_operators_count_together_no_second_twice_and_all_in_which_one_led_throughout(
    steps: list[Any], scraped: bool
) -> None:
    """The sum of both counters is what the pods held while an operator led, up to what it had not counted when it
    lost its term or ended. With a scrape around each of these (`scraped`) it is all."""
    now, leads, number = [0.0], [0], [0]
    counted = Counted()
    pods: dict[Key, dict[str, Fraction]] = {}
    most: dict[tuple[str, str, str], float] = defaultdict(float)

    def begin(own: int) -> ResourceTime:
        made = ResourceTime(lambda: now[0], lambda _: number[0] if leads[0] == own else None, counted)
        for pod, amounts in pods.items():
            made.note(pod, KIND, amounts)
        return made

    operators = [begin(0), begin(1)]
    for what, which, amounts in steps:
        if what == "pod":
            pods.pop(which, None)
            pods |= {which: amounts} if amounts else {}
            for each in operators:
                each.note(which, KIND, amounts)
        elif what == "wait":
            now[0] += which
            for pod, held in pods.items() if leads[0] < 2 else ():
                for resource, amount in held.items():
                    most[pod.namespace, KIND, resource] += float(amount) * which
        elif what == "scrape":
            advance(operators[which])
        else:
            for each in operators if scraped else ():
                advance(each)
            if what == "restart":
                operators[which] = begin(which)
            else:
                leads[0], number[0] = which, number[0] + (which != leads[0])
            for each in operators if scraped else ():
                advance(each)
    for each in operators:
        advance(each)
    assert all(held <= most[key] * (1 + 1e-9) for key, held in counted.items())
    if scraped:
        assert {key: held for key, held in counted.items() if held} == pytest.approx(
            {key: held for key, held in most.items() if held}
        )


def test_of_many_names_of_resources_the_first_ones_alone_are_counted() -> None:
    counted = Counted()
    held = ResourceTime(lambda: 0.0, lambda _: "a", counted)
    for number in range(2 * MOST_RESOURCES):
        held.note(Key("team", f"pod-{number}"), KIND, {f"nvidia.com/mig-{number}g.5gb": Fraction(1)})
    assert len(counted) == MOST_RESOURCES


def test_what_many_namespaces_hold_is_counted_as_of_others_and_none_of_it_is_lost() -> None:
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    metrics = JobMetrics(registry, lambda: 0.0)
    for number in range(MOST_NAMESPACES + 3):
        metrics.hold(f"team-{number}", KIND, GPU, 1.0)
    metrics.hold("team-0", KIND, GPU, 1.0)
    values = [each for family in registry.collect() for each in family.samples if each.name == HELD]
    assert len(values) == MOST_NAMESPACES + 1
    assert sum(each.value for each in values) == MOST_NAMESPACES + 4
    assert [each.value for each in values if each.labels["namespace"] == OTHERS] == [3.0]


def build_pod(phase: str = "Running", node: str = "node-1", **requests: str) -> Manifest:
    containers = [{"name": "main", "resources": {"limits": {GPU: "8"}, "requests": requests}}, {"name": "side"}]
    first = [{"name": "first", "resources": {"requests": {"cpu": "64"}}}]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo-worker-0", "namespace": "team"},
        "spec": {"nodeName": node, "containers": containers, "initContainers": first}, "status": {"phase": phase},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        (build_pod(memory="1Gi"), {"cpu": 64, "memory": 2**30, GPU: 8, "pods": 1}),
        (build_pod(**{"example.com/anything": "3"}), {"cpu": 64, GPU: 8, "pods": 1}),
        (build_pod(cpu="what"), {}),
        (build_pod(node=""), None),
        (build_pod("Succeeded"), None),
        (build_pod("Failed"), None),
        (build_pod("Pending"), {"cpu": 64, GPU: 8, "pods": 1}),  # it pulls its image
    ],
)
def test_a_pod_holds_what_the_scheduler_counts_of_what_is_counted_here(pod: Manifest, held: object) -> None:
    assert read_held(_keep_rank(pod)) == held


def test_every_whole_device_that_is_known_elsewhere_is_an_accelerator_and_no_part_of_one_is() -> None:
    for name in (
        GPU, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "google.com/tpu", "habana.ai/gaudi",
        "aws.amazon.com/neuron", "huawei.com/Ascend910", "huawei.com/ascend-1980", "huawei.com/npu",
        "kunlunxin.com/xpu", "hygon.com/dcu",
    ):  # fmt: skip
        assert is_accelerator(name), name
        assert not is_part(name)
    assert {"GPU", "XPU", "DCU", "NPU"} <= {device.name for device in DEVICES}
    for name in ("nvidia.com/gpumem", "nvidia.com/gpucores", "huawei.com/Ascend910-memory", "cpu", "rdma/hca_shared",
                 "example.com/nvidia.com/gpu", "nvidia.com/mig-anything", "nvidia.com/gpu\n"):  # fmt: skip
        assert not is_accelerator(name), name


def read(measures: Prometheus, **labels: str) -> float:
    families = text_string_to_metric_families(measures.scrape()[0].decode())
    samples = [each for family in families for each in family.samples if each.name == HELD]
    return sum(each.value for each in samples if labels.items() <= each.labels.items())


async def test_an_operator_counts_what_the_pods_of_its_jobs_hold(cluster: LocalApi) -> None:
    now = [0.0]
    measures = Prometheus("1", clock=lambda: now[0])
    async with running(Seam(cluster), measures=measures):
        job = build_job()
        for role in ("ps", "worker"):
            job["spec"][role] = deepcopy(job["spec"][role])
            container = job["spec"][role]["template"]["spec"]["containers"][0]
            container["resources"] = {"requests": {"cpu": "500m"}, "limits": {GPU: "2"} if role == "worker" else {}}
        await cluster.create(JOBS, job)
        pods = await until(lambda: have_pods(cluster, 4))
        now[0] += 100
        assert read(measures) == 0, "without a node nothing is held"
        for pod in pods:
            node = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"name": "n"}}
            await cluster.create(PODS, node, namespace="default", name=pod, subresource="binding")
        await until(lambda: _has_series(measures, "cpu", "pods", GPU))
        now[0] += 10
        workers = len([pod for pod in pods if "worker" in pod])
        assert read(measures, resource="cpu", namespace="default") == 10 * 0.5 * len(pods)
        assert read(measures, resource=GPU) == 10 * 2 * workers
        for pod in pods:
            await set_phase(cluster, pod, "Succeeded")
        await until(lambda: _is_at_rest(measures, now))


async def _has_series(measures: Prometheus, *resources: str) -> bool:
    rates = measures._resource_time._namespaces.get("default")
    return rates is not None and rates.pods == 4 and {each for _, each in rates.rates} == set(resources)


async def _is_at_rest(measures: Prometheus, now: list[float]) -> bool:
    before = read(measures)
    now[0] += 1
    return read(measures) == before


def test_a_scrape_counts_some_namespaces_at_a_time_and_pods_may_end_meanwhile() -> None:
    now, counted = 0.0, Counted()
    held = ResourceTime(lambda: now, lambda _: 1, counted)
    pods = [Key(f"team-{number}", "pod") for number in range(2 * AT_ONCE + 1)]
    for pod in pods:
        held.note(pod, KIND, {"cpu": Fraction(2)})
    now = 10.0
    steps = held.advance()
    next(steps)
    assert sum(counted.values()) == AT_ONCE * 20
    held.note(pods[-1], KIND, None)
    held.note(pods[-2], KIND, None)
    held.note(pods[-2], KIND, {"cpu": Fraction(2)})
    for _ in steps:
        pass
    assert set(counted.values()) == {20.0}, "each second was counted once, of those that have ended too"
