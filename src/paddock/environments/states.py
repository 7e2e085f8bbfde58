"""The state of one Environment, and its form in `status` and in the answer to the kubelet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.environments.answers import Answer, Preparing, Ready, Unavailable
from paddock.environments.definition import Definition
from paddock.environments.failures import Fault
from paddock.environments.progress import Progress, format_size
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """Not on disk, and not requested yet."""


@dataclass(frozen=True, slots=True)
class Building:
    progress: Progress


@dataclass(frozen=True, slots=True)
class Usable:
    """It can be used."""

    directory: str = ""  # the venv; empty for the programs of this machine
    python: str = ""
    packages: Mapping[str, str] | None = None
    size: int = 0  # in bytes
    build: str = ""  # of torch, as in `environments.directories`


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    fault: Fault


State = Unbuilt | Building | Usable | Failed

STATUS_FIELDS = ("phase", "progress", "message", "fault", "python", "torch", "key", "path", "sizeBytes")


def build_status(definition: Definition, state: State) -> dict[str, Any]:
    """The object's `status`. A field that does not apply is None, which a merge patch removes."""
    match state:
        case Unbuilt():
            said = phrase("{subject} is built when a pod needs it", subject=definition.subject)
            shown: dict[str, Any] = {"phase": "Pending", "progress": 0, "message": str(said)}
        case Building(progress):
            shown = {"phase": "Building", "progress": progress.percent, "message": progress.explain(),
                     "torch": progress.build or None, "key": progress.key or None}  # fmt: skip
        case Usable(directory=""):
            message = str(phrase("the programs of this machine; nothing to build"))
            shown = {"phase": "Ready", "progress": 100, "message": message}
        case Usable(directory, python, _, size, build):
            said = phrase(
                "{build}, Python {python}, {size}",
                build=build or definition.subject, python=python, size=format_size(size),
            )  # fmt: skip
            shown = {
                "phase": "Ready", "progress": 100, "key": Path(directory).name, "path": directory, "sizeBytes": size,
                "python": python, "torch": build or None, "message": str(said),
            }  # fmt: skip
        case Failed(message, fault):
            shown = {"phase": "Failed", "progress": 0, "message": message, "fault": fault.value}
    return {name: shown.get(name) for name in STATUS_FIELDS}


def build_answer(definition: Definition, state: State, path: str, programs: Path) -> Answer:
    """The answer to the kubelet. `path`: the machine's PATH; `programs`: the directory of the training programs."""
    match state:
        case Unbuilt():
            return Preparing(_name(definition, str(phrase("building ({subject})", subject=definition.subject))))
        case Building(progress):
            return Preparing(_name(definition, progress.explain()))
        case Usable(directory):
            variables = {"PATH": path}
            if directory:
                variables = {"PATH": f"{directory}/bin:{path}", "VIRTUAL_ENV": directory}
            files = programs / definition.program if definition.program else None
            return Ready(variables | dict(definition.environment), definition.command, files)
        case Failed(message):
            return Unavailable(_name(definition, message), "EnvironmentFailed")


def _name(definition: Definition, said: str) -> str:
    return str(phrase("environment {name}: {what}", name=definition.name, what=said))
