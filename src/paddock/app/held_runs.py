"""The runs that a laptop keeps, with what tells how long they had its cores and GPUs (`views.usage.read_run`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddock.app.history import History, read_job, read_kept_limits
from paddock.app.home import Home
from paddock.history.logs import LogFile
from paddock.history.records import RunRecord
from paddock.history.retention import write_limits
from paddock.jobs.model import Job
from paddock.kube.quantities import format_bytes
from paddock.kube.times import Moment
from paddock.node.usage.records import read_last_samples, usage_file
from paddock.words.phrases import Phrase, counted

HeldRun = tuple[RunRecord, Job | None, Mapping[int, Moment]]
"""A run, its job (None where its manifest cannot be read), and when a rank of each attempt was last seen to use
something."""


def read_held_runs(home: Home, since: Moment, namespace: str) -> tuple[list[HeldRun], Phrase]:
    """Each run of a namespace, or of all (empty), that may have gone on since then, and what was looked at. Blocks."""
    history = History(home)
    runs = [each for each in history.read(namespace)[0] if each.ended is None or each.ended >= since]
    survey, limits = history.survey(), read_kept_limits(home)
    said = counted(
        "of {count} run in the history, which keeps runs for {age}, and at most {size} of logs",
        "of {count} runs in the history, which keeps runs for {age}, and at most {size} of logs",
        count=len(runs), age=write_limits(limits).partition(",")[0], size=format_bytes(limits.bytes),
    )  # fmt: skip
    return [(each, read_job(each), _find_used(survey.find_logs(each))) for each in runs], said


def _find_used(logs: Sequence[LogFile]) -> dict[int, Moment]:
    """When a rank of each attempt was last seen to use something, by what the node has recorded beside its log."""
    found: dict[int, Moment] = {}
    for log in logs:
        for sample in read_last_samples(usage_file(log.path), 1):
            found[log.place.attempt] = max(sample.at, found.get(log.place.attempt, 0.0))
    return found
