"""One job in JSON, as `paddock explain` and `paddock describe` tell programs of it: values by name, with the sentences
of the text beside them. Pure.

    {"apiVersion": …, "kind": "PaddleJob", "namespace": …, "name": …, "uid": …, "phase": "Failed", "attempt": 0,
     "restarts": 0, "created": "2026-…Z", "started": …, "finished": …,
     "cause": {"reason": "RankFailed", "args": {…}, "since": …, "sentence": …} or null, …}
"""

from __future__ import annotations

from typing import Any

from paddock.app.history import read_cause
from paddock.history.records import RunRecord
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import metadata
from paddock.kube.times import Moment, format_time, read_time
from paddock.views.phases import show_phase
from paddock.views.stored import StoredJob


def build_job(stored: StoredJob, cause: CauseRecord | None, language: str) -> dict[str, Any]:
    """What both tell of a job. `cause`: with what nodes and pods show of it."""
    status = stored.shown_status
    return {
        "apiVersion": stored.resource.api_version,
        "kind": stored.resource.kind,
        "namespace": stored.key.namespace,
        "name": stored.key.name,
        "uid": stored.uid,
        "phase": show_phase(status) or "Pending",
        "attempt": status.attempt,
        "restarts": status.restarts,
        "created": write_moment(read_time(metadata(stored.manifest).get("creationTimestamp"))),
        "started": write_moment(status.started),
        "finished": write_moment(status.finished),
        "cause": write_cause(cause, language),
    }


def build_run(run: RunRecord, language: str) -> dict[str, Any]:
    """The same of the run of a job that is gone."""
    cause = read_cause(run.told)
    return {
        **identify_run(run),
        "phase": run.outcome,
        "attempt": run.attempt,
        "restarts": run.restarts,
        "created": write_moment(run.created),
        "started": None,
        "finished": write_moment(run.ended),
        "cause": write_cause(cause, language),
        "next": [],
    }


def identify_run(run: RunRecord) -> dict[str, Any]:
    """The fields that name a run."""
    return {
        "apiVersion": run.api_version,
        "kind": run.kind,
        "namespace": run.namespace,
        "name": run.name,
        "uid": run.uid,
    }


def write_cause(cause: CauseRecord | None, language: str) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {
        "reason": cause.reason,
        "args": dict(cause.args),
        "since": write_moment(cause.since),
        "sentence": explain(cause, language),
    }


def write_moment(moment: Moment | None) -> str | None:
    return None if moment is None else format_time(moment)
