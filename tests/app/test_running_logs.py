"""Which of a pod's logs is that of its training program."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.app.running_logs import RunningLogs
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest
from paddock.node.runtime.pod_state import PodState, Run

MAIN = "kubectl.kubernetes.io/default-container"


class Pods:
    def __init__(self, annotations: dict[str, str] | None) -> None:
        self.annotations, self.asked = annotations, 0

    async def get(self, *_: object) -> Manifest:
        self.asked += 1
        if self.annotations is None:
            raise NotFound("gone")
        names = ("main", "sidecar")
        return {
            "metadata": {"name": "a", "annotations": self.annotations},
            "spec": {"containers": [{"name": name} for name in names]},
        }


def build(tmp_path: Path, pods: Pods, *containers: str) -> RunningLogs:
    runs = [Run(name, 0, 0.0, pid=1) for name in containers]
    state = PodState("u", "team", "a", "127.0.0.9", 0.0, runs={run.container: run for run in runs})
    return RunningLogs(pods, tmp_path, lambda: [(state, run) for run in runs])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pods", "containers", "wanted"),
    [
        (Pods({}), ("main",), "main"),
        (Pods({}), ("sidecar", "main"), "main"),
        (Pods({MAIN: "sidecar"}), ("main", "sidecar"), "sidecar"),
        (Pods({}), ("sidecar",), None),
        (Pods(None), ("main",), "main"),
    ],
    ids=["one", "a side-car that began first", "the pod's own word", "the program has ended", "the pod is gone"],
)
async def test_the_log_is_that_of_the_container_that_trains(
    pods: Pods, containers: tuple[str, ...], wanted: str | None, tmp_path: Path
) -> None:
    logs = build(tmp_path, pods, *containers)
    found = await logs.find({"u", "never-seen"})
    assert {uid: path.parent.name for uid, path in found.items()} == ({"u": wanted} if wanted else {})
    assert await logs.find({"u"}) == found
    assert pods.asked == (1 if pods.annotations is not None else 2), "what is known is asked once"
    assert await logs.find(set()) == {}


def test_of_one_container_nobody_is_asked(tmp_path: Path) -> None:
    one = build(tmp_path, Pods(None), "main").find_only("u")
    assert one is not None and one.parent.name == "main"
    assert build(tmp_path, Pods(None), "main", "sidecar").find_only("u") is None
    assert build(tmp_path, Pods(None), "main").find_only("other") is None
