"""What `paddock run` shows: the head, the live line, an environment that is being built, the end. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from paddock.jobs.complaints import Complaint
from paddock.jobs.explain import explain
from paddock.jobs.model import Job, Phase, Rank, Role, Status
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.jobs.progress import Progress
from paddock.kube.times import Moment, format_duration

_PERCENT = re.compile(r",? *\d+ *%(?:, (?P<pace>.*))?$")
_BAR = 10


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a followed job. `messages`: the last words that a rank left (its termination message);
    `complaints`: the first line of a rank that no training survives.

    `submitted` and `ended` are moments of the one who follows: the API's own times are whole seconds.
    """

    job: Job
    status: Status
    submitted: Moment
    ended: Moment | None = None
    progress: Mapping[Rank, Progress] = field(default_factory=dict)
    messages: Mapping[Rank, str] = field(default_factory=dict)
    complaints: Mapping[Rank, Complaint] = field(default_factory=dict)


def build_head(job: Job, language: str = "en") -> str:
    """`PaddleJob default/wide-ande-deep: PS mode, 2 servers, 2 workers`."""
    counted = (render(_counted(role), language) for role in sorted(job.roles, key=lambda role: role.decides))
    roles = render(", ", language).join(counted)
    said = phrase(
        "{kind} {job}: {mode} mode, {roles}", kind=job.resource.kind, job=str(job.key), mode=job.mode, roles=roles
    )
    return render(said, language)


def _counted(role: Role) -> Phrase:
    count = role.replicas
    match role.name.lower():
        case "ps":
            return phrase("{count} server" if count == 1 else "{count} servers", count=count)
        case "worker":
            return phrase("{count} worker" if count == 1 else "{count} workers", count=count)
        case "heter":
            return phrase("{count} heter worker" if count == 1 else "{count} heter workers", count=count)
        case name:
            return phrase("{count} {kind}" if count == 1 else "{count} {kind}s", count=count, kind=name)


def build_live_line(view: View, now: Moment, language: str = "en") -> str:
    """`Running 12s · ps 2/2 · worker 2/2 · epoch 2 step 300/400 · loss 0.52`."""
    status = view.status
    phase = str(status.phase) or render(phrase("Submitted"), language)
    parts = [f"{phase} {format_duration(now - view.submitted)}"]
    parts += [f"{name} {counts.ready}" for name, counts in status.roles.items()]
    if progress := lead(view):
        parts += [text for text in (_place(progress), _loss(progress)) if text]
    elif status.cause and status.phase not in (Phase.RUNNING, Phase.COMPLETED):
        parts.append(explain(status.cause, language))
    if status.restarts:
        parts.append(render(phrase("restarts {count}", count=status.restarts), language))
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
    """An environment that is being built. `what`: `building (paddlepaddle 3.0.0, 193 MB)`; `percent` from 0 to 100;
    `pace`: `12 MB/s, 9 s left`."""

    name: str
    what: str
    percent: int
    pace: str = ""

    @property
    def stage(self) -> str:
        """What the per cent are of, where it is not the environment itself: an interpreter, or another try."""
        found = re.search(r"try \d+ of \d+", self.what) or re.match("fetching", self.what)
        return found[0] if found else ""


def read_building(name: str, status: Mapping[str, object]) -> Building | None:
    """What an Environment's status says of its building; None when it is not being built."""
    if status.get("phase") != "Building":
        return None
    percent = status.get("progress")
    message = str(status.get("message") or "building")
    found = _PERCENT.search(message)
    pace = (found["pace"] or "") if found else ""
    return Building(name, _PERCENT.sub("", message), percent if isinstance(percent, int) else 0, pace)


def build_building(building: Building, *, bar: bool, language: str = "en") -> str:
    """`environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB) ██████░░░░ 61 %`; without the bar in a pipe."""
    full = building.percent * _BAR // 100
    drawn = f" {'█' * full}{'░' * (_BAR - full)}" if bar else ","
    said = phrase("environment {name}: {what}", name=building.name, what=building.what)
    pace = f", {building.pace}" if building.pace else ""
    return f"{render(said, language)}{drawn} {building.percent} %{pace}"


def build_end(view: View, language: str = "en") -> str:
    """`Completed in 31 s: ps 2/2, worker 2/2 succeeded. Held-out AUC 0.81 (…)`; for a failure the recorded cause."""
    status = view.status
    seconds = max(0.0, (view.ended or view.submitted) - view.submitted)
    if status.phase is not Phase.COMPLETED:
        why = explain(status.cause, language) if status.cause else render(phrase("no cause is recorded"), language)
        for failed in ("failed", "失败"):  # the sentence says so already
            why = why.removeprefix(failed).lstrip(":： ")
        return render(phrase("Failed after {time}: {why}", time=_seconds(seconds), why=why), language)
    ended = (_ended(role, status, language) for role in sorted(view.job.roles, key=lambda role: role.decides))
    roles = render(", ", language).join(ended)
    said = f" {last_words(view)}" if last_words(view) else ""
    return render(
        phrase("Completed in {time}: {roles}.{said}", time=_seconds(seconds), roles=roles, said=said), language
    )


def build_not_started(view: View, now: float, language: str = "en") -> str:
    """`Not started after 3.2 s: worker-0 cannot start: environment paddle-ps: …`, of a job that waits in vain."""
    why = explain(view.status.cause, language) if view.status.cause else ""
    return render(phrase("Not started after {time}: {why}", time=_seconds(now - view.submitted), why=why), language)


def build_timeout(view: View, seconds: float, language: str = "en") -> str:
    """`Not completed in 60 s (--timeout): waiting for room for 4 of 4 pods: …`; of a job that runs, how far it is."""
    status = view.status
    if status.cause and status.phase is not Phase.RUNNING:
        why = explain(status.cause, language)
    elif progress := lead(view):
        why = ", ".join(text for text in (str(status.phase), _place(progress), _loss(progress)) if text)
    elif status.phase is Phase.RUNNING:
        why = render(phrase("{phase}, all of its pods run", phase=str(status.phase)), language)
    else:
        why = render(phrase("no cause is recorded"), language)
    time = f"{seconds:g} s" if seconds < 120 else format_duration(seconds)
    return render(phrase("Not completed in {time} (--timeout): {why}", time=time, why=why), language)


def _ended(role: Role, status: Status, language: str) -> str:
    counts = status.roles.get(role.name)
    if counts is None:
        return f"{role.name} {role.replicas}"
    if not role.decides:
        return f"{role.name} {counts.ready}"
    said = phrase("{role} {count}/{wanted} succeeded", role=role.name, count=counts.succeeded, wanted=counts.wanted)
    return render(said, language)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else format_duration(seconds)


def last_words(view: View) -> str:
    """What the first rank that decides left as its termination message."""
    deciding = {role.name for role in view.job.roles if role.decides}
    ranks = sorted(rank for rank in view.messages if rank.role in deciding)
    return " ".join(view.messages[ranks[0]].split())[:300] if ranks else ""


def build_doubt(view: View) -> Phrase | None:
    """A completed job whose program printed an error, caught it and ended with 0: it may have trained nothing."""
    deciding = {role.name for role in view.job.roles if role.decides}
    ranks = sorted(rank for rank in view.complaints if rank.role in deciding)
    if view.status.phase is not Phase.COMPLETED or not ranks:
        return None
    return phrase(
        "warning: {rank} printed “{line}” and still ended with 0: look at its log before you trust the result",
        rank=str(ranks[0]),
        line=view.complaints[ranks[0]].text,
    )
