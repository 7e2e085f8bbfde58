"""--push: for each image of a job one with code and packages above it, built before anything is sent.

`add` is one of the checks: it reads, builds and asks the registry, and gives the job with the new image, whose digest
is known by then. `send` sends what the registry lacks, when all checks have passed. `close` removes the builds' files.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import read_home
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.push_options import Push
from paddock.cli.submit.pushed_code import explain_code, read_code
from paddock.cli.submit.pushed_manifest import (
    explain_variables,
    find_architecture,
    find_images,
    has_pull_secrets,
    with_images,
)
from paddock.cli.submit.script.requests import find_needed
from paddock.cli.submit.sent_directories import Notify, choose_directory
from paddock.environments.failures import explain_os_error
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.environments.uv import Uv, find_uv
from paddock.images.building import Built, Recipe, Workplace, build
from paddock.images.errors import ImageError
from paddock.images.layers import Entry
from paddock.images.platforms import Platform, choose_platform
from paddock.images.references import DOCKER_HUB, Reference, is_loopback, read_reference, read_target
from paddock.images.sending import Sent, send
from paddock.jobs.labels import REQUIREMENTS_ANNOTATION
from paddock.jobs.model import Job
from paddock.kube.errors import ApiError
from paddock.kube.meta import NODES
from paddock.kube.quantities import format_bytes
from paddock.submission.documents import Checked
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

Show = Callable[[Phrase], None]
_NOTHING = phrase("nothing was submitted")
_SECONDS = 10.0
"""Between two lines of progress where there is no live line."""


@dataclass(slots=True)
class PushedImages:
    """The images of one submission."""

    push: Push
    workdir: str | None
    """The value of --workdir."""
    notify: Notify
    show: Show = lambda said: None
    """The live line of progress."""
    _built: dict[str, Built] = field(default_factory=dict)
    """By what they are made of."""
    _place: Workplace | None = None
    _told: float = field(default_factory=time.monotonic)

    async def add(self, api: Api, each: Checked) -> Checked:
        """The job with images that are built. Raises `UserError`, `Failed`."""
        assert each.job is not None
        directory = choose_directory(each, self.workdir, self.notify)
        needed = find_needed(each, self.push.requirements)
        if directory is None and needed is None:
            raise UserError(
                phrase(
                    "{job}: --push sends a directory (--workdir DIR) and the packages of a requirements file (-r FILE "
                    "of `paddock run`, or the annotation {name}), and neither is named",
                    job=each.label,
                    name=REQUIREMENTS_ANNOTATION,
                )
            )
        if not self._built and self._target.repository.host == DOCKER_HUB and "docker.io/" not in self.push.target:
            self.notify(phrase("--push {image} names no registry: that of Docker Hub is meant, {meant}",
                               image=self.push.target, meant=str(self._target)))  # fmt: skip
        found, code = None, tuple[Entry, ...]()
        if directory is not None:
            found, code = await asyncio.to_thread(read_code, directory.path, directory.shown)
            self.notify(explain_code(found, directory.shown))
        requirements = _read_requirements(needed.requirements) if needed is not None else None
        images: dict[str, str] = {}
        with self._explained():
            platform = await self._choose_platform(api, each.job)
            for image, program in find_images(each.job).items():
                recipe = Recipe(
                    _read_base(image), self._target, platform, code, requirements,
                    needed.requirements.name if needed is not None else "", self.push.python, program,
                )  # fmt: skip
                built = await build(recipe, self._open(), _find_uv(self._open().folder), self.notify, self._advance)
                self._built[image + built.digest] = built
                images[image] = built.image
        self._tell_pods(each.job, has_packages=requirements is not None)
        return each.with_manifest(with_images(each.manifest, each.job, images, starts_in_code=bool(code)))

    async def send(self) -> None:
        """Raises `UserError`, `Failed`."""
        for built in self._built.values():
            with self._explained():
                sent = await send(built, self._advance)
            self.notify(explain_sent(built.image, sent))

    def close(self) -> None:
        if self._place is not None:
            self._place.close()

    @property
    def _target(self) -> Reference:
        read = read_target(self.push.target)
        if isinstance(read, Phrase):
            raise UserError(read, _NOTHING)
        return read

    def _open(self) -> Workplace:
        if self._place is None:
            self._place = Workplace(read_home(os.environ).cache)
        return self._place

    async def _choose_platform(self, api: Api, job: Job) -> Platform:
        platform, said = choose_platform(await fetch_architectures(api), find_architecture(job))
        if said is not None:
            self.notify(said)
        return platform

    def _tell_pods(self, job: Job, *, has_packages: bool) -> None:
        """What the pods need beside the image, each once."""
        host = self._target.repository.host
        for said in explain_variables(job) if has_packages else ():
            self.notify(said)
        if is_loopback(host):
            self.notify(phrase("{registry} is an address of this machine: only nodes that run here pull from it",
                               registry=host))  # fmt: skip
        if any(built.needed_user for built in self._built.values()) and not has_pull_secrets(job):
            self.notify(
                phrase(
                    "{registry} wanted to know who pushes: if it wants that of who pulls too, the pods need "
                    "imagePullSecrets, of the job or of their ServiceAccount; whether they have them is not looked at",
                    registry=host,
                )
            )

    def _advance(self, doing: str, done: int, whole: int) -> None:
        said = explain_progress(doing, done, whole)
        self.show(said)
        if time.monotonic() - self._told >= _SECONDS:
            self._told = time.monotonic()
            self.notify(said)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ImageError as error:
            raise (UserError if error.is_mistake else Failed)(error.said, _NOTHING) from error
        except OSError as error:
            raise Failed(explain_os_error(error, str(self._open().kept)), _NOTHING) from error


async def fetch_architectures(api: Api) -> list[str] | None:
    """Of the cluster's nodes; None where they may not be read."""
    try:
        nodes = (await api.list(NODES)).items
    except ApiError:
        return None
    found: list[Mapping[str, str]] = [(node.get("status") or {}).get("nodeInfo") or {} for node in nodes]
    return [str(each["architecture"]) for each in found if each.get("architecture")]


def explain_progress(doing: str, done: int, whole: int) -> Phrase:
    """Of `images.base.Advance`. Pure."""
    if not whole:
        return phrase("packages: {said}", said=Foreign(doing))
    places = {
        "done": format_bytes(done), "whole": format_bytes(whole), "percent": f"{100 * done // whole}",
    }  # fmt: skip
    if doing == "sending":
        return phrase("sending {done} of {whole} ({percent} %)", **places)
    if doing == "packing":
        return phrase("packing {done} of {whole} ({percent} %)", **places)
    return phrase("reading the base image: {done} of {whole} ({percent} %)", **places)


def explain_sent(image: str, sent: Sent) -> Phrase:
    """What a push has moved. Pure."""
    if not sent.blobs:
        return phrase("{image} is in the registry already: nothing is sent", image=image)
    if not sent.there:
        return phrase("pushed {image}: {size} sent, which is all of it", image=image, size=format_bytes(sent.bytes))
    return phrase(
        "pushed {image}: {size} sent ({blobs} of {all} parts; the others were there)",
        image=image, size=format_bytes(sent.bytes), blobs=sent.blobs, all=sent.blobs + sent.there,
    )  # fmt: skip


def _read_base(image: str) -> Reference:
    read = read_reference(image)
    if isinstance(read, Phrase):
        raise UserError(read, _NOTHING)
    return read


def _read_requirements(file: Path) -> Requirements:
    read = read_requirements(str(file))
    if problems := [*read.problems, *read.unshared]:
        raise UserError(*problems, _NOTHING)
    return read


def _find_uv(folder: Path) -> Uv:
    return Uv(find_uv(), dict(os.environ), folder)
