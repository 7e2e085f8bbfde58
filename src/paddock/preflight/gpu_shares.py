"""Checks the annotation `paddock.dev/share-gpu` of a job, or of a role's template: a number of ranks, and one GPU for
each. What it does is in `kube.gpu_shares`. Pure.

NCCL refuses two ranks of one communicator on one GPU (`Duplicate GPU detected`, init.cc of NCCL), so ranks of one
job that share one are warned of it; ranks of several jobs are not, as they never talk to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from paddock.kube.gpu_shares import FEWEST_SHARES, GPU, MOST_SHARES, SHARE_ANNOTATION, read_shares
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.manifests.parts import Part, mapping
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told, wrong

_GLOO = re.compile(r"\bgloo\b", re.IGNORECASE)
_SERVERS = ("ps", "pserver")


def check_gpu_shares(parts: Sequence[Part], manifest: Mapping[str, Any], *, framework: str) -> Iterator[Problem]:
    """`framework`: of the job; empty for none, whose ranks do not talk by NCCL as far as is known."""
    own = mapping(mapping(manifest.get("metadata")).get("annotations"))
    places = {"metadata.annotations": own}
    places |= {
        f"{part.path}.template.metadata.annotations": mapping(mapping(part.template.get("metadata")).get("annotations"))
        for part in parts
    }
    written = [(path, each[SHARE_ANNOTATION]) for path, each in places.items() if SHARE_ANNOTATION in each]
    for path, value in written:
        if not read_shares(value):
            allowed = phrase(
                'a whole number from {least} to {most} in quotes, as "4",', least=FEWEST_SHARES, most=MOST_SHARES
            )
            yield wrong(join_path(path, SHARE_ANNOTATION), value, allowed)
    if not written or not all(read_shares(value) for _, value in written):
        return
    sharing = [part for part in parts if _shares(part, own)]
    for part in sharing:
        if (count := _count_gpus(part)) > 1:
            yield told(_find_path(part), _explain_several(count), str(count))
    where = join_path(written[0][0], SHARE_ANNOTATION)
    if not asks_for_gpus(sharing):
        said = phrase(
            "has no effect: no rank here asks for {resource}; ask for one under resources.limits", resource=GPU
        )
        yield told(where, said, severity="warning", about_key=True)
    ranks = [part for part in sharing if _count_gpus(part) == 1 for _ in range(min(part.replicas, 2))]
    if len(ranks) > 1 and framework and not _has_servers(parts) and not any(map(_names_gloo, ranks)):
        said = phrase(
            "ranks of this job may be placed on one GPU, and NCCL refuses two ranks on one GPU (Duplicate GPU "
            "detected): let the program use gloo, or give each rank a GPU of its own"
        )
        yield told(where, said, severity="warning", about_key=True)


def asks_for_gpus(parts: Iterable[Part]) -> bool:
    """Whether a rank of these roles asks for a GPU."""
    return any(map(_count_gpus, parts))


def _explain_several(count: int) -> Phrase:
    return phrase(
        "a rank that shares a GPU (annotation {name}) asks for one, and this one for {count}: ask for 1, or do not "
        "share",
        name=SHARE_ANNOTATION, count=count,
    )  # fmt: skip


def _shares(part: Part, own: Mapping[str, Any]) -> bool:
    """The annotation of a template counts before that of the job."""
    template = mapping(mapping(part.template.get("metadata")).get("annotations"))
    return read_shares(template.get(SHARE_ANNOTATION, own.get(SHARE_ANNOTATION))) > 0


def _count_gpus(part: Part) -> int:
    """Of one rank; 0 where that cannot be read, which is told elsewhere."""
    try:
        return int(read_pod_amounts(part.spec).get(GPU, 0))
    except (ValueError, TypeError, AttributeError):
        return 0


def _find_path(part: Part) -> str:
    """The first container that asks for GPUs."""
    asks = [each for each in part.containers("containers", "initContainers") if GPU in each.amounts("limits")]
    return join_path(f"{asks[0].path}.resources.limits", GPU) if asks else part.spec_path


def _has_servers(parts: Sequence[Part]) -> bool:
    """Trainers of parameter servers do not talk to each other by NCCL."""
    return any(part.name.casefold() in _SERVERS and part.replicas for part in parts)


def _names_gloo(part: Part) -> bool:
    """Whether a command or a variable of the rank says gloo."""
    for container in part.containers():
        value = container.value
        texts = [*(value.get("command") or ()), *(value.get("args") or ())]
        texts += [mapping(each).get("value") for each in value.get("env") or ()]
        if any(_GLOO.search(str(text)) for text in texts):
            return True
    return False
