"""What is said of ranks that share a GPU: numbers that mean nothing, several GPUs, none, and NCCL."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobs.samples import read_manifest
from paddock.kube.gpu_shares import SHARE_ANNOTATION
from paddock.preflight import check, explain_problem, read_documents

NCCL = "and NCCL refuses two ranks on one GPU (Duplicate GPU detected)"
NO_EFFECT = "has no effect: no rank here asks for nvidia.com/gpu"


def told(
    shares: object = None, gpus: Any = 1, *, in_template: object = None, replicas: int = 1, servers: bool = False,
    framework: str = "", command: list[str] | None = None, env: dict[str, str] | None = None,
) -> list[str]:  # fmt: skip
    manifest = read_manifest("resnet")
    for key in ("uid", "generation"):
        manifest["metadata"].pop(key)
    manifest["metadata"]["annotations"] = {"paddock.dev/framework": framework} if framework else {}
    if shares is not None:
        manifest["metadata"]["annotations"][SHARE_ANNOTATION] = shares
    worker = manifest["spec"]["worker"]
    worker["replicas"] = replicas
    if in_template is not None:
        worker["template"]["metadata"] = {"annotations": {SHARE_ANNOTATION: in_template}}
    container = worker["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": gpus} if gpus else {"cpu": 1}}
    container["env"] = [{"name": name, "value": value} for name, value in (env or {}).items()]
    if command:
        container["command"] = command
    if servers:
        manifest["spec"]["ps"] = worker
    (document,) = read_documents(yaml.safe_dump(manifest))
    said = [f"{each.severity}: {explain_problem(each)}" for each in check(document)]
    return [each for each in said if "share" in each or "NCCL refuses" in each]


@pytest.mark.parametrize("value", ["0", "1", "-1", "x", "65", "1000", "", "2.5", " 4"])
@pytest.mark.parametrize("where", ["shares", "in_template"])
def test_a_number_of_shares_that_means_nothing_is_refused(value: str, where: str) -> None:
    (said,) = told(**{where: value})  # type: ignore[arg-type]
    assert (
        said.startswith("error: ") and f'"{value}", a whole number from 2 to 64 in quotes, as "4", is allowed' in said
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"shares": "4"}, []),
        ({"in_template": "4"}, []),
        ({"shares": "4", "gpus": 2}, ["containers[0].resources.limits[nvidia.com/gpu]: a rank that"]),
        ({"in_template": "4", "gpus": 2}, ["asks for one, and this one for 2: ask for 1, or do not share"]),
        ({"gpus": 2}, []),
        ({"shares": "4", "gpus": 0}, [NO_EFFECT]),
        ({"shares": "4", "replicas": 2}, [NCCL]),
        ({"in_template": "4", "replicas": 2}, [NCCL]),
        ({"shares": "4", "replicas": 2, "framework": "none"}, []),
        ({"shares": "4", "replicas": 2, "servers": True}, []),
        ({"shares": "4", "replicas": 2, "command": ["python", "t.py", "--backend=gloo"]}, []),
        ({"shares": "4", "replicas": 2, "env": {"BACKEND": "GLOO"}}, []),
        ({"shares": "4", "replicas": 2, "env": {"BACKEND": "nccl"}}, [NCCL]),
        ({"gpus": 1, "replicas": 2}, []),
    ],
)  # fmt: skip
def test_what_is_said_of_shares(asked: dict[str, Any], said: list[str]) -> None:
    found = told(**asked)
    assert len(found) == len(said), found
    assert all(one in other for one, other in zip(said, found, strict=True)), found
