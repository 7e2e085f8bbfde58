"""Ports of pods in the network of their node: a machine has each once."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobs.samples import read_manifest
from paddock.manifests.documents import read_documents
from paddock.preflight import check


def told(replicas: int, **pod: Any) -> list[str]:
    """What is said of the ports of a role of so many pods."""
    manifest = read_manifest("resnet")
    for key in ("uid", "generation"):
        manifest["metadata"].pop(key)
    manifest["spec"]["worker"]["replicas"] = replicas
    spec = manifest["spec"]["worker"]["template"]["spec"]
    spec |= pod
    spec["containers"][0]["ports"] = [{"containerPort": 29500}]
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [each.message for each in check(document) if ".ports[0]" in each.path]


def test_a_fixed_port_with_the_node_s_network_wants_a_node_for_each_pod() -> None:
    (said,) = told(2, hostNetwork=True)
    assert said.startswith("port 29500 of a machine can be had once: 2 pods need as many nodes")


@pytest.mark.parametrize(("replicas", "pod"), [(1, {"hostNetwork": True}), (2, {}), (2, {"hostNetwork": False})])
def test_a_port_that_nobody_else_takes_is_not_told(replicas: int, pod: dict[str, Any]) -> None:
    assert told(replicas, **pod) == []
