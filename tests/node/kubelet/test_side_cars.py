"""Side-cars of Kubernetes 1.29: when they start, restart and end. First the plan as a table, then real pods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from node.cluster import Cluster, pod, seeing, shell
from paddock.apiserver.printing.pods import print_pod
from paddock.kube.meta import PODS, Manifest
from paddock.kube.times import format_time
from paddock.node.kubelet.pod_plan import Start, plan_pod
from paddock.node.runtime.pod_state import LOST, Ending, PodState, Run
from support.waiting import until

NOW = 1_800_000_000.0
PROBE = {"exec": {"command": ["true"]}}
SLEEP = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


def car(name: str, script: str = "sleep 60", **more: Any) -> Manifest:
    return shell(script, name=name, restartPolicy="Always", **more)


def running(name: str, number: int = 0, **more: Any) -> Run:
    return Run(name, number, NOW - 5, pid=1, **more)


def ended(name: str, code: int = 0, number: int = 0, ago: float = 1, **more: Any) -> Run:
    return Run(name, number, NOW - 50, pid=1, finished=NOW - ago, exit_code=code, **more)


def state(*runs: Run, **changes: Any) -> PodState:
    return PodState("u", "default", "p", "127.64.0.1", NOW - 100, runs={run.container: run for run in runs}, **changes)


def deleted(manifest: Manifest, grace: int = 30) -> Manifest:
    meta = {"deletionTimestamp": format_time(NOW + grace), "deletionGracePeriodSeconds": grace}
    return {**manifest, "metadata": {**manifest["metadata"], **meta}}


CAR = pod(shell("true"), initContainers=[car("s"), shell("true", name="i"), car("t")])
PLAIN = pod(shell("true"), initContainers=[car("s"), car("t")])
PAIR = pod(shell("true"), initContainers=[car("s")], policy="Always")
STOPPED = Ending(LOST, "stopped", NOW - 0.5, grace=5)
ASKED = Ending("Deleted", "", NOW - 1)


@pytest.mark.parametrize(
    ("manifest", "known", "phase", "starts", "term", "kill"),
    [
        pytest.param(CAR, state(), "Pending", ["s"], [], [], id="the first of all"),
        pytest.param(CAR, state(running("s", unstarted=True)), "Pending", [], [], [], id="none before it has started"),
        pytest.param(CAR, state(running("s", unhooked=True)), "Pending", [], [], [], id="and its postStart is over"),
        pytest.param(CAR, state(running("s")), "Pending", ["i"], [], [], id="then the init container"),
        pytest.param(CAR, state(running("s"), running("i")), "Pending", [], [], [], id="which is to end"),
        pytest.param(
            CAR, state(ended("s"), running("i")), "Pending", ["s"], [], [], id="it restarts beside an init container"
        ),
        pytest.param(
            CAR, state(ended("s"), ended("i")), "Pending", ["s", "t"], [], [], id="and holds up nothing"
        ),
        pytest.param(CAR, state(running("s"), ended("i"), running("t")), "Pending", ["main"], [], [], id="then main"),
        pytest.param(
            CAR, state(ended("s", number=2), ended("i"), running("t"), running("main")), "Running", [], [], [],
            id="a side-car that fails again waits, and the pod runs",
        ),
        pytest.param(
            CAR, state(ended("s", number=2, ago=20), ended("i"), running("t"), running("main")), "Running", ["s"], [],
            [], id="as long as any container",
        ),
        pytest.param(
            CAR, state(running("s"), ended("i"), ended("t", reason=LOST), running("main")), "Running", ["t"], [], [],
            id="a lost side-car loses no pod",
        ),
        pytest.param(
            PLAIN, state(running("s"), running("t"), ended("main")), "Running", [], ["t"], [],
            id="main has ended: the last side-car first",
        ),
        pytest.param(
            PLAIN, state(running("s"), ended("t", 143), ended("main")), "Running", [], ["s"], [], id="then the first"
        ),
        pytest.param(
            PLAIN, state(running("s"), running("t"), ended("main", ago=30)), "Running", [], [], ["t"],
            id="after the grace it is killed",
        ),
        pytest.param(
            PLAIN, state(running("s"), ended("t", 137), ended("main", ago=31)), "Running", [], ["s"], [],
            id="and the next one has two seconds",
        ),
        pytest.param(
            PLAIN, state(ended("s", 1), ended("t", 137), ended("main")), "Succeeded", [], [], [],
            id="their exit codes change nothing",
        ),
        pytest.param(PLAIN, state(ended("s"), ended("t"), ended("main", 3)), "Failed", [], [], [], id="main's does"),
        pytest.param(
            PAIR, state(running("s"), ended("main")), "Running", ["main"], [], [], id="main restarts, it stays"
        ),
        pytest.param(
            CAR, state(running("s"), ended("i", 1)), "Pending", [], ["s"], [], id="an init container failed for good"
        ),
        pytest.param(CAR, state(ended("s"), ended("i", 1)), "Failed", [], [], [], id="and then the pod"),
        pytest.param(
            deleted(PLAIN), state(running("s"), running("t"), running("main"), ending=ASKED), "Running", [], ["main"],
            [], id="deleted: main first",
        ),
        pytest.param(
            deleted(PLAIN), state(running("s"), running("t"), ended("main"), ending=ASKED), "Running", [], ["t"], [],
            id="deleted: side-cars then",
        ),
        pytest.param(
            deleted(PLAIN, 0), state(running("s"), running("main"), ending=ASKED), "Running", [], [], ["s", "main"],
            id="without grace all at once",
        ),
        pytest.param(
            PLAIN, state(running("s"), ended("t"), ended("main"), ending=STOPPED), "Running", [], ["s"], [],
            id="the cluster stops beside a side-car",
        ),
        pytest.param(
            PLAIN, state(ended("s"), ended("t"), ended("main"), ending=STOPPED), "Succeeded", [], [], [],
            id="what had succeeded before has succeeded",
        ),
    ],
)  # fmt: skip
def test_the_plan(
    manifest: Manifest, known: PodState, phase: str, starts: list[str], term: list[str], kill: list[str]
) -> None:
    plan = plan_pod(manifest, known, {}, NOW)
    found = [start.container for start in plan.start], list(plan.term), list(plan.kill)
    assert (plan.status["phase"], *found) == (phase, starts, term, kill)


def test_a_post_start_holds_up_the_containers_behind_it() -> None:
    hook = {"lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}
    manifest = pod(shell("true", name="a", **hook), shell("true", name="b"))
    assert plan_pod(manifest, state(), {}, NOW).start == (Start("a", 0),)
    assert plan_pod(manifest, state(running("a", unhooked=True)), {}, NOW).start == ()
    assert plan_pod(manifest, state(running("a")), {}, NOW).start == (Start("b", 0),)


def test_what_a_status_says_of_a_side_car() -> None:
    def shown(*runs: Run) -> tuple[Any, ...]:
        status = plan_pod(PLAIN, state(*runs), {}, NOW).status
        first = status["initContainerStatuses"][0]
        true = {each["type"] for each in status["conditions"] if each["status"] == "True"} - {"PodScheduled"}
        return first["started"], first["ready"], sorted(true), print_pod({**PLAIN, "status": status}, NOW)[:3]

    assert shown(running("s", unstarted=True)) == (False, False, [], ["0/3", "Init:0/2", "0"])
    assert shown(running("s")) == (True, True, [], ["1/3", "Init:1/2", "0"])
    assert shown(running("s"), running("t")) == (True, True, ["Initialized"], ["2/3", "PodInitializing", "0"])
    everything = running("s"), running("t", unready=True), running("main")
    assert shown(*everything) == (True, True, ["Initialized"], ["2/3", "Running", "0"])
    ready = ["ContainersReady", "Initialized", "Ready"]
    assert shown(running("s", 2), running("t"), running("main")) == (True, True, ready, ["3/3", "Running", "2"])


# Real pods


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that pods see, and that is not the kubelet's."""
    return tmp_path_factory.mktemp("seen")


async def test_a_pod_completes_beside_its_side_cars(cluster: Cluster, place: Path) -> None:
    """It starts before main, is told to end when that has, and is asked in reverse order."""
    log = place / "order"
    note = f"trap 'echo $0 ends >>{log}; exit 7' TERM; echo $0 starts >>{log}; while :; do sleep 0.02; done"
    waits = f"while ! grep -q 's starts' {log}; do sleep 0.02; done; "  # the shell that began first may write later
    cars = [
        {**car(name, ""), "command": ["/bin/sh", "-c", text, name]} for name, text in (("s", note), ("t", waits + note))
    ]
    # A trap is set before the file is written.
    main = shell(f"while ! grep -q 't starts' {log}; do sleep 0.02; done; echo main >>{log}")
    found = await cluster.run(seeing(pod(main, initContainers=cars), place))
    assert found["status"]["phase"] == "Succeeded"
    assert log.read_text().splitlines() == ["s starts", "t starts", "main", "t ends", "s ends"]
    assert [each["state"]["terminated"]["exitCode"] for each in found["status"]["initContainerStatuses"]] == [7, 7]


async def test_a_side_car_that_ends_is_started_again_and_main_goes_on(cluster: Cluster, place: Path) -> None:
    marks = place
    side = f"echo x >>{marks}/runs; test $(wc -l <{marks}/runs) = 1 && exit 3; {SLEEP}"
    # Main may be there before the side-car has written: without the quotes `test` would fail then, and main end.
    main = shell(f'while test "$(wc -l <{marks}/runs)" != 2; do sleep 0.02; done')
    found = await cluster.run(seeing(pod(main, initContainers=[car("s", side)]), place))
    assert (found["status"]["phase"], found["status"]["initContainerStatuses"][0]["restartCount"]) == ("Succeeded", 1)


async def test_a_deaf_side_car_is_killed_after_the_grace(cluster: Cluster, place: Path) -> None:
    deaf = car("s", f"trap '' TERM; touch {place}/deaf; while :; do sleep 0.05; done")
    main = shell(f"while ! test -e {place}/deaf; do sleep 0.02; done; exit 4")
    found = await cluster.run(seeing(pod(main, initContainers=[deaf], terminationGracePeriodSeconds=1), place))
    assert (found["status"]["phase"], found["status"].get("reason")) == ("Failed", None)
    ends = [each["state"]["terminated"]["exitCode"] for each in found["status"]["initContainerStatuses"]]
    assert ends == [137]


async def test_a_deleted_pod_ends_its_side_cars_last(cluster: Cluster, place: Path) -> None:
    log = place / "order"
    note = f"trap 'echo $0 >>{log}; exit 0' TERM; echo $0 up >>{log}; while :; do sleep 0.02; done"
    waits = "while ! grep -q '{} up' {}; do sleep 0.02; done; "
    first = {**car("s", ""), "command": ["/bin/sh", "-c", note, "s"]}
    second = {**car("t", ""), "command": ["/bin/sh", "-c", waits.format("s", log) + note, "t"]}
    main = {**shell(""), "command": ["/bin/sh", "-c", waits.format("t", log) + note, "main"]}
    await cluster.create(seeing(pod(main, initContainers=[first, second]), place))
    await until(lambda: log.exists() and "main up" in log.read_text())
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    assert log.read_text().split()[-3:] == ["main", "t", "s"]


async def test_the_next_kubelet_knows_who_is_a_side_car(cluster: Cluster, place: Path) -> None:
    go = place / "go"
    main = shell(f"while ! test -e {go}; do sleep 0.02; done")
    await cluster.create(seeing(pod(main, initContainers=[car("s", SLEEP)]), place))
    await cluster.see("p", lambda found: found["status"].get("phase") == "Running")
    await cluster.drop()
    cluster.start()
    go.touch()
    assert (await cluster.end())["status"]["phase"] == "Succeeded"


def test_a_run_that_is_stopped_keeps_what_is_known_of_it() -> None:
    run = replace(running("s"), stopping=NOW, told=NOW)
    assert run.up
    assert not replace(run, unready=True).ready
