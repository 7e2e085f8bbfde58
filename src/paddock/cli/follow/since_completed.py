"""What has changed since a job of this name, from this directory, last completed: told where one has failed. The local
cluster alone keeps a history."""

from __future__ import annotations

from paddock.cli.cluster.places import ClusterChoice
from paddock.jobs.model import Status
from paddock.views.phases import is_cancelled
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase


def find_since(place: ClusterChoice, job: StoredJob, status: Status) -> list[Phrase]:
    """One sentence, or none: for a job that the history does not know yet, and where none before it completed.

    `status`: how it ended, not well. Of a job that somebody has cancelled no change is the reason."""
    if place.kept is None or is_cancelled(status.phase, status.cause):
        return []
    # late, as a job that ends well needs no history
    from paddock.history.since import explain_since, find_completed

    runs, _ = place.kept.read(job.key.namespace, job.key.name)
    run = next((each for each in runs if each.uid == job.uid), None)
    before = find_completed(runs).get(job.uid)
    if run is None or before is None:
        return []
    return [explain_since(before, run, place.kept.read_packages)]
