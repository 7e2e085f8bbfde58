"""An edit of a job that is not valid and therefore not followed (`status.problem`), in words. Pure."""

from __future__ import annotations

from paddock.jobs.model import Status
from paddock.jobs.sentences.cause_args import names_of
from paddock.jobs.sentences.explain import explain
from paddock.words.phrases import Phrase, phrase


def explain_edit(status: Status) -> Phrase | None:
    """None if the job follows its manifest, or has ended."""
    if status.problem is None or status.phase.terminal:
        return None
    return phrase(
        "the manifest was edited and is wrong: {problems}; the job goes on by what was written before",
        problems=names_of(status.problem.args, "problems"),
    )


def explain_state(status: Status) -> str:
    """For the column Why of `kubectl get -o wide`, in English: the cause, then an edit that is not followed. Empty
    where neither is recorded."""
    edit = explain_edit(status)
    return "; ".join(([explain(status.cause)] if status.cause else []) + ([str(edit)] if edit else []))
