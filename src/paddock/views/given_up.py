"""The status of a job that `paddock run` has suspended (`jobs.given_up`), as it is shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paddock.jobs.given_up import GIVEN_UP, read_given_up, write_given_up
from paddock.jobs.model import Phase, Status

__all__ = ["GIVEN_UP", "read_given_up", "show_status", "write_given_up"]


def show_status(status: Status, job: Mapping[str, Any]) -> Status:
    """The recorded status; if `paddock run` suspended the job, its cause is the reason for that."""
    given_up = read_given_up(job) if status.phase is Phase.SUSPENDED else None
    return replace(status, cause=given_up) if given_up else status
