"""Lookup of the job that a name on the command line refers to, and of its pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import UserError
from paddock.jobs.apis.registry import KINDS, KINDS_BY_WORD
from paddock.jobs.names import read_pod_name
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import PODS, Manifest, Resource, is_controlled_by, name_of
from paddock.kube.nearness import nearest
from paddock.views.commands import kind_with_group
from paddock.views.flags import LOCAL, Flags
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.jobs.model import Rank
    from paddock.kube.api import Api


_PODS = ("pod", "pods", "po")
"""What kubectl's users write before the name of a pod."""


class NoJob(UserError):
    """The cluster has no such job."""


async def fetch_job(api: Api, namespace: str, word: str, flags: Flags = LOCAL) -> StoredJob:
    """The job that `word` names: `NAME`, `paddlejob/NAME` or `paddlejob.GROUP/NAME`.

    Raises `NoJob` if there is no such job (with the nearest name), `UserError` if two API groups have one (with both).
    Kinds that RBAC forbids are skipped (`fetch_all` says why); raises `Forbidden` if all of them are.
    """
    resources, name = read_job_word(word)
    found: list[tuple[Resource, Manifest]] = []
    refused: list[Forbidden] = []
    for resource in resources:
        try:
            found.append((resource, await api.get(resource, namespace, name)))
        except NotFound:
            continue
        except Forbidden as error:
            refused.append(error)
    if len(refused) == len(resources):
        raise refused[0]
    if len(found) == 1 or (found and "/" in word):  # `paddlejob/NAME` is the first group's: see `printed_name`
        return read_stored(*found[0])
    if found:
        raise UserError(explain_two_kinds(namespace, name, (resource for resource, _ in found)))
    known = [name_of(job) for _, job in await fetch_all(api, KINDS, namespace)]
    near = nearest(name, known)
    hint = phrase("; `{command}` lists all jobs", command=f"paddock get -A{flags.options}")
    if near:
        hint = explain_near(near)
    raise NoJob(
        phrase("there is no job {name} in namespace {namespace}{hint}", name=repr(name), namespace=namespace, hint=hint)
    )


def explain_two_kinds(namespace: str, name: str, kinds: Iterable[Resource]) -> Phrase:
    """Why a name alone does not say which job is meant."""
    forms = tuple(f"{kind_with_group(resource)}/{name}" for resource in kinds)
    names = Names(forms)
    if len(forms) > 2:
        return phrase(
            "{count} jobs in namespace {namespace} are called {name}, {names}: name one of them like this",
            count=len(forms), namespace=namespace, name=repr(name), names=names,
        )  # fmt: skip
    return phrase(
        "two jobs in namespace {namespace} are called {name}, {names}: name one of them like this",
        namespace=namespace, name=repr(name), names=names,
    )  # fmt: skip


def explain_near(name: str) -> Phrase:
    """`; did you mean 'resnet'?`"""
    return phrase("; did you mean {name}?", name=repr(name))


def read_job_word(word: str) -> tuple[tuple[Resource, ...], str]:
    """The kinds that a word on the command line can mean, and the name. Raises `UserError` for an unknown kind, `NoJob`
    for a pod."""
    kind, slash, name = word.rpartition("/")
    if is_pod_word(word):
        job = (
            split[0] if (split := split_pod(name)) else phrase("the pod's, by `{command}`", command="paddock get pods")
        )
        raise NoJob(phrase("{word} is a pod, and a job is wanted: {job}", word=word, job=job))
    resources = KINDS_BY_WORD.get(kind.lower(), ()) if slash else tuple(KINDS)
    if not resources:
        forms = tuple(f"{kind_with_group(each)}/{name}" for each in KINDS)
        raise UserError(phrase("{kind} is no kind of job: {name}, or {forms}", kind=repr(kind), name=name, forms=forms))
    return resources, name


def is_pod_word(word: str) -> bool:
    """`pod/NAME`"""
    kind, slash, _ = word.partition("/")
    return bool(slash) and kind.lower() in _PODS


def split_pod(word: str) -> tuple[str, Rank] | None:
    """`demo-worker-0`, `pod/demo-worker-0` -> the job's name and the rank; None for what can be no pod of a job."""
    name = word.rpartition("/")[2]
    rank = read_pod_name(name)
    return (name.removesuffix(f"-{rank}"), rank) if rank else None


async def fetch_all(
    api: Api, resources: Iterable[Resource], namespace: str, labels: str = ""
) -> list[tuple[Resource, Manifest]]:
    """Every object of these kinds; none of a kind that the cluster does not serve.

    Kubernetes authorizes before it looks for the kind, so a user without cluster-wide rights gets 403, not 404, for an
    API group that is not installed. Therefore `Forbidden` is raised only if no kind could be listed.
    """
    found: list[tuple[Resource, Manifest]] = []
    refused: list[Forbidden] = []
    listed = False
    for resource in resources:
        try:
            listing = await api.list(resource, namespace if resource.namespaced else "", labels=labels)
        except NotFound:
            continue
        except Forbidden as error:
            refused.append(error)
            continue
        listed = True
        found += [(resource, item) for item in listing.items]
    if refused and not listed:
        raise refused[0]
    return found


async def fetch_pods(api: Api, job: StoredJob) -> list[Manifest]:
    """The pods that the job controls (by owner reference), sorted by name."""
    pods = (await api.list(PODS, job.key.namespace)).items
    return sorted((pod for pod in pods if is_controlled_by(pod, job.uid)), key=name_of)
