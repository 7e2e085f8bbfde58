"""Renders a recorded cause as a sentence, in any language.

It needs the record only, no job and no cluster. So events, `paddock explain` and the console show the same sentence,
for a status of any version of the operator. The sentences are in `jobs.sentences.cause_phrases`.
"""

from __future__ import annotations

from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.words.phrases import render


def explain(cause: CauseRecord, language: str = "en") -> str:
    """One sentence, without a full stop. An unknown reason is printed with its arguments."""
    row = CAUSE_ROWS.get(cause.reason)
    if row is not None:
        return render(row.sentence(cause.args), language)
    numbers = ", ".join(f"{name}={value}" for name, value in sorted(cause.args.items()))
    return f"{cause.reason} ({numbers})" if numbers else cause.reason
