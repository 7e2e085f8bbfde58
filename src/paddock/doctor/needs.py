"""Has it what it needs to begin? A dataset that could not be fetched, an environment that could not be built. Pure.

No pod has printed anything then; what the job itself says (`status.cause`) is all that there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.case import Case
from paddock.doctor.findings import Finding, Severity
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.cause_args import text_of
from paddock.words.message_facts import read_environment
from paddock.words.phrases import Foreign, Phrase, phrase


def check_needs(case: Case) -> Iterator[Finding]:
    cause = case.cause
    if cause is None:
        return
    options = case.asked.options
    match cause.reason:
        case "DatasetFailed":
            yield _tell_failed_dataset(cause, options)
        case "DatasetMissing":
            yield _tell_missing_dataset(cause, options)
        case "DatasetsUnserved":
            yield _tell_unserved(cause, case.asked.kubectl)
        case "EnvironmentFailed":
            yield _tell_environment(cause)


def _tell_failed_dataset(cause: CauseRecord, options: str) -> Finding:
    name = text_of(cause.args, "dataset")
    mend = phrase(
        "correct what it names; another address or checksum is given by `{command}`, and after a change of the Secret "
        "or of the source it is fetched again by",
        command=f"paddock dataset create {name}{options} --from URL --replace",
    )
    if cause.args.get("retries"):
        mend = phrase("mend the network or the disk that it names: it is tried again by itself, and at once by")
    return Finding(
        "dataset-failed",
        Severity.WRONG,
        f"dataset {name}",
        phrase("dataset {name} could not be fetched: {said}", name=name, said=_said(cause)),
        phrase("no pod is created before all datasets of the job are there"),
        mend,
        f"paddock dataset rerun {name}{options}",
    )


def _tell_missing_dataset(cause: CauseRecord, options: str) -> Finding:
    name, namespace, near = (text_of(cause.args, each) for each in ("dataset", "namespace", "nearest"))
    what = phrase("namespace {namespace} has no dataset {name}", namespace=namespace, name=name)
    if cause.args.get("deleting"):
        what = phrase("dataset {name} is being deleted", name=name)
    mend = phrase("create it, and the job goes on by itself")
    if near:
        mend = phrase("submit the job with {near}, the nearest name that there is, or create it", near=near)
    return Finding(
        "dataset-missing",
        Severity.WRONG,
        f"dataset {name}",
        what,
        phrase("no pod is created before all datasets of the job are there"),
        mend,
        f"paddock dataset create {name}{options} --from URL",
    )


def _tell_unserved(cause: CauseRecord, kubectl: str) -> Finding:
    name = text_of(cause.args, "dataset")
    what = phrase("the job mounts dataset {name}, and this cluster has no Datasets", name=name)
    if text_of(cause.args, "message"):
        what = phrase("the operator cannot read dataset {name}: {said}", name=name, said=_said(cause))
    return Finding(
        "datasets-unserved",
        Severity.WRONG,
        f"dataset {name}",
        what,
        phrase("no pod is created before all datasets of the job are there"),
        phrase("an administrator adds the kind, and the rights of the operator, by"),
        f"paddock manifests --datasets --image IMAGE | {kubectl} apply -f -",
    )


def _tell_environment(cause: CauseRecord) -> Finding:
    environment = read_environment(text_of(cause.args, "message"))
    return Finding(
        "environment-failed",
        Severity.WRONG,
        f"environment {environment}" if environment else text_of(cause.args, "rank"),
        phrase("{rank} cannot start: {said}", rank=text_of(cause.args, "rank"), said=_said(cause)),
        phrase("a rank begins when the environment of its image is built"),
        phrase("mend the requirements, the network or the disk that it names, then build it again"),
        f"paddock env build {environment}" if environment else "paddock get environments",
    )


def _said(cause: CauseRecord) -> Phrase:
    return phrase("{said}", said=Foreign(text_of(cause.args, "message") or "-"))
