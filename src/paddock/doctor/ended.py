"""Did each rank do its work? A rank that failed although the job has completed. Pure.

Where a Master decides, as Kubeflow has it, the phase does not tell of the others. What the job itself says
(`status.cause`) is all that is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.case import Case
from paddock.doctor.findings import Finding, Severity
from paddock.jobs.labels import SUCCESS_ANNOTATION
from paddock.jobs.sentences.cause_args import items_of
from paddock.jobs.sentences.failure_phrases import explain_failed_rank
from paddock.words.phrases import phrase


def check_ended(case: Case) -> Iterator[Finding]:
    failure = explain_failed_rank(case.cause.args) if case.cause is not None else None
    if case.cause is None or failure is None:
        return
    rank = items_of(case.cause.args, "failed")[0]
    role, _, index = rank.rpartition("-")
    yield Finding(
        "rank-failed-at-end",
        Severity.WRONG,
        rank,
        phrase("the job has completed, but {failure}", failure=failure),
        phrase(
            "the ranks that decide have ended well, and what this one was to do, such as to write its part of the "
            "model, may be missing"
        ),
        phrase(
            "mend what its log says and run the job again; with the annotation {annotation}: AllRanks such a rank "
            "fails the job",
            annotation=SUCCESS_ANNOTATION,
        ),
        f"paddock logs {case.asked.job}{case.asked.options} --role {role} --rank {index}" if case.asked.job else "",
    )
