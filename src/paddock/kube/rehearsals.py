"""By what a rehearsal is known: the name of its job, and the directories in the place of its volumes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SUFFIX = "-rehearsal"
"""What the name of its job ends with."""
PLACE = "rehearsals"
"""The directory of the home in which each rehearsal has its own, `PID-RANDOM`, below which each volume has one."""
_OWN = re.compile(rf".*/({PLACE}/)[0-9]+-[a-z0-9_]+/([^/]+)", re.DOTALL)


def without_random_names(name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of a job of this name with `rehearsals/VOLUME` in place of each path that a rehearsal made: two of one
    job have the same. That of any other job is returned as it is."""
    return _shorten(spec) if name.endswith(SUFFIX) else spec


def _shorten(value: Any) -> Any:
    if isinstance(value, list):
        return [_shorten(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _shorten_path(each) if key == "hostPath" else _shorten(each) for key, each in value.items()}


def _shorten_path(volume: Any) -> Any:
    found = _OWN.fullmatch(str(volume.get("path"))) if isinstance(volume, Mapping) else None
    return {**volume, "path": found[1] + found[2]} if found else volume
