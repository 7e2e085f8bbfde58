"""Makes the bundle of a job: collected by `app.bundles`, with what the command line alone knows."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from paddock.app.bundles.archive import pack
from paddock.app.bundles.collect import (
    Collected,
    add_files,
    add_history,
    add_pod_logs,
    add_secrets,
    add_stacks,
    collect_objects,
    hide_all,
    hide_answers,
    hide_documents,
    hide_logs,
    hide_runs,
)
from paddock.app.bundles.contents import FORMAT, Bundle, Head, JobName, Place, Room, write_shortage
from paddock.app.history import Kept
from paddock.build import BUILD
from paddock.cli.cluster.lookup import NoJob, fetch_job
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.rooms import fetch_rooms
from paddock.cli.follow.kept_runs import find_kept
from paddock.jobs.model import Phase
from paddock.jobs.sentences.waiting_phrases import SHORTAGE
from paddock.kube.kueue import WORKLOADS
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import format_time
from paddock.views.rooms import UNSEEN_RIGHTS, explain_unseen
from paddock.views.workloads import find_workload, waits_for_queue
from paddock.words.shortage import Shortage

if TYPE_CHECKING:
    from paddock.kube.api import PodApi
    from paddock.views.stored import StoredJob

_README = """What is known of the job {job}, as `paddock bundle` found it at {made}.

    paddock explain --bundle FILE     why it waits, restarts or failed
    paddock doctor --bundle FILE      why it does not do what it was asked for

Both need no cluster, and take {made} for now. bundle.json says what is here; objects/ has the
objects as the API gave them, logs/ what the ranks printed.

Hidden, by *** in its place: the value of each variable that is called as a secret is, the values of
Secrets that the pods take into variables, where these could be read, credentials in addresses, headers
and options of commands.
No Secret and no token is in here. What a program printed under no such name is here as it printed
it: look through logs/ before you give this file away.

{notes}
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle as bytes, and what is said of it."""

    bundle: Bundle
    content: bytes
    unread: bool
    """Some pods or logs could not be read."""


async def make_bundle(client: PodApi, place: ClusterChoice, where: Place, namespace: str, word: str) -> Made:
    """The bundle of the job that `word` names; of one that is gone, of what the local cluster has kept of it. `where`:
    the options that reach it. Raises `UserError`, `ApiError`."""
    now, room = place.now(), None
    try:
        stored = await fetch_job(client, namespace, word, place.flags)
    except NoJob:
        if place.kept is None or not (runs := find_kept(place.kept, namespace, word)):
            raise
        run = runs[-1]
        found, name = Collected(), JobName(run.namespace, run.name, run.kind, run.api_version, run.uid)
    else:
        found = await _collect(client, place, stored)
        room = await _look_at_room(client, place, stored)
        key, resource = stored.key, stored.resource
        name = JobName(key.namespace, key.name, resource.kind, resource.api_version, stored.uid)
    history = place.kept or place.find_copies()
    if history is not None:
        _add_kept(found, history, name)
    await add_secrets(client, found, name.namespace)
    if place.kept is None:
        await add_pod_logs(client, found, name.uid)
    machine = await _look_at_machine(local=where.local)
    return _build(found, Head(FORMAT, BUILD, now, name, where, machine, room=room))


async def _look_at_room(client: PodApi, place: ClusterChoice, stored: StoredJob) -> Room | None:
    """As `explain` does. None on a laptop, and of a job that does not wait for room."""
    cause = stored.shown_status.cause
    rooms = await fetch_rooms(client, place, [(cause, stored.manifest)], stored.key.namespace)
    if rooms is None:
        return None
    found = rooms.add(cause, stored.resource, stored.manifest)
    shortage = found.args.get(SHORTAGE) if found else None
    unseen = next((right for right in UNSEEN_RIGHTS if rooms.unseen == explain_unseen(right)), "")
    return Room(write_shortage(shortage) if isinstance(shortage, Shortage) else None, unseen)


async def _collect(client: PodApi, place: ClusterChoice, stored: StoredJob) -> Collected:
    local = place.kept is not None
    found = await collect_objects(
        client, stored.manifest, stored.resource, stored.status, local=local, also=_list_workloads(stored)
    )
    if local and stored.status.phase is Phase.RUNNING:
        await add_stacks(client, found, stored.status)
    return found


def _list_workloads(stored: StoredJob) -> list[tuple[Resource, Callable[[Manifest], bool]]]:
    """Kueue's, of a job that waits for its queue."""
    job, cause = stored.job, stored.status.cause
    if job is None or not waits_for_queue(cause):
        return []
    return [(each, lambda item: find_workload(job, stored.status, [item]) is not None) for each in WORKLOADS]


def _add_kept(found: Collected, history: Kept, name: JobName) -> None:
    add_history(found, history, name.namespace, name.name, name.uid)
    add_files(found, history, name.namespace, name.name, name.uid)


def _build(found: Collected, head: Head) -> Made:
    hider = hide_all(found)
    answers, runs, documents = hide_answers(found, hider), hide_runs(found, hider), hide_documents(found, hider)
    entries, logs = hide_logs(found, hider)
    notes = tuple(hider.hide_text(str(each)) for each in found.notes)
    head = msgspec.structs.replace(head, logs=tuple(entries), notes=notes)
    bundle = Bundle(head, {(each.api_version, each.plural): each for each in answers}, runs, documents, logs)
    return Made(bundle, pack(bundle, write_readme(head)), found.unread)


def write_readme(head: Head) -> str:
    """README.txt, in English: it is read where nobody may have Paddock."""
    told = "\n".join(f"- {each}" for each in head.notes)
    notes = f"What is not all here:\n{told}" if told else "Nothing was cut off or left out."
    return _README.format(job=f"{head.job.namespace}/{head.job.name}", made=format_time(head.made), notes=notes)


async def _look_at_machine(*, local: bool) -> dict[str, str]:
    """Versions: of a cluster's nodes they stand in the nodes themselves."""
    system = os.uname()
    found = {"kernel": f"{system.sysname} {system.release} {system.machine}", "python": platform.python_version()}
    if local:
        from paddock.doctor.probes.gpus import find_gpus

        gpus = await find_gpus(os.environ)
        found |= {"gpu driver": gpus.driver} if gpus.driver else {}
    return found
