"""The kind of job that a typed command becomes, one entry for each framework. Pure.

A framework is recognised by the launcher that was typed, else by what the program imports; --framework decides where
neither tells. A program of which nothing is known becomes a PaddleJob, whose pods run any program.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.script import paddle_job, pytorch_job
from paddock.script.request import ScriptRequest
from paddock.words.phrases import Names, Phrase, phrase


@dataclass(frozen=True, slots=True)
class ScriptKind:
    """What makes a job of a program."""

    framework: str
    """As in `jobs.frameworks.registry`."""
    title: str
    """What people call it."""
    api_version: str
    kind: str
    modules: frozenset[str]
    """Imports by which a program is recognised."""
    build_spec: Callable[[ScriptRequest, str], Manifest]
    """Request and the job's name -> the job's spec."""
    build_command: Callable[[ScriptRequest], list[str]]
    """What a container runs."""
    explain_refused: Callable[[ScriptRequest], Iterator[Phrase]]
    """What the framework cannot do of a request."""
    options: Mapping[str, str]
    """Field of the manifest -> the option that it was made of."""


_OPTIONS = {
    "metadata.name": "--name",
    "spec.runPolicy.backoffLimit": "--restarts",
    f"metadata.annotations[{MOUNTS_ANNOTATION}]": "--data",
}
PADDLE = ScriptKind(
    framework="paddle",
    title="PaddlePaddle",
    api_version="batch.paddlepaddle.org/v1",
    kind="PaddleJob",
    modules=frozenset({"paddle", "paddlenlp", "paddleseg", "paddlets", "paddlex", "ppdet", "ppocr", "pgl", "parl"}),
    build_spec=paddle_job.build_spec,
    build_command=paddle_job.build_command,
    explain_refused=paddle_job.explain_refused,
    options={**_OPTIONS, "spec.worker.replicas": "--workers", "spec.ps.replicas": "--ps"},
)
PYTORCH = ScriptKind(
    framework="pytorch",
    title="PyTorch",
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    modules=frozenset({"torch", "torchvision", "torchaudio", "lightning", "pytorch_lightning", "accelerate", "timm"}),
    build_spec=pytorch_job.build_spec,
    build_command=pytorch_job.build_command,
    explain_refused=pytorch_job.explain_refused,
    options={**_OPTIONS, "spec.pytorchReplicaSpecs.Worker.replicas": "--workers"},
)
SCRIPT_KINDS: Mapping[str, ScriptKind] = {each.framework: each for each in (PADDLE, PYTORCH)}


def find_kind(request: ScriptRequest) -> ScriptKind:
    return SCRIPT_KINDS[request.framework]


@dataclass(frozen=True, slots=True)
class Choice:
    """The framework of a program."""

    framework: str  # a key of `SCRIPT_KINDS`
    doubt: Phrase | None = None  # a sentence to print where another would have done as well


def choose_framework(launch: Launch, imports: Set[str]) -> Choice:
    """What nobody has said. `imports`: the first parts of the modules that the program imports."""
    if launch.launcher is not None and launch.launcher.family in SCRIPT_KINDS:
        return Choice(launch.launcher.family)
    found = [each for each in SCRIPT_KINDS.values() if not each.modules.isdisjoint(imports)]
    if not found:
        return Choice(PADDLE.framework)
    first = found[0]
    if len(found) == 1:
        return Choice(first.framework)
    return Choice(
        first.framework,
        phrase(
            "{script} imports {titles}: it becomes a {kind}; --framework {other} makes a {other_kind} of it",
            script=launch.program.script or launch.program.name, titles=Names(tuple(each.title for each in found)),
            kind=first.kind, other=found[1].framework, other_kind=found[1].kind,
        ),
    )  # fmt: skip


def explain_other_launcher(launch: Launch, framework: str) -> Phrase | None:
    """Why a framework that was named is not that of the launcher that was typed; None if it is."""
    family = launch.launcher.family if launch.launcher is not None else ""
    if family not in SCRIPT_KINDS or family == framework:
        return None
    return phrase(
        "{launcher} starts programs of {title}: leave --framework {framework} out",
        launcher=posixpath.basename(launch.before[-1].typed), title=SCRIPT_KINDS[family].title, framework=framework,
    )  # fmt: skip
