"""An Environment as a row. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.kube.meta import metadata, name_of
from paddock.kube.times import Moment, read_time


@dataclass(frozen=True, slots=True)
class EnvironmentRow:
    """An Environment as a row of a table."""

    name: str
    phase: str
    progress: int | None  # per cent, or None
    python: str
    size: int  # bytes; 0 if unknown
    images: tuple[str, ...]
    requirements: tuple[str, ...]  # empty for the programs of this machine
    message: str  # the builder's, on one line
    created: Moment | None
    changed: bool = False  # its requirements files have, since they were read
    torch: str = ""  # which build of PyTorch it has; empty without


def read_environment_row(environment: Mapping[str, Any]) -> EnvironmentRow:
    spec, status = environment.get("spec") or {}, environment.get("status") or {}
    return EnvironmentRow(
        name=name_of(environment),
        phase=str(status.get("phase") or "Pending"),
        progress=status.get("progress"),
        python=str(status.get("python") or spec.get("python") or ""),
        size=status.get("sizeBytes") or 0,
        images=tuple(spec.get("images") or ()),
        requirements=tuple(spec.get("requirements") or ()),
        message=" ".join(str(status.get("message") or "").split()),
        torch=str(status.get("torch") or ""),
        created=read_time(metadata(environment).get("creationTimestamp")),
    )
