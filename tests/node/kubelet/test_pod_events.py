"""The events of pods: which of them follow from a status, and that they are written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from node.cluster import Cluster, container, open_cluster, pod, shell, waiting
from paddock.kube.environments import DEFAULT_CONDITION, read_notice
from paddock.kube.meta import CONFIG_MAPS, EVENTS, Manifest, owner_reference
from paddock.node.kubelet.pod_events import read_notes
from paddock.node.runtime.images import Image, Preparing
from paddock.node.runtime.sandbox import Sandbox, choose_sandbox
from support.waiting import until

RUNNING: Manifest = {"running": {"startedAt": "t"}}
NO_PROGRAM: Manifest = {"terminated": {"exitCode": 127, "reason": "StartError", "message": "exec: x"}}
FAILED: Manifest = {"terminated": {"exitCode": 1, "reason": "Error"}}
LOOP: Manifest = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}
CONFIG: Manifest = {"waiting": {"reason": "CreateContainerConfigError", "message": "no map"}}
BUILDING: Manifest = {"waiting": {"reason": "EnvironmentBuilding", "message": "paddle: 61 %"}}
STARTED = ("Started", "Started container main", "Normal")
STOPPING = ("Killing", "Stopping container main", "Normal")
BACK_OFF = ("BackOff", "Back-off restarting failed container main in pod p_default(u)", "Warning")


@pytest.mark.parametrize(
    ("state", "last", "more", "notes"),
    [
        ({}, {}, {}, []),
        ({"waiting": {"reason": "ContainerCreating"}}, {}, {}, []),
        (BUILDING, {}, {}, []),
        (RUNNING, {}, {}, [STARTED]),
        (FAILED, {}, {}, [STARTED]),
        (NO_PROGRAM, {}, {}, [("Failed", "Error: exec: x", "Warning")]),
        (CONFIG, {}, {}, [("Failed", "Error: no map", "Warning")]),
        (LOOP, FAILED, {}, [STARTED, BACK_OFF]),
        (LOOP, NO_PROGRAM, {}, [("Failed", "Error: exec: x", "Warning"), BACK_OFF]),
        (RUNNING, FAILED, {"deletionTimestamp": "t"}, [STARTED, STOPPING]),
        (FAILED, {}, {"deletionTimestamp": "t"}, [STARTED]),
    ],
)
def test_what_follows_from_a_status(state: Manifest, last: Manifest, more: Manifest, notes: list[Any]) -> None:
    status = {"containerStatuses": [{"name": "main", "state": state, "lastState": last}]}
    made = {"metadata": {"name": "p", "namespace": "default", "uid": "u", **more}, "status": status}
    assert read_notes(made) == notes


def test_a_pod_that_was_ended_says_why() -> None:
    status = {"phase": "Failed", "reason": "Lost", "message": "the machine was stopped"}
    assert read_notes({"metadata": {}, "status": status}) == [("Lost", "the machine was stopped", "Warning")]


def test_an_image_that_stands_for_no_environment_is_told_of_the_pod_and_of_its_controller() -> None:
    condition = {"type": DEFAULT_CONDITION, "status": "True", "message": "it runs in paddle"}
    made = {"metadata": {}, "status": {"conditions": [condition]}}
    assert read_notes(made) == [("DefaultEnvironment", "it runs in paddle", "Warning")]


async def events(cluster: Cluster) -> list[Manifest]:
    return (await cluster.api.list(EVENTS)).items


async def reasons(cluster: Cluster, *wanted: str) -> list[Manifest]:
    """The events, once these exist."""
    found: list[Manifest] = []

    async def look() -> bool:
        found[:] = await events(cluster)
        return {event["reason"] for event in found} == set(wanted)

    await until(look)
    return found


async def test_events_are_written_once_each(cluster: Cluster) -> None:
    await cluster.create(pod(shell("exit 1"), policy="Always"))
    await cluster.create(pod(container("no-such-program"), name="q"))
    found = await reasons(cluster, "Started", "BackOff", "Failed")
    assert len(found) == 3
    failed = next(event for event in found if event["reason"] == "Failed")
    assert failed["involvedObject"]["name"] == "q"
    assert failed["message"].startswith('Error: exec: "no-such-program": executable file not found')


class Defaults:
    """Builds the image first, and says of it that it stands for no Environment."""

    def __init__(self) -> None:
        self._built, self._changed = False, asyncio.Event()

    def resolve(self, container: Manifest, pod: Manifest) -> Image | Preparing:
        name = str(container.get("image") or "")
        return Image(name, notice=NOTICE) if self._built else Preparing("building", notice=NOTICE)

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    def build(self) -> None:
        self._built = True
        self._changed.set()


NOTICE = "image any has no Environment here: it runs in paddle"


async def test_what_is_said_of_an_image_is_in_the_status_while_it_is_built_and_afterwards(tmp_path: Path) -> None:
    images = Defaults()
    async with open_cluster(tmp_path, choose_sandbox(), images) as cluster:
        job = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "job", "namespace": "default"}}
        job = await cluster.api.create(CONFIG_MAPS, job)
        for name in ("p", "q"):
            made = pod(shell("true"), name=name)
            made["metadata"]["ownerReferences"] = [owner_reference(job)]
            await cluster.create(made)
        found = await cluster.see("p", read_notice)
        assert waiting(found)["reason"] == "EnvironmentBuilding" and read_notice(found) == NOTICE
        images.build()
        found = await cluster.see("p", lambda found: found["status"]["phase"] == "Succeeded")
        assert read_notice(found) == NOTICE
        told = [each for each in await reasons(cluster, "DefaultEnvironment", "Started") if each["message"] == NOTICE]
        assert sorted(each["involvedObject"]["name"] for each in told) == ["job", "p", "q"], "one of each pod"


async def test_what_was_over_soon_has_no_event(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like the ConfigMap of endpoints, for which every pod of a job waits a short time. A busy machine is not as soon
    as a quiet one."""
    monkeypatch.setattr("paddock.node.kubelet.pod_events._DELAY", 4.0)
    async with open_cluster(tmp_path, sandbox) as cluster:
        await cluster.create(pod(shell("exec sleep 60", envFrom=[{"configMapRef": {"name": "later"}}])))
        await cluster.see("p", lambda found: waiting(found).get("reason") == "CreateContainerConfigError")
        later = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later", "namespace": "default"}}
        await cluster.api.create(CONFIG_MAPS, later)
        assert len(await reasons(cluster, "Started")) == 1
