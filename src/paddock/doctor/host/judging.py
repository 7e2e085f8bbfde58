"""All checks of a machine: `judge` asks each subject, and puts what is wrong first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.gpus import judge_gpus
from paddock.doctor.host.interfaces import judge_interfaces
from paddock.doctor.host.names import judge_names
from paddock.doctor.host.network import judge_clocks, judge_paths, judge_proxies
from paddock.doctor.host.reach import judge_reach
from paddock.doctor.host.room import judge_amounts, judge_limits, judge_shm
from paddock.doctor.host.values import Asked, Host
from paddock.doctor.host.variables import judge_variables
from paddock.doctor.host.wheels import judge_wheels

SUBJECTS: tuple[Callable[[Host, Asked], Iterator[Finding]], ...] = (
    judge_names, judge_variables, judge_interfaces, judge_reach, judge_paths, judge_gpus, judge_wheels, judge_shm,
    judge_limits, judge_amounts, judge_clocks, judge_proxies,
)  # fmt: skip
"""In the order in which one causes another."""


def judge(host: Host, asked: Asked) -> tuple[Finding, ...]:
    """The findings of a machine: those that are wrong first, then the risks, each in the order of the subjects."""
    found = [each for subject in SUBJECTS for each in subject(host, asked)]
    return tuple(sorted(found, key=lambda each: each.severity is not Severity.WRONG))
