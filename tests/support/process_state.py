"""What a test may not leave behind: state of the process that the next test would find. Tests run in any order.

`explain_changes(State())` says in sentences what is different since; `guard` asks it once a file.

Of Paddock's own modules every name, and the content of every dict, list, set and deque in them and in their classes, is
compared, one level deep: three milliseconds with all modules. Left out: names that appear because a module is imported
(imports are late here), and caches, which are allowed as long as the answer depends on the arguments alone; each of
them is in `PURE_CACHES` or `PURE_CONTAINERS` with the reason; and the filters of warnings, of which pytest gives every
test its own.
"""

from __future__ import annotations

import asyncio
import gc
import locale
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "paddock"

PURE_CACHES: Mapping[str, str] = {
    "paddock.history.package_sets.read_set": "a set is named by what it holds, and a record that names it comes later",
    "paddock.logs.number_names.normalize": "a name in small letters",
    "paddock.logs.number_names.read_name": "what a name stands for",
    "paddock.preflight.datasets._build_schema": "of the definition of the kind",
    "paddock.apiserver.schema.json_path.read_path": "parses its text",
    "paddock.apiserver.kinds.openapi._build_document": "of kinds that are the same only if they are the same objects",
    "paddock.cli.help._example": "compiles its text",
    "paddock.cli.help._unit": "compiles its text",
    "paddock.jobs.frameworks.python_source.is_python": "parses its text",
    "paddock.jobs.objects.outputs_program.read_program": "reads a file of the package",
    "paddock.launches.containers._read_text": "parses its text",
    "paddock.launches.containers._simplify": "parses its words",
    "paddock.logs.chatter._forms": "compiles its forms",
    "paddock.logs.chatter._nccl": "compiles its form",
    "paddock.words.catalogues.find_catalogue": "reads a file of the package",
    "paddock.words.messages._read_texts": "reads a file of the package",
    "paddock.words.messages.translate_message": "of its text and language, by the files of the package",
    "paddock.kube.regex.automaton.read_pattern": "compiles its text",
    "paddock.operator.shares.shard_of": "hashes its text",
    "paddock.kube.schemas.definition": "of a file of the package",
    "paddock.kube.schemas.definitions": "reads a file of the package",
    "paddock.kube.schemas.full_name": "of a file of the package",
    "paddock.kube.pod_amounts._read_text": "parses its text",
    "paddock.kube.quantities._read": "parses its text",
    "paddock.console.answers._read_packed": "of a file of the package",
    "paddock.console.pages._environment": "templates of the package, in a language",
    "paddock.console.pages.address_of": "of a file of the package",
}
"""Functions that keep their answers for the life of the process, and why no test can notice."""

PURE_CONTAINERS: Mapping[str, str] = {
    "paddock.apiserver.kinds.custom._checked": "digests of definitions without errors, by their texts",
}
"""Those that are caches as well."""

RUNNING: set[int] = set()
"""Commands that a server has forked for tests, and that nobody has waited for: children of another process."""

_CONTAINERS = (dict, list, set, deque)
_SIGNALS = tuple(sorted(signal.valid_signals() - {signal.SIGALRM}))
"""Without that of pytest-timeout, which takes its handler away early when a test fails."""
_STATUS = Path("/proc/self/status")
_TASKS = Path("/proc/self/task")
_PHASE = b"PYTEST_CURRENT_TEST"
"""pytest itself changes this variable from phase to phase."""
_ABSENT = object()


def read_umask() -> int:
    """Linux says it without the moment in which a thread would find another one."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("Umask:"))
    return int(line.split()[1], 8)


def read_children() -> frozenset[int]:
    """Every process that this one has started and nobody has waited for, ended or not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none: the answer of almost every test, for a microsecond
        return frozenset()
    return frozenset(int(pid) for task in _TASKS.iterdir() for pid in _read_children_of(task))


def _read_children_of(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:  # the thread has ended meanwhile
        return []


def _read_loggers() -> dict[str, tuple[Any, ...]]:
    found = {"root": logging.root} | {
        name: each
        for name, each in logging.root.manager.loggerDict.items()
        if isinstance(each, logging.Logger) and name.startswith(PACKAGE)
    }
    said = {name: (each.level, tuple(each.handlers), each.disabled, each.propagate) for name, each in found.items()}
    return {name: what for name, what in said.items() if what != (logging.NOTSET, (), False, True)}


def _read_policy() -> object:
    """None for Python's own, which is made when it is first wanted. `asyncio` warns who asks, from Python 3.14 on."""
    policy = getattr(asyncio.events, "_event_loop_policy", None)
    return None if type(policy).__module__.startswith("asyncio.") else policy


READERS: Mapping[str, Callable[[], Any]] = {
    "an environment variable": lambda: {name: text for name, text in os.environ._data.items() if name != _PHASE},  # type: ignore[attr-defined]
    "the working directory": os.getcwd,
    "the umask": read_umask,
    "a signal's handler": lambda: {number: signal.getsignal(number) for number in _SIGNALS},
    "sys.path": lambda: list(sys.path),
    "a logger": _read_loggers,
    "what logging disables": lambda: logging.root.manager.disable,
    "the locale": lambda: locale.setlocale(locale.LC_ALL),
    "the policy of event loops": _read_policy,
    "the settings of the garbage collector": lambda: (gc.isenabled(), gc.get_threshold()),
}


class State:
    """Everything that is compared, as it was at one moment."""

    def __init__(self) -> None:
        self.process = {what: read() for what, read in READERS.items()}
        self.children = read_children() | RUNNING
        modules, containers = _find_own(len(sys.modules))
        self.globals = [(module, vars(module).copy()) for module in modules]
        self.containers = [(name, container, container.copy()) for name, container in containers]

    def adopt(self, before: State, after: State) -> None:
        """What has changed between two moments is from now on as it was at the second one, and nothing else is."""
        for what, now in after.process.items():
            self.process[what] = _adopt(self.process[what], before.process[what], now)
        self.children |= after.children - before.children
        then, now = ({id(module): names for module, names in each.globals} for each in (before, after))
        for module, names in self.globals:
            names.update(_adopt(names, then.get(id(module), names), now.get(id(module), names)))
        were, are = ({id(each[1]): each[2] for each in state.containers} for state in (before, after))
        self.containers = [
            (name, held, are[id(held)] if are.get(id(held), copy) != were.get(id(held), copy) else copy)
            for name, held, copy in self.containers
        ]


def _adopt(mine: Any, before: Any, after: Any) -> Any:
    """Of a table, the entries that differ."""
    if before == after:
        return mine
    if not isinstance(mine, Mapping):
        return after
    kept = {name: value for name, value in mine.items() if name in after or name not in before}
    return {**kept, **{name: value for name, value in after.items() if before.get(name, _ABSENT) != value}}


def explain_changes(before: State) -> list[str]:
    """What is different now, one sentence each; empty when nothing is."""
    return [
        *_explain_process(before.process),
        *_explain_children(before.children),
        *(text for module, were in before.globals if vars(module) != were for text in _explain_globals(module, were)),
        *(f"{name} {_say(were, now)}" for name, now, were in before.containers if now != were),
    ]


@lru_cache(maxsize=1)
def _find_own(_known: int) -> tuple[tuple[ModuleType, ...], tuple[tuple[str, Any], ...]]:
    """Paddock's modules and their containers; looked for anew when a module has been imported since."""
    names = [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]
    modules = tuple(sys.modules[name] for name in sorted(names))
    containers = {id(each): (name, each) for module in modules for name, each in _find_containers(module)}
    return modules, tuple(containers.values())


def _find_containers(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        if isinstance(value, _CONTAINERS):
            if f"{module.__name__}.{name}" not in PURE_CONTAINERS:
                yield f"{module.__name__}.{name}", value
        elif isinstance(value, type) and value.__module__ == module.__name__ and not issubclass(value, (Enum, tuple)):
            for inner, held in vars(value).items():
                if isinstance(held, _CONTAINERS) and not inner.startswith("__"):
                    yield f"{module.__name__}.{name}.{inner}", held


def _explain_process(before: Mapping[str, Any]) -> Iterator[str]:
    for what, were in before.items():
        now = READERS[what]()
        if now != were:
            yield f"{what} {_say(were, now)}"


def _explain_children(before: frozenset[int]) -> Iterator[str]:
    """One that is gone is no loss: `subprocess` reaps what a former test has left when it starts the next program."""
    for pid in sorted((read_children() | RUNNING) - before):
        yield f"a child process that nobody has waited for: {pid}, {_read_command(pid)}"


def _read_command(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return command or "which has ended"
    except OSError:
        return "which has ended"


def _explain_globals(module: ModuleType, were: Mapping[str, Any]) -> Iterator[str]:
    for name in were.keys() | vars(module).keys():
        now, then = vars(module).get(name, _ABSENT), were.get(name, _ABSENT)
        if now is then or name.startswith("__") or isinstance(now, ModuleType):
            continue
        yield f"{module.__name__}.{name} was {then!r:.200}, and is {now!r:.200}"


def _say(were: Any, now: Any) -> str:
    """Only what is different of a table or a list."""
    if isinstance(were, Mapping) and isinstance(now, Mapping):
        names = [
            name
            for name in sorted(were.keys() | now.keys(), key=repr)
            if were.get(name, _ABSENT) != now.get(name, _ABSENT)
        ]
        were, now = ({name: each[name] for name in names if name in each} for each in (were, now))
    elif isinstance(were, list) and isinstance(now, list):
        was, has = [each for each in were if each not in now], [each for each in now if each not in were]
        were, now = (was, has) if was or has else (were, now)
    return f"was {were!r:.300}, and is {now!r:.300}"
