"""What `paddock run` shows: the head, the live line, the end. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paddock.jobs.explain import explain
from paddock.jobs.model import Job, Phase, Rank, Role, Status
from paddock.jobs.progress import Progress
from paddock.kube.times import Moment, format_duration

_NOUNS = {"ps": "server", "worker": "worker", "heter": "heter worker"}


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a followed job. `messages`: the last words that a rank left (its termination message)."""

    job: Job
    status: Status
    submitted: Moment
    progress: Mapping[Rank, Progress] = field(default_factory=dict)
    messages: Mapping[Rank, str] = field(default_factory=dict)


def build_head(job: Job) -> str:
    """`PaddleJob default/wide-ande-deep: PS mode, 2 servers, 2 workers`."""
    roles = ", ".join(_counted(role) for role in sorted(job.roles, key=lambda role: role.decides))
    return f"{job.resource.kind} {job.key}: {job.mode} mode, {roles}"


def _counted(role: Role) -> str:
    noun = _NOUNS.get(role.name, role.name)
    return f"{role.replicas} {noun}" if role.replicas == 1 else f"{role.replicas} {noun}s"


def build_live_line(view: View, now: Moment) -> str:
    """`Running 12s · ps 2/2 · worker 2/2 · epoch 2 step 300/400 · loss 0.52`."""
    status = view.status
    parts = [f"{status.phase or 'Submitted'} {format_duration(now - view.submitted)}"]
    parts += [f"{name} {counts.ready}" for name, counts in status.roles.items()]
    if progress := lead(view):
        parts += [text for text in (_place(progress), _loss(progress)) if text]
    elif status.cause and status.phase not in (Phase.RUNNING, Phase.COMPLETED):
        parts.append(explain(status.cause))
    if status.restarts:
        parts.append(f"restarts {status.restarts}")
    return " · ".join(parts)


def lead(view: View) -> Progress | None:
    """The progress of the first rank that decides: ranks of one gang go in step."""
    deciding = {role.name for role in view.job.roles if role.decides}
    ranks = sorted(rank for rank in view.progress if rank.role in deciding)
    return view.progress[ranks[0]] if ranks else None


def _place(progress: Progress) -> str:
    epoch = "" if progress.epoch is None else f"epoch {progress.epoch}"
    epochs = f"/{progress.epochs}" if progress.epochs and epoch else ""
    step = "" if progress.step is None else f" step {progress.step}"
    steps = f"/{progress.steps}" if progress.steps and step else ""
    return f"{epoch}{epochs}{step}{steps}".strip()


def _loss(progress: Progress) -> str:
    return "" if progress.loss is None else f"loss {progress.loss:.4g}"


def build_end(view: View) -> str:
    """`Completed in 31 s: ps 2/2, worker 2/2 succeeded. Held-out AUC 0.81 (…)`; for a failure the recorded cause."""
    status = view.status
    begun = status.started or view.submitted
    seconds = max(0.0, (status.finished or begun) - view.submitted)
    if status.phase is not Phase.COMPLETED:
        why = explain(status.cause) if status.cause else "failed"
        return f"Failed after {_seconds(seconds)}: {why.removeprefix('failed: ')}"
    roles = ", ".join(_ended(role, status) for role in sorted(view.job.roles, key=lambda role: role.decides))
    said = f" {last_words(view)}" if last_words(view) else ""
    return f"Completed in {_seconds(seconds)}: {roles}.{said}"


def _ended(role: Role, status: Status) -> str:
    counts = status.roles.get(role.name)
    if counts is None:
        return f"{role.name} {role.replicas}"
    return (
        f"{role.name} {counts.succeeded}/{counts.wanted} succeeded" if role.decides else f"{role.name} {counts.ready}"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else format_duration(seconds)


def last_words(view: View) -> str:
    """What the first rank that decides left as its termination message."""
    deciding = {role.name for role in view.job.roles if role.decides}
    ranks = sorted(rank for rank in view.messages if rank.role in deciding)
    return " ".join(view.messages[ranks[0]].split())[:300] if ranks else ""
