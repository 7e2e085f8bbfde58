"""What an operator would do with a job now, computed from what is there: for a page, as rows. Pure.

Not known here: ports that other programs hold, nodes that are silent, and what the API server refused. What depends on
them may be decided otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.actions import Action, Create, Delete, EventNote, Plan
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Counts, Job, Observed, Settings, Status
from paddock.jobs.objects.observation import View, read_datasets, read_observed
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain
from paddock.kube.datasets import DatasetStatus, read_status
from paddock.kube.meta import DATASETS, Key
from paddock.kube.times import Moment, format_time
from paddock.views.phases import show_phase
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase, render


@dataclass(frozen=True, slots=True)
class Change:
    """Of one thing that the status records; empty for what is not recorded."""

    title: Phrase
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One action of a plan."""

    said: Phrase  # what is done, `create`
    kind: str
    name: str
    grace: int | None = None  # seconds of a deletion; None for the pod's own, or for no deletion


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a plan would do."""

    changes: tuple[Change, ...]
    actions: tuple[ActionRow, ...]
    events: tuple[EventNote, ...]
    records: bool  # the status would be written, which may be of what no row names (conditions, times)
    again: float | None  # seconds until time alone changes the decision; None for never

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.actions or self.records)


def foresee(
    stored: StoredJob, job: Job, view: View, settings: Settings, now: Moment, language: str = "en"
) -> Foresight:
    """`job`: that of `stored`, valid. `settings`: the operator's."""
    known = Observed(datasets=read_datasets(job, _StoredDatasets(view, settings)))
    groups, scalers = settings.pod_groups, settings.autoscalers
    observed = read_observed(job, stored.status.attempt, view, pod_groups=groups, autoscalers=scalers, known=known)
    decided = plan(job, stored.status, observed, now, settings)
    return Foresight(
        changes=tuple(_list_changes(stored.status, decided.status, language)),
        actions=tuple(map(_show_action, decided.actions)),
        events=decided.events,
        records=_is_written(stored, decided, now),
        again=decided.requeue_after,
    )


@dataclass(frozen=True, slots=True)
class _StoredDatasets:
    """Datasets as `read_datasets` asks for them. Other names of the namespace are not known."""

    view: View
    settings: Settings

    def get(self, key: Key) -> DatasetStatus | None:
        found = self.view.get(DATASETS, key)
        return None if found is None else read_status(found)

    def names(self, namespace: str) -> tuple[str, ...]:
        return ()

    def unserved(self, namespace: str) -> str | None:
        return None if self.settings.datasets else ""


def _is_written(stored: StoredJob, decided: Plan, now: Moment) -> bool:
    """Whether the kind's own status would differ: what it does not record makes no write."""
    api, found = KINDS[stored.resource], stored.manifest.get("status")
    raw: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    before = api.write_status(raw, stored.status, now, stored.manifest)
    return bool(api.write_status(raw, decided.status, now, stored.manifest) != before)


def _list_changes(before: Status, after: Status, language: str) -> list[Change]:
    def tell_cause(status: Status) -> str:
        return explain(status.cause, language) if status.cause else ""

    rows = [
        Change(phrase("State"), show_phase(before), show_phase(after)),
        Change(phrase("Attempt"), str(before.attempt), str(after.attempt)),
        Change(phrase("Restarts"), str(before.restarts), str(after.restarts)),
        Change(phrase("Cause"), tell_cause(before), tell_cause(after)),
        Change(phrase("Started"), _tell_time(before.started), _tell_time(after.started)),
        Change(phrase("Finished"), _tell_time(before.finished), _tell_time(after.finished)),
    ]
    for role in sorted({*before.roles, *after.roles}):
        title = phrase("Ranks of {role}", role=role)
        rows.append(Change(title, _tell_counts(before.roles.get(role)), _tell_counts(after.roles.get(role))))
    for rank in sorted({*before.renewals, *after.renewals}):
        title = phrase("{rank} started again alone", rank=rank)
        rows.append(Change(title, str(before.renewals.get(rank, 0)), str(after.renewals.get(rank, 0))))
    return [row for row in rows if row.before != row.after]


def _tell_time(moment: Moment | None) -> str:
    return "" if moment is None else format_time(moment)


def _tell_counts(counts: Counts | None) -> str:
    """In the words of the API's status."""
    if counts is None:
        return ""
    words = ("pending", "starting", "running", "succeeded", "failed")
    return ", ".join(f"{getattr(counts, word)} {word}" for word in words if getattr(counts, word))


def _show_action(action: Action) -> ActionRow:
    kind = action.resource.kind
    if isinstance(action, Create):
        return ActionRow(phrase("create"), kind, action.key.name)
    if isinstance(action, Delete):
        return ActionRow(phrase("delete"), kind, action.key.name, action.grace)
    return ActionRow(phrase("change"), kind, action.key.name)


def tell_emptiness(foresight: Foresight, status: Status, language: str = "en") -> str:
    """What is said of a plan that does nothing. `status`: the recorded one."""
    if not foresight.is_empty:
        return ""
    if status.phase.terminal:
        return render(phrase("nothing: the job has ended"), language)
    return render(phrase("nothing: the job is as it should be"), language)
