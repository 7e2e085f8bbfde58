"""More processes or devices than a pod has are told, in manifests and typed; what is not known is not."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.command_words import explain_typed
from paddock.words.phrases import render

LAUNCH = "python -m paddle.distributed.launch"


def explain(kind: str, command: str, limits: dict[str, Any], **more: Any) -> list[str]:
    container = {"image": "x:1", "command": ["bash", "-c", command], "resources": {"limits": limits}}
    role = {"replicas": 1, "template": {"spec": {"containers": [container | {"name": "a"}]}}}
    version, spec = "batch.paddlepaddle.org/v1", {"worker": role}
    if kind == "PyTorchJob":
        version, spec = "kubeflow.org/v1", {"pytorchReplicaSpecs": {"Master": role}}
    document = Document({"apiVersion": version, "kind": kind, "metadata": {"name": "j"}, "spec": {**spec, **more}})
    return [each.message for each in check(document) if each.path.endswith(".command")]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{LAUNCH} --devices 0,1,2,3 t.py", "--devices 0,1,2,3 names 4 devices, and the pod has 2"),
        (f"{LAUNCH} --gpus=0,1,2 t.py", "--gpus=0,1,2 names 3 devices, and the pod has 2"),
        (f"{LAUNCH} --devices 0,1 --nproc_per_node 4 t.py", "--nproc_per_node 4 starts more processes than --devices"),
        (f"{LAUNCH} --nproc_per_node 4 t.py", "--nproc_per_node 4 starts 4 processes, and the pod has 2 devices"),
        ("torchrun --nproc_per_node=8 t.py", "--nproc_per_node=8 starts 8 processes, and the pod has 2 devices"),
    ],
)
def test_what_the_pod_does_not_have_is_told(command: str, said: str) -> None:
    kind = "PyTorchJob" if command.startswith("torchrun") else "PaddleJob"
    (found,) = explain(kind, command, {"nvidia.com/gpu": "2"})
    assert found.startswith(said)
    assert [render(each) for each in explain_typed(command.split(), 2)] == [found]


@pytest.mark.parametrize(
    ("command", "limits"),
    [
        (f"{LAUNCH} --devices 0,1 t.py", {"nvidia.com/gpu": 2}),
        (f"{LAUNCH} --devices 2,3 t.py", {"nvidia.com/gpu": 2}),
        (f"{LAUNCH} --devices $DEVICES --nproc_per_node $N t.py", {"nvidia.com/gpu": 2}),
        (f"{LAUNCH} --devices 0,1,2 t.py", {"cpu": 2}),
        (f"{LAUNCH} --devices 0,1,2 t.py", {"nvidia.com/gpumem": 2}),
        (f"{LAUNCH} --devices 0,1,2 t.py", {"nvidia.com/gpu": "$(GPUS)"}),
        (f"{LAUNCH} --nproc_per_node {'9' * 5000} t.py", {"nvidia.com/gpu": 2}),
        (f"ssh a {LAUNCH} --devices 0,1,2 t.py", {"nvidia.com/gpu": 2}),
    ],
)
def test_what_it_has_and_what_is_not_known_are_not(command: str, limits: dict[str, Any]) -> None:
    assert explain("PaddleJob", command, limits) == []


def test_an_option_beside_the_field_that_says_the_same_is_told() -> None:
    assert explain("PyTorchJob", "torchrun --nproc_per_node=8 t.py", {"nvidia.com/gpu": 8}, nprocPerNode="4") == [
        "--nproc_per_node=8 counts more than nprocPerNode, which is 4: leave one of them out"
    ]
    assert not explain("PyTorchJob", "torchrun --nproc_per_node=4 t.py", {"nvidia.com/gpu": 4}, nprocPerNode="4")
    assert not explain("PyTorchJob", "torchrun --nproc_per_node=$N t.py", {"nvidia.com/gpu": 4}, nprocPerNode="4")
