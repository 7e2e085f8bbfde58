"""What `--to bare` says beside its scripts: jobs that it refuses, and what to type next."""

from __future__ import annotations

import json

import pytest
import yaml

from paddock.places.bare import place
from paddock.places.rendering import Unplaceable
from places.bare.rendered import build_manifest, build_request, build_torch_manifest

COMMAND = ("python", "train.py")


def test_a_role_without_a_command_is_refused_with_the_field_to_write() -> None:
    job = build_request(build_torch_manifest(()), "10.0.0.1").job
    assert list(map(str, place.check(job))) == [
        f"the role {role} has no command, and a bare machine has no image to bring one: write "
        f"spec.pytorchReplicaSpecs.{name}.template.spec.containers[0].command"
        for role, name in (("master", "Master"), ("worker", "Worker"))
    ]


def test_the_command_of_the_documents_image_is_told() -> None:
    manifest = build_manifest("worker", "ps", command=()).replace("demo:1", "a.b/paddle-operator/demo-wide-and-deep:v1")
    job = build_request(manifest, "10.0.0.1").job
    assert [str(said) for said in place.check(job)][-1] == (
        "the role worker has no command, and a bare machine has no image to bring one (in "
        "a.b/paddle-operator/demo-wide-and-deep:v1 it is [python, train.py]): write "
        "spec.worker.template.spec.containers[0].command"
    )


@pytest.mark.parametrize("text", ["a\0b", "a\ud83db"])
def test_a_text_that_no_program_can_be_given_is_refused(text: str) -> None:
    manifest = json.dumps(yaml.safe_load(build_manifest(command=(*COMMAND, "TEXT"), replicas=1)))
    request = build_request(manifest.replace('"TEXT"', json.dumps(text)), "10.0.0.1")
    with pytest.raises(Unplaceable, match=r"worker-0: command has a character that no program can be given \(NUL, or"):
        place.render(request)


def test_a_job_with_commands_is_carried() -> None:
    assert place.check(build_request(build_manifest(command=COMMAND), "10.0.0.1").job) == ()


def test_the_next_steps_copy_and_start_each_script() -> None:
    steps = place.render(build_request(build_manifest(command=COMMAND), "gpu-a,gpu-b")).steps
    assert list(map(str, steps)) == [
        "copy each script to the directory of the program on its machine, and start it there:",
        "scp probe-gpu-a.sh gpu-a:DIRECTORY/",
        "ssh gpu-a bash DIRECTORY/probe-gpu-a.sh start",
        "scp probe-gpu-b.sh gpu-b:DIRECTORY/",
        "ssh gpu-b bash DIRECTORY/probe-gpu-b.sh start",
        "bash probe-gpu-a.sh status says which ranks run there, and bash probe-gpu-a.sh logs -f shows what they write",
        "bash probe-gpu-a.sh stop ends the ranks of a machine before their time",
        "--run does all of this by ssh, and ends with the job",
    ]


def test_the_next_steps_say_that_servers_do_not_end_and_where_they_are() -> None:
    job = build_manifest("worker", "ps", command=COMMAND)
    steps = place.render(build_request(job, "10.0.0.1,10.0.0.2")).steps
    assert str(steps[-2]) == (
        "parameter servers do not end by themselves: when status says that all workers have ended, type bash SCRIPT "
        "stop on 10.0.0.1 and 10.0.0.2"
    )


def test_many_machines_are_told_by_two_of_them() -> None:
    hosts = ",".join(f"10.0.0.{number}" for number in range(1, 6))
    steps = place.render(build_request(build_manifest(command=COMMAND, replicas=5), hosts)).steps
    assert str(steps[5]) == "and so on, to probe-10.0.0.5.sh"
    assert len(steps) == 9


def test_values_that_the_file_has_not_are_named_in_a_note() -> None:
    manifest = yaml.safe_load(build_manifest(command=COMMAND))
    container = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]
    container["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    notes = place.render(build_request(json.dumps(manifest), "10.0.0.1")).notes
    assert list(map(str, notes)) == [
        "the variables of ConfigMap settings (envFrom) are not in the file: export them on each machine before the "
        "start",
        "the values of TOKEN are not in the file: export them on each machine before the start",
    ]
