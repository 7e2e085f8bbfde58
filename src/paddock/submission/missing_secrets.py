"""The Secrets of jobs that are about to be submitted to the local cluster: a pod whose variables come from a Secret
that nobody makes waits for ever. On a cluster others may make it later, and nothing is done. Pure, but for an `Api`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.errors import NotFound
from paddock.kube.meta import SECRETS, Key, Manifest, Resource, metadata
from paddock.script.names import build_secret_name
from paddock.submission.documents import Checked
from paddock.views.flags import LOCAL, Flags
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


@dataclass(frozen=True, slots=True)
class Missing:
    """A Secret that is not there."""

    job: Job
    secret: Key
    variables: Mapping[str, str]
    """Their names, with the keys of the Secret; `envFrom` stands for all."""


def read_brought(checked: Sequence[Checked], resource: Resource = SECRETS) -> frozenset[Key]:
    """The Secrets, or the objects of another kind, among the documents."""
    return frozenset(each.key for each in checked if each.resource == resource)


async def find_missing_secrets(
    api: Api, jobs: Sequence[Job], brought: Collection[Key], gone: Collection[str]
) -> list[Missing]:
    """The Secrets that are neither `brought` nor stored. `gone`: UIDs of objects that will be deleted."""
    named = {missing.secret for missing in find_missing(jobs, brought)}
    there = set(brought)
    for key in named:
        with suppress(NotFound):
            if not goes_with(await api.get(SECRETS, *key), gone):
                there.add(key)
    return find_missing(jobs, there)


def goes_with(manifest: Manifest, gone: Collection[str]) -> bool:
    """Whether garbage collection deletes an object once these owners are gone: it has owners, and no other. Pure."""
    owners = {owner["uid"] for owner in metadata(manifest).get("ownerReferences") or ()}
    return bool(owners) and owners <= set(gone)


def find_missing(jobs: Sequence[Job], there: Collection[Key]) -> list[Missing]:
    """The Secrets that containers of the jobs take variables from, and that are not `there`. Pure."""
    found = []
    for job in jobs:
        named: dict[str, dict[str, str]] = {}
        for container in _build_containers(job):
            for secret, variable, key in read_references(container):
                named.setdefault(secret, {})[variable] = key
        missing = (Missing(job, Key(job.key.namespace, name), variables) for name, variables in named.items())
        found += [each for each in missing if each.secret not in there]
    return found


def read_references(container: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """The names of the Secrets that a container cannot start without, each with a variable and its key there."""
    sources, entries = _read_list(container, "envFrom"), _read_list(container, "env")
    references = [("envFrom", source.get("secretRef")) for source in sources]
    references += [(str(entry.get("name")), (entry.get("valueFrom") or {}).get("secretKeyRef")) for entry in entries]
    for variable, reference in references:
        if reference and reference.get("name") and not reference.get("optional"):
            yield str(reference["name"]), variable, str(reference.get("key") or "")


def explain_missing(missing: Missing, flags: Flags = LOCAL) -> Phrase:
    """What is missing, and what makes it."""
    job, name, variables = missing.job, missing.secret.name, ", ".join(missing.variables)
    if name == build_secret_name(job.key.name):
        return phrase(
            "there is no Secret {name} for {variables}: --env-file or --secret of `paddock run` makes it",
            name=name, variables=variables,
        )  # fmt: skip
    keys = dict.fromkeys(key for key in missing.variables.values() if key) or ["NAME"]
    namespace = "" if missing.secret.namespace == flags.namespace else f" -n {missing.secret.namespace}"
    literals = " ".join(f"--from-literal={key}=…" for key in keys)
    return phrase(
        "there is no Secret {name} for {variables}: `{command}` makes it",
        name=name, variables=variables,
        command=f"{flags.kubectl}{namespace} create secret generic {name} {literals}",
    )  # fmt: skip


def _read_list(container: Mapping[str, object], name: str) -> list[Manifest]:
    found = container.get(name)
    return found if isinstance(found, list) else []


def _build_containers(job: Job) -> Iterator[Manifest]:
    """The containers of one pod of each role."""
    for role in job.roles:
        spec = build_pod(job, Rank(role.name, 0), 0, None, Settings())["spec"]
        yield from (*(spec.get("initContainers") or ()), *spec["containers"])
