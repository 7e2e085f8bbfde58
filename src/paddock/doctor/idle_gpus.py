"""Does the job use the GPUs that it holds? Only what is known counts, and an idle processor says nothing.

A rank that hangs in a collective keeps its GPU busy; one that waits for data, a download, a file lock or a debugger
does not. So idle GPUs of all ranks are told, however much is printed. For how long a GPU may rest between two epochs
nobody knows: a quarter of an hour is long for any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from paddock.doctor.case import Case
from paddock.doctor.findings import Finding, Severity
from paddock.jobs.policies.idle_gpus import IDLE_PERCENT
from paddock.kube.times import Moment, format_duration
from paddock.logs.stacks import natural
from paddock.words.phrases import counted, phrase

LONG = 900.0
"""Seconds."""
_FRESH = 900.0
"""Seconds since the newest number: those of a long run are far apart (`node.usage.samples`)."""


def check_idle_gpus(case: Case) -> Iterator[Finding]:
    held = {name: seen for name, seen in case.ranks.items() if seen.running and seen.gpus}
    idle = [seen.idle for seen in held.values() if seen.idle is not None]
    if not held or len(idle) < len(held) or min(idle) < LONG:
        return
    names = sorted(held, key=natural)
    yield Finding(
        "gpus-do-nothing",
        Severity.RISK,
        ", ".join(names[:4]) + (f", +{len(names) - 4}" if len(names) > 4 else ""),
        counted(
            "{count} GPU is held, and has done nothing for {time}",
            "{count} GPUs are held, and none has done anything for {time}",
            count=round(sum(seen.gpus for seen in held.values())), time=format_duration(min(idle)),
        ),
        phrase("nobody else can have them meanwhile; a program that waits for data, a lock or a person holds them too"),
        phrase("see what it waits for, or suspend it: the annotation paddock.dev/idle: 1h=Suspend does that by itself"),
        case.asked.stacks,
    )  # fmt: skip


def measure_rest(percents: Sequence[tuple[Moment, float]], now: Moment) -> float | None:
    """For how many seconds the GPUs of a rank have done nothing, by moments and the percent of the time in which they
    worked, oldest first; None where the newest is not known, or is of long ago. What is known from then on alone counts
    where one before is not known."""
    if not percents or now - percents[-1][0] > _FRESH or math.isnan(percents[-1][1]):
        return None
    since = now
    for at, percent in reversed(percents):
        if not percent <= IDLE_PERCENT:
            break
        since = at
    return max(0.0, now - since)
