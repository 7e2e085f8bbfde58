"""What is said of devices in a manifest: modes, Windows, variables, fractions; nothing of a vendor's own name."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobs.samples import read_manifest
from paddock.preflight import check, explain_problem, read_documents


def told(resource: str, amount: Any = 1, *, servers: bool = False, pod: dict[str, Any] | None = None,
         env: list[dict[str, str]] | None = None, framework: str = "") -> list[str]:  # fmt: skip
    manifest = read_manifest("resnet")
    manifest["metadata"]["annotations"] = {"paddock.dev/framework": framework} if framework else {}
    for key in ("uid", "generation"):
        manifest["metadata"].pop(key)
    spec = manifest["spec"]["worker"]["template"]["spec"]
    spec |= pod or {}
    spec["containers"][0] |= {"resources": {"limits": {resource: amount}}, "env": env or []}
    if servers:
        manifest["spec"]["ps"] = manifest["spec"]["worker"]
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [f"{each.severity}: {explain_problem(each)}" for each in check(document)]


@pytest.mark.parametrize(
    "resource", ["example.com/npu-x", "nvidia.com/gpux", "huawei.com/ascend-1980", "vendor.io/Card.v2", "rdma/hca"]
)
def test_a_vendor_s_own_name_is_not_corrected(resource: str) -> None:
    assert told(resource) == []


@pytest.mark.parametrize(("resource", "device"), [("hygon.com/dcunum", "DCU"), ("huawei.com/Ascend910", "NPU")])
def test_parameter_servers_are_not_on_every_device(resource: str, device: str) -> None:
    assert any(f"{device} trains in Collective mode alone" in each for each in told(resource, servers=True))
    assert told(resource) == []


def test_a_fraction_of_a_gpu_is_legal_on_one_cloud_and_of_nothing_else() -> None:
    assert [each for each in told("nvidia.com/gpu", "0.5") if "Huawei's CCE" in each and each.startswith("warning")]
    assert [each for each in told("huawei.com/Ascend910", "0.5") if each.startswith("error")]


@pytest.mark.parametrize("pod", [{"nodeSelector": {"kubernetes.io/os": "windows"}}, {"os": {"name": "windows"}}])
def test_windows_trains_on_one_machine_alone(pod: dict[str, Any]) -> None:
    assert any(
        "PaddlePaddle trains on Windows on one machine, with CPU or GPU" in each for each in told("cpu", pod=pod)
    )


def test_what_paddlepaddle_trains_on_is_nothing_to_a_program_of_no_framework() -> None:
    assert told("cpu", pod={"os": {"name": "windows"}}, framework="none") == []


def test_visible_devices_are_the_plug_in_s_to_set() -> None:
    env = [{"name": "CUDA_VISIBLE_DEVICES", "value": "0,1"}]
    assert any("is set by the device plug-in" in each for each in told("nvidia.com/gpu", env=env))
    assert told("cpu", env=env) == []
