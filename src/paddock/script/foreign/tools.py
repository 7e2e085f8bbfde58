"""Which tool a file is of, by its text, and the reader of each. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paddock.launches.reading import is_script, read_script
from paddock.manifests.yaml_nodes import Document
from paddock.script.foreign import arena, dstack, queues, skypilot, slurm
from paddock.script.foreign.job import NOWHERE, Foreign, NoProgram, Place
from paddock.script.foreign.kept_back import hide, keep_back
from paddock.script.foreign.shell import read_shell
from paddock.script.foreign.tasks import read_tasks
from paddock.script.secrets import hide_secrets
from paddock.words.phrases import Phrase, phrase

LARGEST = 2**18
"""Letters of a file that is read: more is no script or task."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a file is."""

    key: str
    title: Phrase
    """As in "this is {title}"."""
    trains: bool = True
    """Whether it may start a training: no fleet of dstack does, and no task of SkyPilot without `run`."""


SKYPILOT = Tool("skypilot", phrase("a task of SkyPilot"))
DSTACK = Tool("dstack", phrase("a configuration of dstack"))
SLURM = Tool("slurm", phrase("a batch script of Slurm"))
PBS = Tool("pbs", phrase("a batch script of PBS"))
LSF = Tool("lsf", phrase("a batch script of LSF"))
SGE = Tool("sge", phrase("a batch script of Grid Engine"))
ARENA = Tool("arena", phrase("a command of arena"))
SHELL = Tool("shell", phrase("a shell script"))


def find_tool(name: str, text: str, documents: Sequence[Document] | None = None) -> Tool | None:
    """The tool of a file; None for any other text. `name`: of the file, empty where it has none. `documents`: of the
    text, where it has been read as YAML."""
    if len(text) > LARGEST or "\0" in text:
        return None
    if slurm.is_batch(text):
        return SLURM
    if (queue := _find_queue(text)) is not None:
        return queue
    if is_script(name, text):
        return ARENA if "arena" in text and arena.find_submit(read_script(text)) is not None else SHELL
    if text.lstrip().startswith("arena "):
        return ARENA
    return _find_task(read_tasks(text) if documents is None else documents)


def _find_queue(text: str) -> Tool | None:
    if queues.is_pbs(text):
        return PBS
    return LSF if queues.is_lsf(text) else SGE if queues.is_sge(text) else None


def _find_task(tasks: Sequence[Document]) -> Tool | None:
    if any(skypilot.is_task(each.manifest) for each in tasks):
        return replace(SKYPILOT, trains=any("run" in each.manifest for each in tasks))
    if tasks and dstack.is_configuration(tasks[0].manifest):
        return replace(DSTACK, trains=tasks[0].manifest.get("type") == "task")
    return None


def read_foreign(text: str, place: Place = NOWHERE) -> Foreign:
    """The job of a file of another tool, or of a file of commands. Raises `NoProgram`."""
    tool = find_tool(place.name, text)
    try:
        made = read_shell(text, place) if tool is None else _READERS[tool.key](text, place)
    except NoProgram as error:
        shown = " ".join(error.starts)
        raise NoProgram(map(hide, error.left), error.starts if hide_secrets(shown) == shown else ()) from None
    return keep_back(made, text)


def _read_arena(text: str, place: Place) -> Foreign:
    submit = arena.find_submit(read_script(text))
    return arena.read_submit(submit, place) if submit is not None else read_shell(text, place)


_READERS: dict[str, Callable[[str, Place], Foreign]] = {
    "skypilot": lambda text, place: skypilot.read_task(read_tasks(text), place),
    "dstack": lambda text, place: dstack.read_task(read_tasks(text), place),
    "slurm": slurm.read_batch,
    "pbs": queues.read_pbs,
    "lsf": queues.read_lsf,
    "sge": queues.read_sge,
    "arena": _read_arena,
    "shell": read_shell,
}
