"""How a followed job ended, for programs: a webhook, a command, a Python call. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.sentences.explain import explain
from paddock.kube.times import format_duration
from paddock.views.followed import FollowedJob
from paddock.views.phases import show_phase
from paddock.words.phrases import phrase, render

INTERRUPTED, SUSPENDED, UNKNOWN = "Interrupted", "Suspended", "Unknown"


@dataclass(frozen=True, slots=True)
class End:
    """How a followed job ended."""

    job: str
    namespace: str
    phase: str
    """`Completed`, `Failed`, `Cancelled`; `Suspended` where it was given up or --timeout was over, `Interrupted` where
    the user ended it, `Unknown` where it could not be followed to its end."""
    cause: str
    """A sentence; empty for a job that completed and of which no rank failed."""
    seconds: float
    """Seconds from the submission to the end."""


def format_limit(seconds: float) -> str:
    """A time limit as it is told: `60 s`, `10m`."""
    return f"{seconds:g} s" if seconds < 120 else format_duration(seconds)


def read_end(
    view: FollowedJob, code: int | None, now: float, language: str = "en", *, limit: float | None = None
) -> End:
    """`code`: the exit code of the command that followed it; None if it raised an error. `limit`: of --timeout, in
    seconds, if it is what ended it."""
    status, key = view.status, view.job.key
    phase = show_phase(status) if status.phase.terminal else {130: INTERRUPTED, 1: SUSPENDED}.get(code or 0, UNKNOWN)
    well = read_exit_code(status.phase, status.cause) == 0
    cause = explain(status.cause, language) if status.cause and not well else ""
    if limit is not None:
        late = render(phrase("not completed in {time}", time=format_limit(limit)), language)
        cause = f"{late}: {cause}" if cause else late
    return End(key.name, key.namespace, phase, cause, max(0.0, (view.ended or now) - view.submitted))
