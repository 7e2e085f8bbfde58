"""The next commands for the user, as values, from a cause and a few facts. Pure.

A command has placeholders for the cluster's options (context, kubeconfig) and the namespace; the caller fills them in.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import CauseRecord
from paddock.jobs.names import job_label
from paddock.jobs.sentences.awaited import find_awaited
from paddock.jobs.sentences.cause_args import items_of
from paddock.jobs.sentences.message_facts import (
    lacks_space,
    read_command,
    read_environment,
    read_shortage,
    read_unknown_environment,
    read_unknown_image,
    wants_another_version,
)
from paddock.logs.torchrun import CHILD_FAILED
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Step:
    """One command. Its text is a format string with the fields of `args` and these:

        {where}    the options that name the cluster, and `namespace` if it is not the default one
        {options}  the options only
        {on}       the namespace only, for kubectl
        {kubectl}  kubectl with the options that name the cluster

    `sentence`: the command with a remark; its field {command} takes the command.
    """

    text: str
    args: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    sentence: Phrase | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command needs to reach the cluster that a job is on. `options` as in ` --context prod`; `namespace`: the
    one that need not be named; `kubectl`: with its options."""

    options: str = ""
    namespace: str = "default"
    kubectl: str = "kubectl"

    def of(self, namespace: str) -> str:
        """The options, with `-n` if the namespace is not the default one."""
        return self.options + self._of_namespace(namespace)

    def _of_namespace(self, namespace: str) -> str:
        return "" if namespace in ("", self.namespace) else f" -n {namespace}"

    def write(self, step: Step) -> str:
        """The command alone, as it is typed."""
        return step.text.format_map(
            {
                **step.args,
                "options": self.options,
                "where": self.of(step.namespace),
                "on": self._of_namespace(step.namespace),
                "kubectl": self.kubectl,
            }
        )

    def fill(self, step: Step) -> Phrase | str:
        """The step's command or sentence, with these options."""
        if step.sentence is None:
            return self.write(step)
        return Phrase(step.sentence.text, (*step.sentence.args, ("command", self.write(step))))


def build_steps(
    cause: CauseRecord,
    name: str,
    namespace: str,
    file: str = "",
    *,
    local: bool = True,
    kind: str = "paddlejob",
    word: str = "",
) -> list[Step]:
    """The steps for a cause; empty if there are none. `file`: of a job that is not submitted yet; `local`: the job is
    on the local cluster, whose only node is this machine and whose images are Environments; `kind`: kubectl's name of
    the job's kind; `word`: the job as a `paddock` command names it, where that is not its name."""
    word = word or name
    message = str(cause.args.get("message") or "")
    if cause.reason == "WaitingForScheduler":
        return list(_steps_to_nodes(message, word, namespace, file, local=local))
    if cause.reason == "ImageUnavailable":
        return _steps_to_image(message, name, namespace, local=local)
    if cause.reason == "WaitingForQueue":  # resuming it by hand is undone by Kueue
        typed = "paddock resume {word}{where}" if local else "{kubectl} get workloads.kueue.x-k8s.io{on}"
        return [Step(typed, {"word": word}, namespace)]
    if cause.reason == "EnvironmentFailed":
        environment = read_environment(message)
        return [Step("paddock env build {environment}", {"environment": environment})] if environment else []
    if cause.reason == "NodeSilent":  # the logs are on the node, which does not answer
        nodes = sorted(items_of(cause.args, "nodes"))
        return [Step("{kubectl} describe node {node}", {"node": node}) for node in nodes[:1]]
    if step := _DATASET_COMMANDS.get(cause.reason):
        return [Step(step, {"dataset": str(cause.args.get("dataset"))}, namespace)]
    ranks = cause.args.get("failed") or cause.args.get("ranks")
    if isinstance(ranks, list | tuple) and ranks:
        role, _, index = str(ranks[0]).rpartition("-")
        if message:  # the program was not started: there is no log
            return [Step("paddock describe {word}{where}", {"word": word}, namespace)]
        if str(cause.args.get("error") or "").startswith(CHILD_FAILED):  # torchrun's; the log has the program's own
            return [Step("paddock logs {word}{where} --first-error", {"word": word}, namespace)]
        args = {"word": word, "role": role, "index": index}
        return [Step("paddock logs {word}{where} --role {role} --rank {index}", args, namespace)]
    text = _COMMANDS.get(cause.reason) if not file else None  # each of them is of a job that is there
    return [Step(text, {"name": name, "word": word, "kind": kind}, namespace)] if text else []


_DATASET_COMMANDS = {
    "WaitingForDataset": "paddock dataset list{where}",
    "DatasetMissing": "paddock dataset create {dataset}{where} --from URL",
    "DatasetFailed": "paddock dataset describe {dataset}{where}",
}
_EDIT = "{kubectl} edit {kind} {name}{on}"
_DELETE = "paddock delete {word}{where}"
_COMMANDS = {
    "BuildingEnvironment": "paddock get environments",
    "CompletedServersKept": _DELETE,
    "Suspended": "paddock resume {word}{where}",
    "InvalidJob": _EDIT,
    "NoFreePort": "paddock get -A{options}",
    "NoReplicas": _EDIT,
    "OwnAccountNamed": _EDIT,
}


def _steps_to_nodes(message: str, word: str, namespace: str, file: str, *, local: bool) -> Iterator[Step]:
    """The steps for missing labels and devices; none where pods wait for a claim or a PodGroup, as they would go on
    waiting for it."""
    if find_awaited(message) is not None:
        return
    lacking = read_shortage(message)
    if lacking.labels:
        # the local cluster's only node is this machine; on a cluster, a label on all nodes would send pods to nodes
        # without the device
        labels = {"labels": " ".join(lacking.labels)}
        yield (
            Step("{kubectl} label nodes --all {labels}", labels)
            if local
            else Step(
                "{kubectl} label node NODE {labels}",
                labels,
                sentence=phrase("{command}  # where a node NODE has what the label says"),
            )
        )
    run = "paddock run {file}" if file else f"{_DELETE} && paddock run FILE"
    if lacking.devices:  # all in one command: each run without one of them alone would wait for the others
        args = {"word": word, "file": file, "devices": " ".join(f"--without {device}" for device in lacking.devices)}
        yield Step(run + "{options} {devices}", args, namespace)


def _steps_to_image(message: str, name: str, namespace: str, *, local: bool) -> list[Step]:
    if not local:
        args = {"label": JOB_LABEL, "value": job_label(name)}
        return [Step("{kubectl}{on} describe pods -l {label}={value}", args, namespace)]
    if wanted := read_unknown_environment(message):
        return [Step("paddock env create {environment} -r requirements.txt", {"environment": wanted})]
    image = read_unknown_image(message)
    if not image:
        return []
    return [Step("paddock env create NAME -r requirements.txt --image {image}", {"image": _quote(image)})]


def _quote(image: str) -> str:
    """The image in quotes, always: users add a * to it."""
    return f"'{image}'" if shlex.quote(image) == image else shlex.quote(image)


def build_environment_steps(
    environment: str, *, fault: str, message: str = "", file: str = "", settings: Sequence[str] = (), again: str = ""
) -> list[Step]:
    """The steps after a failed build of a job's Environment. `fault` and `message`: of its status; `file`: the
    requirements file that it was made of, which a run reads again; `settings` as in `build_restart_steps`; `again`: the
    user's command, empty if it cannot be repeated."""
    last = [Step("{again}", {"again": again})] if again else []
    mended = phrase("{command}  # after {file} is mended: it is read again", file=file)
    if fault != "definition":  # the same definition can succeed with other settings, or later
        first = [*build_restart_steps(settings), *build_mending_steps(message)]
        if fault == "network":
            later = phrase("{command}  # when the network is there again: what was fetched is kept")
            return [*first, *(replace(each, sentence=later) for each in last)]
        # of a package that does not build, and where nothing is known that the machine lacks
        to_mend = file and wants_another_version(message) and not read_command(message)
        return [*first, *(replace(each, sentence=mended) if to_mend else each for each in last)]
    first = build_mending_steps(message)
    if not file:
        return [
            *first,
            Step("paddock env update {environment} -r requirements.txt", {"environment": environment}),
            *last,
        ]
    update = Step("paddock env update {environment}", {"environment": environment})
    return [*first, *(replace(each, sentence=mended) for each in (last or [update]))]


def build_mending_steps(message: str) -> list[Step]:
    """What the builder's message asks for, before the build is tried again; empty where it names no command."""
    if command := read_command(message):
        return [Step("{mend}", {"mend": command})]
    if lacks_space(message):
        said = phrase("{command}  # how large each one is: `paddock env rm NAME --files` frees its space")
        return [Step("paddock env list", sentence=said)]
    return []


def build_restart_steps(settings: Sequence[str]) -> list[Step]:
    """The first step if the local cluster was started with other values of `settings` (names of environment variables)
    than the shell has now."""
    if not settings:
        return []
    remark = phrase(
        "paddock down  # the local cluster was started with other settings: {names}", names=", ".join(settings)
    )
    return [Step("paddock down", sentence=remark)]
