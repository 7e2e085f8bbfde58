"""An elastic job on a laptop whose room a test takes away and gives back.

Room is a device of the test's own, `example.com/slot`, of which the node has as many as the test says. A node is lost
as Kubernetes' controllers lose one: its room is gone, its pods get the condition DisruptionTarget and are deleted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from e2e.chaos.record import read_steps
from e2e.chaos.schedule import Blow, Disturbance
from e2e.commands import Cluster, until

SLOT = "example.com/slot"
EXAMPLES = Path(__file__).parents[3] / "examples" / "elastic"
LOST = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": "node is gone"}


def build_job(name: str, kills: int, words: list[str], file: str = "paddle.yaml") -> dict[str, Any]:
    """The example's own job, whose ranks ask for a slot each."""
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / file).read_text())
    job["metadata"]["name"] = name
    job["spec"]["runPolicy"]["backoffLimit"] = kills
    roles = job["spec"].get("pytorchReplicaSpecs", job["spec"])
    pod = roles["Worker" if "Worker" in roles else "worker"]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 1
    (container,) = pod["containers"]
    container["command"] += words
    container["resources"] = {"limits": {SLOT: "1"}}
    return job


class Gang:
    """`record`: the directory in which its ranks write what they train on."""

    def __init__(self, cluster: Cluster, name: str, record: Path, kind: str = "paddlejobs") -> None:
        self.cluster, self.name, self.record = cluster, name, record
        group = "batch.paddlepaddle.org" if kind == "paddlejobs" else "kubeflow.org"
        self.path = f"/apis/{group}/v1/namespaces/default/{kind}/{name}"
        (node,) = cluster.read("/api/v1/nodes")["items"]
        self.node = f"/api/v1/nodes/{node['metadata']['name']}/status"
        self.restarts = 0

    def make_room(self, slots: int) -> None:
        amounts = {SLOT: str(slots)}
        self.cluster.patch(self.node, {"status": {"capacity": amounts, "allocatable": amounts}})

    @property
    def status(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.cluster.read(self.path).get("status", {})
        self.restarts = max(self.restarts, int(found.get("restarts") or 0))
        return found

    @property
    def pods(self) -> list[dict[str, Any]]:
        """Those that train, in the order of their ranks."""
        found = sorted(self.cluster.pods(self.name).items())
        return [pod for _, pod in found if "paddock.dev/spare" not in pod["metadata"]["labels"]]

    def strike(self, done: Disturbance) -> None:
        if done.blow is Blow.RETURN:
            self.make_room(done.room)
        elif done.blow is Blow.LOSE:
            self.make_room(done.room)
            for pod in self.pods[done.room :]:
                self._lose(pod)
        elif done.blow is Blow.DELETE:
            self._delete(self.pods[done.rank % len(self.pods)])
        else:
            self.cluster.kill_program(self.pods[done.rank % len(self.pods)], "-u train_paddle.py")

    def _lose(self, pod: Mapping[str, Any]) -> None:
        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        conditions = [*pod["status"].get("conditions", ()), {**LOST, "lastTransitionTime": now}]
        self.cluster.patch(f"{path}/status", {"status": {"conditions": conditions}})
        self._delete(pod)

    def _delete(self, pod: Mapping[str, Any]) -> None:
        self.cluster.delete(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}")

    def wait_for_training(self, attempt: int, ranks: int, seconds: float = 200.0) -> float:
        """Until `ranks` ranks of a later attempt than `attempt` have trained on a step. How long that took."""
        began = time.monotonic()

        def look() -> bool:
            files = [path.name.split("-") for path in self.record.glob("attempt-*") if path.stat().st_size]
            later = [int(number) for _, number, *_ in files if int(number) > attempt]
            return any(later.count(each) == ranks == self._count_ranks(each) for each in set(later))

        until(f"{ranks} ranks that train", look, seconds, tell=lambda: json.dumps(self.status))
        return time.monotonic() - began

    def _count_ranks(self, attempt: int) -> int:
        lines = (self.record / f"attempt-{attempt}-rank-0.txt").read_text().splitlines()
        return int(lines[0].split()[1]) if lines else 0

    def sizes(self) -> set[int]:
        return {step.world for step in read_steps(self.record)}
