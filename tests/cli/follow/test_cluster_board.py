"""What is said of a board's pod, and which pods show the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.app.boards.pod import ANY, Asked
from paddock.cli.follow.cluster_board import explain_wait, is_shown, read_told
from paddock.kube.meta import Manifest

ASKED = Asked("results", "/out", "", "/out/run", "mine:1", ANY)


def build_pod(condition: dict[str, str] | None = None, waiting: dict[str, str] | None = None, **more: Any) -> Manifest:
    status: dict[str, Any] = {"phase": "Pending", "conditions": [condition] if condition else [], **more}
    if waiting:
        status["containerStatuses"] = [{"name": "board", "state": {"waiting": waiting}}]
    owner = {"kind": "PaddleJob", "apiVersion": "batch.paddlepaddle.org/v1", "name": "train", "uid": "j"}
    return {
        "metadata": {"name": "train-board", "uid": "u", "ownerReferences": [owner]},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "board"}], "nodeName": "n"},
        "status": status,
    }


def build_event(message: str, uid: str = "u", kind: str = "Warning") -> Manifest:
    return {"type": kind, "reason": "FailedMount", "message": message, "involvedObject": {"uid": uid}}


UNPLACED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: no room"}
PULLS = {"reason": "ImagePullBackOff", "message": "Back-off pulling image mine:1"}
CREATES = {"reason": "ContainerCreating"}


@pytest.mark.parametrize(
    ("pod", "events", "said"),
    [
        (build_pod(UNPLACED), [], "waiting for room for 1 of 1 pod: 0/3 nodes: no room"),
        (build_pod(waiting=PULLS), [], "waiting for the image of board-0: Back-off pulling image mine:1"),
        (build_pod(waiting=PULLS), [build_event("pull failed")],
         "waiting for the image of board-0: Back-off pulling image mine:1"),
        (build_pod(waiting=CREATES), [], "1 of 1 pod is starting"),
        (build_pod(waiting=CREATES), [build_event("Multi-Attach error")], "1 of 1 pod is starting: Multi-Attach error"),
        (build_pod(waiting=CREATES), [build_event("Multi-Attach error", uid="another")], "1 of 1 pod is starting"),
        (build_pod(waiting=CREATES), [build_event("Pulling", kind="Normal")], "1 of 1 pod is starting"),
        (build_pod(phase="Running", containerStatuses=[{"name": "board", "ready": True, "state": {"running": {}}}]),
         [], ""),
    ],
)  # fmt: skip
def test_why_a_pod_waits_is_said_as_of_a_rank(pod: Manifest, events: list[Manifest], said: str) -> None:
    assert explain_wait(pod, events, "en") == said


def test_a_pod_that_is_no_board_is_not_called_one() -> None:
    said = "waiting for the image of outputs-0: Back-off pulling image mine:1"
    assert explain_wait(build_pod(waiting=PULLS), [], "en", "outputs") == said


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("", []),
        ('Loading\npaddock-board {"port": 6006}\nmore\n', [{"port": 6006}]),
        ("paddock-board {\npaddock-board [1]\n", []),
        ('paddock-board {"port": 1}\npaddock-board {"idle": 600}', [{"port": 1}, {"idle": 600}]),
    ],
)
def test_what_the_program_tells_is_read(log: str, told: list[dict[str, Any]]) -> None:
    assert read_told(log) == told


@pytest.mark.parametrize(
    ("asked", "found", "same"),
    [
        (ASKED, ASKED, True),
        (ASKED, replace(ASKED, wanted="visualdl"), True),
        (replace(ASKED, wanted="visualdl"), ASKED, False),
        (ASKED, replace(ASKED, directory="/out"), False),
        (ASKED, replace(ASKED, image="other"), False),
        (ASKED, replace(ASKED, claim="other"), False),
    ],
)
def test_two_commands_that_ask_for_the_same_share_a_pod(asked: Asked, found: Asked, same: bool) -> None:
    assert is_shown(asked, found) is same
