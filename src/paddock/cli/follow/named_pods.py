"""A pod in place of a job on the command line: `demo-worker-0`, or `pod/demo-worker-0` as kubectl has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import NoJob, fetch_job, is_pod_word, split_pod
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.objects.observed import read_pod
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import PODS, controller_of, is_controlled_by
from paddock.views.flags import LOCAL, Flags
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.jobs.model import Rank
    from paddock.kube.api import Api


async def fetch_named(api: Api, namespace: str, word: str, flags: Flags = LOCAL) -> tuple[StoredJob, Rank | None]:
    """The job that `word` names, or the one whose pod it names, with that pod's rank. A job has its name before a pod
    has; behind `pod/` it is a pod's alone. Raises as `fetch_job`, `NoJob` also for a pod that no job has."""
    if is_pod_word(word):
        if (found := await _fetch_of_pod(api, namespace, word, flags)) is not None:
            return found
        raise NoJob(_explain_no_pod(namespace, word.rpartition("/")[2], flags))
    try:
        return await fetch_job(api, namespace, word, flags), None
    except NoJob:
        if (found := await _fetch_of_pod(api, namespace, word, flags)) is None:
            raise
    return found


async def _fetch_of_pod(api: Api, namespace: str, word: str, flags: Flags) -> tuple[StoredJob, Rank] | None:
    """By the pod's owner; of a pod that is gone, or may not be read, by its name. None where no job has it."""
    try:
        if (found := await _fetch_owner(api, namespace, word.rpartition("/")[2])) is not None:
            return found
    except (NotFound, Forbidden):
        pass
    if (split := split_pod(word)) is None:
        return None
    name, rank = split
    try:
        return await fetch_job(api, namespace, name, flags), rank
    except UserError:
        return None


async def _fetch_owner(api: Api, namespace: str, name: str) -> tuple[StoredJob, Rank] | None:
    pod = await api.get(PODS, namespace, name)
    owner, read = controller_of(pod) or {}, read_pod(pod)
    kinds = (each for each in KINDS if (each.api_version, each.kind) == (owner.get("apiVersion"), owner.get("kind")))
    resource = next(kinds, None)
    if read is None or resource is None:
        return None
    stored = read_stored(resource, await api.get(resource, namespace, str(owner.get("name"))))
    return (stored, read.rank) if is_controlled_by(pod, stored.uid) else None


def refuse_another(word: str, job: str, rank: Rank, *, others: bool) -> None:
    """`others`: whether --role or --rank stands beside a word that names one pod. Raises `UserError`. Pure."""
    if others:
        raise UserError(phrase(
            "{word} is {rank} of {job} already: leave --role and --rank out, or name the job",
            word=word, rank=str(rank), job=job,
        ))  # fmt: skip


def _explain_no_pod(namespace: str, name: str, flags: Flags) -> Phrase:
    return phrase(
        "there is no pod {name} of a job in namespace {namespace}; `{command}` lists those of all jobs",
        name=repr(name), namespace=namespace, command=f"paddock get pods{flags.of(namespace)}",
    )  # fmt: skip
