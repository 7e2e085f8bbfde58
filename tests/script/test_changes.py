"""Arguments and variables for the program of any manifest."""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from jobs.samples import read_manifest, read_sample
from paddock.jobs.apis.registry import KINDS
from paddock.script.arguments import explain_no_place, with_arguments
from paddock.script.variables import build_secret, build_variables, mask, with_variables


def build(**container: Any) -> dict[str, Any]:
    manifest = build_manifest(ps=1, workers=1)
    for role in ("ps", "worker"):
        template = {"spec": {"containers": [{"name": "side", "image": "x"}, {"name": "paddle", **container}]}}
        manifest["spec"][role] = {"replicas": 1, "template": template}
    return manifest


def trained(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [manifest["spec"][role]["template"]["spec"]["containers"][1] for role in ("ps", "worker")]


@pytest.mark.parametrize(
    ("container", "key", "words"),
    [
        ({"command": ["python", "t.py"]}, "command", ["python", "t.py", "--lr", "$$(X)"]),
        ({"command": ["python"], "args": ["t.py"]}, "args", ["t.py", "--lr", "$$(X)"]),
        ({"args": ["t.py"]}, "args", ["t.py", "--lr", "$$(X)"]),
        ({}, "args", ["--lr", "$$(X)"]),
    ],
)
def test_arguments_come_last_in_every_role(container: dict[str, Any], key: str, words: list[str]) -> None:
    manifest = build(image="x", **container)
    job = KINDS[RESOURCE].read_job(manifest)
    changed = with_arguments(manifest, job, ["--lr", "$(X)"])
    assert [each[key] for each in trained(changed)] == [words, words]
    assert "args" not in changed["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert manifest == build(image="x", **container), "the argument is not changed"
    assert explain_no_place(job) is None


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "python t.py"],
        ["/bin/bash", "-ec", "x"],
        ["bash", "-e", "-c", "x"],
        ["bash", "-cx", "x"],
        ["bash", "-eo", "pipefail", "-c", "x"],
        ["bash", "--norc", "-c", "x"],
        ["bash", "--rcfile", "f", "-c", "x"],
    ],
)
def test_a_text_of_a_shell_takes_no_arguments(words: list[str]) -> None:
    job = KINDS[RESOURCE].read_job(build(image="x", command=words))
    assert "ps runs a text of" in str(explain_no_place(job))


@pytest.mark.parametrize("words", [[], ["-e", "t.sh", "-c"], ["--", "-c"], ["-o", "-c", "t.sh"], ["t.sh"], ["-"]])
def test_a_script_of_a_shell_takes_arguments(words: list[str]) -> None:
    job = KINDS[RESOURCE].read_job(build(image="x", command=["bash", *words]))
    assert explain_no_place(job) is None


def test_a_job_of_kubeflow_takes_them_too() -> None:
    manifest = read_manifest("kubeflow_distributed")
    job = read_sample("kubeflow_distributed")
    changed = with_arguments(manifest, job, ["--epochs=1"])
    (replicas,) = changed["spec"]["paddleReplicaSpecs"].values()
    assert replicas["template"]["spec"]["containers"][0]["args"][-1] == "--epochs=1"


def test_variables_take_the_place_of_those_of_their_names() -> None:
    manifest = build(image="x", env=[{"name": "A", "value": "old"}, {"name": "B", "value": "kept"}])
    job = KINDS[RESOURCE].read_job(manifest)
    changed = with_variables(manifest, job, build_variables([("A", "new")], "s", ["T"]))
    expected = [
        {"name": "B", "value": "kept"},
        {"name": "A", "value": "new"},
        {"name": "T", "valueFrom": {"secretKeyRef": {"name": "s", "key": "T"}}},
    ]
    assert [each["env"] for each in trained(changed)] == [expected, expected]


def test_a_secret_is_shown_without_its_values() -> None:
    secret = build_secret("train-env", "team", "paddlejobs.kubeflow.org", [("A", "1"), ("A", "2")])
    assert secret["stringData"] == {"A": "2"}
    assert mask(secret)["stringData"] == {"A": "***"} and secret["stringData"] == {"A": "2"}
    assert mask({"kind": "PaddleJob", "stringData": {"A": "1"}})["stringData"] == {"A": "1"}
