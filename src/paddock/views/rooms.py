"""What a job that waits for room on a cluster lacks, with numbers: what its pods ask for, what is free, who holds it.

On a cluster the scheduler's message counts nodes and has no amounts, so a reader who may list nodes and pods has them
computed (`node.scheduler.shortage`); who may not is told which right is missing. On a laptop the local scheduler's own
message has the numbers. Pure: whoever lists the objects does so once for all jobs of a command or a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from paddock.jobs.model import CauseRecord, Job
from paddock.jobs.sentences.cause_args import message_of
from paddock.jobs.sentences.waiting_phrases import SHORTAGE, shortage_of
from paddock.kube.meta import Manifest, Resource, uid_of
from paddock.node.scheduler.pod_request import Request, read_request
from paddock.node.scheduler.shortage import Stock, find_shortage, read_stock
from paddock.views.stored import read_stored
from paddock.views.workloads import NO_ADMISSIONS, Admissions, waits_for_queue
from paddock.words.phrases import Foreign, Phrase, phrase, render
from paddock.words.room import explain_room, find_named
from paddock.words.shortage import Holder, Shortage, list_holders, list_said_holders, name_holder

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of the pods that may hold room or wait for it."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """What a reader sees of a cluster's room."""

    stock: Stock | None = None
    unseen: Phrase | None = None
    """What is not known for want of a right, and who gives it; None where nothing is missing."""
    known: Shortage | None = None
    """What somebody else has computed of the one job that there is (a bundle)."""
    admissions: Admissions = NO_ADMISSIONS
    """What Kueue says of jobs that wait for its queues, whose quota stands before all room."""

    def begin(self) -> Rooms:
        """For another page: the work of one is bounded (`shortage.MOST_LOOKS`)."""
        return self if self.stock is None else replace(self, stock=self.stock.begin())

    def add(self, cause: CauseRecord | None, resource: Resource, manifest: Manifest) -> CauseRecord | None:
        """The cause of a job with what its pods lack, where that is known. Who has many jobs asks about the oldest
        first: not all may have numbers."""
        if cause is not None and waits_for_queue(cause):
            return self.admissions.add(cause, resource, manifest)
        if cause is not None and self.known is not None:
            return with_shortage(cause, self.known)
        if self.stock is None or cause is None or not cause.is_about_room:
            return cause
        if (named := find_named(message_of(cause.args))) is None:
            return cause
        job = read_stored(resource, manifest).job
        waiting = self.stock.waiting.get(uid_of(manifest), ())
        found = find_shortage(self.stock, waiting, needs_all=job is not None and needs_all(job), named=named)
        return cause if found is None else with_shortage(cause, found)

    def find_of_pod(self, pod: Manifest, message: str) -> Shortage | None:
        """What one pod lacks, of which a scheduler says `message`."""
        if self.stock is None or (named := find_named(message)) is None:
            return None
        return find_shortage(self.stock, [read_request(pod)], named=named)


NO_ROOMS = Rooms()


def speaks_of_room(cause: CauseRecord | None) -> bool:
    """Whether nodes and pods would tell more of this cause."""
    return cause is not None and cause.is_about_room and find_named(message_of(cause.args)) is not None


def read_waiting(_resource: Resource, pod: Manifest) -> Request:
    """What a pod asks for, for `read_rooms`: as a page reads its objects."""
    return read_request(pod)


def read_rooms(nodes: Iterable[Manifest] | None, requests: Iterable[Request] | None, own: Iterable[Request]) -> Rooms:
    """`nodes`, `requests` (of the pods of all namespaces): None where this reader may not list them. `own`: of the
    pods that the reader sees then."""
    if nodes is None:
        return Rooms(unseen=explain_unseen("list nodes"))
    if requests is None:
        return Rooms(read_stock(nodes, own, is_known=False), explain_unseen("list pods"))
    return Rooms(read_stock(nodes, requests, is_known=True))


UNSEEN_RIGHTS = ("list nodes", "list pods")
"""The second is meant of all namespaces."""


def explain_unseen(right: str) -> Phrase:
    """`right`: one of `UNSEEN_RIGHTS`."""
    if right == "list pods":
        return phrase(
            "what is free is not known: you lack the right `list pods` in all namespaces, which an administrator of "
            "the cluster grants"
        )
    return phrase(
        "what is free is not known: you lack the right `list nodes`, which an administrator of the cluster grants"
    )


def needs_all(job: Job) -> bool:
    """Whether the job cannot begin with fewer pods than it has: it is not elastic, and a program without a framework
    may run its ranks one after the other."""
    least = job.scheduling.min_available
    fixed = job.elasticity is None and job.launch.elastic is None and not job.is_plain
    return fixed and (least is None or least >= job.size)


def with_shortage(cause: CauseRecord, shortage: Shortage) -> CauseRecord:
    """The cause with what its sentence says in place of the scheduler's own words."""
    return replace(cause, args={**cause.args, SHORTAGE: shortage})


def link_holders(sentence: str, cause: CauseRecord | None, language: str) -> list[tuple[str, Holder | None]]:
    """The sentence of a cause in pieces, each with the job that it names as one that holds the room, for a page that
    links to it. Holders that a cut has left out are in no piece."""
    shortage = find_shortage_of(cause)
    pieces: list[tuple[str, Holder | None]] = []
    left = sentence
    for holder, said in zip(list_holders(shortage), list_said_holders(shortage), strict=False) if shortage else ():
        name, clause = render(name_holder(holder), language), render(said, language)
        before, found, after = left.partition(clause)
        if found:
            pieces += [(before, None), (name, holder)]
            left = clause.removeprefix(name) + after
    return [each for each in (*pieces, (left, None)) if each[0]]


def find_shortage_of(cause: CauseRecord | None) -> Shortage | None:
    """What the pods of a job lack, with numbers; None where it does not wait for room, or nobody says them."""
    return shortage_of(cause.args) if cause is not None and cause.is_about_room else None


def explain_own_words(cause: CauseRecord | None, *, is_folded: bool = False) -> Phrase | None:
    """The scheduler's own words, where the sentence has numbers of nodes and pods in their place; `is_folded`: where it
    has any others."""
    message = message_of(cause.args) if cause is not None and cause.is_about_room else ""
    if cause is None or not message or not (SHORTAGE in cause.args or (is_folded and explain_room(message))):
        return None
    return phrase("the scheduler says: {message}", message=Foreign(message))
