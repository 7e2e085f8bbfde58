"""Why a job avoids a node, in a sentence. `jobs.policies.suspects` decides it."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.model import Status, Suspect
from paddock.kube.times import Moment, format_time
from paddock.words.phrases import Names, Phrase, counted, phrase

_REASONS: Mapping[str, Phrase] = {
    "NodeLost": phrase("the node was lost"),
    "DevicesNotAllocated": phrase("the kubelet could not give a pod its devices"),
    "DeviceFault": phrase("a GPU reported a fault (Xid)"),
    "DeviceMemory": phrase("the memory of a GPU had an error that was not corrected (ECC)"),
    "DeviceInitialization": phrase("CUDA could not be initialized"),
    "FailedFirst": phrase("a rank there failed first, and not by an error of its program"),
}
"""By the reasons of `policies.suspects`. Another version may know more."""


def explain_suspects(status: Status, now: Moment) -> list[Phrase]:
    """A sentence for each node that is avoided now, by name."""
    found = sorted(status.suspects.items())
    return [explain_suspect(name, each) for name, each in found if each.until is not None and each.until > now]


def explain_suspect(node: str, suspect: Suspect) -> Phrase:
    """`node gpu-7 is avoided until … (attempts 0 and 1: CUDA could not be initialized)`"""
    attempts = Names(tuple(map(str, suspect.attempts)), most=0)
    return phrase(
        "node {node} is avoided until {time} ({attempts}: {why})",
        node=node, time=format_time(suspect.until or 0.0),
        why=_REASONS.get(suspect.reason, phrase("it failed there")),
        attempts=counted(
            "attempt {attempts}", "attempts {attempts}", attempts=attempts, count=len(suspect.attempts)
        ),
    )  # fmt: skip
