"""--push and --image-python of `paddock run` and `paddock submit`: what they ask for, checked where it is typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.words.phrases import Phrase, phrase

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Push:
    """How code and packages go to a cluster by a registry."""

    target: str
    """The value of --push."""
    requirements: Path | None = None
    """The file of -r; None where the manifest may name one."""
    python: str = ""
    """The value of --image-python."""


def push_options(command: Command) -> Command:
    """Adds both options: parameters `push` and `image_python`."""
    options = (
        click.option(
            "--push", default=None, metavar="REGISTRY/NAME",
            help="To a cluster: put the directory of --workdir and the packages of a requirements file above the "
            "image, and push that there.",
        ),
        click.option(
            "--image-python", default=None, metavar="VERSION",
            help="With --push and packages: the Python of the image, where it does not tell: 3.11.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def read_push(
    target: str | None, python: str | None, place: ClusterChoice, requirements: Path | None = None
) -> Push | None:
    """What is asked for; None without --push. Raises `UserError`."""
    if target is None:
        if python is not None:
            raise UserError(phrase("--image-python is for the packages that --push puts above an image: leave it out"))
        return None
    if problem := explain_push(target, python or "", is_local=place.home is not None):
        raise UserError(problem)
    return Push(target, requirements, python or "")


def explain_push(target: str, python: str, *, is_local: bool) -> Phrase | None:
    """What is wrong with the options; None where nothing is. Pure."""
    from paddock.images.references import read_target  # late: no other command reads names of images

    if is_local:
        return phrase(
            "--push is for a cluster: on the local one programs start where they are, and the packages of a "
            "requirements file are built there; leave it out, or name a cluster with --context"
        )
    if python and not re.fullmatch(r"3\.\d{1,2}", python):
        return phrase("--image-python {version}: a version as in 3.11 is wanted", version=python)
    read = read_target(target)
    return read if isinstance(read, Phrase) else None
