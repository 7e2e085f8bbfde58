"""Whether the endpoints of a job's ranks fit into a variable: Linux starts no program with a longer one.

Where ranks are told the addresses of all (`Framework.needs_addresses`), a list of them is one variable of each pod. At
128 KiB the kernel refuses to start the program (E2BIG), in every pod, after all of them were created and placed. So the
longest address that the job's network may give is counted before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import Job, Phase, Role
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import told

MOST_BYTES = 128 * 1024
"""Of `NAME=VALUE` and the zero at its end (Linux, MAX_ARG_STRLEN: 32 pages of 4 KiB)."""

_LONGEST_ADDRESS, _LONGEST_PORT = "255.255.255.255", 65535
"""IPv4: PaddlePaddle reads no other (`frameworks.paddle.check_addresses`)."""
_SMALL = 500
"""Ranks that fit whatever their names are: 253 characters of a host and 6 of a port for each."""


def check_endpoints(job: Job, root: Fields, path_of: Callable[[Role], str]) -> None:
    """Adds a problem of the largest role if a variable may be too long, with the number of its ranks that fit."""
    framework = FRAMEWORKS[job.framework]
    if job.size <= _SMALL or not framework.needs_addresses(job):
        return
    values = framework.build_endpoints(job, dict.fromkeys(job.ranks(), _LONGEST_ADDRESS), _LONGEST_PORT)
    name, value = max(values.items(), key=lambda item: len(item[0]) + len(item[1]))
    size = len(name) + len(value) + len("=\0")
    if size <= MOST_BYTES:
        return
    role = max(job.roles, key=lambda role: role.replicas)
    fit = _count_fitting(value.split(","), MOST_BYTES - len(name) - len("=\0"))
    said = phrase(
        "found {found}, at most {most} fit: each rank is told the addresses of all in {name}, which may have {size} "
        "bytes, and Linux starts no program with a variable of more than {limit}",
        found=role.replicas,
        most=fit,
        name=name,
        size=size,
        limit=MOST_BYTES,
    )
    # A job that has begun knows its addresses, and is supervised on: they may be shorter.
    severity = "warning" if _has_begun(root) else "error"
    allowed = phrase("at most {most}", most=fit)
    root.add(told(f"{path_of(role)}.replicas", said, role.replicas, allowed, severity=severity))


def _has_begun(root: Fields) -> bool:
    status = root.value.get("status")
    return isinstance(status, Mapping) and status.get("phase") not in (None, "", Phase.INVALID)


def _count_fitting(entries: list[str], left: int) -> int:
    for number, entry in enumerate(entries):
        left -= len(entry) + (number > 0)
        if left < 0:
            return number
    return len(entries)
