"""A command that starts a program -> the job that it means. Pure.

Places of machines, ports and ranks are left out, as Paddock tells each rank its own; listed devices become a number.
What a launcher says is read in `paddle_launchers`, `torch_launchers` and `task_launchers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from paddock.launches.launch import Launch, Wrapper
from paddock.launches.launchers import Means
from paddock.launches.programs import Kind
from paddock.launches.reading import read_words
from paddock.launches.words import Word, build_word, show_words
from paddock.script.foreign.carried import (
    Ledger,
    carry_arguments,
    carry_directory,
    carry_variables,
    cut,
    explain_told,
    find_visible,
    note_streams,
)
from paddock.script.foreign.containers import take_container
from paddock.script.foreign.draft import NO_TASKS, Draft, Tasks, name_python
from paddock.script.foreign.hostfiles import Hosts
from paddock.script.foreign.job import Foreign
from paddock.script.foreign.launcher_options import line_of, with_variables
from paddock.script.foreign.paddle_launchers import join_old_options, renew_launcher, take_paddle
from paddock.script.foreign.task_launchers import JSRUN, TASKS, take_resource_sets, take_tasks
from paddock.script.foreign.torch_launchers import take_torch
from paddock.words.phrases import phrase

_SILENT = frozenset({
    "nohup", "exec", "env", "command", "builtin", "setsid", "time", "tini", "dumb-init", "stdbuf", "unbuffer",
})  # fmt: skip
"""What stands before a program and changes nothing in a job."""
NO_FILES: Mapping[str, Hosts] = MappingProxyType({})


def read_launch(launch: Launch, tasks: Tasks = NO_TASKS, files: Mapping[str, Hosts] = NO_FILES) -> Foreign | None:
    """The job of a command; None where its program is not known. `tasks`: of the batch job that it is in; `files`: of
    hosts, which the script writes."""
    ledger = Ledger()
    draft = Draft(launch, ledger, tasks=tasks, files=files)
    launch = draft.launch = with_variables(draft, join_old_options(renew_launcher(launch, ledger)))
    for wrapper in launch.wrappers:
        _take_wrapper(draft, wrapper)
    draft.gpus = draft.gpus or find_visible(launch.environment)[0]
    program = _carry_program(draft)
    if program is None:
        return None
    if launch.launcher is not None:
        _LAUNCHERS.get(launch.launcher.name, take_torch)(draft)
        _bound_gpus(draft)
        if draft.places:
            ledger.note(launch.line, explain_told(draft.places))
    arguments = carry_arguments(_cut_programs(launch, ledger), ledger)
    used = {option.spec.variable for option in launch.options if option.spec is not None and option.value is not None}
    environment = {name: word for name, word in launch.environment.items() if name not in used}
    variables = dict(carry_variables(environment, launch.line, ledger)) | draft.variables
    workdir = carry_directory(launch, ledger)
    note_streams(launch, ledger)
    if launch.command.may_run:
        ledger.note(launch.line, phrase("it stands in a condition or a loop, which is left out"))
    return Foreign(
        launch.line, (*draft.before, *program, *arguments), draft.workers, draft.servers, draft.gpus,
        processes=draft.processes, starter=draft.starter, image=draft.image,
        framework=draft.framework, restarts=draft.restarts, workdir=workdir,
        variables=tuple(variables.items()), runner=draft.runner, left=tuple(ledger.left),
    )  # fmt: skip


def _cut_programs(launch: Launch, ledger: Ledger) -> Sequence[Word]:
    """The arguments up to the `:` of mpirun, behind which another program stands: its ranks are none of this job."""
    names = (launch.launcher.name if launch.launcher else "", *(each.spec.name for each in launch.wrappers))
    words = launch.arguments
    if "mpirun" not in names or not any(word.text == ":" for word in words):
        return words
    place = next(place for place, word in enumerate(words) if word.text == ":")
    command = cut(show_words(words[place:]))
    said = phrase("`{command}` is left out: all ranks of a job start one program", command=command)
    ledger.note(launch.line, said)
    return words[:place]


def _take_wrapper(draft: Draft, wrapper: Wrapper) -> None:
    name = wrapper.spec.name
    line = wrapper.words[0].line or draft.launch.line
    if name in TASKS:
        outer = read_words((*wrapper.words, build_word("true", line))).launches[0]
        take_tasks(draft, outer, starts_ranks=draft.launch.launcher is None)
    elif name == JSRUN:
        take_resource_sets(draft, wrapper, line)
    elif take_container(draft, wrapper, line):
        return
    elif wrapper.spec.elsewhere:
        said = phrase("`{command}` is left out: a job is started on its machines", command=show_words(wrapper.words))
        draft.ledger.note(line, said)
    elif wrapper.spec.manages and all(each.usual is not None for each in wrapper.words):
        draft.runner = (*draft.runner, *(draft.ledger.take(each) or "" for each in wrapper.words))
    elif name == "env" or name not in _SILENT:
        words = [each for each in wrapper.words if name != "env" or each.beginning.startswith("-")]
        if words:
            said = phrase("`{command}` is left out: the program is started without it", command=show_words(words))
            draft.ledger.note(line, said)


def _bound_gpus(draft: Draft) -> None:
    """PaddlePaddle's launcher chooses among the devices that the variable shows; DeepSpeed's and accelerate's own
    options count more than the variable."""
    (shown, name), named = find_visible(draft.launch.environment), draft.launch.find(Means.DEVICES)
    if draft.framework != "paddle" or named is None or not 0 < shown < draft.gpus:
        return
    said = phrase(
        "{option}: {name} of the script shows {count} of these {total} devices, and the job has {count}: --gpus "
        "{total} asks for all",
        option=named.typed, name=name, count=shown, total=draft.gpus,
    )  # fmt: skip
    draft.ledger.note(line_of(draft, named), said)
    draft.gpus = shown


def _carry_program(draft: Draft) -> tuple[str, ...] | None:
    program = draft.launch.program
    text = draft.ledger.take(program.word)
    if program.kind in (Kind.NONE, Kind.STDIN) or text is None or not text:
        return None
    if program.kind is Kind.CODE:
        return (name_python(draft, program.python), *program.flags, "-c", text)
    module = ("-m",) if program.kind is Kind.MODULE and program.python else ()
    if program.python:
        return (name_python(draft, program.python), *program.flags, *module, text)
    return (program.shell_name, text) if program.shell_name else (text,)


_LAUNCHERS: Mapping[str, Callable[[Draft], None]] = {
    "paddle.distributed.launch": take_paddle,
    "paddle.distributed.fleet.launch": take_paddle,
    **dict.fromkeys(TASKS, lambda draft: take_tasks(draft, draft.launch, starts_ranks=True)),
}
