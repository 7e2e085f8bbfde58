"""A text, a command line or a container -> the launches in it, and what is named and was not read. Pure.

Texts within the command are followed: `bash -c "…"`, `ssh host "…"`, a here-document for a shell, `bash run.sh` where
the caller can read the file. All of one reading has one budget (`budget`): beyond it, what is left is unknown.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from paddock.launches.budget import LARGEST_COMMAND, MOST_LAUNCHES, Budget
from paddock.launches.commands import Command, Unread
from paddock.launches.grammar import OpenStatement
from paddock.launches.launch import Launch, Wrapper, is_too_long, read_command
from paddock.launches.programs import Kind, Program
from paddock.launches.shell import ShellReader
from paddock.launches.state import State
from paddock.launches.words import Unknown, Word, build_word, read_argument

_SHEBANG = re.compile(r"#!\s*\S*?/?(?:env\s+(?:-S\s+)?)?(?:ba|da|z|k|a)?sh\b")
_OF_OTHER_SHELL = re.compile(r"#!\s*\S*?/?(?:env\s+(?:-S\s+)?)?(fish|pwsh|powershell|t?csh|nu|elvish|xonsh)\b")
_OTHER_SHELLS = {
    ".fish": "fish", ".ps1": "PowerShell", ".bat": "cmd", ".cmd": "cmd", ".csh": "csh", ".tcsh": "tcsh",
    ".nu": "nu", ".elv": "elvish", ".xsh": "xonsh",
}  # fmt: skip
_TITLES = {"pwsh": "PowerShell", "powershell": "PowerShell"}
OTHER_SHELLS = frozenset({*_OTHER_SHELLS.values(), *_TITLES}) - {"PowerShell"}
"""Their programs."""

_BRIEF = frozenset({
    "cat", "date", "disown", "free", "grep", "head", "hostname", "jobs", "ls", "mkdir", "nvidia-smi", "ps", "pwd",
    "rm", "tee", "touch", "uptime", "wc",
})  # fmt: skip
"""Programs that end at once."""

ReadFile = Callable[[str], str | None]
"""The text of a file that a command names, by its path from where the command is started, normalised; None where it is
not there or not known."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read."""

    launches: tuple[Launch, ...] = ()
    """In the order in which they would run, also those without a launcher."""
    unread: tuple[Unread, ...] = ()
    whole: bool = True
    """False where something was beyond the budget: nothing may be concluded from what is absent."""
    open_quote: int = 0
    """The line of a quote that is not closed, so that a shell reads to the end; 0 without one."""
    open_statement: OpenStatement | None = None
    asked: frozenset[str] = frozenset()
    """The variables that shells read by name, or hand on, and that nothing before has set, nor may have set: what they
    are comes from outside. Not those of texts for another machine."""

    @property
    def left_behind(self) -> Launch | None:
        """The last program of Python, or launcher, where all of them run in the background, and nothing behind it
        lasts: the shell ends without it. None for any other, and where some run on other machines."""
        trains = [each for each in self.launches if each.launcher is not None or each.program.python]
        if not trains or not self.whole or not all(each.in_background and not each.elsewhere for each in trains):
            return None
        place = next(place for place, each in enumerate(self.launches) if each is trains[-1])
        lasts = any(each.program.word.program not in _BRIEF for each in self.launches[place + 1 :])
        return None if lasts else trains[-1]

    @property
    def hidden(self) -> Launch | None:
        """The last program of Python, or launcher, where the shell surely ends as something else does."""
        trains = [each for each in self.launches if each.launcher is not None or each.program.python]
        last = next((each for each in reversed(trains) if not each.command.is_filter), None)
        return last if last is not None and self.whole and last.command.hidden_by and not last.in_background else None

    @property
    def distributed(self) -> tuple[Launch, ...]:
        """Those with a launcher."""
        return tuple(each for each in self.launches if each.launcher is not None)


def read_script(
    text: str,
    arguments: Sequence[Word] | None = None,
    read_file: ReadFile | None = None,
    *,
    name: str = "",
    start: str = "",
    variables: Mapping[str, Word] | None = None,
    line: int = 0,
) -> Reading:
    """The text of a shell script. `name`: its path, as typed; `start`: the directory where it is started, absolute;
    `variables`: what is set for it; `line`: its first, in the file in which the text stands. Never raises."""
    given = variables or {}
    state = State({**given}, {*given}, arguments=tuple(arguments) if arguments is not None else None)
    state.name, state.file, state.start = name, name, start
    follower = _Follower(read_file, Budget(), start=start)
    return follower.read(text if line < 2 else "\n" * (line - 1) + text, state)


def read_words(
    words: Sequence[Word],
    variables: Mapping[str, Word] | None = None,
    read_file: ReadFile | None = None,
    budget: Budget | None = None,
) -> Reading:
    """A command line, as words that no shell reads any more. `variables`: what is set for it."""
    if not words:
        return Reading()
    command = Command(tuple(words), words[0].line, dict(variables or {}))
    return _Follower(read_file, budget or Budget()).follow([command])


def read_typed(words: Sequence[str], read_file: ReadFile | None = None) -> Reading:
    """A command line as a program gets it."""
    return read_words([build_word(word) for word in words], read_file=read_file)


def find_main(reading: Reading) -> Launch:
    """The command that trains, of several: the last one with a launcher, else the last Python program, else the last
    program whose output is not the input of another. Of none, an empty one."""
    programs = [each for each in reading.launches if not each.command.is_filter and each.program.kind is not Kind.NONE]
    python = [each for each in programs if each.program.python or each.program.script.endswith(".py")]
    return next(reversed([*reading.launches[:1], *programs, *python, *reading.distributed]), Launch(Program()))


def read_container(
    container: Mapping[str, Any], read_file: ReadFile | None = None, budget: Budget | None = None
) -> Reading:
    """What a container starts. `$(NAME)` is replaced by the variables of its template; those that come from elsewhere,
    and those that Paddock sets, are unknown. Values of a wrong type are ignored: others refuse them."""
    budget = budget or Budget(LARGEST_COMMAND)
    variables = read_variables(container, budget)
    return read_words(_list_arguments(container, variables, budget), variables, read_file, budget)


def list_arguments(container: Mapping[str, Any]) -> list[Word]:
    """The words of a container's `command` and `args`, as its program gets them."""
    budget = Budget(LARGEST_COMMAND)
    return _list_arguments(container, read_variables(container, budget), budget)


def _list_arguments(container: Mapping[str, Any], variables: Mapping[str, Word], budget: Budget) -> list[Word]:
    words = [word for key in ("command", "args") for word in _list_words(container.get(key))]
    return _read_arguments(words, variables, budget)


def read_variables(container: Mapping[str, Any], budget: Budget | None = None) -> dict[str, Word]:
    """The variables of a container's template: texts, and unknown ones from elsewhere."""
    budget = budget or Budget(LARGEST_COMMAND)
    found: dict[str, Word] = {}
    entries = container.get("env")
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str):
            continue
        value = entry.get("value")
        if entry.get("valueFrom") is not None:
            found[name] = Word((Unknown(f"$({name})"),))
        elif value is None or isinstance(value, str | int | float):
            found[name] = read_argument(str(value if value is not None else ""), found, budget)
    return found


def _list_words(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _read_arguments(words: Sequence[str], variables: Mapping[str, Word], budget: Budget) -> list[Word]:
    """A text for a shell keeps what Kubernetes does not replace, as it is the shell's."""
    is_shell_text = [bool(re.search(r"[\s;&|]", word)) for word in words]
    pairs = zip(words, is_shell_text, strict=True)
    return [read_argument(word, variables, budget, is_script=each) for word, each in pairs]


def decode_script(data: bytes) -> str:
    """The text of a file. A shell reads neither UTF-16 nor a mark of the byte order; people's editors write them."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def is_script(name: str, text: str) -> bool:
    """Whether a file is a shell script that is read here: by its first line, or by its name."""
    if find_other_shell(name, text):
        return False
    return name.endswith((".sh", ".bash")) or bool(_SHEBANG.match(text))


def find_other_shell(name: str, text: str) -> str:
    """The shell of a script that sh and bash do not read: fish, PowerShell, csh, cmd; empty for any other file. The
    first line counts more than the name."""
    if found := _OF_OTHER_SHELL.match(text):
        return _TITLES.get(found[1], found[1])
    if _SHEBANG.match(text):
        return ""
    return next((shell for ending, shell in _OTHER_SHELLS.items() if name.lower().endswith(ending)), "")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A command whose program is to be looked at."""

    command: Command
    wrappers: tuple[Wrapper, ...] = ()
    """Those before the text or the script in which it stands."""
    is_inner: bool = False
    files: tuple[str, ...] = ()
    """The scripts in which it stands, by their paths."""


class _Follower:
    def __init__(self, read_file: ReadFile | None, budget: Budget, *, start: str = "") -> None:
        self._file = read_file
        self._start = start
        self._budget = budget
        self._shell = ShellReader(self._read_path, budget)
        self._launches: list[Launch] = []
        self._texts: dict[str, str | None] = {}

    def _read_path(self, path: str) -> str | None:
        """The text of a file, which is opened once."""
        if path not in self._texts:
            self._texts[path] = self._file(path) if self._file is not None else None
        return self._texts[path]

    def read(self, text: str, state: State) -> Reading:
        self._shell.read(text, state)
        commands, self._shell.commands = self._shell.commands, []
        return self.follow(commands)

    def follow(self, commands: Sequence[Command]) -> Reading:
        waiting = [_Waiting(each) for each in reversed(commands)]
        while waiting and len(self._launches) < MOST_LAUNCHES:
            next_one = waiting.pop()
            launch = read_command(next_one.command)
            self._budget.whole = self._budget.whole and not is_too_long(next_one.command)
            launch = replace(launch, wrappers=(*next_one.wrappers, *launch.wrappers), is_inner=next_one.is_inner)
            inner: list[_Waiting] | None = []  # of a text beyond the budget nothing is known
            with self._budget.bounded(), self._shell.deaf() if launch.elsewhere else nullcontext():
                inner = self._read_inside(launch, next_one.files)
            if inner is None:
                self._launches.append(launch)
            else:
                waiting += reversed(inner)
        whole = self._budget.whole and not waiting
        shell = self._shell
        unread = tuple(dict.fromkeys(shell.unread))
        return Reading(
            tuple(self._launches), unread, whole, shell.open_quote, shell.open_statement, frozenset(shell.asked)
        )

    def _read_inside(self, launch: Launch, files: tuple[str, ...]) -> list[_Waiting] | None:
        """The commands of a text that the command gives to a shell; None where it gives none. `files`: as in
        `_Waiting`."""
        program, state = launch.program, State(directory=launch.command.directory)
        if program.kind is Kind.SHELL and not launch.launcher:
            state = self._begin(launch, files)
            # the first word behind the text is $0
            state.arguments = launch.arguments[1:]
            state.name = (launch.arguments[0].text or "") if launch.arguments else ""
            self._shell.read_inner(_place(program.word, launch.line), state)
        elif _reads_commands(launch) and launch.command.stdin is not None:
            self._shell.read_inner(_place(launch.command.stdin, launch.line), self._begin(launch, files))
        elif (word := _find_script(launch)) is not None:
            path = state.locate(word)
            if path in files:
                return []  # it starts itself, and is being read
            text = self._read_path(path) if path is not None else None
            if path is None or text is None or not (program.shell_name or is_script(path, text)):
                return None
            files = (*files, path)
            state = self._begin(launch, files)
            state.arguments = launch.arguments
            state.name = state.file = word.text or ""
            self._shell.read(text, state, launch.line)
        else:
            return None
        commands, self._shell.commands = self._shell.commands, []
        commands = self._shell.redirect(commands, launch.redirections)
        if launch.command.in_background:
            commands = [replace(each, in_background=True) for each in commands]
        if launch.command.hidden_by:
            commands = [replace(each, hidden_by=launch.command.hidden_by) for each in commands]
        return [_Waiting(each, launch.wrappers, True, files) for each in commands]

    def _begin(self, launch: Launch, files: tuple[str, ...]) -> State:
        """What a shell knows that the command starts. `files`: those in which the command stands."""
        command = launch.command
        self._budget.spend((len(launch.environment) + len(command.unset)) // 4)
        state = State(dict(launch.environment), set(launch.environment), files=files, start=self._start)
        state.unset = {*command.unset} - launch.environment.keys()
        state.directory, state.may_run = command.directory, command.may_run
        state.is_conditional = command.is_conditional
        if launch.program.shell_name:
            before = takewhile(lambda word: word is not launch.program.word, launch.words[1:])
            state.options = " ".join(word.typed for word in before)
        return state


def _reads_commands(launch: Launch) -> bool:
    """Whether it is a shell that reads its standard input: `bash -s`, `ssh host`."""
    is_remote = launch.program.kind is Kind.NONE and bool(launch.wrappers) and launch.wrappers[-1].spec.as_text
    return is_remote or (launch.program.kind is Kind.STDIN and bool(launch.program.shell_name))


def _find_script(launch: Launch) -> Word | None:
    """The shell script that a command runs, which may be read."""
    program = launch.program
    # of a path without an interpreter the first line says what reads it
    by_itself = program.kind is Kind.PROGRAM and bool(program.script) and not program.script.endswith(".py")
    is_read = by_itself or (program.kind is Kind.SCRIPT and bool(program.shell_name))
    return program.word if is_read and launch.launcher is None else None


def _place(text: Word, line: int) -> Word:
    return replace(text, line=text.line or line)
