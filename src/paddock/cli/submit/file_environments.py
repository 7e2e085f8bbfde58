"""The Environment that stands for a requirements file: made when a script first needs it, changed when the file has.

A new content of the file is a new spec of the same object: the node builds it in a directory of its own, as directories
are keyed by content, so pods that run keep theirs. A job that starts anew afterwards takes the new one.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.cli.cluster.errors import Failed, UserError
from paddock.environments.from_files import (
    build_first_spec,
    explain_changes,
    find_additions,
    find_problems,
    has_changed,
    with_files,
)
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.environments.sources import SOURCE, Source, read_source
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, name_of
from paddock.kube.times import format_time
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

Notify = Callable[[Phrase], None]
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Needed:
    """The Environment of a requirements file that a job trains in."""

    requirements: Path
    """The file."""
    framework: str = "paddle"
    """As in `jobs.frameworks.registry`."""
    servers: bool = False
    """With parameter servers."""

    @property
    def name(self) -> str:
        """Another one for each framework, and with parameter servers, as what is added to the file's packages is."""
        return environment_name(self.requirements, _SUFFIXES.get(self.framework, "ps" if self.servers else ""))

    @property
    def source(self) -> Source:
        files = (os.path.normpath(self.requirements.absolute()),)
        return Source(files, paddle=self.framework == "paddle", servers=self.servers, torch=self.framework == "pytorch")


_SUFFIXES = {"pytorch": "pytorch"}


def environment_name(requirements: Path, suffix: str = "") -> str:
    """The Environment of a requirements file: its directory's name, the file's if it is another than requirements.txt,
    a hash of its absolute path, and a word for what else is in it."""
    path = os.path.normpath(requirements.absolute())
    words = [os.path.basename(os.path.dirname(path)), os.path.basename(path).removesuffix(".txt")]  # noqa: PTH119,PTH120
    if words[1] == "requirements":
        words.pop()
    slug = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower())[:40].strip("-")
    parts = [slug, hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:8], suffix]
    return "-".join(filter(None, parts))


async def prepare_environment(api: Api, needed: Needed, notify: Notify) -> str:
    """Creates or changes the Environment of this file, and returns its name; the node builds it when a pod needs it.

    The framework is added where the file names none, with parameter servers those packages that have them.
    `notify` is told what is added, and what has changed. Raises `UserError` with each problem, `ApiError`.
    """
    name, source, requirements = needed.name, needed.source, needed.requirements
    read = [read_requirements(str(requirements), read_text)]
    check_files(read, source)
    for _ in range(_TRIES):
        now = format_time(time.time())
        try:
            existing = await api.get(ENVIRONMENTS, "", name)
        except NotFound:
            made = with_files(_build_new(name, read, source), read, source, now)
            try:
                await api.create(ENVIRONMENTS, made, strict=True)
            except AlreadyExists:
                continue
            for said in find_additions(read, source, requirements.name):
                notify(said)
            return name
        # packages of `env update --add` stay
        source = read_source(existing) or source
        try:
            await replace_changed(api, existing, with_files(existing, read, source, now), requirements.name, notify)
            return name
        except Conflict:
            continue
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


async def refresh_environments(api: Api, environments: Sequence[Manifest], notify: Notify) -> None:
    """Changes those whose requirements files have changed since. A file that is gone leaves its Environment as it is,
    with a line. Raises `UserError` with the problems of a changed file, `ApiError`."""
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
        check_files(read, source)
        try:
            after = with_files(environment, read, source, format_time(time.time()))
            await replace_changed(api, environment, after, Path(source.files[0]).name, notify)
        except Conflict:  # somebody else changes it at this moment: theirs is the newer one
            continue


def read_files_of(environment: Mapping[str, Any]) -> list[Requirements]:
    """The files that an Environment was made of, as they are now; empty if it was made of none."""
    source = read_source(environment)
    return [read_requirements(file, read_text) for file in source.files] if source else []


def check_files(read: list[Requirements], source: Source) -> None:
    """Raises `UserError` with each problem of the files."""
    if problems := find_problems(read, source):
        raise UserError(*problems, phrase("nothing was submitted"))


async def replace_changed(api: Api, before: Manifest, after: Manifest, file: str, notify: Notify) -> bool:
    """Writes a changed Environment, with a line that says what differs; False if nothing does. Raises `Conflict`."""
    changes = explain_changes(before.get("spec") or {}, after["spec"])
    if changes is None and _digest(before) == _digest(after):
        return False
    await api.replace(ENVIRONMENTS, after)
    if changes is not None:
        name = after["metadata"]["name"]
        notify(phrase("{file} has changed: environment {name} is rebuilt ({changes})", file=file, name=name,
                      changes=changes))  # fmt: skip
    return True


def read_text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def _build_new(name: str, read: list[Requirements], source: Source) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": build_first_spec(read, source),
    }


def _digest(environment: Manifest) -> str:
    found = read_source(environment)
    return found.digest if found else annotations_of(environment).get(SOURCE, "")
