"""A task of dstack -> the job that it means. Pure.

Fields are those of its page ".dstack.yml, task" (0.22). All commands are one script, which runs on each node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paddock.manifests.yaml_nodes import Document
from paddock.script.foreign.accelerators import explain_accelerator, find_accelerator
from paddock.script.foreign.carried import read_number
from paddock.script.foreign.elsewhere import CODE, GPUS, REQUESTS, RESTARTS, SHARED_MEMORY, TIMEOUT, VOLUMES, say
from paddock.script.foreign.job import NOWHERE, Foreign, Left, NoProgram, Place
from paddock.script.foreign.kept_back import divide
from paddock.script.foreign.shell import choose, read_text
from paddock.script.foreign.tasks import explain_no_value, line_of_text, list_left, read_mapping
from paddock.script.secrets import is_secret
from paddock.words.phrases import phrase

_TYPES = frozenset({"task", "service", "dev-environment", "fleet", "volume", "gateway"})
_OWN = frozenset({
    "commands", "nodes", "resources", "python", "image", "ide", "fleets", "backends", "regions", "spot_policy", "nvcc",
    "ports", "port", "model", "files", "repos", "instance_types", "max_duration",
})  # fmt: skip
_CARRIED = frozenset({"type", "name", "nodes", "image", "env", "commands", "resources"})
_SAID = {
    "python": phrase("{option} is left out: the environment's own Python, or the image's, runs the program"),
    "volumes": VOLUMES,
    "max_duration": TIMEOUT,
    "retry": RESTARTS,
    **dict.fromkeys(("files", "repos", "working_dir"), CODE),
}
_OF_RESOURCES = {
    "cpu": REQUESTS,
    "memory": REQUESTS,
    "shm_size": SHARED_MEMORY,
}


def is_configuration(manifest: Mapping[str, Any]) -> bool:
    return "apiVersion" not in manifest and str(manifest.get("type")) in _TYPES and not _OWN.isdisjoint(manifest)


def read_task(tasks: list[Document], place: Place = NOWHERE) -> Foreign:
    """The job of a configuration. Raises `NoProgram` where it is no task."""
    task, values = tasks[0], tasks[0].manifest
    if values.get("type") != "task":
        said = phrase("a {kind} of dstack trains nothing: a task does", kind=str(values.get("type")))
        raise NoProgram([Left(task.line_of("type"), said)])
    nodes = read_number(str(values.get("nodes", "")))
    resources = values.get("resources")
    gpu = resources.get("gpu") if isinstance(resources, Mapping) else None
    other = find_accelerator(gpu)
    gpus = 0 if other is not None and other.is_slice else count_gpus(gpu)
    envs = read_mapping(values.get("env"))
    valueless = [name for name, text in envs.items() if text is None]
    plain, secret = divide({name: text for name, text in envs.items() if text is not None})
    numbers = {
        "DSTACK_NODES_NUM": nodes or 1, "DSTACK_GPUS_PER_NODE": gpus, "DSTACK_GPUS_NUM": gpus * (nodes or 1),
    }  # fmt: skip
    given = plain | {name: str(number) for name, number in numbers.items() if number}
    made = choose(read_text(_join(task), replace(place, name=""), variables=given))
    left = list(list_left(task, values, "", _CARRIED, _SAID))
    left += list_left(task, resources, "resources", frozenset({"gpu"}), _OF_RESOURCES)
    left += [Left(task.line_of("env"), explain_no_value(name)) for name in valueless if not is_secret(name)]
    if other is not None:
        left.append(Left(task.line_of("resources.gpu"), explain_accelerator(_show(gpu), other)))
    elif gpus:
        left.append(Left(task.line_of("resources.gpu"), say(GPUS, _show(gpu), count=gpus)))
    return replace(
        made,
        workers=made.workers or nodes,
        gpus=made.gpus or (gpus if other is None else 0),
        has_others=other is not None,
        image=made.image or str(values.get("image") or ""),
        name=str(values.get("name") or ""),
        variables=(*secret.items(), *made.variables),
        secrets=tuple(name for name in valueless if is_secret(name)),
        left=(*left, *made.left),
    )


def _join(task: Document) -> str:
    """The commands as one script, each in the line in which it stands."""
    commands = task.manifest.get("commands")
    lines: list[str] = []
    for index, each in enumerate(commands if isinstance(commands, list) else ()):
        text = str(each)
        lines += [""] * (line_of_text(task, f"commands[{index}]", text) - 1 - len(lines))
        lines += text.rstrip("\n").split("\n")
    return "\n".join(lines)


def count_gpus(value: Any) -> int:
    """The count of `2`, `24GB:2`, `A100:80GB:2..4` and `{name: A100, count: 2}`; the least of a range."""
    if isinstance(value, Mapping):
        return count_gpus(value.get("count", 1))
    if isinstance(value, bool) or value is None:
        return 0
    counts = [part for part in str(value).split(":") if re.fullmatch(r"\d{1,4}(\.\.\d*)?", part)]
    return int(counts[0].partition("..")[0]) if counts else 1


def _show(value: Any) -> str:
    return ", ".join(f"{name}: {each}" for name, each in value.items()) if isinstance(value, Mapping) else str(value)
