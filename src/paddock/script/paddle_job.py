"""ScriptRequest -> the spec of a PaddleJob of batch.paddlepaddle.org/v1. Pure.

Collective training with several workers needs PaddlePaddle's launcher: two plain `python train.py` with the variables
of paddle-operator form no group and raise no error (PaddlePaddle 3.3.1). It is added to the command, for all to see.
Parameter servers and their workers run the plain command; PADDLE_TRAINING_ROLE tells them apart.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.launches.launchers import Means
from paddock.launches.programs import Kind
from paddock.launches.words import show_words
from paddock.preflight.paddle_options import is_paddle
from paddock.preflight.replicas import Pods, explain_replicas
from paddock.script.containers import build_pod
from paddock.script.request import ScriptRequest
from paddock.script.told_launchers import explain_refused as explain_refused_launcher
from paddock.script.told_launchers import type_alone
from paddock.words.phrases import Names, Phrase, phrase

COLLECTIVE_IMAGE = "paddlepaddle/paddle:3.3.1"
GPU_IMAGE = "paddlepaddle/paddle:3.3.1-gpu-cuda12.6-cudnn9.5"
SERVERS_IMAGE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.0.0-18.04"
"""Images that stand for the Environments `paddle`, `paddle` and `paddle-ubuntu` (`environments.defaults`): that without
`-gpu` computes on CPUs alone, and PaddlePaddle's newest wheels have no parameter servers."""

LAUNCHER = ("-m", "paddle.distributed.launch")


def build_spec(request: ScriptRequest, name: str) -> Manifest:
    spec: dict[str, Any] = {"runPolicy": build_policy(request)}
    if request.servers and request.workers > 1:
        # Without gloo no worker waits for the first, which initialises the parameters, and some then learn nothing.
        spec["withGloo"] = 1
    if request.servers:
        spec["ps"] = _build_role(request, name, request.servers, gpus=0)
    spec["worker"] = _build_role(request, name, request.workers, gpus=request.gpus)
    return spec


def build_policy(request: ScriptRequest) -> Manifest:
    """Kubeflow's default is written out where it is wanted: paddle-operator's deletes the pods of a completed job."""
    policy: dict[str, Any] = {"backoffLimit": request.restarts}
    return {**policy, "cleanPodPolicy": "Running"} if request.keeps_pods else policy


def build_role(
    request: ScriptRequest, name: str, replicas: int, image: str, words: Sequence[str], *, gpus: int
) -> Manifest:
    """A role of a PaddleJob. `image`: of a request that names none; `words`: the command."""
    pod = build_pod(request, "paddle", name, image, words, gpus=gpus)
    if request.restarts:
        # batch/v1's default, Never, fails the job at the first failed rank, whatever the limit
        pod["restartPolicy"] = "OnFailure"
    return {"replicas": replicas, "template": {"spec": pod}}


def explain_refused(request: ScriptRequest) -> Iterator[Phrase]:
    """Fewer workers than the command asks for; the checks of manifests know what else a PaddleJob cannot have."""
    if not request.servers:
        yield from explain_replicas(request.launch, Pods(request.workers, request.workers, is_typed=True))
    elif is_paddle(request.launch) and (names := _list_serving(request.launch)):
        yield phrase(
            "{options}: the launcher would start its servers and workers in each of the {count} pods, as --ps and "
            "--workers start a pod for each: leave the launcher out, `{command}`",
            options=Names(names), count=request.servers + request.workers,
            command=shlex.join(["paddock", "run", "--ps", str(request.servers), "--workers", str(request.workers), "--",
                                *type_alone(request.launch)]),
        )  # fmt: skip
    yield from explain_refused_launcher(request)


_SERVING = (Means.SERVERS, Means.SERVER_COUNT, Means.TRAINERS, Means.TRAINER_COUNT, Means.HETER)


def _list_serving(launch: Launch) -> tuple[str, ...]:
    return tuple(each.mark for each in launch.options if each.spec is not None and each.spec.means in _SERVING)


def explain_workers(request: ScriptRequest, launches: Sequence[Launch]) -> Iterator[Phrase]:
    if request.workers == 1 or request.servers:
        return
    inner = [each for each in launches if each.is_inner and each.program.kind in (Kind.SCRIPT, Kind.MODULE)]
    if inner and inner[-1].program.python and not any(each.launcher or each.starts for each in launches):
        program = inner[-1]
        yield phrase(
            "warning: `{typed}` in a shell starts without PaddlePaddle's launcher, so each of the {count} workers "
            "trains all of it alone: write `{command}` there",
            typed=show_words(program.words), command=shlex.join(add_launcher(replace(program, wrappers=()))),
            count=request.workers,
        )  # fmt: skip
    elif request.alone:
        yield phrase(
            "warning: nothing in {script} joins a process group, so each of the {count} workers trains all of it "
            "alone: paddle.distributed.init_parallel_env() makes one group of them, and paddle.DataParallel(model) "
            "trains in it",
            script=request.launch.program.word.typed, count=request.workers,
        )  # fmt: skip


def _build_role(request: ScriptRequest, name: str, replicas: int, *, gpus: int) -> Manifest:
    image = SERVERS_IMAGE if request.servers else GPU_IMAGE if request.gpus else COLLECTIVE_IMAGE
    return build_role(request, name, replicas, image, build_command(request), gpus=gpus)


def build_command(request: ScriptRequest) -> list[str]:
    """What was typed, behind the launcher where one is needed: before a Python file or module, never before a program
    that starts others by itself."""
    launch = request.launch
    is_python = bool(launch.program.python) and launch.program.kind in (Kind.SCRIPT, Kind.MODULE)
    is_free = not (launch.launcher or launch.elsewhere or launch.is_inner)
    if request.workers == 1 or request.servers or not is_python or not is_free:
        return list(request.words)
    return add_launcher(launch)


def add_launcher(launch: Launch) -> list[str]:
    """`python -u train.py` -> `python -u -m paddle.distributed.launch train.py`. The launcher starts a file `.py` by
    its own interpreter, without that one's options, and anything else as a program."""
    program, words = launch.program, [word.typed for word in launch.words]
    place = len(program.flags) + 1
    if program.script.endswith(".py") and set(program.flags) <= {"-u"}:
        inner = [*words[:place], *LAUNCHER, *words[place:]]
    else:
        inner = [program.python, *LAUNCHER, *words]
    before = [word.typed for wrapper in launch.wrappers for word in wrapper.words]
    # `coverage run train.py` has no interpreter of its own
    return [*before, *(inner[1:] if launch.wrappers and launch.wrappers[-1].spec.as_python else inner)]
