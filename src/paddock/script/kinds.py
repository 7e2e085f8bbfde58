"""The kind of job that a typed command becomes, one entry for each framework, and one for programs of none. Pure.

The first of these that tells decides: the launcher that was typed, or that a script starts; what the program imports
(`script.libraries`); the packages that the user names. Where all that the program imports is known and none of it
tells, nothing is added to it. A program of which nothing is known becomes a PaddleJob, whose pods run any program.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs.labels import OUTPUTS_ANNOTATION, QUEUE_LABEL
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.launches.launch import Launch
from paddock.script import jax_job, paddle_job, plain_job, pytorch_job
from paddock.script.contents import Contents
from paddock.script.escapes import Variable
from paddock.script.libraries import find_frameworks
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
    build_spec: Callable[[ScriptRequest, str], Manifest]
    """Request and the job's name -> the job's spec."""
    build_command: Callable[[ScriptRequest], Sequence[str | Variable]]
    """What a container runs."""
    explain_refused: Callable[[ScriptRequest], Iterator[Phrase]]
    """What the framework cannot do of a request."""
    explain_workers: Callable[[ScriptRequest, Sequence[Launch]], Iterator[Phrase]]
    """What is said of several workers that nothing makes one group of, by what the command starts."""
    options: Mapping[str, str]
    """Field of the manifest -> the option that it was made of."""


_OPTIONS = {
    "metadata.name": "--name",
    "spec.runPolicy.backoffLimit": "--restarts",
    f"metadata.annotations[{MOUNTS_ANNOTATION}]": "--data",
    f"metadata.labels[{QUEUE_LABEL}]": "--queue",
    f"metadata.annotations[{OUTPUTS_ANNOTATION}]": "--outputs",
}
PADDLE = ScriptKind(
    framework="paddle",
    title="PaddlePaddle",
    api_version="batch.paddlepaddle.org/v1",
    kind="PaddleJob",
    build_spec=paddle_job.build_spec,
    build_command=paddle_job.build_command,
    explain_refused=paddle_job.explain_refused,
    explain_workers=paddle_job.explain_workers,
    options={**_OPTIONS, "spec.worker.replicas": "--workers", "spec.ps.replicas": "--ps"},
)
PYTORCH = ScriptKind(
    framework="pytorch",
    title="PyTorch",
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    build_spec=pytorch_job.build_spec,
    build_command=pytorch_job.build_command,
    explain_refused=pytorch_job.explain_refused,
    explain_workers=pytorch_job.explain_workers,
    options={**_OPTIONS, "spec.pytorchReplicaSpecs.Worker.replicas": "--workers"},
)
JAX = ScriptKind(
    framework="jax",
    title="JAX",
    api_version="kubeflow.org/v1",
    kind="JAXJob",
    build_spec=jax_job.build_spec,
    build_command=jax_job.build_command,
    explain_refused=jax_job.explain_refused,
    explain_workers=jax_job.explain_workers,
    options={**_OPTIONS, "spec.jaxReplicaSpecs.Worker.replicas": "--workers"},
)
NONE = ScriptKind(
    framework="none",
    title="none",
    api_version=PADDLE.api_version,
    kind=PADDLE.kind,
    build_spec=plain_job.build_spec,
    build_command=plain_job.build_command,
    explain_refused=plain_job.explain_refused,
    explain_workers=plain_job.explain_workers,
    options=PADDLE.options,
)
SCRIPT_KINDS: Mapping[str, ScriptKind] = {each.framework: each for each in (PADDLE, PYTORCH, JAX, NONE)}


def find_kind(request: ScriptRequest) -> ScriptKind:
    return SCRIPT_KINDS[request.framework]


@dataclass(frozen=True, slots=True)
class Choice:
    """The framework of a program."""

    framework: str
    """A key of `SCRIPT_KINDS`."""
    doubt: Phrase | None = None
    """A sentence to print where another would have done as well, or where nothing told."""


def choose_framework(launch: Launch, contents: Contents) -> Choice:
    """What nobody has said."""
    for found in (contents.families, find_frameworks(contents.imports), find_frameworks(contents.requirements)):
        if len(found) == 1:
            return Choice(found[0])
        if found:
            both = tuple(each for each in find_frameworks(contents.requirements) if each in found)
            return Choice(both[0]) if len(both) == 1 else _choose_first(launch, found)
    if not contents.unread:
        return Choice(NONE.framework)
    return Choice(
        PADDLE.framework,
        phrase(
            "nothing tells which framework {script} trains with ({unread} is not known here): PaddlePaddle is taken; "
            "--framework pytorch, or --framework none, says otherwise",
            script=_name(launch), unread=contents.unread[0],
        ),
    )  # fmt: skip


def _choose_first(launch: Launch, found: tuple[str, ...]) -> Choice:
    first, other = SCRIPT_KINDS[found[0]], SCRIPT_KINDS[found[1]]
    return Choice(
        first.framework,
        phrase(
            "{script} imports {titles}: it becomes a {kind}; --framework {other} makes a {other_kind} of it",
            script=_name(launch), titles=Names(tuple(SCRIPT_KINDS[each].title for each in found)),
            kind=first.kind, other=other.framework, other_kind=other.kind,
        ),
    )  # fmt: skip


def _name(launch: Launch) -> str:
    return launch.program.script or launch.program.name


def explain_other_launcher(launch: Launch, framework: str) -> Phrase | None:
    """Why a framework that was named is not that of the launcher that was typed; None if it is."""
    family = launch.launcher.family if launch.launcher is not None else ""
    if family not in SCRIPT_KINDS or family == framework:
        return None
    return phrase(
        "{launcher} starts programs of {title}: leave --framework {framework} out",
        launcher=posixpath.basename(launch.before[-1].typed), title=SCRIPT_KINDS[family].title, framework=framework,
    )  # fmt: skip
