"""A command that tells each of several pods the same of its group, in manifests and typed."""

from __future__ import annotations

import pytest

from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.command_words import explain_typed
from paddock.words.phrases import render


def explain(*texts: str, env: dict[str, str] | None = None) -> list[str]:
    """Of a job with a Master, and Workers of the second text, or three of the first."""
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    roles = {}
    for role, text in zip(("Master", "Worker"), texts if len(texts) > 1 else texts * 2, strict=True):
        container = {"name": "pytorch", "image": "x:1", "command": ["bash", "-c", text], "env": variables}
        replicas = 3 if role == "Worker" and len(texts) == 1 else 1
        roles[role] = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    document = Document({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"},
                         "spec": {"pytorchReplicaSpecs": roles}})  # fmt: skip
    return [each.message for each in check(document) if "the command sets" in each.message]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("export MASTER_ADDR=127.0.0.1 RANK=0; python t.py", "RANK=0 and MASTER_ADDR=127.0.0.1"),
        ("RANK=1 python t.py", "RANK=1"),
        ("env WORLD_SIZE=1 python t.py", "WORLD_SIZE=1"),
        ("export PET_NODE_RANK=0; torchrun t.py", "PET_NODE_RANK=0"),
        ("export PADDLE_MASTER=localhost:1; fleetrun t.py", "PADDLE_MASTER=localhost:1"),
    ],
)
def test_one_place_for_several_pods_is_told(text: str, named: str) -> None:
    said = f"the command sets {named} in each of 4 pods, which then do not train together"
    assert any(said in each for each in explain(text))
    assert any(said in render(each) for each in explain_typed(["bash", "-c", text], workers=4))
    assert not [each for each in explain_typed(["bash", "-c", text]) if "sets" in render(each)]


@pytest.mark.parametrize(
    "text",
    [
        "RANK=${RANK:-0} python t.py",
        'if [ -z "$RANK" ]; then export RANK=0; fi; python t.py',
        "export RANK=$(hostname | cut -d- -f3) MASTER_ADDR=$HOST; python t.py",
        "export MASTER_ADDR=j-master-0 WORLD_SIZE=4; python t.py",
        "export WORLD_SIZE=8; python t.py",
        "export RANK=0 MASTER_ADDR=127.0.0.1; torchrun t.py",
        "export RANK=0; ls",
        "ssh a RANK=0 python t.py",
    ],
)
def test_what_may_tell_each_pod_its_own_is_not(text: str) -> None:
    assert explain(text) == []


def test_roles_of_one_pod_each_may_have_numbers_of_their_own() -> None:
    assert explain("RANK=0 python t.py", "RANK=1 python t.py") == []
    assert explain("RANK=0 python t.py", "RANK=0 python t.py")


def test_what_the_template_sets_is_not_the_command_s() -> None:
    assert explain("python t.py", env={"RANK": "0"}) == []
