"""Manifests as YAML for people: fields in the order of the documents, Secrets without their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from paddock.kube.meta import Manifest, name_of
from paddock.kube.printable import show
from paddock.manifests.yaml_texts import ONE_LINE, represent_text
from paddock.script.manifest import build_manifest
from paddock.script.names import build_secret_name
from paddock.script.paddle_job import LAUNCHER
from paddock.script.request import ScriptRequest
from paddock.script.variables import mask
from paddock.words.phrases import Phrase, phrase, render


class _Dumper(yaml.SafeDumper):
    """Writes equal parts in full, not as anchors; a list deeper than its field; a text of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(str, represent_text)


def write_manifests(manifests: Sequence[Manifest]) -> str:
    """The documents, separated by `---`."""
    return "---\n".join(write_manifest(each) for each in manifests)


def write_manifest(manifest: Mapping[str, Any]) -> str:
    """One document; of a Secret the names alone."""
    return show(yaml.dump(mask(manifest), Dumper=_Dumper, sort_keys=False, width=ONE_LINE, allow_unicode=True))


_COMMENTS: Mapping[str, Phrase] = {
    "kueue.x-k8s.io/queue-name:": phrase("the queue of Kueue on a cluster; a laptop has none"),
    "paddock.dev/kueue:": phrase("Kueue takes the job by its pods"),
    "priorityClassName:": phrase("the PriorityClass, which an administrator makes"),
    "resources:": phrase("of each rank: more memory than its limit ends it, more CPUs are given where they are free"),
    "paddock.dev/requirements:": phrase("the environment on a laptop; on a cluster the image has the packages"),
    "paddock.dev/working-directory:": phrase("where the program starts; on a laptop alone"),
    "paddock.dev/success:": phrase("each rank must end well; AllRanks:600 ends those that run on after 600 s"),
    "paddock.dev/resume:": phrase("begin with the checkpoints of this run of the name; true: of its last run"),
    "paddock.dev/outputs:": phrase("on a cluster: the claim in which each run has a directory for what it writes"),
    "paddock.dev/framework:": phrase("no framework is added to the packages; the kind runs any program"),
    "paddock.dev/rank-variables:": phrase(
        "the program has no RANK, as in a shell: it asks for it, or joins no group; with more pods, leave the line out"
    ),
    "paddock.dev/servers-first:": phrase("the workers start when the servers answer at their ports"),
    "runPolicy:": phrase("backoffLimit: how often the job is started again after a failure"),
    "cleanPodPolicy:": phrase("on a cluster ended pods stay with their logs; what still runs is ended"),
    "withGloo:": phrase("the workers wait for each other at the start"),
    "ps:": phrase("the parameter servers; PADDLE_TRAINING_ROLE tells a program whether it is one"),
    "worker:": phrase("what trains: replicas is the number of workers"),
    "nprocPerNode:": phrase("the processes that torchrun starts in each pod"),
    "Master:": phrase("the first of the workers, which is rank 0"),
    "Worker:": phrase("the other workers: replicas is their number"),
    "image:": phrase("pulled by a cluster; on a laptop it stands for an environment (`paddock env list`)"),
    "- name: LOCAL_RANK": phrase("a pod is one process: what libraries take it from, as under torchrun"),
    "volumeMounts:": phrase(
        "/dev/shm has 64 MiB without it; NCCL and the workers of a DataLoader transfer their data there"  # noqa: S108
    ),
    "command:": phrase("the program and its arguments, each a word of its own: there is no shell"),
    "restartPolicy:": phrase("with Never a failed rank ends the job, whatever backoffLimit is"),
}
_LAUNCHER = phrase("paddle.distributed.launch makes one group of the workers")


def write_commented(request: ScriptRequest, language: str) -> str:
    """The manifest of a request, with a comment at the first of each field that needs one. Pure."""
    manifest = build_manifest(request)
    head = [phrase("written by `paddock init`; `paddock run FILE` trains it")]
    if request.secrets:
        head.append(
            phrase(
                "its secrets are in the Secret {name}, which --env-file or --secret of `paddock run` makes: {keys}",
                name=build_secret_name(name_of(manifest)), keys=", ".join(key for key, _ in request.secrets),
            )
        )  # fmt: skip
    lines = [f"# {render(each, language)}\n" for each in head]
    unsaid = dict(_COMMENTS)
    for line in write_manifest(manifest).splitlines(keepends=True):
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        key = next((key for key in unsaid if text.startswith(key)), "")
        if key:
            lines.append(f"{indent}# {render(unsaid.pop(key), language)}\n")
        if text.rstrip() == f"- {LAUNCHER[1]}":
            lines.append(f"{indent}# {render(_LAUNCHER, language)}\n")
        lines.append(line)
    return "".join(lines)
