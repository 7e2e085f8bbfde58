"""The texts of `paddock run`: heading, live line, progress of an environment build, end. Pure."""

from __future__ import annotations

from typing import Any

from paddock.jobs.labels import SUBSTITUTE_ANNOTATION
from paddock.jobs.model import CauseRecord, Job, Phase, Rank, Role, Status
from paddock.jobs.sentences.explain import explain
from paddock.jobs.sentences.failure_phrases import explain_failed_rank
from paddock.jobs.sentences.people_phrases import name_canceller
from paddock.kube.times import Moment, format_duration
from paddock.logs.complaints import Complaint
from paddock.logs.progress import Progress
from paddock.views.building import Building
from paddock.views.commands import show_key
from paddock.views.ended import format_limit, name_error
from paddock.views.followed import (
    FollowedJob,
    find_caught_error,
    find_last_error,
    find_progress,
    find_termination_message,
)
from paddock.views.phases import SINGLE, is_cancelled, say_state
from paddock.views.roles import count_role
from paddock.words.formats import format_of
from paddock.words.phrases import Foreign, Phrase, phrase, render

_BAR = 10


def build_head(job: Job, language: str = "en") -> str:
    """`PaddleJob wide-ande-deep: PS mode, 2 servers, 2 workers`. A mode that is no choice is left out; who asked for
    workers of PyTorch is told why one of them is called master."""
    counts = (render(count_role(role), language) for role in sorted(job.roles, key=lambda role: role.trains))
    facts: dict[str, Any] = {
        "kind": job.resource.kind, "job": show_key(job.key), "roles": format_of(language).comma.join(counts)
    }  # fmt: skip
    said = phrase("{kind} {job}: {mode} mode, {roles}", mode=say_state(job.mode, language), **facts)
    if job.size > 1 and any(role.name == "master" and role.trains for role in job.roles):
        said = phrase("{kind} {job}: {roles} (master-0 is rank 0 and trains like the others)", **facts)
    elif job.mode == SINGLE:
        said = phrase("{kind} {job}: {roles}", **facts)
    return render(said, language)


def build_live_line(view: FollowedJob, now: Moment, language: str = "en") -> str:
    """`Running 12s · ps 2/2 · worker 2/2 · epoch 2 step 300/400 · loss 0.52`."""
    status = view.status
    phase = say_state(status.phase, language) or render(phrase("Submitted"), language)
    parts = [f"{phase} {format_of(language).say_duration(format_duration(now - view.submitted))}"]
    parts += [f"{name} {counts.ready}" for name, counts in status.roles.items()]
    if progress := find_progress(view):
        parts += [text for text in (_place(progress), _loss(progress)) if text]
    elif status.cause and status.phase not in (Phase.RUNNING, Phase.COMPLETED):
        parts.append(explain(status.cause, language))
    if status.restarts:
        parts.append(render(phrase("restarts {count}", count=status.restarts), language))
    return " · ".join(parts)


def _place(progress: Progress) -> str:
    epoch = "" if progress.epoch is None else f"epoch {progress.epoch}"
    epochs = f"/{progress.epochs}" if progress.epochs and epoch else ""
    step = "" if progress.step is None else f" step {progress.step}"
    steps = f"/{progress.steps}" if progress.steps and step else ""
    return f"{epoch}{epochs}{step}{steps}".strip()


def _loss(progress: Progress) -> str:
    return "" if progress.loss is None else f"loss {progress.loss:.4g}"


def build_building(building: Building, *, bar: bool, language: str = "en") -> str:
    """`environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB) ██████░░░░ 61 %`; without the bar in a pipe."""
    full = building.percent * _BAR // 100
    what, bracket, stages = building.what.rpartition(")")
    what, stages = (f"{what}{bracket}", stages) if bracket else (stages, "")
    said = phrase("environment {name}: {what}", name=building.name, what=_say_of_build(what))
    clauses = [said, *map(_say_of_build, filter(None, stages.split(", ")))]
    percent = render(phrase("{percent} %", percent=building.percent), language)
    pace = [render(_say_of_build(each), language) for each in building.pace.split(", ") if each]
    clause = format_of(language).clause
    text = clause.join(render(each, language) for each in clauses)
    drawn = f"{text} {'█' * full}{'░' * (_BAR - full)} {percent}" if bar else f"{text}{clause}{percent}"
    return clause.join([drawn, *pace])


def _say_of_build(text: str) -> Phrase:
    """A clause of the builder's message, in the reader's language where the catalogue has it."""
    if text.endswith(" s left"):
        return phrase("{seconds} s left", seconds=text.removesuffix(" s left"))
    return phrase("building") if text == "building" else phrase("{said}", said=Foreign(text))


def build_end(view: FollowedJob, language: str = "en") -> str:
    """`Completed in 31 s: ps 2/2, worker 2/2 succeeded. Held-out AUC 0.81 (…)`; for a failure the recorded cause, and
    of a completed job its rank that failed."""
    status = view.status
    if status.cause is not None and is_cancelled(status.phase, status.cause):
        return render(tell_cancelled(_seconds(view.seconds), status.cause), language)
    if status.phase is not Phase.COMPLETED:
        why = explain(status.cause, language) if status.cause else render(phrase("no cause is recorded"), language)
        return render(
            phrase("Failed after {time}: {why}", time=_seconds(view.seconds), why=strip_failed(why)), language
        )
    ended = (_ended(role, status, language) for role in sorted(view.job.roles, key=lambda role: role.trains))
    roles = format_of(language).comma.join(ended)
    words = find_termination_message(view)
    said = f" {words}" if words and language == "en" else words or ""
    if status.cause and (failure := explain_failed_rank(status.cause.args)):
        ended_so = phrase("Completed in {time}, but {failure}. {roles}.{said}", time=_seconds(view.seconds),
                          failure=failure, roles=roles, said=said)  # fmt: skip
        return render(ended_so, language)
    if (last := find_last_error(view)) is not None:
        rank, error = last
        time = _seconds(view.seconds)
        ended_so = phrase("Completed in {time}, and the log of {rank} ends in {error}: {roles}.", time=time,
                          rank=str(rank), error=name_error(error), roles=roles)  # fmt: skip
        return render(ended_so, language)
    return render(
        phrase("Completed in {time}: {roles}.{said}", time=_seconds(view.seconds), roles=roles, said=said), language
    )


def strip_failed(why: str) -> str:
    """The sentence of a cause behind words that say already that something failed."""
    for failed in ("failed", "失败"):
        why = why.removeprefix(failed).lstrip(":： ")
    return why


def tell_cancelled(time: str, cause: CauseRecord) -> Phrase:
    """`Cancelled after 31 s by ada`; without a name where nobody said one."""
    if who := name_canceller(cause.args):
        return phrase("Cancelled after {time} by {who}", time=time, who=who)
    return phrase("Cancelled after {time}", time=time)


def build_not_started(view: FollowedJob, now: float, language: str = "en") -> str:
    """`Not started after 3.2 s: worker-0 cannot start: environment paddle-ps: …`, of a job that cannot start."""
    why = explain(view.status.cause, language) if view.status.cause else ""
    return render(phrase("Not started after {time}: {why}", time=_seconds(now - view.submitted), why=why), language)


def build_timeout(view: FollowedJob, seconds: float, language: str = "en") -> str:
    """`Not completed in 60 s (--timeout): waiting for room for 4 of 4 pods: …`; for a running job its progress."""
    status = view.status
    if status.cause and status.phase is not Phase.RUNNING:
        why = explain(status.cause, language)
    elif progress := find_progress(view):
        why = ", ".join(text for text in (say_state(status.phase, language), _place(progress), _loss(progress)) if text)
    elif status.phase is Phase.RUNNING:
        why = render(phrase("{phase}, all of its pods run", phase=say_state(status.phase, language)), language)
    else:
        why = render(phrase("no cause is recorded"), language)
    time = format_limit(seconds)
    return render(phrase("Not completed in {time} (--timeout): {why}", time=time, why=why), language)


def _ended(role: Role, status: Status, language: str) -> str:
    counts = status.roles.get(role.name)
    if counts is None:
        return f"{role.name} {role.replicas}"
    if role.serves:
        # Servers that served to the end: those that run may be gone by now, as clean-up deletes them.
        return f"{role.name} {counts.wanted - counts.failed}/{counts.wanted}"
    said = phrase("{role} {count}/{wanted} succeeded", role=role.name, count=counts.succeeded, wanted=counts.wanted)
    if counts.succeeded == counts.wanted == 1:
        said = phrase("{rank} succeeded", rank=str(Rank(role.name, 0)))
    return render(said, language)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else format_duration(seconds)


def build_doubt(view: FollowedJob) -> list[Phrase]:
    """A warning for a completed job whose program printed an error and exited with 0: it may have trained nothing.

    The job stays Completed, and the command's exit code 0 unless a launcher said that a process failed. What a job has
    come to is decided by exit codes alone, by the operator, which reads no logs: a text is no proof, and one that looks
    like an error must not fail a job that trained for a week, nor start it again.
    """
    last = find_last_error(view)
    doubt = last or find_caught_error(view)
    if doubt is None:
        return []
    rank, complaint = doubt
    if complaint.line is None:
        said = phrase(
            "warning: {rank} printed “{line}” and still ended with 0: look at its log before you trust the result",
            rank=str(rank),
            line=complaint.text,
        )
    else:
        said = phrase(
            "warning: {rank} printed an error and still ended with 0, so the job counts as completed; line {number} of "
            "its log: “{line}”",
            rank=str(rank), number=complaint.line, line=complaint.text,
        )  # fmt: skip
    return [said, *_advise(view, complaint), *([_HIDDEN] if last is not None else [])]


_HIDDEN = phrase(
    "a shell ends as its last command does, such as `| tee` or `echo`: with `set -eo pipefail` at its beginning a bash "
    "script fails where its program does"
)


def _advise(view: FollowedJob, complaint: Complaint) -> list[Phrase]:
    """What helps against an error whose reason is known."""
    if "nccl" not in complaint.text.lower():
        return []
    if view.job.annotations.get(SUBSTITUTE_ANNOTATION) == "false":
        return [
            phrase(
                "nccl needs GPUs: run the job where it has some, or take the annotation paddock.dev/substitute off it, "
                "and the local cluster uses gloo instead where no GPU is"
            )
        ]
    return [phrase("nccl needs GPUs: run the job where it has some, or let the program use gloo where none is")]
