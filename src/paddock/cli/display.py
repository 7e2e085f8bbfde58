"""What `paddock run` shows: the head, the live line, an environment that is being built, the end. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from paddock.jobs.explain import explain
from paddock.jobs.model import Job, Phase, Rank, Role, Status
from paddock.jobs.progress import Progress
from paddock.kube.times import Moment, format_duration

_PERCENT = re.compile(r",? *\d+ *%$")
_BAR = 10
_NOUNS = {"ps": "server", "worker": "worker", "heter": "heter worker"}


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a followed job. `messages`: the last words that a rank left (its termination message).

    `submitted` and `ended` are moments of the one who follows: the API's own times are whole seconds.
    """

    job: Job
    status: Status
    submitted: Moment
    ended: Moment | None = None
    progress: Mapping[Rank, Progress] = field(default_factory=dict)
    messages: Mapping[Rank, str] = field(default_factory=dict)


def build_head(job: Job) -> str:
    """`PaddleJob default/wide-ande-deep: PS mode, 2 servers, 2 workers`."""
    roles = ", ".join(_counted(role) for role in sorted(job.roles, key=lambda role: role.decides))
    return f"{job.resource.kind} {job.key}: {job.mode} mode, {roles}"


def _counted(role: Role) -> str:
    noun = _NOUNS.get(role.name.lower(), role.name.lower())
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


@dataclass(frozen=True, slots=True)
class Building:
    """An environment that is being built. `what`: `building (paddlepaddle 3.0.0, 193 MB)`; `percent` from 0 to 100."""

    name: str
    what: str
    percent: int


def read_building(name: str, status: Mapping[str, object]) -> Building | None:
    """What an Environment's status says of its building; None when it is not being built."""
    if status.get("phase") != "Building":
        return None
    percent = status.get("progress")
    what = _PERCENT.sub("", str(status.get("message") or "building"))
    return Building(name, what, percent if isinstance(percent, int) else 0)


def build_building(building: Building, *, bar: bool) -> str:
    """`environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB) ██████░░░░ 61 %`; without the bar in a pipe."""
    full = building.percent * _BAR // 100
    drawn = f" {'█' * full}{'░' * (_BAR - full)}" if bar else ","
    return f"environment {building.name}: {building.what}{drawn} {building.percent} %"


def build_end(view: View) -> str:
    """`Completed in 31 s: ps 2/2, worker 2/2 succeeded. Held-out AUC 0.81 (…)`; for a failure the recorded cause."""
    status = view.status
    seconds = max(0.0, (view.ended or view.submitted) - view.submitted)
    if status.phase is not Phase.COMPLETED:
        why = explain(status.cause) if status.cause else "no cause is recorded"
        return f"Failed after {_seconds(seconds)}: {why.removeprefix('failed').lstrip(': ')}"
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
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else format_duration(seconds)


def last_words(view: View) -> str:
    """What the first rank that decides left as its termination message."""
    deciding = {role.name for role in view.job.roles if role.decides}
    ranks = sorted(rank for rank in view.messages if rank.role in deciding)
    return " ".join(view.messages[ranks[0]].split())[:300] if ranks else ""
