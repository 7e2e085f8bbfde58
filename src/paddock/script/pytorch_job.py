"""ScriptRequest -> the spec of a PyTorchJob of kubeflow.org/v1. Pure.

The ranks are one Master and the Workers, in Kubeflow's order: N workers are a Master and N-1 of them. They need no
launcher: `init_process_group` reads RANK, WORLD_SIZE and MASTER_ADDR, which the operator sets. A torchrun that was
typed stays, and reads what the operator sets for it (`preflight.replicas`).

Programs and libraries (Hugging Face's Trainer and Accelerate among them) take a program for a distributed one if
LOCAL_RANK is set, which a launcher does and Kubeflow does not: several workers without a launcher get it.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.launches.launchers import ACCELERATE, TORCH_LAUNCH, TORCHRUN, Means
from paddock.preflight.replicas import Pods, explain_replicas, is_torchrun
from paddock.script.containers import build_pod, with_defaults
from paddock.script.contents import Contents
from paddock.script.escapes import Variable
from paddock.script.joining import Joins
from paddock.script.libraries import ON_ACCELERATE, START_TORCHRUN
from paddock.script.request import ScriptRequest
from paddock.script.told_launchers import add_options, is_told
from paddock.script.told_launchers import explain_refused as explain_refused_launcher
from paddock.words.phrases import Phrase, phrase

IMAGE = "pytorch/pytorch:2.13.0-cuda12.6-cudnn9-runtime"
"""It stands for the Environment `pytorch` (`environments.defaults`)."""
ONE_PROCESS = (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1"))
"""Of a pod whose only process is a rank (PyTorch, `torchrun`: Environment Variables)."""
USE_CPU = ("ACCELERATE_USE_CPU", "true")
"""Without it accelerate makes no group of processes that find no GPU, and each trains alone, with no word of it
(accelerate 1.15, state.py `_prepare_backend`; transformers 5.24, training_args.py)."""


def build_spec(request: ScriptRequest, name: str) -> Manifest:
    launch = request.launch
    spec: dict[str, Any] = {"runPolicy": {"backoffLimit": request.restarts}}
    if is_torchrun(launch):
        spec["nprocPerNode"] = _count_processes(launch, request.gpus)
    elif not launch.program.python:
        spec["nprocPerNode"] = "1"  # a torchrun in a shell script starts what it starts in a shell
    if request.workers > 1:
        request = with_defaults(request, *_find_defaults(request))
    spec["pytorchReplicaSpecs"] = {"Master": _build_role(request, name, 1)}
    if request.workers > 1:
        spec["pytorchReplicaSpecs"]["Worker"] = _build_role(request, name, request.workers - 1)
    return spec


def _find_defaults(request: ScriptRequest) -> Iterator[tuple[str, str]]:
    """What several workers get in the manifest. accelerate on CPUs starts the program itself, with what it finds."""
    if request.launch.launcher in (None, ACCELERATE):
        yield from ONE_PROCESS
    if not request.gpus and not ON_ACCELERATE.isdisjoint(request.imports):
        yield USE_CPU
    if posixpath.basename(request.launch.program.word.text or "") in START_TORCHRUN:
        # their number and the place of the first they have as all several workers do (`jobs.frameworks.pytorch`)
        yield "NNODES", str(request.workers)
        yield "NPROC_PER_NODE", str(max(request.gpus, 1))


def needs_variables(contents: Contents) -> bool:
    """Whether one worker needs RANK and the others: torchrun reads what the operator sets for it, and a program that
    joins a group without asking fails without them. Of a program that was not read it is not known."""
    if any(each in (TORCHRUN, TORCH_LAUNCH) for each in contents.launchers) or contents.joins is Joins.ALWAYS:
        return True
    return contents.joins is Joins.NEVER and bool(contents.unread)


def build_command(request: ScriptRequest) -> list[str | Variable]:
    """What was typed, with the options of a launcher that reads no variables of the operator."""
    if request.workers > 1 and is_told(request.launch.launcher) and not request.launch.is_inner:
        return add_options(request)
    return list(request.words)


def explain_refused(request: ScriptRequest) -> Iterator[Phrase]:
    if request.servers:
        yield phrase(
            "--ps: PyTorch has no parameter servers: leave it out, and --workers says how many workers train together"
        )
    yield from explain_refused_launcher(request)
    yield from explain_replicas(request.launch, Pods(request.workers, request.workers, is_typed=True))


def explain_workers(request: ScriptRequest, launches: Sequence[Launch]) -> Iterator[Phrase]:
    if request.workers > 1 and request.alone:
        yield phrase(
            "warning: nothing in {script} joins a process group, so each of the {count} workers trains all of it "
            "alone: torch.distributed.init_process_group() makes one group of them, and "
            "DistributedDataParallel(model) trains in it",
            script=request.launch.program.word.typed, count=request.workers,
        )  # fmt: skip
    if request.workers > 1:
        yield from (_explain_axolotl(each, request.workers) for each in launches if _is_axolotl(each))


def _is_axolotl(launch: Launch) -> bool:
    words = [each.text or "" for each in launch.words]
    return (
        posixpath.basename(words[0] if words else "") == "axolotl"
        and words[1:2] == ["train"]
        and not any(each.startswith("--launcher") or each == "--" for each in words)
    )


def _explain_axolotl(launch: Launch, workers: int) -> Phrase:
    """Its command starts `accelerate launch`, or torchrun where it is told so; its documents start several machines by
    torchrun (axolotl, docs/multi-node)."""
    words = ["torchrun", "-m", "axolotl.cli.train", *(each.typed for each in launch.words[2:])]
    return phrase(
        "warning: axolotl train starts accelerate launch for one machine, and each of the {count} workers trains "
        "alone: write `{command}`, which is told of the others",
        count=workers, command=shlex.join(words),
    )  # fmt: skip


def _count_processes(launch: Launch, gpus: int) -> str:
    """`nprocPerNode` of a job of this torchrun. The field's default, `auto`, is a process for each CPU of a machine
    without GPUs, and torchrun's own is 1."""
    return launch.text(Means.PROCESSES) or str(max(gpus, 1))


def _build_role(request: ScriptRequest, name: str, replicas: int) -> Manifest:
    pod = build_pod(request, "pytorch", name, IMAGE, build_command(request), gpus=request.gpus)
    # Kubeflow's default is OnFailure: without restarts the first failed rank ends the job
    restart = "OnFailure" if request.restarts else "Never"
    return {"replicas": replicas, "restartPolicy": restart, "template": {"spec": pod}}
