"""Renders a recorded cause as a sentence in any language, and an edit that is not followed (`status.problem`).

It needs the record only, no job and no cluster. So events, `paddock explain` and the console show the same sentence,
for a status of any version of the operator. The sentences are in `jobs.sentences.cause_phrases`.
"""

from __future__ import annotations

from paddock.jobs.model import CauseRecord, Status
from paddock.jobs.sentences.cause_args import problems_of
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.words.phrases import Phrase, phrase, render


def explain(cause: CauseRecord, language: str = "en") -> str:
    """One sentence, without a full stop. An unknown reason is printed with its arguments."""
    row = CAUSE_ROWS.get(cause.reason)
    if row is not None:
        return render(row.sentence(cause.args), language)
    numbers = ", ".join(f"{name}={value}" for name, value in sorted(cause.args.items()))
    return f"{cause.reason} ({numbers})" if numbers else cause.reason


def explain_edit(status: Status) -> Phrase | None:
    """None if the job follows its manifest, or has ended."""
    if status.problem is None or status.phase.terminal:
        return None
    return phrase(
        "the manifest was edited and is wrong: {problems}; the job goes on by what was written before",
        problems=problems_of(status.problem.args),
    )


def explain_state(status: Status) -> str:
    """The text of the column Why of `kubectl get -o wide`, in English: the cause, then an edit that is not followed.
    Empty where neither is recorded."""
    edit = explain_edit(status)
    return "; ".join(([explain(status.cause)] if status.cause else []) + ([str(edit)] if edit else []))
