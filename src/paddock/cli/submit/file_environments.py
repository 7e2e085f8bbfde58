"""The Environment that stands for a requirements file: made when a script first needs it, changed when the file has.

A new content of the file is a new spec of the same object: the node builds it in a directory of its own, as directories
are keyed by content, so pods that run keep theirs. A job that starts anew afterwards takes the new one.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.cli.cluster.errors import Failed, UserError
from paddock.environments.from_files import (
    build_environment,
    explain_changes,
    find_additions,
    find_problems,
    has_changed,
    is_as_recorded,
    with_files,
)
from paddock.environments.needed import Needed
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.environments.sources import Source, read_source
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, name_of
from paddock.kube.times import format_time
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

Notify = Callable[[Phrase], None]
_TRIES = 5


async def prepare_environment(api: Api, needed: Needed, notify: Notify) -> str:
    """Creates or changes the Environment of this file, and returns its name; the node builds it when a pod needs it.

    The framework is added where the file names none, with parameter servers those packages that have them.
    `notify` is told what is added, and what has changed. Raises `UserError` with each problem, `ApiError`.
    """
    name, source, requirements = needed.name, needed.source, needed.requirements
    read = [read_requirements(str(requirements))]
    check_files(read, source)
    for _ in range(_TRIES):
        now = format_time(time.time())
        try:
            existing = await api.get(ENVIRONMENTS, "", name)
        except NotFound:
            made = build_environment(name, read, source, now)
            try:
                await api.create(ENVIRONMENTS, made, strict=True)
            except AlreadyExists:
                continue
            for said in find_additions(read, source, requirements.name):
                notify(said)
            return name
        # packages of `env update --add` stay
        source = read_source(existing) or source
        after = with_files(existing, read, source, now)
        if is_as_recorded(existing, after):
            return name
        try:
            await api.replace(ENVIRONMENTS, after)
        except Conflict:
            continue
        _tell_changes(existing, after, requirements.name, notify)
        return name
    raise UserError(phrase("environment {name} is being changed by somebody else: try again", name=name))


async def replace_environment(
    api: Api, fetch: Callable[[], Awaitable[Manifest]], change: Callable[[Manifest], Manifest]
) -> tuple[Manifest, Manifest]:
    """The Environment before and after. It is changed as it is now, as its builder may have written its status since it
    was fetched. Raises `Failed` where somebody is always faster, `ApiError`, and what `fetch` and `change` raise."""
    for _ in range(_TRIES):
        before = await fetch()
        after = change(before)
        try:
            await api.replace(ENVIRONMENTS, after)
        except Conflict:
            continue
        return before, after
    raise Failed(phrase("environment {name} is being changed by somebody else: try again", name=name_of(before)))


_NOT_SUBMITTED = phrase("nothing was submitted")


async def refresh_environments(
    api: Api, environments: Sequence[Manifest], notify: Notify, undone: Phrase = _NOT_SUBMITTED
) -> None:
    """Changes those whose requirements files have changed since. A file that is gone leaves its Environment as it is,
    with a line. Raises `UserError` with the problems of a changed file and `undone`, what `replace_environment`
    raises."""
    for environment in environments:
        source, name = read_source(environment), name_of(environment)
        read = read_files_of(environment)
        if source is None or not has_changed(environment, read):
            continue
        if gone := [file for file in source.files if not Path(file).exists()]:
            notify(
                phrase("{file} is gone, from which environment {name} was made: the environment stays as it is",
                       file=gone[0], name=name)
            )  # fmt: skip
            continue
        check_files(read, source, undone)
        await _read_again(api, name, read, source, notify)


async def _read_again(api: Api, name: str, read: list[Requirements], source: Source, notify: Notify) -> None:
    """Writes what the files of this Environment say now. `source`: as in the list that was read before."""

    def change(latest: Manifest) -> Manifest:
        return with_files(latest, read, read_source(latest) or source, format_time(time.time()))

    before, after = await replace_environment(api, lambda: api.get(ENVIRONMENTS, "", name), change)
    _tell_changes(before, after, Path(source.files[0]).name, notify)


def read_files_of(environment: Mapping[str, Any]) -> list[Requirements]:
    """The files that an Environment was made of, as they are now; empty if it was made of none."""
    source = read_source(environment)
    return [read_requirements(file) for file in source.files] if source else []


def check_files(read: list[Requirements], source: Source, undone: Phrase = _NOT_SUBMITTED) -> None:
    """Raises `UserError` with each problem of the files, and with what was not done for them."""
    if problems := find_problems(read, source):
        raise UserError(*problems, undone)


def _tell_changes(before: Manifest, after: Manifest, file: str, notify: Notify) -> None:
    """One line with what differs, if anything does."""
    changes = explain_changes(before.get("spec") or {}, after["spec"])
    if changes is not None:
        name = after["metadata"]["name"]
        notify(phrase("{file} has changed: environment {name} is rebuilt ({changes})", file=file, name=name,
                      changes=changes))  # fmt: skip
