"""A task of SkyPilot -> the job that it means. Pure.

Fields are those of its page "SkyPilot YAML" (0.14). `run` is executed on each node, which has SKYPILOT_NUM_NODES and
SKYPILOT_NUM_GPUS_PER_NODE; a relative `workdir` is seen from where the command is typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.manifests.yaml_nodes import Document
from paddock.script.foreign.accelerators import explain_accelerator, find_accelerator
from paddock.script.foreign.carried import join_directories, read_number
from paddock.script.foreign.elsewhere import CODE, GPUS, REQUESTS, VOLUMES, say
from paddock.script.foreign.job import NOWHERE, Foreign, Left, NoProgram, Place
from paddock.script.foreign.kept_back import divide
from paddock.script.foreign.shell import choose, read_text
from paddock.script.foreign.tasks import explain_no_value, line_of_text, list_left, read_mapping
from paddock.words.phrases import phrase

_FIELDS = frozenset({
    "name", "num_nodes", "resources", "setup", "run", "envs", "secrets", "workdir", "file_mounts", "service", "config",
    "event_callback", "inputs", "outputs", "experimental", "volumes", "volume_mounts", "pool", "any_of", "ordered",
    "job_group", "execution",
})  # fmt: skip
"""Of a task, at its top."""
_OWN = frozenset({"num_nodes", "file_mounts", "resources", "setup", "envs", "secrets", "service"})
"""Those that other files hardly have beside `run`."""
_CARRIED = frozenset({"name", "num_nodes", "resources", "setup", "run", "envs", "secrets", "workdir"})
_SAID = {
    "file_mounts": phrase(
        "{option} is left out: `paddock dataset create` fetches data, and --data NAME:/PATH mounts it"
    ),
    "service": phrase("{option} is left out: Paddock trains, and serves nothing"),
    "volumes": VOLUMES,
}
_OF_RESOURCES = {
    "cpus": REQUESTS,
    "memory": REQUESTS,
    **dict.fromkeys(("any_of", "ordered"), phrase("{option} is left out: a job asks for one kind of machine")),
}


def is_task(manifest: Mapping[str, Any]) -> bool:
    own = _OWN & manifest.keys()
    return (
        "apiVersion" not in manifest
        and manifest.keys() <= _FIELDS
        and bool(own)
        and ("run" in manifest or len(own) > 1)
    )


def read_task(tasks: list[Document], place: Place = NOWHERE) -> Foreign:
    """The job of the documents of a file. Raises `NoProgram`."""
    found = [each for each in tasks if "run" in each.manifest]
    if not found:
        raise NoProgram
    task, values = found[0], found[0].manifest
    nodes, resources = read_number(str(values.get("num_nodes", ""))), values.get("resources")
    asked = resources.get("accelerators") if isinstance(resources, Mapping) else None
    other = find_accelerator(asked)
    gpus = 0 if other is not None and other.is_slice else _count_gpus(asked)
    envs, secrets = read_mapping(values.get("envs")), read_mapping(values.get("secrets"))
    plain, secret = divide({name: text for name, text in envs.items() if text})
    numbers = {"SKYPILOT_NUM_NODES": nodes or 1, "SKYPILOT_NUM_GPUS_PER_NODE": gpus}
    given = plain | {name: str(number) for name, number in numbers.items() if number}
    run, setup = str(values.get("run") or ""), str(values.get("setup") or "")
    place = replace(place, name="")
    before = read_text(setup, place, variables=given, line=line_of_text(task, "setup", setup))
    script = read_text(run, place, variables=given, line=line_of_text(task, "run", run))
    made = choose(script, around=before.reading.launches)
    left = [*_list_left(task, resources, gpus, [name for name, text in envs.items() if not text])]
    left += [Left(each.line, phrase("a second task, which is left out")) for each in found[1:]]
    return replace(
        made,
        workers=made.workers or nodes,
        gpus=made.gpus or (gpus if other is None else 0),
        has_others=other is not None,
        image=made.image or _read_image(resources),
        name=_read_text(values.get("name")),
        restarts=made.restarts or _read_restarts(resources),
        workdir=join_directories(_read_text(values.get("workdir")), made.workdir),
        variables=tuple(each for each in (*secret.items(), *made.variables) if each[0] not in secrets),
        secrets=tuple(secrets),
        left=(*left, *made.left),
    )


def _list_left(task: Document, resources: Any, gpus: int, valueless: Sequence[str]) -> Iterator[Left]:
    """`valueless`: variables without a value."""
    yield from list_left(task, task.manifest, "", _CARRIED, _SAID)
    if isinstance(resources, Mapping):
        yield from _list_resources(task, resources, gpus)
    for name in valueless:
        yield Left(task.line_of(f"envs.{name}"), explain_no_value(name))
    if isinstance(task.manifest.get("workdir"), Mapping):
        yield Left(task.line_of("workdir"), say(CODE, "workdir"))


def _count_gpus(value: Any) -> int:
    """The count of `A100:8`, `A100`, `{A100: 8}`; of a list, of its first."""
    if isinstance(value, Mapping):
        counts = list(value.values())
        return read_number(str(counts[0])) or 1 if counts else 0
    if isinstance(value, list):
        return _count_gpus(value[0]) if value else 0
    name, colon, count = str(value or "").partition(":")
    return (read_number(count.partition(".")[0]) if colon else 1) if name else 0


def _list_resources(task: Document, resources: Mapping[str, Any], gpus: int) -> list[Left]:
    carried = {"accelerators"} | ({"image_id"} if _read_image(resources) else set())
    carried |= {"job_recovery"} if _read_restarts(resources) else set()
    left = list(list_left(task, resources, "resources", frozenset(carried), _OF_RESOURCES))
    value = resources.get("accelerators")
    if (other := find_accelerator(value)) is not None:
        left.append(Left(task.line_of("resources.accelerators"), explain_accelerator(_show(value), other)))
    elif gpus:
        left.append(Left(task.line_of("resources.accelerators"), say(GPUS, _show(value), count=gpus)))
    return left


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}:{count}" for name, count in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_image(resources: Any) -> str:
    image = resources.get("image_id") if isinstance(resources, Mapping) else None
    return image.removeprefix("docker:") if isinstance(image, str) and image.startswith("docker:") else ""


def _read_restarts(resources: Any) -> int:
    recovery = resources.get("job_recovery") if isinstance(resources, Mapping) else None
    return read_number(str(recovery.get("max_restarts_on_errors", ""))) if isinstance(recovery, Mapping) else 0


def _read_text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""
