"""The annotation `paddock.dev/hold`: how long a failed container stays open for a shell, on a laptop. Pure.

On a job it says how long (`30m`), and the operator hands it on to pods in seconds. The node keeps the files of such a
pod that has failed, clean-up leaves it, and both count from the end of its last container. A pod that is being deleted
is held no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import annotations_of, is_deleting
from paddock.kube.times import Moment, read_time

HOLD_ANNOTATION = "paddock.dev/hold"
MOST_SECONDS = 24 * 3600
"""A day: a held pod keeps the disk space of what it wrote."""
_FORM = re.compile(r"([1-9]\d{0,6})([smh]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_hold(text: object) -> int | None:
    """Seconds of `90s`, `30m`, `2h`, or a number alone; None for anything else, and for more than `MOST_SECONDS`."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    return seconds if 0 < seconds <= MOST_SECONDS else None


def write_hold(seconds: int) -> str:
    """As a person writes it: `30m`."""
    if seconds % 3600 == 0:
        return f"{seconds // 3600}h"
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def read_held(pod: Mapping[str, Any]) -> Moment | None:
    """Until when the pod is held; None of one that asks for nothing, has not failed, or is being deleted. The moment
    may be over."""
    seconds = parse_hold(annotations_of(pod).get(HOLD_ANNOTATION))
    status = pod.get("status") or {}
    if seconds is None or is_deleting(pod) or not _has_failed(pod.get("spec") or {}, status):
        return None
    ends = [read_time(each.get("finishedAt")) for each in _list_ends(status)]
    last = max((each for each in ends if each is not None), default=None)
    return None if last is None else last + seconds


def is_live(pod: Mapping[str, Any], now: Moment) -> bool:
    """Whether a program may run in the pod, or a shell: it has not ended, or is held."""
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not ended or (read_held(pod) or now) > now


def _has_failed(spec: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Also while its side-cars still end, so that clean-up does not take it before."""
    if status.get("phase") != "Running" or spec.get("restartPolicy") != "Never":
        return status.get("phase") == "Failed"
    ends = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or ()]
    return all("exitCode" in each for each in ends) and any(each["exitCode"] for each in ends)


def _list_ends(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    statuses = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return [(each.get("state") or {}).get("terminated") or {} for each in statuses]
