"""--share-gpu: ranks of a job that may share a GPU with others (`kube.gpu_shares`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from paddock.cli.cluster.errors import UserError
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import FRAMEWORK_ANNOTATION
from paddock.kube.gpu_shares import GPU, SHARE_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of
from paddock.manifests.parts import read_parts
from paddock.preflight.gpu_shares import asks_for_gpus, check_gpu_shares
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem

Notify = Callable[[Phrase], None]


def with_shares(checked: Sequence[Checked], shares: int | None, notify: Notify) -> list[Checked]:
    """The documents, with --share-gpu for each job among them. Raises `UserError` where it would do nothing, or a rank
    asks for several GPUs."""
    if shares is None:
        return list(checked)
    if not any(each.is_job for each in checked):
        raise UserError(phrase("--share-gpu is for jobs, and there is none here: leave it out"))
    return [_share(each, shares, notify) if each.is_job else each for each in checked]


def refuse_without(shares: int | None, without: Sequence[str]) -> None:
    """Raises `UserError` where --without takes away what --share-gpu shares."""
    if shares is not None and GPU in without:
        raise UserError(
            phrase("--share-gpu shares a GPU, and --without {resource} asks for none: leave one out", resource=GPU)
        )


def _share(each: Checked, shares: int, notify: Notify) -> Checked:
    if not asks_for_gpus(read_parts(each.manifest)):
        raise UserError(
            phrase(
                "{file}: --share-gpu: no rank of {job} asks for {resource}: ask for one under resources.limits, or "
                "leave --share-gpu out",
                file=each.file, job=each.label, resource=GPU,
            )
        )  # fmt: skip
    notes = {**annotations_of(each.manifest), SHARE_ANNOTATION: str(shares)}
    manifest = {**each.manifest, "metadata": {**each.manifest["metadata"], "annotations": notes}}
    told = {problem.message for problem in _check(each, each.manifest)}  # when the file was read
    found = [problem for problem in _check(each, manifest) if problem.message not in told]
    if refused := [problem for problem in found if problem.severity == "error"]:
        raise UserError(*(phrase("{file}: {problem}", file=each.file, problem=_explain(one)) for one in refused))
    for problem in found:
        notify(phrase("warning: {said}", said=_explain(problem)))
    return each.with_manifest(manifest)


def notify_shared(each: Checked, notify: Notify) -> None:
    """What is to be known of the job of a typed command whose ranks share GPUs."""
    for problem in _check(each, each.manifest):
        notify(phrase("warning: {said}", said=_explain(problem)))


def _check(each: Checked, manifest: Manifest) -> Iterator[Problem]:
    framework = annotations_of(manifest).get(FRAMEWORK_ANNOTATION) or KINDS[each.resource].framework
    return check_gpu_shares(read_parts(manifest), manifest, framework="" if framework == "none" else framework)


def _explain(problem: Problem) -> Phrase:
    return phrase("--share-gpu: {problem}", problem=problem.said or problem.message)
