"""What is said of a job that is in a queue of Kueue's, or was: why it waits there, and why it was stopped.

The operator records the queue, and of an eviction Kueue's reason: it reads nothing of Kueue's. Who reads a Workload
with rights of their own (`views.workloads`) adds what Kueue says as the argument `SAID`, which is never recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.jobs.labels import QUEUE_LABEL
from paddock.jobs.sentences.cause_args import Args, text_of, value_of
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase

SAID = "kueue"
_PREEMPTED = "Preempted"


@dataclass(frozen=True, slots=True)
class More:
    """What a Workload lacks of one resource."""

    name: str
    amount: Fraction
    flavor: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What Kueue says of a Workload that waits."""

    reason: str = ""
    """Kueue's, of its condition (WaitingForQuota, Misconfigured); empty where it says none."""
    message: str = ""
    hopeless: bool = False
    """Nothing but a change by a person lets it in."""
    asks: Mapping[str, Fraction] = field(default_factory=dict)
    lacks: tuple[More, ...] = ()
    holders: tuple[str, ...] = ()
    """Other Workloads of the queue that hold quota, by the names of their jobs."""
    position: int | None = None
    """1: it is the next of its queue. None where that is not known."""
    preemptor: str = ""
    """The job that it was stopped for; empty where that is not known."""


def explain_queue(args: Args) -> Phrase:
    """A job that waits for its queue."""
    said = args.get(SAID)
    known = said if isinstance(said, Said) else Said()
    waits = _explain_wait(args, known)
    if not (evicted := text_of(args, "evicted")):
        return waits
    return phrase("{evicted}; {waits}", evicted=_explain_eviction(evicted, args, known.preemptor), waits=waits)


def _explain_wait(args: Args, said: Said) -> Phrase:
    queue = value_of(args, "queue")
    if said.hopeless:
        return phrase("Kueue cannot admit it to queue {queue}: {message}", queue=queue, message=Foreign(said.message))
    if said.lacks:
        return _explain_quota(_name_place(queue, said), said)
    if said.message:
        return phrase("{place}: {message}", place=_name_place(queue, said), message=Foreign(said.message))
    if said.position is not None:
        return phrase("{place}, and holds no devices", place=_name_place(queue, said))
    if text_of(args, "evicted"):
        return phrase("waits for Kueue's queue {queue} to admit it again, and holds no devices", queue=queue)
    return phrase("waits for Kueue's queue {queue} to admit it, and holds no devices", queue=queue)


def _name_place(queue: str | int, said: Said) -> Phrase:
    if said.position is None:
        return phrase("waits for Kueue's queue {queue}", queue=queue)
    return phrase("number {position} in Kueue's queue {queue}", position=said.position, queue=queue)


def _explain_quota(place: Phrase, said: Said) -> Phrase:
    """What it asks for, what is missing, and who holds it."""
    asks = Names(tuple(say_amount(name, said.asks[name]) for name in sort_resources(said.asks)))
    lacks = Names(tuple(map(_say_more, said.lacks)))
    if not said.asks:
        waits = phrase("{place}: the quota lacks {lacks}", place=place, lacks=lacks)
    else:
        waits = phrase("{place}: it asks for {asks}, and the quota lacks {lacks}", place=place, asks=asks, lacks=lacks)
    if not said.holders:
        return waits
    return counted(
        "{waits}; {holders} holds quota", "{waits}; {holders} hold quota",
        waits=waits, holders=Names(said.holders), count=len(said.holders),
    )  # fmt: skip


def _say_more(more: More) -> Phrase | str:
    amount = say_amount(more.name, more.amount)
    return phrase("{amount} in flavor {flavor}", amount=amount, flavor=more.flavor) if more.flavor else amount


def explain_evicted(args: Args) -> Phrase:
    """A gang that Kueue has stopped."""
    return phrase(
        "{evicted}: all ranks start again once its queue {queue} admits them; not counted as a restart",
        evicted=_explain_eviction(text_of(args, "why"), args), queue=value_of(args, "queue"),
    )  # fmt: skip


def _explain_eviction(why: str, args: Args, preemptor: str = "") -> Phrase:
    if why != _PREEMPTED:
        return phrase("Kueue stopped it ({why})", why=why)
    due = text_of(args, "due")
    if due and preemptor:
        return phrase("Kueue gave its room to {job} ({due})", job=preemptor, due=Foreign(due))
    if due:
        return phrase("Kueue gave its room to another job ({due})", due=Foreign(due))
    if preemptor:
        return phrase("Kueue gave its room to {job}, which is more urgent", job=preemptor)
    return phrase("Kueue gave its room to a more urgent job")


def explain_not_in_force(args: Args) -> Phrase:
    """A job whose pods Kueue would not hold."""
    return phrase(
        "no pod was made: Kueue does not hold pods here, so they would run outside of its queue {queue}. Switch on its "
        "integration `pod` for this namespace (it needs Kubernetes 1.27), or take the label {label} off the job",
        queue=value_of(args, "queue"), label=QUEUE_LABEL,
    )  # fmt: skip
