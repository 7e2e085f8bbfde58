"""What users of training-operator v1.9.4 saw and do not see here, in both worlds: its known defects, one by one.

Tests are named by what is seen here instead. No kubelet runs: the tests say what kubelets say. Decisions alone are held
by tests of `plan`; those that no test here repeats, D-number by D-number:

    D2   restarts of pods that are made anew have a limit  jobs/test_kubeflow_policies.py, jobs/policies/test_one_pod.py
    D3   a job that changes its manager keeps its pods     operator/test_managed_by.py, webhook/test_review.py
    D12  the same ends are the same verdict                jobs/test_arrival.py, jobs/policies/test_ending.py
    D14  a stale cache makes no pod twice                  operator/test_operator.py (..._gets_no_events_...)
    D18  one pod alone, on request                         jobs/policies/test_one_pod.py, jobs/simulated
    D19  requests are summed in the job's own order        jobs/test_pod_groups.py
    D20  what a gang's scheduler says is told              operator/test_gangs.py, operator/test_observe.py
    D24  an autoscaler goes with its job                   jobs/policies/test_autoscaler.py
    D26  a lost node's ranks start elsewhere               kubernetes/test_lost_node.py
    D27  the SDK lists jobs of all shapes                  kubernetes/test_kubeflow_sdk.py, e2e/test_kubeflow_sdk.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.jobs.model import Settings
from paddock.kube.errors import ApiError, Invalid, NotFound
from paddock.kube.meta import EVENTS, PODS, SERVICES, Manifest, name_of, uid_of
from support.kubeflow_jobs import CONTAINERS, FIELDS, build_job, kind_of, say
from support.operator_seam import Seam, running, settled
from support.waiting import until
from support.worlds import World

DOCUMENTS = Path(__file__).resolve().parents[2] / "examples" / "documents"
WAIT = 120.0
KINDS = list(FIELDS)
JOB = "training.kubeflow.org/job-name"


class Gang:
    """One job and its pods, in the namespace of the test."""

    def __init__(self, world: World, seam: Seam, kind: str, name: str) -> None:
        self.world, self.seam, self.kind, self.name = world, seam, kind, name

    async def job(self) -> Manifest:
        return await self.world.api.get(kind_of(self.kind), self.world.namespace, self.name)

    async def status(self) -> Manifest:
        return (await self.job()).get("status") or {}

    async def states(self) -> list[tuple[str, str]]:
        return [(each["type"], each["status"]) for each in (await self.status()).get("conditions") or ()]

    async def is_(self, type_: str) -> bool:
        return (type_, "True") in await self.states()

    async def becomes(self, type_: str) -> Manifest:
        """The status, once that condition is True."""
        await until(lambda: self.is_(type_), WAIT)
        return await self.status()

    async def pods(self) -> dict[str, Manifest]:
        found = (await self.world.api.list(PODS, self.world.namespace, labels=f"{JOB}={self.name}")).items
        return {name_of(pod): pod for pod in found if not pod["metadata"].get("deletionTimestamp")}

    async def has(self, count: int) -> dict[str, Manifest]:
        async def there() -> list[dict[str, Manifest]]:
            found = await self.pods()
            return [found] if len(found) == count else []

        return dict((await until(there, WAIT))[0])

    async def run(self, count: int) -> dict[str, Manifest]:
        """All pods run."""
        pods = await self.has(count)
        for pod in pods:
            await self.say(pod, "Running")
        await self.becomes("Running")
        return pods

    async def say(self, pod: str, phase: str, code: int = 0) -> None:
        await say(self.world, pod, phase, code, container=CONTAINERS[self.kind])

    async def patch(self, spec: Manifest) -> None:
        await self.world.api.patch(kind_of(self.kind), self.world.namespace, self.name, {"spec": spec})


@asynccontextmanager
async def submitted(world: World, manifest: Manifest, **settings: Any) -> AsyncIterator[Gang]:
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings(status_wait=0.5, **settings)):
        await world.api.create(kind_of(manifest["kind"]), manifest)
        yield Gang(world, seam, manifest["kind"], name_of(manifest))


def first_container(job: Manifest, type_: str = "Worker") -> Manifest:
    found: Manifest = job["spec"][FIELDS[job["kind"]]][type_]["template"]["spec"]["containers"][0]
    return found


def _last_word(container: Manifest) -> str:
    """The program, of a job of the documents."""
    return str([*container["command"], *(container.get("args") or ())][-1])


@pytest.mark.parametrize(
    ("document", "count"),
    [
        ("pytorch_single", 1),
        ("pytorch_distributed", 3),
        pytest.param("kubeflow_run_check", 1, marks=pytest.mark.slow),
        pytest.param("kubeflow_distributed", 2, marks=pytest.mark.slow),
    ],
)
async def test_a_job_of_the_documents_is_taken_as_it_is_written_and_completes(
    world: World, document: str, count: int
) -> None:
    """The namespace alone is the test's: the documents' is not there."""
    job = yaml.safe_load((DOCUMENTS / f"{document}.yaml").read_text())
    job["metadata"]["namespace"] = world.namespace
    written = {_last_word(first_container(job, type_)) for type_ in job["spec"][FIELDS[job["kind"]]]}
    async with submitted(world, job) as gang:
        pods = await gang.run(count)
        assert {_last_word(pod["spec"]["containers"][0]) for pod in pods.values()} == written
        for pod in pods:
            await gang.say(pod, "Succeeded")
        status = await gang.becomes("Succeeded")
    said = status["conditions"][-1]
    assert said["reason"] == f"{job['kind']}Succeeded" and said["message"].endswith("successfully completed.")
    assert status["completionTime"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_hanging_job_is_ended_by_its_deadline_without_any_news(world: World, kind: str) -> None:
    """D1, D4: and its pods give their GPUs back, though no cleanPodPolicy is written."""
    async with submitted(world, build_job(kind, world, policy={"activeDeadlineSeconds": 1}, Worker=2)) as gang:
        for pod in await gang.has(2):
            await gang.say(pod, "Running")
        status = await gang.becomes("Failed")
        assert status["completionTime"]
        assert status["conditions"][-1]["message"] == (
            "Job demo has failed because it was active longer than specified deadline"
        )
        await gang.has(0)


async def test_a_side_car_that_restarts_fails_no_job(world: World) -> None:
    """D2: nor do restarts of an init container."""
    job = build_job("PyTorchJob", world, policy={"backoffLimit": 0}, Master=1, Worker=1)
    async with submitted(world, job) as gang:
        await gang.run(2)
        pod = await world.api.get(PODS, world.namespace, "demo-worker-0")
        one = pod["status"]["containerStatuses"][0]
        car = {**one, "name": "logs", "restartCount": 7}
        status = {"containerStatuses": [one, car], "initContainerStatuses": [{**car, "name": "init"}]}
        await world.api.patch(PODS, world.namespace, "demo-worker-0", {"status": status}, subresource="status")
        await settled(gang.seam)
        assert (await gang.is_("Running"), (await gang.status())["restarts"]) == (True, 0)


async def test_a_collector_beside_a_program_that_has_ended_is_waited_for(world: World) -> None:
    """A pod with a container that runs is Running, whatever the others did: Katib's collector has time to report."""
    job = build_job("PyTorchJob", world, Master=1)
    async with submitted(world, job) as gang:
        await gang.run(1)
        pod = await world.api.get(PODS, world.namespace, "demo-master-0")
        one = pod["status"]["containerStatuses"][0]
        car = {**one, "name": "collector"}
        done = {**one, "ready": False, "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-11-28T10:00:00Z"}}}
        status: Manifest = {"containerStatuses": [done, car]}
        await world.api.patch(PODS, world.namespace, "demo-master-0", {"status": status}, subresource="status")
        await settled(gang.seam)
        found = await gang.status()
        assert (await gang.is_("Running"), found["cause"]["reason"]) == (True, "WaitingForContainers")
        assert found["cause"]["args"]["containers"] == ["collector"]
        status = {"phase": "Succeeded", "containerStatuses": [done, {**done, "name": "collector"}]}
        await world.api.patch(PODS, world.namespace, "demo-master-0", {"status": status}, subresource="status")
        assert (await gang.becomes("Succeeded"))["cause"]["reason"] == "Completed"


async def test_a_rank_that_may_not_restart_ends_the_others_too(world: World) -> None:
    """D4: after Failed the peers of a lost rank keep no GPUs; what has ended stays, with its log."""
    types = {"Master": {"restartPolicy": "Never"}, "Worker": {"replicas": 2, "restartPolicy": "Never"}}
    async with submitted(world, build_job("PyTorchJob", world, **types)) as gang:
        await gang.run(3)
        await gang.say("demo-worker-1", "Failed", 1)
        status = await gang.becomes("Failed")
        assert list(await gang.has(1)) == ["demo-worker-1"]
    said = status["conditions"][-1]
    assert (said["reason"], said["message"]) == (
        "PyTorchJobFailed",
        "PyTorchJob demo is failed because 1 Worker replica(s) failed.",
    )


async def test_a_permanent_exit_code_ends_the_job_which_is_deleted_after_its_time_to_live(world: World) -> None:
    """D5."""
    job = build_job("PyTorchJob", world, Worker={"restartPolicy": "ExitCode"})
    ended: list[Manifest] = []

    async def is_gone() -> bool:
        try:
            ended.append(await gang.status())
        except NotFound:
            return True
        return False

    async with submitted(world, job) as gang:
        await gang.run(1)
        await gang.say("demo-worker-0", "Failed", 3)
        await gang.becomes("Failed")
        await gang.patch({"runPolicy": {"ttlSecondsAfterFinished": 1}})
        assert await until(is_gone, WAIT)
        events = (await world.api.list(EVENTS, world.namespace)).items
    assert ended[-1]["completionTime"]
    assert "Restarting" not in {each["type"] for each in ended[-1]["conditions"]}
    assert not [each for each in events if "restart" in each["reason"].lower()]


async def test_an_empty_elastic_policy_harms_nobody(world: World) -> None:
    """D6, D7: a PaddleJob without workers crashed the operator, for all; an empty rdzvConf left a job without pods."""
    paddle = build_job("PaddleJob", world, "servers", Master=1)
    paddle["spec"]["elasticPolicy"] = {}
    torch = build_job("PyTorchJob", world, Worker=2)
    torch["spec"]["elasticPolicy"] = {"rdzvConf": []}
    async with submitted(world, paddle) as servers:
        await world.api.create(kind_of("PyTorchJob"), torch)
        await servers.has(1)
        await Gang(world, servers.seam, "PyTorchJob", "demo").run(2)


async def test_a_standalone_launcher_is_told_a_number(world: World) -> None:
    """D8: torchrun ends with int("")."""
    job = build_job("PyTorchJob", world, Worker=1)
    job["spec"]["elasticPolicy"] = {"standalone": True}
    async with submitted(world, job) as gang:
        pod = (await gang.has(1))["demo-worker-0"]
    assert {"name": "PET_STANDALONE", "value": "1"} in pod["spec"]["containers"][0]["env"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_without_roles_says_so(world: World, kind: str) -> None:
    """D9: it never got a status."""
    async with submitted(world, build_job(kind, world)) as gang:
        status = await gang.becomes("Invalid")
        assert FIELDS[kind] in status["conditions"][-1]["message"]
        assert not await gang.pods()


async def test_no_workers_are_none(world: World) -> None:
    """D10: worker-0 was made and deleted without end."""
    job = build_job("PaddleJob", world, Master=1, Worker=0)
    async with submitted(world, job) as gang:
        await gang.has(1)
        await settled(gang.seam)
        assert [name for verb, what, name in gang.seam.requests if (verb, what) == ("create", "pods")] in (
            ["demo-master-0"],
            [""],
        )
    job = build_job("PaddleJob", world, "negative", Worker=-1)
    with pytest.raises((Invalid, ApiError)):
        await world.api.create(kind_of("PaddleJob"), job)


async def test_a_job_that_is_scaled_down_has_exactly_its_ranks(world: World) -> None:
    """D11: the first free index was made again below a pod that lingered."""
    async with submitted(world, build_job("PyTorchJob", world, Worker=3)) as gang:
        before = await gang.run(3)
        await world.api.patch(PODS, world.namespace, "demo-worker-2", {"metadata": {"finalizers": ["test.dev/wait"]}})
        patch = {"spec": {"replicas": 1}}
        await world.api.patch(kind_of("PyTorchJob"), world.namespace, "demo", patch, subresource="scale")
        await settled(gang.seam)
        assert not set(await gang.pods()) - {"demo-worker-0", "demo-worker-2"}
        await world.api.patch(PODS, world.namespace, "demo-worker-2", {"metadata": {"finalizers": None}})
        pods = await gang.run(1)
        assert (list(pods), (await gang.status())["replicaStatuses"]["Worker"]["active"]) == (["demo-worker-0"], 1)
        assert uid_of(pods["demo-worker-0"]) != uid_of(before["demo-worker-0"]), "its number of peers has changed"


async def test_a_gang_that_has_restarted_and_succeeded_is_not_restarting(world: World) -> None:
    """D13, D18, D25: all three start again; the events are one of each; the SDK says succeeded alone."""
    async with submitted(world, build_job("PyTorchJob", world, Master=1, Worker=2)) as gang:
        before = await gang.run(3)
        await world.api.delete(PODS, world.namespace, "demo-worker-1", grace=0)
        await gang.becomes("Restarting")
        assert "Running" not in dict(await gang.states())

        async def renewed() -> dict[str, Manifest]:
            found = await gang.pods()
            fresh = {uid_of(pod) for pod in found.values()}.isdisjoint(uid_of(pod) for pod in before.values())
            return found if len(found) == 3 and fresh else {}

        # So fast that nobody has seen them run. The master last: with it the job ends, and deletes pods that still run.
        for pod in sorted(await until(renewed, WAIT), reverse=True):
            await gang.say(pod, "Succeeded")
        await gang.becomes("Succeeded")
        assert [type_ for type_, status in await gang.states() if status == "True"] == ["Created", "Succeeded"]
        events = (await world.api.list(EVENTS, world.namespace)).items
    counts = [each.get("count") or 1 for each in events if each["involvedObject"]["kind"] == "PyTorchJob"]
    assert counts and set(counts) == {1}


async def test_a_job_that_kueue_holds_is_created_and_suspended_with_no_pod(world: World) -> None:
    """D15: Created was lost where somebody else wrote first. Conditions as training-operator's own tests have them."""
    job = build_job("PyTorchJob", world, policy={"suspend": True}, Master=1, Worker=1)
    async with submitted(world, job) as gang:
        await world.api.patch(
            kind_of("PyTorchJob"), world.namespace, "demo", {"metadata": {"labels": {"kueue.x-k8s.io/x": "y"}}}
        )
        await gang.becomes("Suspended")
        await settled(gang.seam)
        assert await gang.states() == [("Created", "True"), ("Suspended", "True")]
        assert "startTime" not in await gang.status()
        assert not await gang.pods()
        assert not (await world.api.list(SERVICES, world.namespace)).items
        await gang.patch({"runPolicy": {"suspend": False}})
        await gang.has(2)
        await settled(gang.seam)
        assert (await gang.states())[-1] != ("Suspended", "False"), "D25: kubectl printed Suspended of a resumed job"
        await gang.run(2)
        assert await gang.states() == [("Created", "True"), ("Suspended", "False"), ("Running", "True")]


@pytest.mark.slow
async def test_a_job_that_is_suspended_fifty_times_in_a_second_ends_as_it_was_left(world: World) -> None:
    async with submitted(world, build_job("PyTorchJob", world, Worker=2)) as gang:
        await gang.has(2)
        for number in range(50):
            await gang.patch({"runPolicy": {"suspend": number % 2 == 0}})
        await settled(gang.seam)  # else pods of an earlier attempt are taken for the last ones
        await gang.run(2)
        await gang.patch({"runPolicy": {"suspend": True}})
        await gang.becomes("Suspended")
        await gang.has(0)
        await settled(gang.seam)
        assert not await gang.pods()
        assert (await gang.states())[-1] == ("Suspended", "True")


NAMES = ("n" * 63, "trained-with-" + "a" * 42)


@pytest.mark.parametrize("name", NAMES, ids=["63 characters", "55 characters"])
async def test_a_long_name_has_its_services_and_conditions(world: World, name: str) -> None:
    """D16: from 55 characters on the API refused the Services, and the job got no condition."""
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings()):
        await world.api.create(kind_of("PyTorchJob"), build_job("PyTorchJob", world, name, Master=1, Worker=1))
        gang = Gang(world, seam, "PyTorchJob", name)
        await until(lambda: gang.is_("Created"), WAIT)

        async def both() -> list[Manifest]:
            found = (await world.api.list(SERVICES, world.namespace)).items
            return found if len(found) == 2 else []

        services = {name_of(each) for each in await until(both, WAIT)}
        pods = (await world.api.list(PODS, world.namespace)).items
    for pod in pods:
        address = next(each for each in pod["spec"]["containers"][0]["env"] if each["name"] == "MASTER_ADDR")
        assert address["value"] in services


@pytest.mark.parametrize(
    "ports",
    [
        [{"containerPort": 8000}, {"containerPort": 9000}],
        [{"containerPort": 23456, "name": "mine"}],
        [{"containerPort": 23456}, {"containerPort": 23457, "name": "pytorchjob-port"}],
    ],
    ids=["unnamed", "named otherwise", "both"],
)
async def test_any_ports_have_a_service_and_conditions(world: World, ports: list[Manifest]) -> None:
    """D17: the API refused the Service, and the job got no condition."""
    job = build_job("PyTorchJob", world, Master=1, Worker=1)
    for type_ in ("Master", "Worker"):
        first_container(job, type_)["ports"] = ports
    async with submitted(world, job) as gang:
        pods = await gang.run(2)
        services = {name_of(each) for each in (await world.api.list(SERVICES, world.namespace)).items}
        assert services == set(pods)


async def test_a_variable_of_ones_own_wins_and_side_cars_get_none(world: World) -> None:
    """D21."""
    job = build_job("PyTorchJob", world, Master=1, Worker=1)
    spec = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "PET_NPROC_PER_NODE", "value": "3"}]
    spec["containers"].append({"name": "logs", "image": "logs:test"})
    async with submitted(world, job) as gang:
        trains, car = (await gang.has(2))["demo-worker-0"]["spec"]["containers"]
    said = [each["value"] for each in trains["env"] if each["name"] == "PET_NPROC_PER_NODE"]
    assert (said, car.get("env")) == (["3"], None)


async def test_a_service_of_ones_own_with_kubeflows_labels_replaces_none(world: World) -> None:
    """D22."""
    labels = {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        JOB: "demo",
        "training.kubeflow.org/replica-type": "master",
        "training.kubeflow.org/replica-index": "0",
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "mine", "namespace": world.namespace, "labels": labels},
        "spec": {"ports": [{"port": 6006}], "selector": labels},
    }
    await world.api.create(SERVICES, service)
    async with submitted(world, build_job("PyTorchJob", world, Master=1)) as gang:
        await gang.run(1)
        services = {name_of(each) for each in (await world.api.list(SERVICES, world.namespace)).items}
    assert services == {"mine", "demo-master-0"}


async def test_a_job_whose_workers_wait_is_not_running(world: World) -> None:
    """D23: the Master alone was enough."""
    async with submitted(world, build_job("PyTorchJob", world, Master=1, Worker=1)) as gang:
        await gang.has(2)
        await gang.say("demo-master-0", "Running")
        await settled(gang.seam)
        assert await gang.states() == [("Created", "True")]
        await gang.say("demo-worker-0", "Running")
        await gang.becomes("Running")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_without_a_run_policy_is_stored_with_an_empty_one(world: World, kind: str) -> None:
    """D27: one such job made the SDK's list of the whole namespace fail."""
    await world.api.create(kind_of(kind), build_job(kind, world, Worker=1))
    stored = await world.api.get(kind_of(kind), world.namespace, "demo")
    assert isinstance(stored["spec"]["runPolicy"], dict)
