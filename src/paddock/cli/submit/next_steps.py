"""What to type after a job was submitted and is not followed."""

from __future__ import annotations

from paddock.app.home import find_running
from paddock.cli.cluster.places import ClusterChoice
from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.views.flags import Flags
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase


def explain_following(job: Manifest, flags: Flags) -> Phrase:
    """The commands that follow and describe a created job."""
    where = flags.of(namespace_of(job))
    follow, describe = f"paddock logs {name_of(job)} -f{where}", f"paddock describe {name_of(job)}{where}"
    return phrase("{follow}     follows it; {describe}", follow=follow, describe=describe)


def explain_console(place: ClusterChoice, job: StoredJob) -> Phrase | None:
    """The command that opens the job's page; None where no console runs. No address, as those of a page are of one
    session, and no link that signs in, as what a run prints is kept in logs."""
    running = find_running(place.home) if place.home is not None else None
    if running is None or not running.console:
        return None
    return phrase("console: {command}", command=f"paddock console {job.key.name}{place.flags.of(job.key.namespace)}")
