"""The next commands for the user, as values, from a cause and a few facts. Pure.

A command has placeholders for the cluster's options (context, kubeconfig) and the namespace; the caller fills them in.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import CauseRecord
from paddock.jobs.names import job_label
from paddock.jobs.sentences.cause_args import items_of
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.logs.torchrun import CHILD_FAILED
from paddock.words.awaited import find_awaited
from paddock.words.message_facts import (
    lacks_space,
    read_command,
    read_environment,
    read_shortage,
    read_unknown_environment,
    read_unknown_image,
    wants_another_version,
)
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Step:
    """One command."""

    text: str
    """A format string with the fields of `args` and these:

        {where}    the options that name the cluster, and `namespace` if it is not the default one
        {options}  the options only
        {on}       the namespace only, for kubectl
        {kubectl}  kubectl with the options that name the cluster
    """
    args: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    sentence: Phrase | None = None
    """The command with a remark; its field {command} takes the command."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command needs to reach the cluster that a job is on."""

    options: str = ""  # as in ` --context prod`
    namespace: str = "default"  # the one that need not be named
    kubectl: str = "kubectl"  # with its options

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
    asked = _Asked(cause, name, word or name, namespace, file, local)
    if build := _BUILDERS.get(cause.reason):
        return build(asked)
    ranks = cause.args.get("failed") or cause.args.get("ranks")
    if isinstance(ranks, list | tuple) and ranks:
        return _steps_to_log(asked, str(ranks[0]))
    row = CAUSE_ROWS.get(cause.reason)
    # Of a job that is not there yet only its Datasets can be typed of.
    if row is None or not row.command or (file and "dataset" not in cause.args):
        return []
    args = {"name": name, "word": asked.word, "kind": kind, "dataset": str(cause.args.get("dataset"))}
    return [Step(row.command, args, namespace)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the steps of one cause are built from: the parameters of `build_steps`."""

    cause: CauseRecord
    name: str
    word: str
    namespace: str
    file: str
    local: bool

    @property
    def message(self) -> str:
        return str(self.cause.args.get("message") or "")


def _steps_to_log(asked: _Asked, rank: str) -> list[Step]:
    if asked.message:  # the program was not started: there is no log
        return [Step("paddock describe {word}{where}", {"word": asked.word}, asked.namespace)]
    if str(asked.cause.args.get("error") or "").startswith(CHILD_FAILED):  # torchrun's; the log has the program's own
        return [Step("paddock logs {word}{where} --first-error", {"word": asked.word}, asked.namespace)]
    role, _, index = rank.rpartition("-")
    args = {"word": asked.word, "role": role, "index": index}
    return [Step("paddock logs {word}{where} --role {role} --rank {index}", args, asked.namespace)]


def _steps_to_container(asked: _Asked) -> list[Step]:
    """The log of the container that is waited for: the rank's program has ended well, and its log says nothing."""
    containers, ranks = items_of(asked.cause.args, "containers"), items_of(asked.cause.args, "ranks")
    if not containers or not ranks:
        return []
    role, _, index = ranks[0].rpartition("-")
    args = {"word": asked.word, "role": role, "index": index, "container": containers[0]}
    typed = "paddock logs {word}{where} --role {role} --rank {index} --container {container}"
    return [Step(typed, args, asked.namespace)]


def _steps_to_queue(asked: _Asked) -> list[Step]:
    """Resuming the job by hand is undone by Kueue."""
    typed = "paddock resume {word}{where}" if asked.local else "{kubectl} get workloads.kueue.x-k8s.io{on}"
    return [Step(typed, {"word": asked.word}, asked.namespace)]


def _steps_to_environment(asked: _Asked) -> list[Step]:
    environment = read_environment(asked.message)
    return [Step("paddock env build {environment}", {"environment": environment})] if environment else []


def _steps_to_node(asked: _Asked) -> list[Step]:
    """The logs are on the node, which does not answer."""
    nodes = sorted(items_of(asked.cause.args, "nodes"))
    return [Step("{kubectl} describe node {node}", {"node": node}) for node in nodes[:1]]


def _steps_to_room(asked: _Asked) -> list[Step]:
    """The steps for missing labels and devices, else who has the room; none where pods wait for a claim or a PodGroup,
    as they would go on waiting for it."""
    if find_awaited(asked.message) is not None:
        return []
    lacking, steps = read_shortage(asked.message), list[Step]()
    if lacking.labels:
        # the local cluster's only node is this machine; on a cluster, a label on all nodes would send pods to nodes
        # without the device
        labels = {"labels": " ".join(lacking.labels)}
        remark = phrase("{command}  # where a node NODE has what the label says")
        steps.append(
            Step("{kubectl} label nodes --all {labels}", labels)
            if asked.local
            else Step("{kubectl} label node NODE {labels}", labels, sentence=remark)
        )
    # Of a job that is there already, another one: whoever typed it may not have its file any more.
    run = "paddock run {file}{options}" if asked.file else "paddock clone {word}{where}"
    if lacking.devices:  # all in one command: each run without one of them alone would wait for the others
        devices = " ".join(f"--without {device}" for device in lacking.devices)
        args = {"word": asked.word, "file": asked.file, "devices": devices}
        steps.append(Step(run + " {devices}", args, asked.namespace))
    return steps or _steps_to_holders(asked)


def _steps_to_holders(asked: _Asked) -> list[Step]:
    """Who has the room, and who waits before the job; of a file its own sentence says it."""
    return [] if asked.file else [Step("paddock queue{where}", namespace=asked.namespace)]


def _steps_to_nodes(asked: _Asked) -> list[Step]:
    """All of them: one of those that the cause names may be gone."""
    return [Step("{kubectl} get nodes")]


def _steps_to_description(asked: _Asked) -> list[Step]:
    return [] if asked.file else [Step("paddock describe {word}{where}", {"word": asked.word}, asked.namespace)]


def _steps_to_pods(asked: _Asked) -> list[Step]:
    """On a cluster, whose kubelet tells in events of a pod why it cannot be started."""
    args = {"label": JOB_LABEL, "value": job_label(asked.name)}
    return [Step("{kubectl}{on} describe pods -l {label}={value}", args, asked.namespace)]


def _steps_to_image(asked: _Asked) -> list[Step]:
    if not asked.local:
        return _steps_to_pods(asked)
    if wanted := read_unknown_environment(asked.message):
        return [Step("paddock env create {environment} -r requirements.txt", {"environment": wanted})]
    image = read_unknown_image(asked.message)
    if not image:
        return []
    return [Step("paddock env create NAME -r requirements.txt --image {image}", {"image": _quote(image)})]


def _steps_to_probe(asked: _Asked) -> list[Step]:
    """What a probe that does not pass has said is in the events of the pod. Pods that do not run yet need nothing of
    anybody on a laptop; on a cluster a volume or an image may not come."""
    if asked.cause.args.get("unready"):
        return _steps_to_description(asked)
    return [] if asked.local else _steps_to_pods(asked)


_BUILDERS: Mapping[str, Callable[[_Asked], list[Step]]] = {
    "WaitingForScheduler": _steps_to_room,
    "WaitingForPodGroup": _steps_to_holders,
    "RunsSmaller": _steps_to_holders,
    "WaitingForNode": _steps_to_nodes,
    "NodeNotReady": _steps_to_node,
    "NodeUnknown": _steps_to_node,
    "LostTooOften": _steps_to_nodes,
    "ConfigurationWrong": _steps_to_description,
    "ContainerWaiting": _steps_to_description,
    "CompletedWithoutContainers": _steps_to_container,
    "ImageUnavailable": _steps_to_image,
    "WaitingForQueue": _steps_to_queue,
    "WaitingForContainers": _steps_to_container,
    "EnvironmentFailed": _steps_to_environment,
    "NodeSilent": _steps_to_node,
    "PodsStarting": _steps_to_probe,
}
"""By the reason of a cause whose steps depend on its message, on where the job runs, or on a node."""


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
        said = phrase("{command}  # what may go, and how much comes free: `paddock clean` removes it")
        return [Step("paddock clean --dry-run", sentence=said)]
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
