"""How a followed job ended, for programs: a webhook, a command, a Python call. Pure."""

from __future__ import annotations

from paddock.jobs.ended import End
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.sentences.explain import explain
from paddock.kube.times import format_duration
from paddock.views.followed import FollowedJob
from paddock.views.phases import show_phase
from paddock.words.phrases import phrase, render

INTERRUPTED, SUSPENDED, UNKNOWN = "Interrupted", "Suspended", "Unknown"


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
        cause = render(phrase("{said}: {why}", said=late, why=cause), language) if cause else late
    return End(key.name, key.namespace, phase, cause, max(0.0, (view.ended or now) - view.submitted))
