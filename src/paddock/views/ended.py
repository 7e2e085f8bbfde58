"""How a followed job ended, for programs: a webhook, a command, a Python call. Pure."""

from __future__ import annotations

import re

from paddock.jobs.ended import End
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.sentences.explain import explain
from paddock.kube.times import format_duration
from paddock.logs.complaints import Complaint
from paddock.views.followed import FollowedJob, find_last_error, read_view_code
from paddock.views.phases import show_phase
from paddock.words.phrases import Phrase, phrase, render

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
    cause = _explain(view, language) if read_view_code(view) else ""
    if limit is not None:
        late = render(phrase("not completed in {time}", time=format_limit(limit)), language)
        cause = render(phrase("{said}: {why}", said=late, why=cause), language) if cause else late
    return End(key.name, key.namespace, phase, cause, max(0.0, (view.ended or now) - view.submitted))


def _explain(view: FollowedJob, language: str) -> str:
    """Why the exit code is not 0; empty where nothing says so."""
    if (last := find_last_error(view)) is not None and not read_exit_code(view.status.phase, view.status.cause):
        rank, error = last
        return render(phrase("the log of {rank} ends in {error}", rank=str(rank), error=name_error(error)), language)
    return explain(view.status.cause, language) if view.status.cause else ""


_EXCEPTION = re.compile(r"(?:\w+\.)*_*[A-Z]\w*")


def name_error(error: Complaint) -> Phrase | str:
    """`KeyError (line 41)`; the line where it is known, and the text of what is no exception."""
    name = error.text.partition(":")[0]
    name = name if _EXCEPTION.fullmatch(name) else error.text  # `train.py: error: unrecognized arguments`
    if error.line is None:
        return name
    return phrase("{error} (line {number})", error=name, number=error.line)
