"""A job that the cluster does not have any more, but the history of the local cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import NoJob, fetch_job
from paddock.cli.cluster.places import ClusterChoice
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_present(api: Api, place: ClusterChoice, namespace: str, word: str) -> StoredJob:
    """`fetch_job`, whose `NoJob` says what is kept of a job that is gone."""
    try:
        return await fetch_job(api, namespace, word, place.flags)
    except NoJob:
        said = explain_gone(place, namespace, word)
        if said is None:
            raise
    raise NoJob(said)


def explain_gone(place: ClusterChoice, namespace: str, word: str) -> Phrase | None:
    """None for a job of which nothing is kept."""
    # late: few commands ask for a job that is gone
    from paddock.cli.follow.kept_runs import find_kept

    runs = find_kept(place.kept, namespace, word) if place.kept is not None else []
    if not runs:
        return None
    name, where = runs[-1].name, place.flags.of(namespace)
    return phrase(
        "the job {name} is gone; what is kept of it: `{history}`, `{logs}`",
        name=repr(name), history=f"paddock history {name}{where}", logs=f"paddock logs {name}{where}",
    )  # fmt: skip
