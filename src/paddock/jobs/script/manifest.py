"""ScriptRequest -> the PaddleJob of batch.paddlepaddle.org/v1. Pure.

Collective training with several workers needs PaddlePaddle's launcher: two plain `python train.py` with the variables
of paddle-operator form no group and raise no error (PaddlePaddle 3.3.1). It is added to the command, for all to see.
Parameter servers and their workers run the plain command; PADDLE_TRAINING_ROLE tells them apart.

A job is not restarted unless that was asked for (backoffLimit 0): a mistake in a script must end the command at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from paddock.jobs.labels import (
    ENVIRONMENT_ANNOTATION,
    REQUIREMENTS_ANNOTATION,
    RESUME_ANNOTATION,
    WORKING_DIRECTORY_ANNOTATION,
)
from paddock.jobs.script.names import build_name, build_secret_name
from paddock.jobs.script.program import Program, read_program
from paddock.jobs.script.request import ScriptRequest
from paddock.jobs.script.variables import build_variables
from paddock.kube.meta import Manifest

COLLECTIVE_IMAGE = "paddlepaddle/paddle:3.3.1"
SERVERS_IMAGE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.0.0-18.04"
"""Images that stand for the Environments `paddle` and `paddle-ubuntu` (`environments.defaults`): PaddlePaddle's newest
wheels have no parameter servers."""

LAUNCHER = ("-m", "paddle.distributed.launch")
GPU = "nvidia.com/gpu"


def build_manifest(request: ScriptRequest) -> Manifest:
    """The job. `request` has been checked (`cli.submit.script.requests`): there is a word, and all are UTF-8."""
    name = find_name(request)
    annotations = {}
    if request.requirements:
        annotations[REQUIREMENTS_ANNOTATION] = request.requirements
    if request.environment:
        annotations[ENVIRONMENT_ANNOTATION] = request.environment
    if request.resume:
        annotations[RESUME_ANNOTATION] = "true"
    if request.directory:
        annotations[WORKING_DIRECTORY_ANNOTATION] = request.directory
    metadata: dict[str, Any] = {"name": name}
    if request.namespace:
        metadata["namespace"] = request.namespace
    if annotations:
        metadata["annotations"] = annotations
    spec: dict[str, Any] = {"runPolicy": {"backoffLimit": request.restarts}}
    if request.servers and request.workers > 1:
        # Without gloo no worker waits for the first, which initialises the parameters, and some then learn nothing.
        spec["withGloo"] = 1
    if request.servers:
        spec["ps"] = _build_role(request, name, request.servers, gpus=0)
    spec["worker"] = _build_role(request, name, request.workers, gpus=request.gpus)
    return {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": metadata, "spec": spec}


def find_name(request: ScriptRequest) -> str:
    return request.name or build_name(read_program(request.words).name or request.words[0])


def _build_role(request: ScriptRequest, name: str, replicas: int, *, gpus: int) -> Manifest:
    image = request.image or (SERVERS_IMAGE if request.servers else COLLECTIVE_IMAGE)
    container: dict[str, Any] = {"name": "paddle", "image": image, "command": build_command(request)}
    if entries := build_variables(request.variables, build_secret_name(name), [key for key, _ in request.secrets]):
        container["env"] = entries
    if gpus:
        container["resources"] = {"limits": {GPU: gpus}}
    pod: dict[str, Any] = {"containers": [container]}
    if request.restarts:
        # batch/v1's default, Never, fails the job at the first failed rank, whatever the limit
        pod["restartPolicy"] = "OnFailure"
    return {"replicas": replicas, "template": {"spec": pod}}


def build_command(request: ScriptRequest) -> list[str]:
    """The command of the container: what was typed, behind the launcher where one is needed."""
    program = read_program(request.words)
    words = list(request.words)
    if request.workers > 1 and not request.servers and not program.launcher:
        words = add_launcher(words, program)
    return [escape(word) for word in words]


def add_launcher(words: Sequence[str], program: Program) -> list[str]:
    """`python -u train.py` -> `python -u -m paddle.distributed.launch train.py`. The launcher starts a file `.py` by
    its own interpreter, without that one's options, and anything else as a program."""
    place = len(program.flags) + 1
    if program.python and program.script.endswith(".py") and set(program.flags) <= {"-u"}:
        return [*words[:place], *LAUNCHER, *words[place:]]
    return [program.python or "python", *LAUNCHER, *words]


def escape(word: str) -> str:
    """A word that the kubelet's expansion of `$(NAME)` and `$$` leaves as it was typed."""
    return re.sub(r"\$\$+\(?|\$\(", lambda found: found[0].replace("$", "$$"), word)


def unescape(word: str) -> str:
    """What a program gets of a word without `$(NAME)`."""
    return word.replace("$$", "$")
