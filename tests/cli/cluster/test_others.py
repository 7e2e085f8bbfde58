"""What of other operators a reader may see: on the embedded cluster, and where RBAC forbids it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chart.others import build_definition, build_deployment
from paddock.cli.cluster.others import fetch_others
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.calls import Listing
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import DEPLOYMENTS, Manifest, Resource
from support.worlds import open_embedded

NAME = PADDLEPADDLE.resource.qualified


class Cluster:
    """A cluster with somebody else's operator, of which some resources may be read."""

    def __init__(self, *readable: str) -> None:
        self._readable = readable

    async def list(self, resource: Resource, namespace: str = "", **selectors: str) -> Listing:
        self._check(resource)
        assert resource == DEPLOYMENTS
        return Listing([build_deployment("ai", "some-operator", "x/paddle-operator/controller:v1")], "1")

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        self._check(resource)
        if name != NAME:
            raise NotFound(name)
        return build_definition()

    def _check(self, resource: Resource) -> None:
        if resource.plural not in self._readable:
            raise Forbidden(resource.plural)


@pytest.mark.parametrize(
    ("readable", "others", "definitions"),
    [
        (("deployments", "customresourcedefinitions"), ["some-operator"], [NAME]),
        (("deployments",), ["some-operator"], None),
        (("customresourcedefinitions",), None, [NAME]),
        ((), None, None),
    ],
)
async def test_what_may_not_be_read_is_not_said_to_be_missing(
    readable: tuple[str, ...], others: list[str] | None, definitions: list[str] | None
) -> None:
    found = await fetch_others(Cluster(*readable), "kubectl")
    names = None if found["others"] is None else [each["deployment"] for each in found["others"]]
    assert names == others
    assert (found["foreignDefinitions"] and [each["name"] for each in found["foreignDefinitions"]]) == definitions


async def test_the_embedded_cluster_has_no_deployments_and_its_definitions_are_paddocks(tmp_path: Path) -> None:
    async with open_embedded(tmp_path) as world:
        assert await fetch_others(world.api, "kubectl") == {"others": [], "foreignDefinitions": []}
