"""What `env` and files of volumes are told of the pod: told before the job is there, as each pod would be refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.manifests.documents import read_documents
from paddock.preflight import check, format_problem
from support.decoding import build_manifest, put

SPEC = "spec.worker.template.spec"


def find(
    source: dict[str, Any] | None = None, item: dict[str, Any] | None = None, *, projected: bool = False
) -> list[str]:
    """The problems of a job with this valueFrom or this file, each without the path of its container or volume."""
    manifest = build_manifest("PaddleJob", "default")
    if source is not None:
        put(manifest, f"{SPEC}.containers.0.env", [{"name": "A", "valueFrom": source}])
    if item is not None:
        volume: dict[str, Any] = {"downwardAPI": {"items": [{"path": "f", **item}]}}
        put(
            manifest,
            f"{SPEC}.volumes",
            [{"name": "v", **({"projected": {"sources": [volume]}} if projected else volume)}],
        )
    (document,) = read_documents(yaml.safe_dump(manifest))
    found = [format_problem(each, "f") for each in check(document)]
    return [line.partition("env[0].valueFrom." if source else ".items[0].")[2] or line for line in found]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"fieldRef": {"fieldPath": "status.podIP"}}, ""),
        ({"fieldRef": {"fieldPath": "metadata.labels['a']"}}, ""),
        ({"fieldRef": {"fieldPath": "status.podIp"}}, 'fieldRef.fieldPath: found "status.podIp", metadata.name, '),
        ({"fieldRef": {"fieldPath": "status.podIp"}}, 'did you mean "status.podIP"?'),
        ({"fieldRef": {"fieldPath": "metadata.labels"}}, "or metadata.annotations['KEY'] is allowed"),
        ({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}, ""),
        ({"resourceFieldRef": {"resource": "limit.cpu"}}, 'did you mean "limits.cpu"?'),
        (
            {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1Mi"}},
            'resourceFieldRef.divisor: found "1Mi", one of 1m, 1 is allowed',
        ),
        (
            {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "mainn"}},
            'resourceFieldRef.containerName: found "mainn", main is allowed; did you mean "main"?',
        ),
    ],
)
def test_what_a_variable_is_told(source: dict[str, Any], said: str) -> None:
    found = find(source)
    assert said in (found or [""])[0]
    assert bool(found) == bool(said)


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"fieldRef": {"fieldPath": "metadata.labels"}}, ""),
        ({"fieldRef": {"fieldPath": "status.podIP"}}, 'fieldRef.fieldPath: found "status.podIP", metadata.name, '),
        ({"resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}}, ""),
        (
            {"resourceFieldRef": {"resource": "limits.cpu"}},
            "resourceFieldRef.containerName: is missing: the name of a container of the pod is needed",
        ),
        (
            {"resourceFieldRef": {"resource": "limits.cpu"}, "fieldRef": {"fieldPath": "metadata.name"}},
            "fieldRef stands beside resourceFieldRef: one of the two is allowed",
        ),
    ],
)
def test_what_a_file_is_told(item: dict[str, Any], said: str, projected: bool) -> None:
    found = find(item=item, projected=projected)
    assert said in (found or [""])[0]
    assert bool(found) == bool(said)
