"""The documents of `paddock run`: of a file, or of a typed command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.local_paths import format_path
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.push_options import Push, read_push
from paddock.cli.submit.script.options import ScriptOptions, refuse_with_file
from paddock.cli.submit.script.requests import (
    Notify,
    build_documents,
    change_job,
    find_needed,
    read_request,
    with_environment,
)
from paddock.cli.submit.script.variables import explain_open_secrets
from paddock.cli.submit.shared_gpus import notify_shared, with_shares
from paddock.cli.submit.storage import USUAL, Storage
from paddock.environments.needed import Needed
from paddock.jobs.model import Job
from paddock.script.manifest import find_name
from paddock.script.request import ScriptRequest
from paddock.submission.documents import Checked
from paddock.submission.names_of_directories import choose_name, explain_name
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Documents:
    """What `paddock run` submits."""

    checked: list[Checked]
    """With exactly one job."""
    needed: tuple[Needed, ...] = ()
    """The environment of a requirements file, which is to be made."""
    data: tuple[str, ...] = ()
    """The values of --data, which the manifest has too."""
    packages: Path | None = None
    """On a cluster: the requirements file of -r, whose packages go into a claim."""
    storage: Storage = USUAL
    """What claims are asked of a cluster's storage."""
    queue: str = ""
    """The value of --queue, which the manifest has too."""
    priority: str = ""
    """The value of --priority, which the manifest has too."""
    push: Push | None = None
    """What --push asks for."""

    @property
    def job(self) -> Job:
        return next(each.job for each in self.checked if each.job)


def read_documents(
    file: str | None, words: Sequence[str] | None, options: ScriptOptions, place: ClusterChoice, notify: Notify
) -> Documents:
    """The documents of a file, or of the `words` behind `--` (None without it). Raises `UserError`."""
    queue, priority = options.queue or "", options.priority or ""
    push = read_push(options.push, options.image_python, place, options.requirements_path)
    if file is None:
        if words is None:
            raise UserError(
                phrase(
                    "what is to run? A program: `paddock run -- python train.py`; or a job of a YAML file: "
                    "`paddock run job.yaml`"
                )
            )
        request = _name(read_request(words, options, place, os.environ, notify), place, notify)
        checked = build_documents(request)
        if options.shares:
            notify_shared(checked[-1], notify)
        if place.home is None:
            packages = None if push is not None else options.requirements_path
            return Documents(checked, data=options.data, packages=packages, queue=queue, priority=priority, push=push)
        needed = find_needed(checked[-1], Path(request.requirements)) if request.requirements else None
        return Documents(checked, (needed,) if needed else (), options.data, queue=queue, priority=priority)
    refuse_with_file(options, file)
    checked = fetch_checked([file], options.namespace)
    jobs = [each.job for each in checked if each.job]
    if not jobs:
        said = phrase("{file}: there is no job in it: `paddock submit {file}` creates what it has", file=file)
        raise UserError(said)
    if len(jobs) != 1:
        raise UserError(
            phrase(
                "{file}: run follows one job, here are {count}: `paddock submit {file}` submits them all",
                file=file, count=len(jobs),
            )
        )  # fmt: skip
    for said in explain_open_secrets(options.env, os.environ):
        notify(said)
    checked = change_job(checked, words or (), options, os.environ)
    checked = with_shares(checked, options.shares, notify)
    (job,) = (each for each in checked if each.is_job)
    if place.home is None:
        packages = None if push is not None else options.requirements_path
        return Documents(checked, data=options.data, packages=packages, queue=queue, priority=priority, push=push)
    needed = find_needed(job, options.requirements_path)
    if needed is None:
        return Documents(checked, (), options.data, queue=queue, priority=priority)
    named = [with_environment(each, needed) if each.is_job else each for each in checked]
    return Documents(named, (needed,), options.data, queue=queue, priority=priority)


def _name(request: ScriptRequest, place: ClusterChoice, notify: Notify) -> ScriptRequest:
    """The request, with another name where the one that its script gives is a job of another directory."""
    if request.name or place.home is None or not request.directory:
        return request
    from paddock.history.records import find_runs

    kept = place.home.history

    def find_directory(name: str) -> str:
        runs = find_runs(kept, request.namespace or "default", name)
        return runs[-1].directory if runs else ""

    name = find_name(request)
    chosen = choose_name(name, request.directory, find_directory)
    if chosen == name:
        return request
    notify(explain_name(name, format_path(find_directory(name)), chosen))
    return replace(request, name=chosen)
