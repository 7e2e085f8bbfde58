"""Errors as a message and an exit code: 2 for a mistake of the user, 1 for a failed request or job, 3 for a job that
goes on without being followed."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import HomeError, explain_full_disk, read_home
from paddock.app.launch import StartError, StopError
from paddock.cli.output.language import localized, readers_language, say
from paddock.kube.errors import AlreadyExists, ApiError, BadRequest, Invalid, NotFound
from paddock.words.os_errors import explain_unreadable, is_of_output
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.errors import Said


@dataclass(frozen=True, slots=True)
class Explained:
    message: str
    exit_code: int


class _MessageError(Exception):
    def __init__(self, *said: Phrase | str) -> None:
        """`said`: lines; a plain string is not translated."""
        super().__init__("\n".join(map(str, said)))
        self.said = said


class UserError(_MessageError):
    """The command or the manifest is wrong (exit code 2); only the message is printed."""


class Failed(_MessageError):
    """A correct command failed (exit code 1); only the message is printed."""


class NotFollowed(_MessageError):
    """What was waited for goes on, and cannot be followed any more (exit code 3): nobody knows how it ends."""


_WRONG = (AlreadyExists, BadRequest, Invalid, NotFound)


def explain_error(error: Exception) -> Explained | None:
    """The message and exit code of an expected error; None for any other: a bug."""
    from paddock.client.errors import ConfigError, PluginError

    if isinstance(error, _MessageError):
        language = readers_language()
        lines = [say(each, language) for each in error.said]
        code = 2 if isinstance(error, UserError) else 3 if isinstance(error, NotFollowed) else 1
        return Explained("\n".join(lines), code)
    if isinstance(error, ConfigError):
        return Explained(localized(build_phrase(error.said)), 2)
    if isinstance(error, PluginError):
        return Explained(localized(build_phrase(error.said)), 2 if error.missing else 1)
    if isinstance(error, HomeError | StartError | StopError):
        (said,) = error.args
        return Explained(localized(said) if isinstance(said, Phrase) else str(said), 1)
    if isinstance(error, ApiError):
        return Explained(error.message, 2 if isinstance(error, _WRONG) else 1)
    if isinstance(error, OSError) and error.filename and (full := _find_full_disk(error)) is not None:
        return Explained(localized(full), 1)
    if isinstance(error, OSError) and error.filename:
        return Explained(localized(phrase("{file}: {why}", file=str(error.filename), why=explain_unreadable(error))), 1)
    if isinstance(error, OSError) and is_of_output(error):
        said = phrase(
            "{why}: standard output, or the disk of {home}, takes no more",
            why=explain_unreadable(error), home=str(read_home(os.environ).root),
        )  # fmt: skip
        return Explained(localized(said), 1)
    return None


def _find_full_disk(error: OSError) -> Phrase | None:
    """That a disk of the home is full, where it is a file of the home that found no room."""
    home = read_home(os.environ)
    found = error.errno in (errno.ENOSPC, errno.EDQUOT) and home.root in Path(os.fsdecode(error.filename)).parents
    return explain_full_disk(home) if found else None


def build_phrase(said: Said) -> Phrase:
    """A sentence of the client, for translation."""
    places = {name: value if isinstance(value, str) else build_phrase(value) for name, value in said.places.items()}
    return phrase(said.text, **places)
