"""What a file of another tool says beside its commands: Slurm's `#SBATCH`, the fields of SkyPilot and dstack. Pure.

Sources, read on 2026-11-27: sbatch(1) of Slurm 25; SkyPilot 0.11, "Task YAML"; dstack 0.19, "task".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from paddock.launches.reading import ReadFile
from paddock.preflight.tools import DSTACK, SKYPILOT
from paddock.script.foreign.commands import read_commands
from paddock.script.foreign.meant import Foreign, Left
from paddock.words.phrases import phrase

_SBATCH = re.compile(r"#SBATCH\s+(--[\w-]+|-\w)(?:[=\s]+(\S+))?")
_SHORT = {"-N": "--nodes", "-J": "--job-name", "-G": "--gpus", "-n": "--ntasks"}
_OF_SLURM = frozenset({"--nodes", "--job-name", "--gpus-per-node", "--gres", "--ntasks-per-node", "--ntasks"})
_CARRIED = {
    SKYPILOT: frozenset({"name", "num_nodes", "resources", "envs", "run"}),
    DSTACK: frozenset({"type", "name", "nodes", "image", "env", "commands", "resources"}),
}


def read_script(text: str, read_file: ReadFile | None = None) -> tuple[Foreign, ...]:
    """The commands of a shell script, with what `#SBATCH` asks of Slurm."""
    found, _ = read_commands(text, read_file)
    asked = [(number, *pair) for number, line in enumerate(text.splitlines(), 1) for pair in _read_sbatch(line)]
    if not asked or not found:
        return found
    options = {_SHORT.get(name, name): value for _, name, value in asked}
    nodes = _read_number(options.get("--nodes", ""))
    gpus = _read_number(options.get("--gpus-per-node", "") or options.get("--gres", "").rpartition(":")[2])
    left = [
        Left(line, phrase("{typed} is left out", typed=f"#SBATCH {name} {value}".rstrip()))
        for line, name, value in asked
        if _SHORT.get(name, name) not in _OF_SLURM
    ]
    first = found[0]
    named = replace(
        first, workers=max(nodes, first.workers), gpus=gpus or first.gpus, name=options.get("--job-name", ""),
        left=(*left, *first.left),
    )  # fmt: skip
    return (named, *found[1:])


def _read_sbatch(line: str) -> Iterator[tuple[str, str]]:
    found = _SBATCH.match(line)
    if found is not None:
        yield found[1], found[2] or ""


def read_task(tool: str, manifest: Mapping[str, Any]) -> tuple[Foreign, ...]:
    """The command of a task, with what its fields say."""
    commands = manifest.get("commands") if tool == DSTACK else [manifest.get("run")]
    text = "\n".join(str(each) for each in (commands if isinstance(commands, list) else ()) if each)
    found, _ = read_commands(text)
    if not found:
        return ()
    resources = manifest.get("resources")
    asked = resources if isinstance(resources, Mapping) else {}
    gpus = _read_gpus(asked.get("accelerators") if tool == SKYPILOT else asked.get("gpu"))
    nodes = _read_number(str(manifest.get("num_nodes" if tool == SKYPILOT else "nodes") or ""))
    image = str((asked.get("image_id") if tool == SKYPILOT else manifest.get("image")) or "").removeprefix("docker:")
    first = found[0]
    left = [*_explain_fields(tool, manifest, asked), *(replace(each, line=0) for each in first.left)]
    env = dict(_read_env(manifest.get("envs") if tool == SKYPILOT else manifest.get("env")))
    return (
        replace(
            first, line=0, workers=max(nodes, first.workers), gpus=gpus or first.gpus, image=image or first.image,
            name=str(manifest.get("name") or ""), env=(*env.items(), *first.env), left=tuple(left),
        ),
    )  # fmt: skip


def _explain_fields(tool: str, manifest: Mapping[str, Any], resources: Mapping[str, Any]) -> Iterator[Left]:
    for key in manifest:
        if key == "setup":
            said = phrase("setup is left out: -r names a file of the packages that the program needs")
            yield Left(0, said)
        elif key not in _CARRIED[tool]:
            yield Left(0, phrase("{typed} is left out", typed=str(key)))
    for key in resources:
        if key not in ("accelerators", "gpu", "image_id"):
            yield Left(0, phrase("{typed} is left out", typed=f"resources.{key}"))


def _read_env(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield from ((str(name), str(each)) for name, each in value.items() if each is not None)
    for each in value if isinstance(value, list) else ():
        name, equals, text = str(each).partition("=")
        if equals:
            yield name, text


def _read_gpus(value: Any) -> int:
    """The number in `A100:8`, `{A100: 8}`, `24GB:2`, and 1 of `A100`."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), None) if "count" not in value else value["count"]
    if isinstance(value, int):
        return value
    text = str(value or "")
    return _read_number(text.rpartition(":")[2]) or (1 if text else 0)


def _read_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0
