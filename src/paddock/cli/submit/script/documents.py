"""The documents of `paddock run`: of a file, or of a typed command."""

from __future__ import annotations

import os
from collections.abc import Sequence

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Place
from paddock.cli.submit.script.options import ScriptOptions, refuse_with_file
from paddock.cli.submit.script.requests import Notify, build_documents, change_job, read_request
from paddock.cli.submit.submission import Checked, read_files
from paddock.jobs.text.phrases import phrase


def read_documents(
    file: str | None, words: Sequence[str] | None, options: ScriptOptions, place: Place, notify: Notify
) -> list[Checked]:
    """The checked documents, with exactly one job. `words`: those behind `--`, None without it. Raises `UserError`."""
    if file is None:
        if words is None:
            raise UserError(
                phrase("a manifest or a program is wanted: `paddock run job.yaml`, or `paddock run -- python train.py`")
            )
        return build_documents(read_request(words, options, place, os.environ, notify))
    refuse_with_file(options, file)
    checked = read_files([file], options.namespace)
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
    return change_job(checked, words or (), options, os.environ)
