"""What may begin in the term of a Lease.

Each pass belongs to the term in which it was begun, and no request of it begins once that has ended, also if this
process leads again by then. So a pass that has lost its Lease stops where it stands, and whoever leads next goes on
from what the API has, as after a crash.

The term of a pass is a variable of its task's context, which the tasks that it starts inherit. What belongs to no pass
(events that are sent later) needs that this process leads its namespace in the term that the operator works in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from paddock.kube.api import Api
from paddock.kube.calls import Call
from paddock.kube.guard import GuardedApi, NotBegun
from paddock.operator.election import Leadership, Term
from paddock.operator.shares import shard_of

_PASS: ContextVar[tuple[int, Term | None] | None] = ContextVar("pass", default=None)


def begin_pass(shard: int, term: Term | None) -> None:
    """What this task does from here on, and each task that it starts, belongs to this term of a shard."""
    _PASS.set((shard, term))


class Passes:
    """`terms`: those that the operator works in, by shard."""

    def __init__(self, leadership: Leadership, terms: Callable[[], Mapping[int, Term | None]]) -> None:
        self._leadership = leadership
        self._terms = terms

    def guard(self, api: Api) -> Api:
        """The same API, of which no request begins that may not."""
        return GuardedApi(api, self._check)

    def may_act(self, namespace: str) -> bool:
        """Whether the pass of this task may go on; of another task, whether one in this namespace might."""
        begun = _PASS.get()
        if begun is None:
            shard = shard_of(namespace, self._leadership.shards)
            begun = shard, self._terms().get(shard)
        return self._leadership.holds(*begun)

    def _check(self, call: Call[Any]) -> None:
        if not self.may_act(call.namespace):
            raise NotBegun("this operator leads no more, so it leaves this to the next leader")
