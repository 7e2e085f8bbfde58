"""Counts each transition of a job once: at the status write that records it.

A write that the API refused has not happened, and is not counted. A write whose answer was lost may have happened: it
is counted when the job is read next and has that status, unless another process may have led since, which may have
recorded, and counted, the same. A process that ends between a write and its answer has counted nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from paddock.jobs.model import Status
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, Resource, uid_of
from paddock.operator.metrics import Measures
from paddock.operator.transitions import Finished, Transition, read_begun, read_transitions

Ref = tuple[Resource, Key]
OnEnd = Callable[[Mapping[str, Any], Status], None]
"""Told of each job that has ended, once, with its last status. It returns at once and raises nothing."""

_ANSWER_LOST = 500
"""Codes from here on may follow a write that happened: 503 is also no answer, 504 an answer too late."""


@dataclass(slots=True)
class Write:
    """A status write of one job."""

    uid: str
    status: Status
    transitions: tuple[Transition, ...]
    term: object
    job: Mapping[str, Any]
    """As it was read before the write."""
    kept: bool = True
    """Set to False if the server dropped what was written."""


class Tally:
    """`on_end` is told of jobs that end, as they are counted. `term`: the current term of leadership
    (`operator.election`) of a namespace, which changes when another may have led."""

    def __init__(self, measures: Measures, term: Callable[[str], object], on_end: OnEnd = lambda *_: None) -> None:
        self._measures = measures
        self._on_end = on_end
        self._term = term
        self._unanswered: dict[Ref, Write] = {}

    @contextmanager
    def writing(self, ref: Ref, job: Mapping[str, Any], before: Status, after: Status) -> Iterator[Write]:
        """Around the write of `after` to this job, whose status is `before`."""
        transitions = read_transitions(before, after, read_begun(job))
        write = Write(uid_of(job), after, transitions, self._term(ref[1].namespace), job)
        try:
            yield write
        except ApiError as error:
            if transitions and error.code >= _ANSWER_LOST:
                self._unanswered[ref] = write
            raise
        if write.kept:
            self._count(ref, write)

    def settle(self, ref: Ref, job: Mapping[str, Any], status: Status) -> None:
        """The job was read: count an earlier write whose answer was lost, if this status is what it wrote."""
        write = self._unanswered.pop(ref, None)
        if write is None or write.uid != uid_of(job) or write.term != self._term(ref[1].namespace):
            return
        if (status.decisive(), status.started) == (write.status.decisive(), write.status.started):
            self._count(ref, write)

    def forget(self, ref: Ref) -> None:
        """The job is gone."""
        self._unanswered.pop(ref, None)

    def _count(self, ref: Ref, write: Write) -> None:
        for transition in write.transitions:
            self._measures.passed(*ref, transition)
        if any(isinstance(each, Finished) for each in write.transitions):
            self._on_end(write.job, write.status)
