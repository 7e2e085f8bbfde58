"""ResourceQuota, LimitRange and PriorityClass under the real kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.test_kubectl import Kubectl, any_kubectl, kubectl
from paddock.kube.meta import Manifest

__all__ = ["any_kubectl", "kubectl"]

LIMITS: Manifest = {
    "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "sizes"},
    "spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}, "max": {"memory": "2Gi"}}]},
}  # fmt: skip


@pytest.mark.slow
async def test_every_version_makes_and_shows_a_quota_and_a_class(any_kubectl: Kubectl) -> None:
    """1.33 and later send Protobuf here."""
    await any_kubectl("create", "quota", "team", "--hard=pods=1,requests.cpu=4000m,limits.memory=8Gi")
    shown = (await any_kubectl("get", "quota", "team")).splitlines()
    assert shown[0].split() == ["NAME", "REQUEST", "LIMIT", "AGE"]
    assert "pods: 0/1, requests.cpu: 0/4" in shown[1] and "limits.memory: 0/8Gi" in shown[1]
    described = (await any_kubectl("describe", "quota", "team")).splitlines()
    assert [line.split() for line in described if line.startswith(("pods", "limits"))] == [
        ["limits.memory", "0", "8Gi"], ["pods", "0", "1"],
    ]  # fmt: skip
    await any_kubectl("create", "priorityclass", "high", "--value=1000", "--preemption-policy=Never", "--description=d")
    shown = (await any_kubectl("get", "pc", "high")).splitlines()
    assert shown[0].split() == ["NAME", "VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"]
    assert shown[1].split()[:3] == ["high", "1000", "false"] and shown[1].endswith("Never")
    scoped = ("create", "quota", "rest", "--hard=pods=1", "--scopes=NotBestEffort")
    await any_kubectl(*scoped)


@pytest.mark.slow
async def test_a_team_with_bounds_is_told_what_is_too_much(kubectl: Kubectl, tmp_path: Path) -> None:
    await kubectl("apply", "-f", "-", stdin=LIMITS)
    await kubectl("create", "quota", "team", "--hard=pods=1,limits.memory=8Gi")
    run = ("--image=busybox", "--restart=Never", "--", "true")
    await kubectl("run", "first", *run)
    assert (await kubectl("get", "pod", "first", "-o", "jsonpath={.spec.containers[0].resources}")) == (
        '{"limits":{"memory":"1Gi"},"requests":{"memory":"1Gi"}}'
    )
    assert "pods: 1/1" in await kubectl("get", "quota")
    said = await kubectl("run", "second", *run, fails=True)
    assert said == (
        'Error from server (Forbidden): pods "second" is forbidden: exceeded quota: team, requested: pods=1, used:'
        " pods=1, limited: pods=1\n"
    )
    wanted = '{"spec":{"hard":{"pods":"2"}}}'
    await kubectl("patch", "quota", "team", "-p", wanted)
    await kubectl("run", "second", *run)
    greater = {**LIMITS, "spec": {"limits": [{"type": "Container", "max": {"memory": "4Gi"}}]}}
    await kubectl("apply", "-f", "-", stdin=greater)
    described = await kubectl("describe", "limits", "sizes")
    assert [line.split() for line in described.splitlines()][-1] == [
        "Container", "memory", "-", "4Gi", "4Gi", "4Gi", "-",
    ]  # fmt: skip
    await kubectl("delete", "quota/team", "limits/sizes")


@pytest.mark.parametrize(
    "kind",
    [
        "quota.spec.hard",
        pytest.param("limits.spec.limits.maxLimitRequestRatio", marks=pytest.mark.slow),
        pytest.param("pc.globalDefault", marks=pytest.mark.slow),
    ],
)
async def test_the_fields_can_be_explained(kubectl: Kubectl, kind: str) -> None:
    assert f"FIELD: {kind.rpartition('.')[2]}" in await kubectl("explain", kind)
