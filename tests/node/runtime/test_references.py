"""The ConfigMaps and Secrets that a pod names."""

from __future__ import annotations

from typing import Any

import pytest

from node.cluster import pod, shell
from paddock.node.runtime.references import Reference, find_references


def projected(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "projected": {"sources": [source]}}]}


@pytest.mark.parametrize(
    ("container", "spec", "found"),
    [
        ({}, {}, None),
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, {}, Reference("configmap", "c", False)),
        ({"envFrom": [{"secretRef": {"name": "s", "optional": True}}]}, {}, Reference("secret", "s", True)),
        ({"env": [{"valueFrom": {"configMapKeyRef": {"name": "c"}}}]}, {}, Reference("configmap", "c", False)),
        ({"env": [{"valueFrom": {"secretKeyRef": {"name": "s"}}}]}, {}, Reference("secret", "s", False)),
        ({"env": [{"value": "c"}, {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}, {}, None),
        ({}, {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, Reference("configmap", "c", False)),
        ({}, {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, Reference("secret", "s", False)),
        ({}, {"volumes": [{"name": "v", "emptyDir": {}}]}, None),
        ({}, projected(configMap={"name": "c"}), Reference("configmap", "c", False)),
        ({}, projected(secret={"name": "s", "optional": True}), Reference("secret", "s", True)),
        ({}, projected(downwardAPI={}), None),
    ],
)
def test_what_a_pod_names(container: dict[str, Any], spec: dict[str, Any], found: Reference | None) -> None:
    expected = frozenset() if found is None else {found}
    assert find_references(pod(shell("true", **container), **spec)) == expected
    first = {**shell("true", name="first"), **container}
    assert find_references(pod(shell("true"), initContainers=[first], **spec)) == expected
