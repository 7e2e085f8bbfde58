"""`paddock.run` and `paddock.train`: what `paddock run` does, for Python.

The same documents, checks and cluster as the command line's, and the same lines, all on `sys.stdout`. Each call runs in
a thread of its own, so that a notebook's event loop is not in the way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import home
from paddock.cli.submit.script.options import ScriptOptions
from paddock.script.names import build_name
from paddock.sdk.functions import build_script
from paddock.sdk.options import (
    File,
    choose_python,
    read_count,
    read_cpus,
    read_data,
    read_file,
    read_framework,
    read_memory,
    read_name,
    read_names,
    read_note,
    read_path,
    read_resume,
    read_script,
    read_seconds,
    read_tags,
    read_variables,
    read_words,
)
from paddock.sdk.result import Result
from paddock.sdk.runs import Request, choose_place, explained, finish, run_request
from paddock.sdk.script_directory import write_script
from paddock.sdk.threads import Interrupts, run_apart
from paddock.words.phrases import phrase


def run(
    script: File | Sequence[str],
    *,
    args: Sequence[str | int | float | os.PathLike[str]] = (),
    name: str | None = None,
    workers: int | None = None,
    servers: int | None = None,
    gpus: int | None = None,
    cpus: str | float | None = None,
    memory: str | None = None,
    queue: str | None = None,
    priority: str | None = None,
    restarts: int | None = None,
    requirements: File | None = None,
    env: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    env_files: Sequence[File] = (),
    data: Mapping[str, str] | None = None,
    image: str | None = None,
    framework: str | None = None,
    workdir: File | None = None,
    resume: bool | int = False,
    outputs: str | None = None,
    tags: Sequence[str] = (),
    note: str = "",
    timeout: float | None = None,
    context: str | None = None,
    kubeconfig: File | None = None,
    namespace: str | None = None,
    detach: bool = False,
    check: bool = True,
) -> Result:
    """Runs a program as a job, prints what it prints, and returns how it ended: `paddock run` as a call.

        result = paddock.run("train.py", workers=2, args=["--lr", "0.1"])

    `script`: a Python file, a shell script `.sh`, a manifest `.yaml`, or a whole command as a list of words. `servers`:
    parameter servers. `cpus` (2, "500m") and `memory` ("4Gi"): of each rank. `secrets`: names of environment variables
    of this process whose values go by a Secret. `data`: datasets, and where each is mounted: `{"imagenet": "/data"}`.
    `requirements`, `restarts`, `queue`, `priority`, `image`, `framework`, `workdir`, `outputs`: as the options of
    `paddock run`, and so is `resume`, True or the number of a run. A requirements.txt beside the script is taken by
    itself; `requirements="none"` leaves it out. `tags`, `note`: what history and console show of the run. `timeout`:
    seconds after which the job is suspended. `context`: of a kubeconfig, for a Kubernetes; else the local cluster,
    which is started. `detach`: come back as soon as the job is submitted. `check`: raise `JobFailed` if it does not
    complete.

    Raises `JobFailed`, `PaddockError`. KeyboardInterrupt asks the job to end, a second one kills it.
    """
    with explained():
        place, default = choose_place(context, kubeconfig)
        options = ScriptOptions(
            name=name, workers=read_count("workers", workers, 1), servers=read_count("servers", servers, 1),
            gpus=read_count("gpus", gpus, 1), cpus=read_cpus(cpus), memory=read_memory(memory),
            queue=read_name("queue", queue), priority=read_name("priority", priority),
            restarts=read_count("restarts", restarts, 0),
            requirements=read_file("requirements", requirements), env=read_variables(env),
            env_files=read_names("env_files", env_files), secrets=read_names("secrets", secrets),
            data=read_data(data), resume=read_resume(resume), outputs=outputs, image=image,
            tags=read_tags(tags), note=read_note(note),
            framework=read_framework(framework),
            workdir=read_path("workdir", workdir, directory=True), namespace=namespace or default,
        )  # fmt: skip
        python = choose_python(local=place.home is not None)
        file, words = read_script(script, read_words(args), python)
        request = Request(file, words, options, read_seconds("timeout", timeout), detach)
        return _follow(place, request, check=check)


def train(
    function: Callable[..., Any],
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
    workers: int | None = None,
    servers: int | None = None,
    gpus: int | None = None,
    cpus: str | float | None = None,
    memory: str | None = None,
    queue: str | None = None,
    priority: str | None = None,
    restarts: int | None = None,
    requirements: File | None = None,
    env: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    env_files: Sequence[File] = (),
    data: Mapping[str, str] | None = None,
    image: str | None = None,
    framework: str | None = None,
    workdir: File | None = None,
    resume: bool | int = False,
    outputs: str | None = None,
    tags: Sequence[str] = (),
    note: str = "",
    timeout: float | None = None,
    context: str | None = None,
    kubeconfig: File | None = None,
    namespace: str | None = None,
    detach: bool = False,
    check: bool = True,
) -> Result:
    """Runs a function as a job: each worker calls `function(*args, **kwargs)`.

        def train(lr):
            import paddle
            ...

        result = paddock.train(train, kwargs={"lr": 0.1}, workers=2)

    The function runs in other processes: its imports, and the functions that it calls, stand inside it, and its
    arguments are numbers, texts, and lists, tuples, sets and dictionaries of them. One that imports torch becomes a
    PyTorchJob, of JAX a JAXJob, any other a PaddleJob, unless `framework` ("paddle", "pytorch", "jax", "none": no
    framework is added) says otherwise. What it returns is
    dropped: it writes files to the directory that PADDOCK_OUTPUT_DIR names (`Result.outputs`). It starts in the
    current directory, or in `workdir`; on a Kubernetes in a directory of its own, with its script alone. All else as
    in `run`.
    """
    with explained():
        place, default = choose_place(context, kubeconfig)
        written = build_script(function, args, kwargs or {})
        local = place.home is not None
        if workdir is not None and not local:
            raise UserError(
                phrase("workdir is for the local cluster: on a cluster a function starts in a directory of its own")
            )
        path = write_script(home().cache, written)
        directory = read_path("workdir", workdir, directory=True) if local else str(path.parent)
        options = ScriptOptions(
            name=name or build_name(written.name), workers=read_count("workers", workers, 1),
            servers=read_count("servers", servers, 1), gpus=read_count("gpus", gpus, 1),
            cpus=read_cpus(cpus), memory=read_memory(memory), queue=read_name("queue", queue),
            priority=read_name("priority", priority), restarts=read_count("restarts", restarts, 0),
            requirements=read_file("requirements", requirements), env=read_variables(env),
            env_files=read_names("env_files", env_files), secrets=read_names("secrets", secrets),
            data=read_data(data), resume=read_resume(resume), outputs=outputs, image=image,
            tags=read_tags(tags), note=read_note(note),
            framework=read_framework(framework),
            workdir=directory, namespace=namespace or default,
        )  # fmt: skip
        words = (choose_python(local=local), str(path) if local else path.name)
        return _follow(place, Request(None, words, options, read_seconds("timeout", timeout), detach), check=check)


def _follow(place: ClusterChoice, request: Request, *, check: bool) -> Result:
    interrupts = Interrupts()
    ended = run_apart(lambda: run_request(place, request, interrupts), interrupts.interrupt)
    return finish(ended, check=check)
