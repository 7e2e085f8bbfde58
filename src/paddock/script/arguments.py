"""`paddock run job.yaml -- --lr 0.5`: arguments for the program of a manifest. Pure.

They go to the container that trains in every role, as all roles run the same program (parameter servers too): after its
`args` if it has any, else after its `command`, else as `args` of what the image starts. A shell's `-c` takes one text,
and what follows it are the shell's `$0` and `$1`: there the arguments would be lost, so it is refused.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job
from paddock.kube.meta import Manifest
from paddock.launches.programs import Kind, read_program
from paddock.launches.words import build_word
from paddock.script.escapes import escape
from paddock.script.variables import change_trained
from paddock.words.phrases import Phrase, phrase


def with_arguments(manifest: Mapping[str, Any], job: Job, words: Sequence[str]) -> Manifest:
    """The manifest with `words` as the last arguments; the argument is not changed."""
    if not words:
        return dict(manifest)
    return change_trained(manifest, job, lambda container: _append(container, [escape(word) for word in words]))


def _append(container: Mapping[str, Any], words: Sequence[str]) -> Manifest:
    key = "args" if container.get("args") or not container.get("command") else "command"
    return {**container, key: [*(container.get(key) or ()), *words]}


def explain_no_place(job: Job) -> Phrase | None:
    """Why arguments would not reach the program of `job`; None if they do."""
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        container = containers[main_container(job, containers)]
        words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
        program = read_program([build_word(word) for word in words]) if words else None
        if program is not None and program.kind is Kind.SHELL:
            return phrase(
                "{role} runs a text of {shell}, which takes no arguments: write the program and its arguments as words "
                'of command, such as ["python", "train.py"]',
                role=role.name, shell=posixpath.basename(words[0]),
            )  # fmt: skip
    return None
