"""What goes wrong on the way, as a sentence and an exit code. Whose fault it is decides the code: 2 is the user's."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.app.home import HomeError
from paddock.app.launch import StartError, StopError
from paddock.cli.language import readers_language
from paddock.client.kubeconfig import ConfigError
from paddock.jobs.phrases import Phrase, render
from paddock.kube.errors import AlreadyExists, ApiError, BadRequest, Invalid, NotFound


@dataclass(frozen=True, slots=True)
class Explained:
    message: str
    exit_code: int


class _Said(Exception):
    def __init__(self, said: Phrase | str) -> None:
        super().__init__(str(said))
        self.said = said


class UserError(_Said):
    """The command or the manifest is wrong (exit code 2); the message is all that is printed."""


class Failed(_Said):
    """It was asked rightly and did not work (exit code 1); the message is all that is printed."""


_WRONG = (AlreadyExists, BadRequest, Invalid, NotFound)


def explain_error(error: Exception) -> Explained | None:
    """None for what nobody foresaw: a bug."""
    if isinstance(error, _Said):
        return Explained(render(error.said, readers_language()), 2 if isinstance(error, UserError) else 1)
    if isinstance(error, ConfigError):
        return Explained(str(error), 2)
    if isinstance(error, HomeError | StartError | StopError):
        return Explained(str(error), 1)
    if isinstance(error, ApiError):
        return Explained(error.message, 2 if isinstance(error, _WRONG) else 1)
    if isinstance(error, OSError) and error.filename:
        return Explained(f"{error.filename}: {error.strerror}", 1)
    return None
