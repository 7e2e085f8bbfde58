"""Why no operator has reconciled a job, by the operators' Leases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.views import RESOURCE
from paddock.cli.cluster.operators import fetch_leaders
from paddock.install.deployment import DEPLOYMENT
from paddock.install.rights import LEASE
from paddock.jobs.apis.registry import KINDS
from paddock.kube.calls import Listing
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import Manifest, Resource
from paddock.views.operators import Leader, explain_no_operator, read_leader
from paddock.words.phrases import render

NOW = 1_800_000_000.0
KUBEFLOW = next(each for each in KINDS if each != RESOURCE)


def leader(**changes: Any) -> Leader:
    facts: dict[str, Any] = {"namespace": "paddle-system", "holder": "pod-1", "renewed": NOW - 3, "duration": 15.0}
    return Leader(**(facts | changes))


@pytest.mark.parametrize(
    ("leaders", "said"),
    [
        (None, "you may not read Leases, so whether one runs is not known here."),
        (
            [],
            f"none seems to run, as nobody holds the Lease {LEASE}. `paddock manifests operator --image IMAGE | "
            "kubectl --context c",
        ),
        ([leader(renewed=NOW - 300)], "the operator in namespace paddle-system has not been heard of for 5m: `kubectl"),
        ([leader(holder="")], "the operator in namespace paddle-system has stopped (`kubectl"),
        ([leader(renewed=None)], "the operator in namespace paddle-system has stopped"),
        (
            [leader(namespaces=("a", "b"))],
            "the operator in namespace paddle-system watches a, b alone, not team: submit the job there",
        ),
        (
            [leader(kinds=("paddlejobs.kubeflow.org",))],
            "serves paddlejobs.kubeflow.org alone: have paddlejobs.batch.pa",
        ),
        ([leader(namespaces=("team",), version="0.1.0")], "paddock 0.1.0 leads in namespace paddle-system and has not"),
        (
            [leader()],
            "another operator leads in namespace paddle-system and has not acted on it; its log says why: `ku",
        ),
        ([leader(renewed=NOW - 40)], "another operator leads"),
        ([leader(renewed=NOW - 900), leader(namespace="mine")], "another operator leads in namespace mine"),
        ([leader(namespaces=("a",)), leader(namespace="mine")], "another operator leads in namespace mine"),
    ],
)
def test_why_no_operator_has_reconciled_a_job(leaders: list[Leader] | None, said: str) -> None:
    assert said in str(explain_no_operator(leaders, RESOURCE, "team", "kubectl --context c", NOW))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_log_that_is_named_is_that_of_the_deployment_that_is_installed(language: str) -> None:
    said = render(explain_no_operator([leader()], RESOURCE, "team", "kubectl --context c", NOW), language)
    assert f"`kubectl --context c -n paddle-system logs deploy/{DEPLOYMENT}`" in said


def test_it_is_said_in_chinese() -> None:
    said = render(explain_no_operator([leader(namespaces=("a",))], RESOURCE, "team", "kubectl", NOW), "zh")
    assert said.startswith("命名空间 paddle-system 中的 operator 只处理 a，不处理 team")


def lease(namespace: str, **annotations: str) -> Manifest:
    return {
        "metadata": {"name": LEASE, "namespace": namespace, "annotations": annotations},
        "spec": {"holderIdentity": "pod-1", "renewTime": "2027-01-15T08:00:00.123456Z", "leaseDurationSeconds": 20},
    }


@pytest.mark.parametrize(
    ("settings", "namespaces"),
    [
        (json.dumps({"namespaces": ["a", "b"]}), ("a", "b")),
        (json.dumps({"namespaces": [""]}), ()),
        ("{}", ()),
        ("not JSON", ()),
        ("[]", ()),
    ],
)
def test_a_lease_is_read_with_its_settings(settings: str, namespaces: tuple[str, ...]) -> None:
    read = read_leader(lease("x", **{"paddock.dev/version": "0.1.0", "paddock.dev/settings": settings}))
    assert read == leader(
        namespace="x", renewed=1_800_000_000.123456, duration=20.0, version="0.1.0", namespaces=namespaces
    )
    assert read_leader({"metadata": {"namespace": "x"}}).is_gone(NOW)


class Leases:
    """A cluster in which Leases may be read in some namespaces alone."""

    def __init__(self, *readable: str, there: str = "") -> None:
        self._readable, self._there = readable, there

    async def list(self, resource: Resource, namespace: str = "", **selectors: str) -> Listing:
        raise Forbidden("no")

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        if namespace not in self._readable:
            raise Forbidden("no")
        if namespace != self._there:
            raise NotFound("no")
        return lease(namespace)


@pytest.mark.parametrize(
    ("api", "found"),
    [
        (Leases(), None),
        (Leases("team"), []),
        (Leases("team", there="team"), ["team"]),
        (Leases("paddle-system", there="paddle-system"), ["paddle-system"]),
    ],
)
async def test_leases_are_read_in_namespaces_that_rbac_allows(api: Any, found: list[str] | None) -> None:
    leaders = await fetch_leaders(api, "team")
    assert (leaders if leaders is None else [each.namespace for each in leaders]) == found
