"""What a server says of a quota is read, and a gang is weighed as a whole. What counts is in tests/apiserver."""

from __future__ import annotations

import pytest

from paddock.kube.meta import Manifest
from paddock.kube.quotas import Exceeded, explain_gang, read_exceeded, read_quota

SAID = (
    'pods "demo-worker-1" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=1500m,'
    " used: pods=2,requests.cpu=3, limited: pods=2,requests.cpu=4"
)


def test_the_answer_of_a_server_is_read() -> None:
    found = read_exceeded(SAID)
    assert found == Exceeded(
        "team", 1, {"pods": "1", "requests.cpu": "1500m"}, {"pods": "2", "requests.cpu": "3"},
        {"pods": "2", "requests.cpu": "4"},
    )  # fmt: skip
    assert (found.fits, found.never) == (0, False)


@pytest.mark.parametrize(
    "message",
    ["", "exceeded quota: team", 'pods "x" is forbidden: failed quota: q: must specify cpu for: main',
     "exceeded quota: team, requested: pods=many, used: pods=1, limited: pods=1",
     "exceeded quota: team, requested: pods=1, used: pods=1, limited: cpu=1",
     "exceeded quota: team, requested: pods=0, used: pods=1, limited: pods=1", "exceeded quota: q, requested: =,"],
)  # fmt: skip
def test_any_other_text_is_none(message: str) -> None:
    assert read_exceeded(message) is None


def quota(hard: Manifest, used: Manifest | None = None, **spec: object) -> Manifest:
    return {"metadata": {"name": "team"}, "spec": {"hard": hard, **spec}, "status": {"used": used or {}}}


def pod(cpu: str = "1", **spec: object) -> Manifest:
    return {"spec": {"containers": [{"name": "m", "resources": {"limits": {"cpu": cpu}}}], **spec}}


OF_A_CLASS = {"scopeSelector": {"matchExpressions": [
    {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
]}}  # fmt: skip
GANGS = [
    ("all fit", quota({"pods": "3", "requests.cpu": "5"}), [(pod("1"), 1), (pod("2"), 2)], None, None),
    ("they fit one by one alone", quota({"requests.cpu": "8"}, {"requests.cpu": "3"}), [(pod("2"), 3)],
     "3 pods: exceeded quota: team, requested: requests.cpu=6, used: requests.cpu=3, limited: requests.cpu=8", 2),
    ("never", quota({"pods": "2"}), [(pod(), 3)],
     "3 pods: exceeded quota: team, requested: pods=3, used: pods=0, limited: pods=2", 2),
    ("of another class", quota({"pods": "0"}, **OF_A_CLASS), [(pod(priorityClassName="low"), 1)], None, None),
    ("of no class, which the server may give one", quota({"pods": "0"}, **OF_A_CLASS), [(pod(), 1)], None, None),
    ("of that class", quota({"pods": "0"}, **OF_A_CLASS), [(pod(priorityClassName="high"), 1)],
     "1 pods: exceeded quota: team, requested: pods=1, used: pods=0, limited: pods=0", 0),
    ("without requests where they are counted", quota({"requests.cpu": "0"}), [({"spec": {}}, 9)], None, None),
]  # fmt: skip


@pytest.mark.parametrize(("case", "manifest", "pods", "said", "fits"), GANGS, ids=[each[0] for each in GANGS])
def test_a_gang_has_room_as_a_whole_or_not(
    case: str, manifest: Manifest, pods: list[tuple[Manifest, int]], said: str | None, fits: int | None
) -> None:
    found = explain_gang(pods, [read_quota(manifest)])
    assert found == said
    read = read_exceeded(found or "")
    assert (read.fits if read else None) == fits
    assert read is None or read.never is (case in ("never", "of that class"))
