"""The messages of the conditions of a kubeflow.org job, word for word as training-operator v1.9.4 writes them.

Programs and people search for these words, so they are English, end with a full stop, and are not phrases of the
catalogues. The reason in Paddock's own words is `status.why` (`apis.kubeflow_status`).

Sources: pkg/controller.v1/{pytorch,paddlepaddle}/*_controller.go, pkg/controller.v1/common/{job,pod}.go and pkg/util of
kubeflow/trainer, branch release-1.9. A job without a Master is named with its namespace, as there. What v1.9 has no
sentence for (a resize, a gang that was lost too often) has Paddock's, behind the same beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.jobs.model import CauseRecord, Status
from paddock.jobs.sentences.explain import explain


@dataclass(frozen=True, slots=True)
class Subject:
    """The job that a sentence is about."""

    kind: str
    name: str
    namespace: str
    types: Mapping[str, str]  # role -> replica type (`Worker`)
    has_master: bool = False  # it has Master pods
    by_exit_code: frozenset[str] = frozenset()  # the roles whose restartPolicy is ExitCode

    @property
    def _full(self) -> str:
        return f"{self.kind} {self.name}" if self.has_master else f"{self.kind} {self.namespace}/{self.name}"

    def created(self) -> str:
        return f"{self.kind} {self.name} is created."

    def running(self) -> str:
        return f"{self._full} is running."

    def succeeded(self) -> str:
        return f"{self._full} {'is ' if self.has_master else ''}successfully completed."

    def suspended(self) -> str:
        return f"{self.kind} {self.name} is suspended."

    def resumed(self) -> str:
        return f"{self.kind} {self.name} is resumed."

    def restarting(self, cause: CauseRecord | None) -> str:
        """v1.9's first sentence for pods that failed, its second for those that were deleted."""
        ranks, deleted, failed = _ranks(cause), *_is_of_pods(cause)
        if ranks and deleted:
            role, number = _first_role(ranks)
            return f"{self.kind} {self.name} is restarting because {number} {self._type(role)} replica(s) failed."
        if ranks and failed:
            return f"job {self.name} is restarting because {self._type(_first_role(ranks)[0])} replica(s) failed."
        return f"{self.kind} {self.name} is restarting{_because(cause)}."

    def failed(self, status: Status) -> str:
        cause = status.cause
        reason, ranks = cause.reason if cause else "", _ranks(cause)
        if reason == "BackoffLimitExceeded":
            return f"Job {self.name} has failed because it has reached the specified backoff limit"
        if reason == "DeadlineExceeded":
            return f"Job {self.name} has failed because it was active longer than specified deadline"
        if not ranks or not _is_failure(reason):
            return f"{self.kind} {self.name} is failed{_because(cause)}."
        role, number = _first_role(ranks)
        if role in self.by_exit_code:
            return f'job "{self.name}" is failing because "{self._type(role)}" replica(s) failed.'
        counts = status.roles.get(role)
        number = max(number, counts.failed if counts else 0)
        return f"{self.kind} {self.name} is failed because {number} {self._type(role)} replica(s) failed."

    def _type(self, role: str) -> str:
        return self.types.get(role, role)


def _is_failure(reason: str) -> bool:
    # A list of jobs reads statuses and writes none: it does without the classes of all causes.
    from paddock.jobs.causes import CAUSES, Failure

    return issubclass(CAUSES.get(reason, object), Failure)


def _is_of_pods(cause: CauseRecord | None) -> tuple[bool, bool]:
    """Whether the cause is that pods were deleted, and whether it is that they failed or were lost."""
    reason = cause.reason if cause else ""
    return reason == "PodsDeleted", reason == "PodsLost" or _is_failure(reason)


def _because(cause: CauseRecord | None) -> str:
    return f": {explain(cause)}" if cause else ""


def _ranks(cause: CauseRecord | None) -> tuple[str, ...]:
    """The ranks of a cause (`worker-0`); any other operator may have written the record."""
    found = cause.args.get("ranks") if cause else None
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list | tuple) else ()


def _first_role(ranks: tuple[str, ...]) -> tuple[str, int]:
    """The role of the first of them, and how many of them have it."""
    roles = [rank.rpartition("-")[0] for rank in ranks]
    return roles[0], roles.count(roles[0])
