"""What one reconcile is about to do, and on what it was decided."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.actions import Plan
from paddock.jobs.model import Job, Observed, Status
from paddock.jobs.objects import observation
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest
from paddock.words.problems import InvalidJob


@dataclass(frozen=True, slots=True)
class Decision:
    """What a reconcile is about to do."""

    manifest: Manifest
    job: Job
    recorded: Status
    """What the API has."""
    status: Status
    """What was planned on, with what was put off."""
    observed: Observed
    plan: Plan
    refusal: InvalidJob | None
    first_look: bool
    """This process has not seen this generation of the job yet."""

    @property
    def is_decisive(self) -> bool:
        return self.plan.status.decisive() != self.status.decisive()

    def doubted(self) -> tuple[str, ...]:
        """Names of recorded pods that the cache does not have, if the decision may depend on their absence."""
        before, after = self.status, self.plan.status
        ends_pods = after.attempt != before.attempt or after.renewals != before.renewals
        ends_job = after.phase.terminal and not before.phase.terminal
        # A gang of which no pod is seen takes another size in its attempt: none was started with the old one.
        if not (ends_pods or ends_job or (before.sizes and after.sizes != before.sizes)):
            return ()
        return observation.missing_pods(self.job, before, self.observed)

    def describe_transition(self) -> str:
        """The transition for the log: `Running -> Failed: worker-0 …`."""
        before, now = self.status, self.plan.status
        why = f": {explain(now.cause)}" if now.cause else ""
        return f"{before.phase or 'new'} -> {now.phase}{why}"
