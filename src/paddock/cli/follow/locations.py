"""The locations of an ended job's logs and outputs."""

from __future__ import annotations

from paddock.cli.cluster.places import ClusterChoice
from paddock.jobs.model import Job
from paddock.jobs.policies.fates import Situation, read_situation
from paddock.views.followed import FollowedJob
from paddock.views.outputs import find_places
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase, render


def explain_locations(place: ClusterChoice, job: StoredJob, view: FollowedJob, language: str) -> str:
    """Logs outlive their pods only on the local cluster; on a remote one outputs outlive them only in volumes."""
    logs = phrase("logs: {command}", command=f"paddock logs {job.key.name}{place.flags.of(job.key.namespace)}")
    outputs = place.find_outputs(job)
    said = [logs, phrase("outputs: {path} (PADDOCK_OUTPUT_DIR)", path=str(outputs))] if outputs else [logs]
    if place.home is None:
        gone = phrase("logs: gone with the pods (cleanPodPolicy {policy})", policy=view.job.policies.clean_up)
        said = [gone if _is_cleaned_up(view) else logs, explain_outputs(view.job)]
    return "      ".join(render(each, language) for each in said)


def explain_outputs(job: Job) -> Phrase:
    """The mount paths of volumes that outlive the pods."""
    if not (places := find_places(job)):
        return phrase("outputs: the job has no volume that outlives its pods, so what they wrote goes with them")
    return phrase("outputs: {path}", path=", ".join(places))


def _is_cleaned_up(view: FollowedJob) -> bool:
    """Whether cleanPodPolicy deletes the pods at this end."""
    return read_situation(view.job, view.status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
