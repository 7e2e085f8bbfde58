"""What has changed since a job of this name, from this directory, last completed: told where one has failed. The local
cluster alone keeps a history."""

from __future__ import annotations

from paddock.cli.cluster.places import ClusterChoice
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase


def find_since(place: ClusterChoice, job: StoredJob) -> list[Phrase]:
    """One sentence, or none: for a job that the history does not know yet, and where none before it completed."""
    if place.home is None:
        return []
    # late, as a job that ends well needs no history
    from paddock.app.history import History
    from paddock.history.since import explain_since, find_completed

    runs, _ = History(place.home).read(job.key.namespace, job.key.name)
    run = next((each for each in runs if each.uid == job.uid), None)
    before = find_completed(runs).get(job.uid)
    return [explain_since(before, run)] if run is not None and before is not None else []
