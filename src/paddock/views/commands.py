"""What a reader may do with a job that exists, and what to type for it: one table for the command line and for the
buttons of the console. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.jobs.manager import find_other_manager
from paddock.kube.meta import Key, Resource
from paddock.views.changes import is_asked
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class JobCommand:
    """What may be done to a job."""

    name: str  # the verb of `paddock`, or `again`; and the console's action
    title: Phrase
    paddock: str  # the command of paddock that does it; empty where there is none
    kubectl: str  # the command of kubectl that does it; empty where there is none
    verb: str  # the right that it takes, of the job's kind
    why_not: Phrase | None = None  # why it makes no sense now; None where it does


def printed_name(resource: Resource, name: str) -> str:
    """`paddlejob/demo`, which names the object on the command line. If two API groups have the kind, the short form
    means the first group; an object of another has its group: `paddlejob.kubeflow.org/demo`."""
    first = next((each for each in KINDS if each.kind == resource.kind), resource)
    return f"{resource.kind.lower() if first == resource else kind_with_group(resource)}/{name}"


def show_key(key: Key) -> str:
    """`demo`, and `team/demo` outside of the namespace default."""
    return key.name if key.namespace == "default" else str(key)


def choose_word(job: StoredJob, word: str) -> str:
    """The job as further commands name it, after it was typed as `word`: with its kind where that was needed, as a job
    of another kind may have the name."""
    return printed_name(job.resource, job.key.name) if "/" in word else job.key.name


def kind_with_group(resource: Resource) -> str:
    """`paddlejob.kubeflow.org`"""
    return f"{resource.kind.lower()}.{resource.group}"


def list_commands(job: StoredJob, kubectl: str = "kubectl", options: str = "") -> Sequence[JobCommand]:
    """In the order of buttons. A `paddock` command names the kind, as a job of another kind may have the same name.
    `kubectl`: with its options; `options`: what a `paddock` command needs to reach the cluster (` --context prod`)."""
    namespace = job.key.namespace
    where = f" --namespace {namespace}" if namespace != "default" else ""
    word = shlex.quote(printed_name(job.resource, job.key.name))
    target = f"{job.resource.qualified} {shlex.quote(job.key.name)} -n {namespace}"

    def command(verb: str, title: Phrase, right: str, typed: str, why_not: Phrase | None) -> JobCommand:
        return JobCommand(verb, title, f"paddock {verb} {word}{where}{options}", typed, right, why_not)

    why_not = {each: explain_why_not(each, job) for each in ("edit", "suspend", "resume", "cancel")}
    again = JobCommand("again", phrase("Run again"), f"paddock clone {word}{where}{options}", "", "create")
    return [
        *([again] if job.status.phase.terminal else []),
        JobCommand("edit", phrase("Edit"), "", f"{kubectl} edit {target}", "update", why_not["edit"]),
        command("clone", phrase("Clone"), "create", "", None),
        command("suspend", phrase("Suspend"), "patch", f"{kubectl} patch {target} {_SUSPEND}", why_not["suspend"]),
        command("resume", phrase("Resume"), "patch", f"{kubectl} patch {target} {_RESUME}", why_not["resume"]),
        command("cancel", phrase("Cancel"), "patch", f"{kubectl} annotate {target} {_CANCEL}", why_not["cancel"]),
        command("delete", phrase("Delete"), "delete", f"{kubectl} delete {target}", None),
    ]


_SUSPEND = "--type merge -p " + shlex.quote('{"spec":{"runPolicy":{"suspend":true}}}')
_RESUME = "--type merge -p " + shlex.quote('{"spec":{"runPolicy":{"suspend":false}}}')
_CANCEL = f"--overwrite {CANCEL_ANNOTATION}=true"
"""The annotation may stand there already, as `false`."""


def explain_why_not(verb: str, job: StoredJob) -> Phrase | None:
    """Why editing, suspending, resuming or cancelling a job makes no sense now; None where it does."""
    if verb == "edit":
        has_ended = phrase("{job} has ended, and an edit changes nothing any more", job=job.key.name)
        return has_ended if job.status.phase.terminal else None
    refusal = explain_refusal(verb, job)
    return refusal or (_explain_asked(verb, job.key.name) if is_asked(verb, job.manifest) else None)


def explain_refusal(verb: str, job: StoredJob) -> Phrase | None:
    """Why it cannot be done: nothing that is written now would change anything."""
    name = job.key.name
    if job.status.phase.terminal and not (verb == "cancel" and is_asked(verb, job.manifest)):
        return phrase("{job} has ended", job=name)
    if verb != "cancel" and is_asked("cancel", job.manifest):
        return phrase("{job} is cancelled", job=name)
    if verb == "cancel" and (manager := find_other_manager(job.manifest)):
        return phrase("{job} is run by {manager}, which cancels no jobs: delete it", job=name, manager=manager)
    if verb == "cancel" and job.job is None:
        return phrase("{job} is not valid and has not begun: delete it", job=name)
    if verb == "suspend" and job.job is None:
        return phrase("{job} is not valid and has not begun: nothing of it runs that could be suspended", job=name)
    return None


def _explain_asked(verb: str, name: str) -> Phrase:
    if verb == "suspend":
        return phrase("{job} is suspended already", job=name)
    return phrase("{job} is cancelled", job=name) if verb == "cancel" else phrase("{job} is not suspended", job=name)
