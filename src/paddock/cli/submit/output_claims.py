"""The claims of `paddock.dev/outputs`, looked at before a job is sent, by the rights of who sends it.

The operator may not read claims, so this is where a name that is wrong costs a second and not a night. A claim that may
not be read is not judged: the pods tell what they wait for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddock.jobs.model import Job
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import CLAIMS, Key, Manifest, is_deleting, name_of
from paddock.kube.nearness import nearest
from paddock.submission.documents import Checked
from paddock.views.flags import Flags
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

_MOST_NAMED = 8
_SHARED = "ReadWriteMany"
_BY_ONE_POD = "ReadWriteOncePod"


def find_named(checked: Sequence[Checked]) -> Iterator[tuple[Checked, Job]]:
    """The jobs that name a claim, and whose documents do not bring it themselves. Pure."""
    brought = {Key(each.key.namespace, each.key.name) for each in checked if each.resource == CLAIMS}
    for each in checked:
        if each.job is not None and each.job.outputs and Key(each.key.namespace, each.job.outputs) not in brought:
            yield each, each.job


async def fetch_refused(api: Api, checked: Sequence[Checked], flags: Flags) -> list[tuple[Checked, Phrase]]:
    """The jobs whose pods could never write into their claims, each with its sentence. Reads only."""
    found = []
    for each, job in find_named(checked):
        said = await _find_refusal(api, job, flags)
        if said is not None:
            found.append((each, said))
    return found


async def _find_refusal(api: Api, job: Job, flags: Flags) -> Phrase | None:
    try:
        claim = await api.get(CLAIMS, job.key.namespace, job.outputs)
    except Forbidden:
        return None
    except NotFound:
        there: list[str] = []
        with suppress(ApiError):
            there = [name_of(each) for each in (await api.list(CLAIMS, job.key.namespace)).items]
        return explain_missing(job, there, flags)
    return judge(job, claim)


async def fetch_notes(api: Api, checked: Sequence[Checked]) -> list[Phrase]:
    """What is told of claims that are there."""
    said = []
    for each, job in find_named(checked):
        with suppress(ApiError):
            claim = await api.get(CLAIMS, job.key.namespace, job.outputs)
            said += [phrase("{object}: {problem}", object=each.label, problem=note) for note in doubt(job, claim)]
    return said


def explain_missing(job: Job, there: Collection[str], flags: Flags) -> Phrase:
    """Why there is no such claim, with those that there are. Pure."""
    said = phrase("there is no claim {claim} in namespace {namespace}, which the annotation paddock.dev/outputs names",
                  claim=job.outputs, namespace=job.key.namespace)  # fmt: skip
    if near := nearest(job.outputs, there):
        return phrase(
            "there is no claim {claim} in namespace {namespace}, which the annotation paddock.dev/outputs names; did "
            "you mean {name}?",
            claim=job.outputs, namespace=job.key.namespace, name=near,
        )  # fmt: skip
    if there:
        return phrase(
            "there is no claim {claim} in namespace {namespace}, which the annotation paddock.dev/outputs names; "
            "there are {names}",
            claim=job.outputs, namespace=job.key.namespace, names=Names(tuple(sorted(there)), most=_MOST_NAMED),
        )  # fmt: skip
    command = f"{flags.kubectl} get storageclass"
    return phrase(
        "{said}, and no other; a PersistentVolumeClaim with accessModes [ReadWriteMany] makes one, of a storage class "
        "that can do it: `{command}` lists them",
        said=said, command=command,
    )  # fmt: skip


def read_modes(claim: Mapping[str, Any]) -> list[str]:
    """As bound, else as asked for."""
    status, spec = claim.get("status") or {}, claim.get("spec") or {}
    return list(status.get("accessModes") or spec.get("accessModes") or ())


def judge(job: Job, claim: Manifest) -> Phrase | None:
    """Why the job could never write into a claim; None where it can, or where that is not known. Pure."""
    modes = read_modes(claim)
    if is_deleting(claim):
        return phrase("the claim {claim} is being deleted: name another one", claim=job.outputs)
    if (claim.get("status") or {}).get("phase") == "Lost":
        return phrase("the claim {claim} has lost its volume, with what was in it: name another one", claim=job.outputs)
    if modes and set(modes) <= {"ReadOnlyMany"}:
        return phrase("the claim {claim} can be read only (ReadOnlyMany): name one that can be written to",
                      claim=job.outputs)  # fmt: skip
    if job.size > 1 and modes == [_BY_ONE_POD]:
        return phrase(
            "only one pod at a time may have the claim {claim} (ReadWriteOncePod), and the job has {count}: name one "
            "with ReadWriteMany",
            claim=job.outputs, count=job.size,
        )  # fmt: skip
    return None


def doubt(job: Job, claim: Manifest) -> Iterator[Phrase]:
    """What may keep pods of the job waiting. Pure."""
    modes = read_modes(claim)
    if job.size > 1 and modes and _SHARED not in modes and modes != [_BY_ONE_POD]:
        yield phrase(
            "one node at a time may have the claim {claim} ({modes}), and the job has {count} pods: those that come to "
            "another node wait for it (Multi-Attach error); a claim with ReadWriteMany has no such limit",
            claim=job.outputs, modes=Names(tuple(modes)), count=job.size,
        )  # fmt: skip
