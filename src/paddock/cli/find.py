"""The job that a name on the command line means, and its pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from paddock.cli.errors import UserError
from paddock.cli.places import LOCAL, Flags
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.text import nearest
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import PODS, Manifest, Resource, is_controlled_by, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_job(api: Api, namespace: str, word: str, flags: Flags = LOCAL) -> tuple[Resource, Manifest]:
    """The job that `word` means: `NAME`, `paddlejob/NAME` or `paddlejob.GROUP/NAME`.

    Raises `UserError`: with the nearest name where there is none of this one, and with both where jobs of two API
    groups have the name and the word leaves open which. A kind that one may not read is passed over (`fetch_all` says
    why); `Forbidden` where that leaves none.
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
    if len(found) == 1 or (found and "/" in word):  # `paddlejob/NAME` is the first group's, as it is printed
        return found[0]
    if found:
        names = " and ".join(f"{_with_group(resource)}/{name}" for resource, _ in found)
        raise UserError(f"two jobs in namespace {namespace} are called {name!r}, {names}: name one of them like this")
    known = [name_of(job) for _, job in await fetch_all(api, KINDS, namespace)]
    near = nearest(name, known)
    hint = f"; did you mean {near!r}?" if near else f"; `paddock get -A{flags.options}` lists all jobs"
    raise UserError(f"there is no job {name!r} in namespace {namespace}{hint}")


def read_job_word(word: str) -> tuple[tuple[Resource, ...], str]:
    """Which kinds a word on the command line leaves, and the name. Raises `UserError` for another kind."""
    kind, slash, name = word.rpartition("/")
    resources = tuple(each for each in KINDS if not slash or kind.lower() in _forms(each))
    if not resources:
        forms = " or ".join(f"{_with_group(each)}/{name}" for each in KINDS)
        raise UserError(f"{kind!r} is no kind of job: {name}, or {forms}")
    return resources, name


def _forms(resource: Resource) -> set[str]:
    """`paddlejob`, its plural, and both with the group."""
    words = {resource.kind.lower(), resource.plural}
    return words | {f"{word}.{resource.group}" for word in words}


def _with_group(resource: Resource) -> str:
    return f"{resource.kind.lower()}.{resource.group}"


def printed_name(resource: Resource, name: str) -> str:
    """`paddlejob/demo`, a word that names the object on the command line. Where two API groups have the kind, the word
    alone means the first one's, so that of another has its group: `paddlejob.kubeflow.org/demo`."""
    first = next((each for each in KINDS if each.kind == resource.kind), resource)
    return f"{resource.kind.lower() if first == resource else _with_group(resource)}/{name}"


async def fetch_all(
    api: Api, resources: Iterable[Resource], namespace: str, labels: str = ""
) -> list[tuple[Resource, Manifest]]:
    """Every object of these kinds; a kind that this cluster does not serve (it is of another version) has none.

    Kubernetes asks for the right before it looks whether the kind is there: who is no administrator gets 403 for an
    API group that is not installed, not 404. So a refusal counts only where no kind was listed: then the first
    `Forbidden` is raised.
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


async def fetch_pods(api: Api, job: Manifest) -> list[Manifest]:
    """The job's own pods, by owner."""
    namespace = str(job["metadata"]["namespace"])
    pods = (await api.list(PODS, namespace)).items
    return sorted((pod for pod in pods if is_controlled_by(pod, uid_of(job))), key=name_of)


def in_namespace(job: Manifest, flags: Flags = LOCAL) -> str:
    """` --context prod -n training`, for the next command in a sentence; nothing for the default namespace here."""
    return flags.of(namespace_of(job))
