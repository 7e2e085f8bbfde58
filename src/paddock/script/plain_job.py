"""ScriptRequest -> the spec of a PaddleJob of a program that trains with none of the frameworks. Pure.

scikit-learn, XGBoost, TensorFlow: a pod of a PaddleJob runs any program, and what is installed is what the user names,
or what this machine has. Nothing makes a group of several workers: each has its number in PADDLE_TRAINER_ID, and how
many there are in PADDLE_TRAINERS_NUM, as any worker of a PaddleJob.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.script import paddle_job
from paddock.script.request import ScriptRequest
from paddock.script.told_launchers import explain_refused as explain_refused_launcher
from paddock.words.phrases import Phrase, phrase

IMAGE = "python:3"
"""It stands for the Environment `host` (`environments.defaults`): the programs of this machine, nothing to build."""


def build_spec(request: ScriptRequest, name: str) -> Manifest:
    worker = paddle_job.build_role(request, name, request.workers, IMAGE, build_command(request), gpus=request.gpus)
    return {"runPolicy": paddle_job.build_policy(request), "worker": worker}


def build_command(request: ScriptRequest) -> list[str]:
    """What was typed."""
    return list(request.words)


def explain_refused(request: ScriptRequest) -> Iterator[Phrase]:
    yield from explain_refused_launcher(request)
    if request.servers:
        yield phrase("--ps: parameter servers are PaddlePaddle's: leave --framework none out")


def explain_workers(request: ScriptRequest, launches: Sequence[Launch]) -> Iterator[Phrase]:
    if request.workers > 1 and request.launch.launcher is None:
        yield phrase(
            "no framework makes one group of the {count} workers: each runs the whole program, with its number in "
            "PADDLE_TRAINER_ID, from 0, and their count in PADDLE_TRAINERS_NUM",
            count=request.workers,
        )
