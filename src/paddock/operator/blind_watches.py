"""What an operator tells of watches that the server refuses after it has granted them: once in the log, and to probes.

It goes on by what it knows, and asks again every few seconds: a role may just be edited. But it hears of no change.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from paddock.client.watches import Watch
from paddock.kube.errors import ApiError
from paddock.kube.meta import Resource
from paddock.operator.informers import explain_unwatched

log = logging.getLogger("paddock.cluster")


def explain_blind(watch: Watch) -> str:
    return f"what changes of {watch.resource.plural}{_place(watch.namespace)} is not known any more: {watch.why}"


def _place(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""


class RefusalLog:
    """Logs what the server refuses to tell any more, each sentence once until it is told again."""

    def __init__(self, jobs: Collection[Resource]) -> None:
        self._jobs = jobs
        self._said: dict[Watch, set[str]] = {}

    def tell(self, watch: Watch, error: ApiError | None) -> None:
        if error is None:
            self._said.pop(watch, None)
            log.info("%s%s can be watched again", watch.resource.qualified, _place(watch.namespace))
            return
        sentence = explain_unwatched(watch.resource, watch.namespace, error, job=watch.resource in self._jobs)
        if sentence not in (said := self._said.setdefault(watch, set())):
            log.warning("%s", sentence)
            said.add(sentence)
