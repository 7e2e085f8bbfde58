"""Where the logs and outputs of an ended job lie."""

from __future__ import annotations

from paddock.cli.cluster_limits import explain_outputs
from paddock.cli.display import View
from paddock.cli.find import in_namespace
from paddock.cli.places import Place
from paddock.jobs.phrases import phrase, render
from paddock.jobs.policies.cleanup import read_situation
from paddock.jobs.policies.fates import Situation
from paddock.kube.meta import Manifest, name_of


def explain_where(place: Place, job: Manifest, view: View, language: str) -> str:
    """Logs outlive their pods on the laptop alone, outputs on a cluster in volumes alone."""
    logs = phrase("logs: {command}", command=f"paddock logs {name_of(job)}{in_namespace(job, place.flags)}")
    outputs = place.find_outputs(job)
    said = [logs, phrase("outputs: {path}", path=str(outputs))] if outputs else [logs]
    if place.home is None:
        gone = phrase("logs: gone with the pods (cleanPodPolicy {policy})", policy=str(view.job.policies.clean_pods))
        said = [gone if _is_cleaned_up(view) else logs, explain_outputs(view.job)]
    return "      ".join(render(each, language) for each in said)


def _is_cleaned_up(view: View) -> bool:
    """Whether this end takes the pods with it."""
    return read_situation(view.job, view.status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
