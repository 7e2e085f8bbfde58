"""The sentences about gangs whose size changes."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import reduce

from paddock.jobs.sentences.cause_args import Args, items_of, message_of, text_of, value_of
from paddock.kube.quantities import read_quantity
from paddock.words.amounts import say_amount
from paddock.words.phrases import Foreign, Phrase, counted, phrase


def explain_shrunk(args: Args) -> Phrase:
    return phrase(
        "begins again with {size} of {least} to {most} workers: there was no room for all {wanted} within {seconds} s",
        **_read(args, "size", "wanted", "least", "most", "seconds"),
    )


def explain_grown(args: Args) -> Phrase:
    return phrase(
        "begins again with {size} of {least} to {most} workers: there is room for them now",
        **_read(args, "size", "least", "most"),
    )


def explain_smaller(args: Args) -> Phrase:
    return phrase(
        "runs with {size} of {least} to {most} workers, since {why}; {grows}",
        why=_explain_loss(text_of(args, "after")),
        grows=_explain_room(args),
        **_read(args, "size", "least", "most"),
    )


def _explain_loss(reason: str) -> Phrase:
    """`reason`: as in `Status.gang_loss`. Kubernetes' are those of `policies.root_cause.FREE`."""
    return _LOSSES.get(reason, _NO_ROOM)


_NODE_LOST, _NO_ROOM = phrase("a node was lost"), phrase("there was no room for more")
_PREEMPTED, _DELETED = phrase("pods had to make room for others"), phrase("pods were deleted")
_OF_RANK = re.compile(r"[a-z][a-z0-9-]*-\d+: [A-Z]")
"""`worker-2: ErrImagePull: …`, as `policies.lacking` says it of a pod that has a node."""

_DETAILS = re.compile(r" \([^)]*\)")
_LOSSES = {
    **dict.fromkeys(("Lost", "NodeLost", "DeletionByTaintManager", "DeletionByPodGC"), _NODE_LOST),
    **dict.fromkeys(("NodeShutdown", "Shutdown", "Terminated", "TerminationByKubelet"), phrase("a node was shut down")),
    **dict.fromkeys(("Preempting", "Preempted", "PreemptionByScheduler"), _PREEMPTED),
    "EvictionByEvictionAPI": phrase("pods were evicted"),
    "PodsDeleted": _DELETED,
}


def _explain_room(args: Args) -> Phrase:
    """What one more rank needs, and what else the scheduler says: nodes may keep pods away for other reasons too."""
    lacks, message = _read_amounts(args), message_of(args)
    if _OF_RANK.match(message):
        return _with_message(phrase("grows when the pods for more can start"), message)
    if not lacks:
        return _with_message(phrase("grows when there is room"), message)
    alone = len(lacks) == 1 and lacks[0][1] == 1
    said = counted(
        "grows when {room} is free",
        "grows when {room} are free",
        room=reduce(_join, (say_amount(*each) for each in lacks)),
        count=1 if alone or lacks[0][0] in ("memory", "ephemeral-storage") else 2,
    )
    return said if _says_no_more(message) else _with_message(said, message)


def _says_no_more(message: str) -> bool:
    """`0/1 nodes are available: 1 Insufficient cpu (needs 1, 0 of 2 free). preemption: …`: only what is lacking."""
    reasons = _DETAILS.sub("", message).partition(". ")[0].partition(": ")[2]
    return all("Insufficient" in reason for reason in reasons.split(", "))


def _join(first: Phrase | str, rest: Phrase | str) -> Phrase:
    return phrase("{first} and {rest}", first=first, rest=rest)


def _with_message(said: Phrase, message: str) -> Phrase:
    return phrase("{said}: {message}", said=said, message=Foreign(message)) if message else said


def _read_amounts(args: Args) -> list[tuple[str, Fraction]]:
    found: list[tuple[str, Fraction]] = []
    for name, _, text in (each.partition("=") for each in items_of(args, "lacks")):
        try:
            found.append((name, read_quantity(text)))
        except ValueError:  # another version of the operator wrote it
            continue
    return found


def _read(args: Args, *names: str) -> dict[str, str]:
    return {name: str(value_of(args, name)) for name in names}
