"""What is told of parameter servers and heter ranks before a job is sent."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.preflight import check, read_documents

READ = "spec.{}.template.spec.containers[0].{}"


def build(roles: dict[str, dict[str, Any]], kind: str = "batch.paddlepaddle.org/v1") -> dict[str, str]:
    """path -> what is said of it."""
    spec = {name: _role(container) for name, container in roles.items()}
    manifest = {"apiVersion": kind, "kind": "PaddleJob", "metadata": {"name": "demo"}, "spec": spec}
    (document,) = read_documents(yaml.safe_dump(manifest))
    return {each.path: str(each.said or each.message) for each in check(document)}


def _role(container: dict[str, Any]) -> dict[str, Any]:
    whole = {"name": "paddle", "image": "paddle:3", "command": ["python", "train.py"], **container}
    return {"replicas": 1, "template": {"spec": {"containers": [whole]}}}


def shell(text: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", text]}


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"command": ["python", "train.py", "--rank=$(PADDLE_TRAINER_ID)"]}, "command"),
        ({"args": ["--rank", "$(PADDLE_TRAINER_ID)"]}, "args"),
        ({"env": [{"name": "MY_RANK", "value": "$(PADDLE_TRAINER_ID)"}]}, "env[0].value"),
        (shell("python train.py --rank $PADDLE_TRAINER_ID"), "command"),
        (shell('exec python train.py --rank "${PADDLE_TRAINER_ID}"'), "command"),
        (shell("python train.py --rank ${PADDLE_TRAINER_ID:-0}"), ""),
        (shell("PADDLE_TRAINER_ID=0; python train.py --rank $PADDLE_TRAINER_ID"), ""),
        (shell("echo $PADDLE_TRAINER_IDS"), ""),
        (shell("if [ $TRAINING_ROLE = TRAINER ]; then echo $PADDLE_TRAINER_ID; fi"), ""),
        ({}, ""),
    ],
)
def test_a_server_that_reads_a_trainers_number_is_told_of_its_own(container: dict[str, Any], field: str) -> None:
    found = build({"ps": container, "worker": container})
    assert not any(path.startswith("spec.worker") for path in found)
    said = {path: text for path, text in found.items() if "PADDLE_TRAINER_ID" in text}
    assert said == (
        {
            READ.format("ps", field): "PADDLE_TRAINER_ID is read here, and ps ranks have none, as PaddlePaddle would "
            "look up a worker by it: PADDLE_PSERVER_ID has the server's number"
        }
        if field
        else {}
    )


def test_heter_ranks_have_no_number_but_that_of_their_endpoint() -> None:
    container = {"args": ["--rank", "$(PADDLE_TRAINER_ID)"]}
    found = build({"ps": {}, "worker": {}, "heter": container})
    assert found[READ.format("heter", "args")].endswith("PaddlePaddle finds the number of a heter rank by its endpoint")


def test_heter_ranks_without_servers_train_alone() -> None:
    found = build({"worker": {}, "heter": {}})
    assert found["spec.heter"].startswith(
        "heter ranks without parameter servers: PaddlePaddle takes such a job for one"
    )
    assert "spec.heter" in build({"heter": {}})
    assert "without parameter servers" not in build({"ps": {}, "worker": {}, "heter": {}})["spec.heter"]


def test_a_second_stage_too_many_is_overwritten_as_a_job_has_two() -> None:
    three = {"env": [{"name": "STAGE_NUM", "value": "3"}, {"name": "HETER_DEVICE_TYPE", "value": "xpu"}]}
    found = build({"ps": {}, "worker": {}, "heter": three})
    assert found[READ.format("heter", "env[0].name")].startswith("is overwritten: Paddock sets STAGE_NUM for all ranks")
    assert found[READ.format("heter", "env[1].name")].startswith("is overwritten: Paddock sets HETER_DEVICE_TYPE")
